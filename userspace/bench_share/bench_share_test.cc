// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench_share/fio.h"
#include "bench_share/report.h"
#include "bench_share/sample.h"
#include "bench_share/symbols.h"

namespace smartio::bench_share {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST(Fio, CommandOfACase) {
  const auto words = fio_command({.poll = false, .write = true, .depth = 32}, "/dev/nvme0n1", 7);
  EXPECT_EQ(words[0], "fio");
  for (const char* word : {"--rw=randwrite", "--iodepth=32", "--runtime=7", "--filename=/dev/nvme0n1", "--bs=4k"}) {
    EXPECT_THAT(words, Contains(word));
  }
  EXPECT_THAT(words, Not(Contains("--hipri=1")));
  EXPECT_THAT(fio_command({.poll = true, .write = false, .depth = 1}, "/dev/x", 1), Contains("--hipri=1"));
}

TEST(Samples, ReadWhatCountersSay) {
  const auto sum = instructions_from(json::parse(R"({"user":[1,2],"kernel":[10,20]})"));
  EXPECT_EQ(sum.user, 3);
  EXPECT_EQ(sum.kernel, 30);
  const json direction = {{"posted", {{"data", {{"transactions", 2}, {"bytes", 9}}}}},
                          {"non_posted", {{"data", {{"transactions", 1}, {"bytes", 9}}}}},
                          {"dropped", 0}};
  const json ledger = {{"links", {{"cable0", {{"from_primary", direction}, {"from_secondary", direction}}}}}};
  EXPECT_EQ(ledger_from(ledger), (std::map<std::string, double>{{"posted data", 4}, {"non-posted data", 2}}));
}

TEST(Samples, AnIoIsWhatIsLeftWithoutTheIdleHost) {
  const std::vector<Sample> samples{
      {.seconds = 0, .ios = 0, .hosts = {{"a", {.user = 0, .kernel = 0}}}, .ledger = {{"posted data", 5}}},
      {.seconds = 1, .ios = 100, .hosts = {{"a", {.user = 1000, .kernel = 3000}}}, .ledger = {}},
      {.seconds = 2, .ios = 200, .hosts = {{"a", {.user = 2000, .kernel = 7000}}}, .ledger = {{"posted data", 405}}}};
  const Rates idle{{"a", {.user = 100, .kernel = 200}}};
  const PerIo io = per_io(samples, idle);
  EXPECT_DOUBLE_EQ(io.hosts.at("a").min, 37);
  EXPECT_DOUBLE_EQ(io.hosts.at("a").median, 42);
  EXPECT_DOUBLE_EQ(io.hosts.at("a").max, 47);
  EXPECT_DOUBLE_EQ(io.kernel.at("a").min, 28);
  EXPECT_DOUBLE_EQ(io.ledger.at("posted data"), 2);
}

TEST(Samples, WithoutAnIoThereIsNothingToSay) {
  const std::vector<Sample> samples{{.seconds = 0, .ios = 7, .hosts = {{"a", {}}}, .ledger = {}},
                                    {.seconds = 1, .ios = 7, .hosts = {{"a", {}}}, .ledger = {}}};
  EXPECT_TRUE(per_io(samples, {}).hosts.empty());
  EXPECT_TRUE(per_io({}, {}).hosts.empty());
}

constexpr const char* kKallsyms =
    "ffffffff81000000 T _stext\nffffffff81000000 T startup\nffffffff81000100 t queue_rq\nffffffff81000100 t "
    "other_name\n"
    "ffffffff81000180 D some_data\nffffffffc0000000 t snvme_irq\t[smartio_nvme]\nnonsense\n0000000000000000 t hidden\n";

TEST(Symbols, NameCode) {
  const Symbols symbols(kKallsyms);
  EXPECT_EQ(symbols.name(0xFFFFFFFF81000000), "startup");
  EXPECT_EQ(symbols.name(0xFFFFFFFF81000190), "queue_rq");
  EXPECT_EQ(symbols.name(0xFFFFFFFFC0000040), "snvme_irq [smartio_nvme]");
  EXPECT_EQ(symbols.name(0xFFFFFFFF80000000), "?");
  EXPECT_TRUE(Symbols("").empty());
}

TEST(Symbols, SumUpBlocks) {
  const json before = {{"user", 10}, {"other", 0}, {"kernel", {{0xFFFFFFFF81000100, 5}}}};
  const json after = {{"user", 30},
                      {"other", 0},
                      {"kernel", {{0xFFFFFFFF81000100, 8}, {0xFFFFFFFF81000110, 4}, {0xFFFFFFFFC0000000, 2}}}};
  EXPECT_EQ(by_function(before, after, Symbols(kKallsyms)),
            (std::map<std::string, double>{{"(processes)", 20}, {"queue_rq", 7}, {"snvme_irq [smartio_nvme]", 2}}));
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
