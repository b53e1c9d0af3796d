// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench_share/setups.h"
#include "common/result.h"

namespace smartio::bench_share {

/// What fio measured. Latencies are from submission to completion as the program sees them, in microseconds.
struct FioResult {
  double iops = 0;
  double min_us = 0;
  double median_us = 0;
  double p99_us = 0;
};

/// fio's words for a case: the same job for every driver, on the host's second CPU.
std::vector<std::string> fio_command(const Case& one, std::string_view disk, unsigned seconds);
/// Of fio's --output-format=json; what comes before the first '{' (warnings) is skipped. An I/O error is an error.
Result<FioResult> parse_fio(std::string_view text, bool write);

}  // namespace smartio::bench_share
