// SPDX-License-Identifier: GPL-2.0
#include "bench_share/fio.h"

#include <fmt/format.h>

namespace smartio::bench_share {

std::vector<std::string> fio_command(const Case& one, std::string_view disk, unsigned seconds) {
  std::vector<std::string> words{"fio",
                                 "--name=bench",
                                 fmt::format("--filename={}", disk),
                                 "--allow_file_create=0",
                                 "--direct=1",
                                 "--ioengine=io_uring",
                                 "--bs=4k",
                                 fmt::format("--rw={}", one.write ? "randwrite" : "randread"),
                                 fmt::format("--iodepth={}", one.depth),
                                 "--size=256m",
                                 "--norandommap",
                                 "--cpus_allowed=1",
                                 "--time_based",
                                 fmt::format("--runtime={}", seconds),
                                 "--clat_percentiles=0",
                                 "--lat_percentiles=1",
                                 "--percentile_list=50:99",
                                 "--output-format=json"};
  if (one.poll) words.emplace_back("--hipri=1");
  return words;
}

}  // namespace smartio::bench_share
