// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/fio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace smartio::bench {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

json fio_output() {
  return {{"jobs",
           {{{"error", 0},
             {"read",
              {{"total_ios", 1000},
               {"iops", 1234.5},
               {"lat_ns",
                {{"min", 9000},
                 {"percentile",
                  {{"25.000000", 15000},
                   {"50.000000", 20000},
                   {"75.000000", 30000},
                   {"99.000000", 81000},
                   {"99.900000", 99000}}}}}}}}}}};
}

TEST(Fio, CommandOfAJob) {
  const auto words = fio_command({.rw = "randwrite", .block = "128k", .depth = 8, .cpus = "1"}, "/dev/nvme0n1", 7);
  EXPECT_EQ(words[0], "fio");
  for (const char* word :
       {"--rw=randwrite", "--iodepth=8", "--runtime=7", "--filename=/dev/nvme0n1", "--bs=128k", "--cpus_allowed=1"}) {
    EXPECT_THAT(words, Contains(word));
  }
  EXPECT_THAT(words, Not(Contains("--hipri=1")));
  EXPECT_THAT(fio_command({.poll = true}, "/dev/x", 1), Contains("--hipri=1"));
}

TEST(Fio, OutputIsRead) {
  const auto result = parse_fio("a warning\n" + fio_output().dump(), false);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_DOUBLE_EQ(result->iops, 1234.5);
  EXPECT_DOUBLE_EQ(result->min_us, 9);
  EXPECT_DOUBLE_EQ(result->median_us, 20);
  EXPECT_DOUBLE_EQ(result->p25_us, 15);
  EXPECT_DOUBLE_EQ(result->p75_us, 30);
  EXPECT_DOUBLE_EQ(result->p99_us, 81);
  EXPECT_DOUBLE_EQ(result->p999_us, 99);
}

TEST(Fio, WhatIsNotAResultIsAnError) {
  EXPECT_THAT(parse_fio("fio: no such file", false).error().message, HasSubstr("no such file"));
  EXPECT_THAT(parse_fio("{\"jobs\":[]}", false).error().message, HasSubstr("not as expected"));
  EXPECT_THAT(parse_fio(fio_output().dump(), true).error().message, HasSubstr("not as expected"));
  json bad = fio_output();
  bad["jobs"][0]["error"] = 5;
  EXPECT_THAT(parse_fio(bad.dump(), false).error().message, HasSubstr("error 5"));
  bad = fio_output();
  bad["jobs"][0]["read"]["total_ios"] = 0;
  EXPECT_THAT(parse_fio(bad.dump(), false).error().message, HasSubstr("no I/O"));
}

}  // namespace
}  // namespace smartio::bench
