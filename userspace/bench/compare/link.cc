// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/link.h"

#include <algorithm>

namespace smartio::bench_compare {

namespace {

// Framing and sequence number 4, LCRC 4, and a header of 16 (64-bit addresses) or 12.
constexpr double kRequestHeader = 24;
constexpr double kCompletionHeader = 20;
constexpr double kDllp = 8;                  // an acknowledgement, or an update of flow control
constexpr double kSkip = 4.0 / 1538;         // ordered sets that compensate clocks
constexpr double kEncoding = 128.0 / 130.0;  // Gen3 and later

bench::LedgerCell of(const bench::Ledger& per_io, const char* kind) {
  const auto found = per_io.find(kind);
  return found == per_io.end() ? bench::LedgerCell{} : found->second;
}

double posted(const bench::LedgerCell& count) { return count.bytes + count.transactions * kRequestHeader; }

}  // namespace

WireBytes wire_bytes(const bench::Ledger& per_io) {
  WireBytes wire;
  for (const char* kind : {"posted data", "posted completion", "posted interrupt"})
    wire.to_borrower += posted(of(per_io, kind));
  for (const char* kind : {"posted command", "posted list", "posted doorbell"})
    wire.to_lender += posted(of(per_io, kind));
  // The drive's reads: its requests, and completions of at most kMaxPayload, at least one for each request.
  for (const char* kind : {"non-posted command", "non-posted list", "non-posted data"}) {
    const bench::LedgerCell fetched = of(per_io, kind);
    wire.to_borrower += fetched.transactions * kRequestHeader;
    wire.to_lender += fetched.bytes + std::max(fetched.transactions, fetched.bytes / kMaxPayload) * kCompletionHeader;
  }
  return wire;
}

Range bandwidth(const bench::Ledger& per_io, double payload, const Link& link) {
  const WireBytes wire = wire_bytes(per_io);
  const double most = std::max(wire.to_borrower, wire.to_lender);
  if (most <= 0) return {};
  const double raw = link.lane_gt_s * link.lanes * kEncoding / 8;  // GB/s
  const double share = payload / most;
  return {.low = raw * share * (1 - 2 * kDllp / link.ack_bytes - kSkip), .high = raw * share};
}

}  // namespace smartio::bench_compare
