// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string_view>

#include "bench/compare/model.h"
#include "bench/guests/sample.h"

namespace smartio::bench_compare {

/// A PCIe link. Its packets are acknowledged after `ack_bytes`, and its flow control updated, as the PCIe specification
/// recommends for a Max_Payload_Size of 256.
struct Link {
  std::string_view name;
  double lane_gt_s;
  unsigned lanes;
  double ack_bytes;
};
inline constexpr Link kGen4X4{.name = "Gen4 x4", .lane_gt_s = 16, .lanes = 4, .ack_bytes = 214};
inline constexpr Link kGen4X8{.name = "Gen4 x8", .lane_gt_s = 16, .lanes = 8, .ack_bytes = 203};
inline constexpr double kMaxPayload = 256;  ///< bytes, as the ledger counts

/// Bytes that an I/O puts on the link in each direction: payload, and with each TLP its header, framing and check.
struct WireBytes {
  double to_borrower = 0;
  double to_lender = 0;
};
WireBytes wire_bytes(const bench::Ledger& per_io);

/// Gigabytes of payload a second that a link carries at most, if each I/O moves `payload` bytes and causes such a
/// ledger. Low with acknowledgements and flow control at the recommended rates, high without.
Range bandwidth(const bench::Ledger& per_io, double payload, const Link& link);

}  // namespace smartio::bench_compare
