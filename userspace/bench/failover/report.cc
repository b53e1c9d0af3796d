// SPDX-License-Identifier: GPL-2.0
#include "bench/failover/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/guests/spread.h"

namespace smartio::bench_failover {

using nlohmann::ordered_json;

namespace {

constexpr double kMostMs = 100;  // of the median after a cable was pulled: the aim

}  // namespace

std::string_view name_of(Loss loss) {
  switch (loss) {
    case Loss::none:
      return "not lost";
    case Loss::down:
      return "down";
    case Loss::silent:
      break;
  }
  return "silent";
}

std::string report(const Figures& figures) {
  std::string text = "the longest that an I/O took, one at a time, from the loss of its cable until I/O goes on, ms\n";
  text += fmt::format("{:<14}{:<10}{:>9}{:>10}{:>10}{:>10}{:>10}\n", "", "cable", "samples", "min", "median", "99th",
                      "max");
  for (const Blackout& one : figures.blackouts) {
    const bench::Spread spread = bench::spread_of(one.ms);
    text += fmt::format("{:<14}{:<10}{:>9}{:>10.1f}{:>10.1f}{:>10.1f}{:>10.1f}\n", name_of(one.transport),
                        name_of(one.how), one.ms.size(), spread.min, spread.median, spread.p99, spread.max);
    if (!one.stopped.empty()) text += fmt::format("  ended early: {}\n", one.stopped);
  }
  for (const Blackout& one : figures.blackouts) {
    if (one.transport != Transport::smartio || one.how != Loss::down || one.ms.empty()) continue;
    const double median = bench::spread_of(one.ms).median;
    text += fmt::format("aim: median of a pulled cable at most {:.0f} ms: {:.1f}, {}\n", kMostMs, median,
                        median <= kMostMs ? "reached" : "MISSED");
  }
  if (figures.throughput.empty()) return text;
  text +=
      fmt::format("\n{:<34}{:<16}{:>10}{:>12}{:>12}{:>8}\n", "paths", "job", "IOPS", "median us", "99th us", "ratio");
  for (const Throughput& one : figures.throughput) {
    const auto first = std::ranges::find(figures.throughput, one.job, &Throughput::job);
    text += fmt::format("{:<34}{:<16}{:>10.0f}{:>12.0f}{:>12.0f}{:>8.2f}\n", one.paths, one.job, one.fio.iops,
                        one.fio.median_us, one.fio.p99_us, one.fio.iops / first->fio.iops);
  }
  return text;
}

ordered_json to_json(const Figures& figures) {
  ordered_json out{{"blackouts", ordered_json::array()}, {"throughput", ordered_json::array()}};
  for (const Blackout& one : figures.blackouts) {
    const bench::Spread spread = bench::spread_of(one.ms);
    out["blackouts"].push_back({{"transport", name_of(one.transport)},
                                {"cable", name_of(one.how)},
                                {"min_ms", spread.min},
                                {"median_ms", spread.median},
                                {"p99_ms", spread.p99},
                                {"max_ms", spread.max},
                                {"samples_ms", one.ms}});
  }
  for (const Throughput& one : figures.throughput) {
    out["throughput"].push_back({{"paths", one.paths},
                                 {"job", one.job},
                                 {"iops", one.fio.iops},
                                 {"median_us", one.fio.median_us},
                                 {"p99_us", one.fio.p99_us}});
  }
  return out;
}

}  // namespace smartio::bench_failover
