// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/failover/blackout.h"
#include "bench/failover/report.h"
#include "bench/failover/rig.h"

namespace smartio::bench_failover {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Latencies, AreRead) {
  const auto entries =
      parse_latencies("1763800000123, 1500000, 0, 4096, 0, 0\n1763800000140, 90000000, 1, 4096, 0, 0\n");
  ASSERT_TRUE(entries) << entries.error().message;
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_DOUBLE_EQ((*entries)[0].at_ms, 1763800000123);
  EXPECT_DOUBLE_EQ((*entries)[0].ms, 1.5);
  EXPECT_DOUBLE_EQ((*entries)[1].ms, 90);
  EXPECT_TRUE(parse_latencies("")->empty());
}

TEST(Latencies, WhatIsNoLogIsAnError) {
  EXPECT_THAT(parse_latencies("fio: no such file\n").error().message, HasSubstr("no such file"));
  EXPECT_FALSE(parse_latencies("12\n"));
}

TEST(Blackouts, AreTheLongestOfTheirInterval) {
  const std::vector<Entry> entries{{10, 1}, {20, 2}, {120, 95}, {130, 3}, {400, 250}, {410, 1}};
  const auto all = blackouts(entries, {{20, 130}, {140, 405}});
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_THAT(*all, ElementsAre(95, 250));
  EXPECT_THAT(blackouts(entries, {{140, 200}}).error().message, HasSubstr("nothing"));
}

TEST(Paths, AreRead) {
  const auto paths = parse_paths("0 nvme1 live ntb0 120\n1 nvme2 connecting 192.168.78.1 7\n");
  ASSERT_TRUE(paths) << paths.error().message;
  ASSERT_EQ(paths->size(), 2U);
  EXPECT_EQ((*paths)[1].cable, 1U);
  EXPECT_EQ((*paths)[1].controller, "nvme2");
  EXPECT_EQ((*paths)[1].state, "connecting");
  EXPECT_DOUBLE_EQ((*paths)[0].ios, 120);
  EXPECT_THAT(parse_paths("no such path\n").error().message, HasSubstr("no such path"));
}

TEST(Paths, TheBusiestIsTheOneThatDidMost) {
  const std::vector<Path> before{{0, "nvme1", "live", 100}, {1, "nvme2", "live", 500}};
  EXPECT_EQ(busiest(before, {{0, "nvme1", "live", 300}, {1, "nvme2", "live", 510}}), 0U);
  EXPECT_EQ(busiest(before, {{0, "nvme1", "live", 100}, {1, "nvme2", "live", 501}}), 1U);
  EXPECT_FALSE(busiest(before, before)) << "idle";
}

TEST(Report, SaysWhetherTheAimIsReached) {
  Figures figures;
  figures.blackouts.push_back({.transport = Transport::smartio, .how = Loss::down, .ms = {20, 30, 90}, .stopped = {}});
  figures.blackouts.push_back(
      {.transport = Transport::nvmeof_tcp, .how = Loss::silent, .ms = {5000, 9000}, .stopped = "pulled"});
  EXPECT_THAT(report(figures), HasSubstr("30.0, reached"));
  EXPECT_THAT(report(figures), HasSubstr("ended early: pulled"));
  figures.blackouts[0].ms = {150};
  EXPECT_THAT(report(figures), HasSubstr("150.0, MISSED"));
  EXPECT_EQ(to_json(figures)["blackouts"][1]["median_ms"], 7000);
}

TEST(Report, ThroughputIsAgainstTheFirstOfItsJob) {
  Figures figures;
  figures.throughput.push_back({.paths = "both", .job = "read 4k", .fio = {.iops = 1000}});
  figures.throughput.push_back({.paths = "one", .job = "read 4k", .fio = {.iops = 500}});
  EXPECT_THAT(report(figures), HasSubstr("0.50"));
}

}  // namespace
}  // namespace smartio::bench_failover
