// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/fio.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace smartio::bench {

using nlohmann::json;

std::vector<std::string> fio_command(const FioJob& job, std::string_view disk, unsigned seconds) {
  std::vector<std::string> words{"fio",
                                 "--name=bench",
                                 fmt::format("--filename={}", disk),
                                 "--allow_file_create=0",
                                 "--direct=1",
                                 "--ioengine=io_uring",
                                 fmt::format("--bs={}", job.block),
                                 fmt::format("--rw={}", job.rw),
                                 fmt::format("--iodepth={}", job.depth),
                                 "--size=256m",
                                 "--norandommap",
                                 "--time_based",
                                 fmt::format("--runtime={}", seconds),
                                 "--clat_percentiles=0",
                                 "--lat_percentiles=1",
                                 "--percentile_list=25:50:75:99:99.9",
                                 "--output-format=json"};
  if (!job.cpus.empty()) words.push_back(fmt::format("--cpus_allowed={}", job.cpus));
  if (job.poll) words.emplace_back("--hipri=1");
  return words;
}

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
    auto percentile = [&](const char* which) { return microseconds(latency.at("percentile").at(which)); };
    return FioResult{.iops = direction.at("iops"),
                     .min_us = microseconds(latency.at("min")),
                     .p25_us = percentile("25.000000"),
                     .median_us = percentile("50.000000"),
                     .p75_us = percentile("75.000000"),
                     .p99_us = percentile("99.000000"),
                     .p999_us = percentile("99.900000")};
  } catch (const json::exception& error) {
    return fail(fmt::format("fio's JSON is not as expected: {}", error.what()));
  }
}

}  // namespace smartio::bench
