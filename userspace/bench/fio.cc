// SPDX-License-Identifier: GPL-2.0
#include "bench/fio.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace smartio::bench {

using nlohmann::json;

Result<FioResult> parse_fio(std::string_view text, bool write) {
  const auto begin = text.find('{');
  if (begin == std::string_view::npos) return fail(fmt::format("fio printed no JSON: {:.300}", text));
  try {
    const json job = json::parse(text.substr(begin)).at("jobs").at(0);
    if (const int error = job.at("error"); error != 0) return fail(fmt::format("fio met error {}", error));
    const json& direction = job.at(write ? "write" : "read");
    if (direction.at("total_ios").get<std::uint64_t>() == 0) return fail("fio did no I/O");
    const json& latency = direction.at("lat_ns");
    auto microseconds = [](const json& nanoseconds) { return nanoseconds.get<double>() / 1000; };
    return FioResult{.iops = direction.at("iops"),
                     .min_us = microseconds(latency.at("min")),
                     .median_us = microseconds(latency.at("percentile").at("50.000000")),
                     .p99_us = microseconds(latency.at("percentile").at("99.000000"))};
  } catch (const json::exception& error) {
    return fail(fmt::format("fio's JSON is not as expected: {}", error.what()));
  }
}

}  // namespace smartio::bench
