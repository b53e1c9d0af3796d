// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/compare/test_figures.h"

namespace smartio::bench_compare {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Three rounds: the driver's own instructions, those of the borrower, transactions.
Figures run_of(double driver, double borrower, double transactions) {
  Figures figures;
  for (unsigned round = 0; round < 3; ++round) {
    for (const std::string& job : gate_jobs()) {
      figures.measured.push_back(measured("stock-borrower", job.c_str(), round, 1000, 1));
      figures.measured.push_back(measured("remote", job.c_str(), round, borrower, 1));
      Measured& remote = figures.measured.back();
      remote.functions[kBorrower] = {
          {"snvme_queue_rq [smartio_nvme]", driver}, {"submit_bio", 7}, {"nvme_x [nvme]", 7}};
      remote.ledger = {{"posted data", {.transactions = transactions, .bytes = 1}}};
    }
  }
  return figures;
}

std::ptrdiff_t worse(const Figures& figures, const Limits& limits) {
  return std::ranges::count(judge(seen_costs(figures).value(), limits), false, &Aim::reached);
}

TEST(Gate, FailsWhenAnIoCostsOnePercentMore) {
  const auto limits = limits_of(seen_costs(run_of(500, 1050, 20)).value());
  EXPECT_DOUBLE_EQ(limits.instructions.at("write-4k-qd32"), 1.05);
  EXPECT_DOUBLE_EQ(limits.driver_instructions.at("read-4k-qd1"), 500);
  EXPECT_EQ(worse(run_of(500, 1050, 20), limits), 0);
  EXPECT_EQ(worse(run_of(504, 1060, 20.1), limits), 0);
  EXPECT_EQ(worse(run_of(300, 900, 19), limits), 0);
  EXPECT_EQ(worse(run_of(506, 1050, 20), limits), 4);
  EXPECT_EQ(worse(run_of(500, 1061, 20), limits), 4);
  EXPECT_EQ(worse(run_of(500, 1050, 21), limits), 4);
}

TEST(Gate, OneJobThatIsWorseIsEnough) {
  auto figures = run_of(500, 1050, 20);
  const auto limits = limits_of(seen_costs(figures).value());
  for (Measured& one : figures.measured) {
    if (one.scenario.name == "remote" && one.job.name == "write-4k-qd1") one.ledger["posted doorbell"] = {1, 4};
  }
  EXPECT_EQ(worse(figures, limits), 1);
}

TEST(Gate, ARunThatCannotTellFails) {
  auto figures = run_of(500, 1050, 20);
  const auto limits = limits_of(seen_costs(figures).value());
  for (Measured& one : figures.measured) {
    // The median is as before.
    if (one.scenario.name == "remote" && one.job.name == "write-4k-qd1" && one.round == 2)
      one.hosts[kBorrower][Count::instructions] = 1072;
  }
  const auto all = judge(seen_costs(figures).value(), limits);
  const auto noisy = std::ranges::find(all, false, &Aim::reached);
  ASSERT_NE(noisy, all.end());
  EXPECT_THAT(noisy->seen, HasSubstr("too noisy"));
  EXPECT_EQ(std::ranges::count(all, false, &Aim::reached), 1);
}

TEST(Gate, WhatWasNotMeasuredFails) {
  auto figures = run_of(500, 1050, 20);
  const auto limits = limits_of(seen_costs(figures).value());
  auto seen = seen_costs(figures).value();
  seen.transactions.erase("read-4k-qd1");
  EXPECT_EQ(std::ranges::count(judge(seen, limits), false, &Aim::reached), 1);
  std::erase_if(figures.measured, [](const Measured& one) { return one.job.name == "read-4k-qd32"; });
  EXPECT_THAT(seen_costs(figures).error().message, HasSubstr("read-4k-qd32"));
}

TEST(Gate, LimitsAreAFile) {
  const auto seen = seen_costs(run_of(500, 1050, 20)).value();
  const auto limits = limits_of(seen);
  EXPECT_EQ(limits_from(to_json(limits).dump(1)).value(), limits);
  EXPECT_THAT(judge(seen, limits), SizeIs(12));
  EXPECT_FALSE(limits_from(""));
  EXPECT_FALSE(limits_from("{}"));
  auto few = limits;
  few.driver_instructions.erase("write-4k-qd1");
  EXPECT_THAT(limits_from(to_json(few).dump()).error().message, HasSubstr("write-4k-qd1"));
}

}  // namespace
}  // namespace smartio::bench_compare
