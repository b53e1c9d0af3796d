// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string_view>

#include "common/result.h"

namespace smartio::bench {

/// What fio measured. Latencies are from submission to completion as the program sees them, in microseconds.
struct FioResult {
  double iops = 0;
  double min_us = 0;
  double median_us = 0;
  double p99_us = 0;
};

/// Of fio's --output-format=json with --lat_percentiles=1 and the percentiles 50 and 99; what comes before the first
/// '{' (warnings) is skipped. An I/O error is an error.
Result<FioResult> parse_fio(std::string_view text, bool write);

}  // namespace smartio::bench
