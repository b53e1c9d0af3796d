// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartio::bench {

/// A job for fio: direct I/O by io_uring on the first 256 MiB of a disk, for a time.
struct FioJob {
  std::string rw = "randread";  ///< fio's own word
  std::string block = "4k";     ///< bytes of a request, as fio takes them
  unsigned depth = 1;           ///< requests in flight
  bool poll = false;            ///< completions are polled for, else they interrupt
  std::string cpus{};           ///< that it may run on; empty: all
};
/// fio's words for it; its output is for parse_fio().
std::vector<std::string> fio_command(const FioJob& job, std::string_view disk, unsigned seconds);

/// fio's results. Latencies are from submission to completion as the program sees them, in microseconds.
struct FioResult {
  double iops = 0;
  double min_us = 0;
  double p25_us = 0;
  double median_us = 0;
  double p75_us = 0;
  double p99_us = 0;
  double p999_us = 0;
};

/// Parses the output of fio_command(); text before the first '{' (warnings) is skipped. An I/O error is an error.
Result<FioResult> parse_fio(std::string_view text, bool write);

}  // namespace smartio::bench
