// SPDX-License-Identifier: GPL-2.0
#include "bench/sample.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace smartio::bench {
namespace {

using nlohmann::json;

TEST(Samples, ReadWhatCountersSay) {
  const auto sum = instructions_from(json::parse(R"({"user":[1,2],"kernel":[10,20]})"));
  EXPECT_EQ(sum.user, 3);
  EXPECT_EQ(sum.kernel, 30);
  const json direction = {{"posted", {{"data", {{"transactions", 2}, {"bytes", 9}}}}},
                          {"non_posted", {{"data", {{"transactions", 1}, {"bytes", 9}}}}},
                          {"dropped", 0}};
  const json ledger = {{"links", {{"cable0", {{"from_primary", direction}, {"from_secondary", direction}}}}}};
  EXPECT_EQ(ledger_from(ledger), (Ledger{{"posted data", {4, 18}}, {"non-posted data", {2, 18}}}));
}

TEST(Samples, ReadWhatADriveDid) {
  const auto work =
      drive_work_from({{"bytes_read", 100}, {"bytes_written", 7}, {"commands", {{"read", 3}, {"write", 2}}}});
  EXPECT_EQ(work.bytes, 107);
  EXPECT_EQ(work.commands, 5);
}

TEST(Samples, AnIoIsWhatIsLeftWithoutTheIdleHost) {
  const std::vector<Sample> samples{
      {.seconds = 0, .ios = 0, .hosts = {{"a", {.user = 0, .kernel = 0}}}, .ledger = {{"posted data", {5, 50}}}},
      {.seconds = 1, .ios = 100, .hosts = {{"a", {.user = 1000, .kernel = 3000}}}, .ledger = {}},
      {.seconds = 2,
       .ios = 200,
       .hosts = {{"a", {.user = 2000, .kernel = 7000}}},
       .ledger = {{"posted data", {405, 850}}}}};
  const Rates idle{{"a", {.user = 100, .kernel = 200}}};
  const PerIo io = per_io(samples, idle);
  EXPECT_DOUBLE_EQ(io.hosts.at("a").min, 37);
  EXPECT_DOUBLE_EQ(io.hosts.at("a").median, 42);
  EXPECT_DOUBLE_EQ(io.hosts.at("a").max, 47);
  EXPECT_DOUBLE_EQ(io.kernel.at("a").min, 28);
  EXPECT_EQ(io.ledger.at("posted data"), (Traffic{.transactions = 2, .bytes = 4}));
}

TEST(Samples, WithoutAnIoThereIsNothingToSay) {
  const std::vector<Sample> samples{{.seconds = 0, .ios = 7, .hosts = {{"a", {}}}, .ledger = {}},
                                    {.seconds = 1, .ios = 7, .hosts = {{"a", {}}}, .ledger = {}}};
  EXPECT_TRUE(per_io(samples, {}).hosts.empty());
  EXPECT_TRUE(per_io({}, {}).hosts.empty());
}

}  // namespace
}  // namespace smartio::bench
