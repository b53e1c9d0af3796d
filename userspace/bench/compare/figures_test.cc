// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/compare/machine.h"
#include "bench/compare/test_figures.h"

namespace smartio::bench_compare {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Scenarios, AreComparedToTheStockDriverOfTheirHost) {
  for (const Scenario& scenario : all_scenarios()) {
    EXPECT_TRUE(scenario.driver == Driver::stock || !scenario.stock.empty()) << scenario.name;
    if (scenario.stock.empty()) continue;
    const Scenario* stock = find_scenario(scenario.stock);
    ASSERT_NE(stock, nullptr) << scenario.name;
    EXPECT_EQ(stock->host, scenario.host) << scenario.name;
    EXPECT_EQ(stock->driver, Driver::stock) << scenario.name;
    EXPECT_TRUE(stock->stock.empty()) << scenario.name;
  }
  for (const auto& name : quick_scenarios()) EXPECT_NE(find_scenario(name), nullptr) << name;
  EXPECT_EQ(find_scenario("nothing"), nullptr);
}

TEST(Scenarios, LatencyIsComparedOnTheSameEmulatedParts) {
  for (const char* same : {"stock-borrower", "stock-multipath", "local", "remote", "remote-sq-borrower", "lent"})
    EXPECT_TRUE(find_scenario(same)->latency_comparable()) << same;
  for (const char* other : {"remote-poll", "remote-bounce", "remote-bounce-poll", "nvmeof-tcp", "nvmeof-rdma"})
    EXPECT_FALSE(find_scenario(other)->latency_comparable()) << other;
}

TEST(Scenarios, OnlyThoseOfOtherHostsDrivesPassTheCable) {
  for (const char* passes : {"remote", "remote-bounce-poll", "lent"})
    EXPECT_TRUE(find_scenario(passes)->over_cable()) << passes;
  for (const char* stays : {"stock-borrower", "stock-lender", "local", "nvmeof-tcp"})
    EXPECT_FALSE(find_scenario(stays)->over_cable()) << stays;
  for (const auto& name : lending_scenarios()) EXPECT_NE(find_scenario(name), nullptr) << name;
}

TEST(Jobs, AreFiosWords) {
  EXPECT_THAT(all_jobs(), SizeIs(8));
  for (const auto& name : quick_jobs()) EXPECT_NE(find_job(name), nullptr) << name;
  const auto words =
      bench::fio_command(fio_job(*find_scenario("remote-poll"), *find_job("write-128k-qd8")), "/dev/x", 3);
  for (const char* word : {"--rw=write", "--bs=128k", "--iodepth=8", "--hipri=1"}) EXPECT_THAT(words, Contains(word));
  EXPECT_TRUE(find_job("write-4k-qd32")->write());
  EXPECT_FALSE(find_job("read-128k-qd8")->write());
}

TEST(Cells, RatiosAreOfTheSameRound) {
  Figures figures;
  figures.measured = {
      measured("stock-borrower", "read-4k-qd1", 0, 1000, 100), measured("remote", "read-4k-qd1", 0, 1100, 200),
      measured("stock-borrower", "read-4k-qd1", 1, 1000, 400), measured("remote", "read-4k-qd1", 1, 1300, 400),
      measured("remote", "read-4k-qd1", 2, 9000, 9000)};
  const Cell cell(figures, *find_scenario("remote"), *find_job("read-4k-qd1"));
  const auto latency = cell.ratio([](const Measured& one) { return one.fio.median_us; });
  ASSERT_TRUE(latency);
  EXPECT_DOUBLE_EQ(latency->median, 1.5);
  EXPECT_DOUBLE_EQ(latency->min, 1);
  EXPECT_DOUBLE_EQ(latency->max, 2);
  EXPECT_DOUBLE_EQ(cell.ratio(own_instructions)->median, 1.2);
  EXPECT_DOUBLE_EQ(cell.on(kBorrower, Count::instructions), 1300);
  EXPECT_FALSE(Cell(figures, *find_scenario("stock-borrower"), *find_job("read-4k-qd1")).ratio(own_instructions));
  EXPECT_TRUE(Cell(figures, *find_scenario("remote"), *find_job("write-4k-qd1")).empty());
  EXPECT_THAT(cells(figures), SizeIs(2));
}

TEST(Cells, LedgersAreMedians) {
  Figures figures;
  for (const double bytes : {1.0, 5.0, 2.0}) {
    figures.measured.push_back(measured("remote", "read-4k-qd1", 0, 1, 1));
    figures.measured.back().ledger = {{"posted data", {.transactions = 2 * bytes, .bytes = bytes}}};
  }
  figures.measured.back().ledger["posted message"] = {.transactions = 3, .bytes = 3};
  const auto ledger = Cell(figures, *find_scenario("remote"), *find_job("read-4k-qd1")).ledger();
  EXPECT_EQ(ledger.at("posted data"), (bench::LedgerCell{.transactions = 4, .bytes = 2}));
  EXPECT_EQ(ledger.at("posted message"), (bench::LedgerCell{.transactions = 0, .bytes = 0}));
}

TEST(Prediction, IsOfWaysOverPcieOnly) {
  const auto all = predict(some_figures(), {});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].scenario.name, "remote-bounce-poll");
  ASSERT_TRUE(all[0].added_us);
  EXPECT_DOUBLE_EQ(all[0].copied_bytes, 4096);
  EXPECT_TRUE(all[0].added_us->holds(all[0].published_us.value()));
  EXPECT_EQ(all[1].scenario.name, "nvmeof-rdma");
  EXPECT_FALSE(all[1].added_us);
  EXPECT_DOUBLE_EQ(all[1].published_us.value(), 7.7);
}

TEST(Aims, AreReachedOrNot) {
  Figures figures;
  figures.measured = {measured("stock-borrower", "read-4k-qd1", 0, 1000, 1),
                      measured("remote", "read-4k-qd1", 0, 1040, 1), measured("nvmeof-tcp", "read-4k-qd1", 0, 3000, 1),
                      measured("nvmeof-rdma", "read-4k-qd1", 0, 6000, 1)};
  figures.measured[2].hosts[kLender][Count::instructions] = 4000;
  std::vector<bool> reached;
  for (const Aim& aim : aims(figures)) reached.push_back(aim.reached);
  EXPECT_EQ(reached, (std::vector<bool>{true, false, true, true}));
  figures.measured[1].hosts[kLender][Count::instructions] = 100;
  EXPECT_FALSE(aims(figures).back().reached);
  const auto missed = [&](double with_multipath) {
    figures.measured.push_back(measured("stock-multipath", "read-4k-qd1", 0, with_multipath, 1));
    const auto all = aims(figures);
    figures.measured.pop_back();
    EXPECT_THAT(all, SizeIs(5));
    return std::ranges::count(all, false, &Aim::reached);
  };
  EXPECT_EQ(missed(960), missed(1000) + 1);
  EXPECT_TRUE(aims({}).empty());
}

TEST(Machine, IsReadFromFiles) {
  constexpr const char* kStatus =
      "Package: qemu-system-x86-extra\nVersion: 9\n\nPackage: qemu-system-x86\nStatus: installed\nVersion: 1:11.1.3\n\n"
      "Package: none\n\nPackage: last\nVersion: 3\n";
  EXPECT_EQ(package_version(kStatus, "qemu-system-x86"), "1:11.1.3");
  EXPECT_EQ(package_version(kStatus, "qemu-system-x86-extra"), "9");
  EXPECT_EQ(package_version(kStatus, "none"), "?");
  EXPECT_EQ(package_version(kStatus, "last"), "3");
  EXPECT_EQ(package_version("", "last"), "?");
  EXPECT_EQ(proc_value("processor\t: 0\nmodel name\t: A CPU @ 2 GHz\n", "model name"), "A CPU @ 2 GHz");
  EXPECT_EQ(proc_value("MemTotal:       24105 kB\n", "MemTotal"), "24105 kB");
  EXPECT_EQ(proc_value("", "MemTotal"), "?");
  EXPECT_THAT(network_fact(9000).value, HasSubstr("MTU 9000"));
}

}  // namespace
}  // namespace smartio::bench_compare
