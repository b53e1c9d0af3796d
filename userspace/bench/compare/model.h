// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/guests/sample.h"

namespace smartio::bench_compare {

/// A range of times, in microseconds.
struct Range {
  double low = 0;
  double high = 0;
  [[nodiscard]] bool holds(double value) const { return low <= value && value <= high; }
};

/// The model's assumptions about a real PCIe cluster.
struct Assumptions {
  unsigned chips = 3;                       ///< switch chips between the hosts: an adapter's, a switch's, an adapter's
  Range chip_us{.low = 0.1, .high = 0.15};  ///< that each delays a transaction, in one direction (published)
  Range copy_gb_s{.low = 10, .high = 20};   ///< at which a CPU copies a bounce buffer, GB/s
};
/// Each in a sentence, for the report.
std::vector<std::string> sentences(const Assumptions& assumptions);

/// How often an I/O has to wait for the path across, one thing after another.
struct CriticalPath {
  unsigned one_way = 0;      ///< posted: the doorbell with all before it, then the completion with all before it
  unsigned round_trips = 0;  ///< non-posted: a command, a list, or the data of a write is fetched from the other side
};
/// The critical path of one I/O at depth 1, by the ledger of its transactions. Requests of one kind are all in flight
/// at once.
CriticalPath critical_path(const bench::Ledger& per_io);

/// The latency that it adds to that of a drive in the same host. `copied_bytes`: bytes that the CPU copies for an I/O,
/// beyond those of a local I/O.
Range added_latency(const CriticalPath& path, double copied_bytes, const Assumptions& assumptions);

/// The smallest latency added to a local drive's that the papers measured, in microseconds; published.h names them.
struct Published {
  std::string what;
  double read_us;
  double write_us;
};
Published published_remote();  ///< a remote drive over PCIe: SQ at the lender, bounce buffer, polling
Published published_rdma();    ///< NVMe-oF/RDMA

}  // namespace smartio::bench_compare
