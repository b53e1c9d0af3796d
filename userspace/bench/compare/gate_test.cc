// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/compare/test_figures.h"

namespace smartio::bench_compare {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Three rounds: the driver's own instructions, those of the borrower, transactions, and the stock driver's
/// instructions.
Figures run_of(double driver, double borrower, double transactions, double stock = 1000) {
  Figures figures;
  for (unsigned round = 0; round < 3; ++round) {
    for (const std::string& job : gate_jobs()) {
      figures.measured.push_back(measured("stock-borrower", job.c_str(), round, stock, 1));
      figures.measured.push_back(measured("stock-multipath", job.c_str(), round, stock * 1.04, 1));
      figures.measured.push_back(measured("remote", job.c_str(), round, borrower, 1));
      Measured& remote = figures.measured.back();
      remote.functions[kBorrower] = {
          {"snvme_queue_rq [smartio_nvme]", driver}, {"submit_bio", 7}, {"nvme_x [nvme]", 7}};
      remote.ledger = {{"posted data", {.transactions = transactions - 3, .bytes = 1}},
                       {"posted command", {.transactions = 1, .bytes = 64}},
                       {"posted completion", {.transactions = 1, .bytes = 16}},
                       {"posted interrupt", {.transactions = 1, .bytes = 4}}};
    }
  }
  return figures;
}

std::ptrdiff_t worse(const Figures& figures, const Limits& limits) {
  return std::ranges::count(judge(seen_costs(figures).value(), limits), false, &Aim::reached);
}

TEST(Gate, FailsWhenAnIoCostsOnePercentMore) {
  const auto limits = limits_of(seen_costs(run_of(500, 1010, 20)).value());
  EXPECT_DOUBLE_EQ(limits.instructions.at("write-4k-qd32"), 1.01);
  EXPECT_DOUBLE_EQ(limits.driver_instructions.at("read-4k-qd1"), 500);
  EXPECT_EQ(worse(run_of(500, 1010, 20), limits), 0);
  EXPECT_EQ(worse(run_of(504, 1019, 20.1), limits), 0);
  EXPECT_EQ(worse(run_of(300, 900, 19), limits), 0);
  EXPECT_EQ(worse(run_of(506, 1010, 20), limits), 4);
  EXPECT_EQ(worse(run_of(500, 1021, 20), limits), 4);
  EXPECT_EQ(worse(run_of(500, 1010, 21), limits), 4);
}

TEST(Gate, RenewedLimitsDoNotMoveTheAimsOfReads) {
  const auto worse_as_renewed = [](double borrower) {
    const auto figures = run_of(500, borrower, 20);
    return worse(figures, limits_of(seen_costs(figures).value()));
  };
  EXPECT_EQ(worse_as_renewed(1029), 0);
  EXPECT_EQ(worse_as_renewed(1035), 2) << "two depths, above 1.03";
  EXPECT_EQ(worse_as_renewed(1045), 4) << "and above the stock driver with multipath";
}

TEST(Gate, OneJobThatIsWorseIsEnough) {
  auto figures = run_of(500, 1010, 20);
  const auto limits = limits_of(seen_costs(figures).value());
  for (Measured& one : figures.measured) {
    if (one.scenario.name == "remote" && one.job.name == "write-4k-qd1") one.ledger["posted doorbell"] = {1, 4};
  }
  EXPECT_EQ(worse(figures, limits), 1);
}

/// The borrower's counts in each round of its I/O over the link.
template <typename Change>
Figures changed(Figures figures, Change change) {
  for (Measured& one : figures.measured) {
    if (one.scenario.name == "remote") change(one, one.hosts[kBorrower]);
  }
  return figures;
}

TEST(Gate, ABusyMachineIsNoWorseDriver) {
  const auto run = run_of(500, 20000, 20, 20000);
  const auto limits = limits_of(seen_costs(run).value());
  const auto slow = changed(run, [](Measured& one, Tally& borrower) {
    borrower[Count::timer_ticks] += 2;
    borrower[Count::context_switches] += 0.1;
    borrower[Count::instructions] += 2 * 7500 + 0.1 * 3400;
    one.ledger["posted message"] = {.transactions = 0.1, .bytes = 1};
    if (one.job.depth > 1) one.ledger["posted command"].transactions += 0.2;
  });
  EXPECT_EQ(worse(slow, limits), 0);
  // An interrupt for two.
  const auto batched = changed(run, [](Measured& one, Tally& borrower) {
    borrower[Count::device_interrupts] = 0.5;
    borrower[Count::instructions] -= 0.5 * 1090;
    one.functions[kBorrower]["snvme_queue_rq [smartio_nvme]"] -= 0.5 * 77;
    one.ledger["posted interrupt"].transactions = 0.5;
  });
  const auto seen = seen_costs(batched).value();
  EXPECT_DOUBLE_EQ(seen.instructions.at("read-4k-qd32").least, limits.instructions.at("read-4k-qd32"));
  EXPECT_DOUBLE_EQ(seen.driver_instructions.at("read-4k-qd1").least, 500);
  EXPECT_DOUBLE_EQ(seen.transactions.at("write-4k-qd1").least, 20);
  // The counters of the host and those of the drive are not read at the same moment.
  const auto skewed = changed(run, [](Measured& one, Tally& borrower) {
    borrower *= 1.015;
    one.functions[kBorrower]["snvme_queue_rq [smartio_nvme]"] *= 1.015;
    for (auto& [kind, count] : one.ledger) count.transactions *= 0.985;
  });
  EXPECT_EQ(worse(skewed, limits), 0);
}

TEST(Gate, WhatABusyMachineDoesNotExplainCounts) {
  const auto run = run_of(500, 20000, 20, 20000);
  const auto limits = limits_of(seen_costs(run).value());
  const auto worse_with = [&](auto change) { return worse(changed(run, change), limits); };
  const auto more = [](Count count, double instructions) {
    return [=](Measured&, Tally& borrower) {
      borrower[count] += 1;
      borrower[Count::instructions] += instructions;
    };
  };
  const auto packets = [](const char* kind, double transactions) {
    return [=](Measured& one, Tally&) { one.ledger[kind].transactions += transactions; };
  };
  // The limits of four jobs, and the aims of the reads.
  EXPECT_EQ(worse_with(more(Count::context_switches, 3400)), 8);
  EXPECT_EQ(worse_with(more(Count::device_interrupts, 1090)), 8);
  // A second map of each: it is not taken for a second I/O, which would halve the cost.
  EXPECT_EQ(worse_with(more(Count::dma_maps, 500)), 4);
  EXPECT_EQ(worse_with(packets("posted message", 1)), 4);
  EXPECT_EQ(worse_with(packets("posted command", 0.5)), 4);
  EXPECT_EQ(worse_with(packets("posted interrupt", 1)), 4);
  // More I/O than fio's.
  EXPECT_EQ(worse_with([](Measured& one, Tally& borrower) {
              borrower *= 1.06;
              one.functions[kBorrower]["snvme_queue_rq [smartio_nvme]"] *= 1.06;
              for (auto& [kind, count] : one.ledger) count.transactions *= 1.06;
            }),
            16);
}

TEST(Gate, ARunThatCannotTellFails) {
  auto figures = run_of(500, 1010, 20);
  const auto limits = limits_of(seen_costs(figures).value());
  for (Measured& one : figures.measured) {
    // The least is as before.
    if (one.scenario.name == "remote" && one.job.name == "write-4k-qd1" && one.round >= 1)
      one.hosts[kBorrower][Count::instructions] *= 1.03;
  }
  const auto all = judge(seen_costs(figures).value(), limits);
  const auto noisy = std::ranges::find(all, false, &Aim::reached);
  ASSERT_NE(noisy, all.end());
  EXPECT_THAT(noisy->seen, HasSubstr("too noisy"));
  EXPECT_EQ(std::ranges::count(all, false, &Aim::reached), 1);
}

TEST(Gate, WhatWasNotMeasuredFails) {
  auto figures = run_of(500, 1010, 20);
  const auto limits = limits_of(seen_costs(figures).value());
  auto seen = seen_costs(figures).value();
  seen.transactions.erase("read-4k-qd1");
  EXPECT_EQ(std::ranges::count(judge(seen, limits), false, &Aim::reached), 1);
  std::erase_if(figures.measured, [](const Measured& one) { return one.job.name == "read-4k-qd32"; });
  EXPECT_THAT(seen_costs(figures).error().message, HasSubstr("read-4k-qd32"));
}

TEST(Gate, NoiseOfTheStockDriverIsNoise) {
  auto figures = run_of(500, 20000, 20, 20000);
  EXPECT_FALSE(noisy(seen_costs(figures).value()));
  for (Measured& one : figures.measured) {
    if (one.job.name == "write-4k-qd1" && one.round >= 1) one.hosts[kBorrower][Count::instructions] *= 1.03;
  }
  EXPECT_TRUE(noisy(seen_costs(figures).value()));
}

TEST(Gate, CountersThatSayNothingFail) {
  const auto run = run_of(500, 20000, 20, 20000);
  for (const Count count : {Count::timer_ticks, Count::dma_maps}) {
    const auto none = changed(run, [&](Measured&, Tally& borrower) { borrower[count] = 0; });
    EXPECT_THAT(seen_costs(none).error().message, HasSubstr(std::string(name_of(count))));
  }
  const auto renamed = changed(run, [](Measured& one, Tally&) { one.functions[kBorrower] = {{"x [other]", 500}}; });
  EXPECT_THAT(seen_costs(renamed).error().message, HasSubstr("smartio_nvme"));
  const auto blind = changed(run, [](Measured& one, Tally&) { one.ledger.erase("posted completion"); });
  EXPECT_THAT(seen_costs(blind).error().message, HasSubstr("completion"));
}

TEST(Gate, ALentDriveIsHeldToTheOwnOne) {
  const auto run = [](double lent, double again) {
    Figures figures;
    for (const char* job : {"read-4k-qd1", "write-4k-qd32"}) {
      figures.measured.push_back(measured("stock-borrower", job, 0, 20000, 20));
      figures.measured.push_back(measured("lent", job, 0, lent, 20));
      figures.measured.push_back(measured("lent", job, 1, again, 20));
    }
    return judge_lent(figures);
  };
  const auto reached = [](const std::vector<Aim>& aims) {
    return std::ranges::count_if(aims, [](const Aim& aim) { return aim.reached; });
  };
  EXPECT_THAT(run(20900, 20900), SizeIs(2));
  EXPECT_EQ(reached(run(20900, 20900)), 2) << "1.045";
  EXPECT_EQ(reached(run(22000, 22000)), 0) << "1.1";
  EXPECT_EQ(reached(run(20000, 24000)), 0) << "too noisy";
  EXPECT_THAT(judge_lent(some_figures()), IsEmpty());
}

TEST(Gate, LimitsAreAFile) {
  const auto seen = seen_costs(run_of(500, 1010, 20)).value();
  const auto limits = limits_of(seen);
  EXPECT_EQ(limits_from(to_json(limits).dump(1)).value(), limits);
  EXPECT_THAT(judge(seen, limits), SizeIs(16));
  EXPECT_FALSE(limits_from(""));
  EXPECT_FALSE(limits_from("{}"));
  auto few = limits;
  few.driver_instructions.erase("write-4k-qd1");
  EXPECT_THAT(limits_from(to_json(few).dump()).error().message, HasSubstr("write-4k-qd1"));
}

}  // namespace
}  // namespace smartio::bench_compare
