// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartio::bench_failover {

/// A line of fio's log of latencies.
struct Entry {
  double at_ms = 0;  ///< when it was completed, or a little later: milliseconds of CLOCK_REALTIME
  double ms = 0;     ///< the latency
};

/// A moment and a later one, milliseconds of CLOCK_REALTIME on the host where fio runs.
struct Interval {
  double from_ms = 0;
  double to_ms = 0;
};

/// Of fio's --write_lat_log with --log_unix_epoch=1.
Result<std::vector<Entry>> parse_latencies(std::string_view log);

/// The longest time of an I/O that was completed in each interval, in milliseconds. With one I/O at a time that is the
/// time in which none was completed. An interval without a completion is an error. `entries` and `intervals` are in the
/// order of time.
Result<std::vector<double>> blackouts(const std::vector<Entry>& entries, const std::vector<Interval>& intervals);

}  // namespace smartio::bench_failover
