// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench_share/report.h"
#include "bench_share/setups.h"

namespace smartio::bench_share {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Setups, AreComparedToOthersThatComeFirst) {
  std::vector<std::string> before;
  for (const auto& setup : all_setups()) {
    EXPECT_EQ(setup.stock, setup.compare.empty());
    if (!setup.stock) {
      EXPECT_THAT(before, Contains(setup.compare));
    }
    before.push_back(setup.name);
  }
  EXPECT_EQ(all_cases().size(), 8U);
  EXPECT_EQ(name_of({.poll = true, .write = false, .depth = 32}), "poll-read-qd32");
}

TEST(Cases, AreJobsForFio) {
  const auto job = job_of({.poll = true, .write = true, .depth = 32});
  EXPECT_EQ(job.rw, "randwrite");
  EXPECT_EQ(job.depth, 32U);
  EXPECT_TRUE(job.poll);
  EXPECT_EQ(job_of({.poll = false, .write = false, .depth = 1}).rw, "randread");
}

Measured measured(std::size_t setup, const Case& what, double instructions, double median_us) {
  const Setup& one = all_setups().at(setup);
  return {.setup = one,
          .what = what,
          .fio = {.iops = 1, .min_us = 1, .median_us = median_us, .p99_us = 1},
          .io = {.hosts = {{one.host, {.min = 0, .median = instructions, .max = 0}}}, .kernel = {}, .ledger = {}},
          .rates = {{"lender", {.min = 1, .median = 100, .max = 200}}},
          .functions = {{"f", instructions}},
          .idle = {.rates = {}, .spread = {{"lender", {.min = 80, .median = 90, .max = 120}}}}};
}

TEST(Report, RatiosAreAgainstTheSameCase) {
  const Case read{.poll = false, .write = false, .depth = 1};
  const Case write{.poll = false, .write = true, .depth = 1};
  const std::vector<Measured> all{measured(1, read, 1000, 20), measured(1, write, 500, 20),
                                  measured(3, read, 1050, 20)};
  EXPECT_FALSE(ratio(all[0], all));
  EXPECT_DOUBLE_EQ(ratio(all[2], all).value(), 1.05);
  EXPECT_THAT(table(all), HasSubstr("1.050"));
  EXPECT_THAT(functions_table(all[2], all, 5), AllOf(HasSubstr("1050.0"), HasSubstr("1000.0"), HasSubstr("+50.0")));
  const auto out = to_json(all);
  EXPECT_EQ(out.at("measured").size(), 3U);
  EXPECT_DOUBLE_EQ(out["measured"][2]["ratio"].get<double>(), 1.05);
}

TEST(Report, SaysWhichAimsWereReached) {
  const Case read{.poll = false, .write = false, .depth = 1};
  const Case poll{.poll = true, .write = false, .depth = 1};
  std::vector<Measured> all{measured(1, read, 1000, 20), measured(3, read, 1200, 20), measured(3, poll, 900, 15)};
  auto list = aims(all);
  ASSERT_EQ(list.size(), 4U);
  EXPECT_FALSE(list[0].reached) << list[0].what;
  EXPECT_TRUE(list[1].reached) << list[1].what;
  EXPECT_TRUE(list[3].reached) << list[3].what;
  all[1].rates["lender"].median = 140;
  all[2].fio.median_us = 21;
  list = aims(all);
  EXPECT_FALSE(list[1].reached);
  EXPECT_FALSE(list[3].reached);
  EXPECT_THAT(aims_table(all), HasSubstr("MISSED"));
}

}  // namespace
}  // namespace smartio::bench_share
