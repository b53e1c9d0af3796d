// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/model.h"

#include <fmt/format.h>

#include <cmath>

namespace smartio::bench_compare {

namespace {

/// The count for most I/Os: the hosts' occasional messages (heartbeats) are not in it.
unsigned for_each_io(const bench::Ledger& per_io, const char* kind) {
  const auto found = per_io.find(kind);
  return found == per_io.end() ? 0 : static_cast<unsigned>(std::lround(found->second.transactions));
}

}  // namespace

std::vector<std::string> sentences(const Assumptions& assumptions) {
  return {
      fmt::format("{} switch chips lie between the hosts: one on each host's adapter, one in the switch between them.",
                  assumptions.chips),
      fmt::format("Each delays a transaction by {:.0f} to {:.0f} ns in each direction (published).",
                  assumptions.chip_us.low * 1000, assumptions.chip_us.high * 1000),
      "Posted writes follow each other without waiting: a command and its doorbell are one way across, data, "
      "completion and "
      "interrupt another.",
      "What is fetched (a write's data; the command, with its queue at the borrower; a list) is one round trip for "
      "each "
      "kind: all its requests are on their way at once.",
      "A CPU's load across the link would be a round trip of its own.",
      "The link is no narrower than the drive's, and switches cut through: bytes cost nothing that the drive's own "
      "link "
      "doesn't cost.",
      fmt::format("A bounce buffer is copied at {:.0f} to {:.0f} GB/s. What a CPU copies is measured.",
                  assumptions.copy_gb_s.low, assumptions.copy_gb_s.high),
      "Software takes as long as the stock driver's; how much more or less it is, the instructions say. An IOMMU's "
      "costs are "
      "not in it.",
  };
}

CriticalPath critical_path(const bench::Ledger& per_io) {
  CriticalPath path;
  if (for_each_io(per_io, "posted doorbell") > 0 || for_each_io(per_io, "posted command") > 0) ++path.one_way;
  if (for_each_io(per_io, "posted completion") > 0) ++path.one_way;
  for (const char* fetched : {"non-posted command", "non-posted list", "non-posted data"}) {
    if (for_each_io(per_io, fetched) > 0) ++path.round_trips;
  }
  for (const char* loaded :
       {"non-posted doorbell", "non-posted completion", "non-posted message", "non-posted control"}) {
    path.round_trips += for_each_io(per_io, loaded);
  }
  return path;
}

Range added_latency(const CriticalPath& path, double copied_bytes, const Assumptions& assumptions) {
  const double chips = (path.one_way + 2.0 * path.round_trips) * assumptions.chips;
  const double bytes_per_us = 1e3;  // at 1 GB/s
  return {.low = chips * assumptions.chip_us.low + copied_bytes / (assumptions.copy_gb_s.high * bytes_per_us),
          .high = chips * assumptions.chip_us.high + copied_bytes / (assumptions.copy_gb_s.low * bytes_per_us)};
}

Published published_remote() { return {.what = "a remote drive over PCIe", .read_us = 1, .write_us = 2}; }

Published published_rdma() { return {.what = "NVMe-oF/RDMA", .read_us = 7.7, .write_us = 7.5}; }

}  // namespace smartio::bench_compare
