// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/fio.h"

namespace smartio::bench_share {

/// One arrangement of driver, host and drive.
struct Setup {
  std::string name;
  std::string host;        ///< where fio runs
  std::string drive;       ///< the fabric's name of the drive it uses
  bool stock;              ///< the kernel's own nvme driver, else smartio_nvme
  std::string parameters;  ///< of the driver's module, besides poll_queues
  std::string compare;     ///< name of the setup whose figures its ratios are against; empty: none
};

/// What fio does in a setup.
struct Case {
  bool poll;       ///< completions are polled for, else they interrupt
  bool write;      ///< else reads
  unsigned depth;  ///< requests in flight
};

/// On the topology pair-bench. Setups with the stock driver come first, as the drives can't be lent meanwhile.
const std::vector<Setup>& all_setups();
/// 4 KiB reads and writes at depth 1 and 32, by interrupt and polled.
std::vector<Case> all_cases();
std::string name_of(const Case& one);
/// The same job for every driver, on the host's second CPU.
bench::FioJob job_of(const Case& one);

}  // namespace smartio::bench_share
