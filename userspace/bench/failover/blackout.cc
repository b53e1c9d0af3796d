// SPDX-License-Identifier: GPL-2.0
#include "bench/failover/blackout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ranges>
#include <system_error>

namespace smartio::bench_failover {

Result<std::vector<Entry>> parse_latencies(std::string_view log) {
  std::vector<Entry> entries;
  for (const auto part : log | std::views::split('\n')) {
    const std::string_view line(part.begin(), part.end());
    if (line.empty()) continue;
    // "time in ms, latency in ns, direction, …"
    Entry entry;
    const char* const end = line.data() + line.size();
    const auto time = std::from_chars(line.data(), end, entry.at_ms);
    const char* at = time.ptr;
    while (at != end && (*at == ',' || *at == ' ')) ++at;
    const auto latency = std::from_chars(at, end, entry.ms);
    if (time.ec != std::errc() || latency.ec != std::errc() || at == time.ptr)
      return fail(fmt::format("fio's log is not as expected: {:.80}", line));
    entry.ms /= 1e6;
    entries.push_back(entry);
  }
  return entries;
}

Result<std::vector<double>> blackouts(const std::vector<Entry>& entries, const std::vector<Interval>& intervals) {
  std::vector<double> all;
  for (const Interval& interval : intervals) {
    const auto first = std::ranges::lower_bound(entries, interval.from_ms, {}, &Entry::at_ms);
    const auto last = std::ranges::upper_bound(entries, interval.to_ms, {}, &Entry::at_ms);
    if (first >= last)
      return fail(fmt::format("fio completed nothing between {:.0f} and {:.0f} ms", interval.from_ms, interval.to_ms));
    all.push_back(std::ranges::max_element(first, last, {}, &Entry::ms)->ms);
  }
  return all;
}

}  // namespace smartio::bench_failover
