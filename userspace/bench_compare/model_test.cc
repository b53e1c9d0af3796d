// SPDX-License-Identifier: GPL-2.0
#include "bench_compare/model.h"

#include <gtest/gtest.h>

namespace smartio::bench_compare {
namespace {

constexpr double kBlock = 4096;

/// What the ledger has seen of a 4 KiB read with the queue at the lender: posted only.
bench::Ledger read_ledger() {
  return {{"posted command", {.transactions = 1, .bytes = 64}},
          {"posted doorbell", {.transactions = 1.01, .bytes = 8}},
          {"posted data", {.transactions = 16, .bytes = kBlock}},
          {"posted completion", {.transactions = 1, .bytes = 16}},
          {"posted message", {.transactions = 0.01, .bytes = 1}}};
}

bench::Ledger write_ledger() {
  auto ledger = read_ledger();
  ledger.erase("posted data");
  ledger["non-posted data"] = {.transactions = 8, .bytes = kBlock};
  return ledger;
}

TEST(Model, APathIsWhatHasToBeWaitedFor) {
  EXPECT_EQ(critical_path(read_ledger()).one_way, 2U);
  EXPECT_EQ(critical_path(read_ledger()).round_trips, 0U);
  EXPECT_EQ(critical_path(write_ledger()).one_way, 2U);
  EXPECT_EQ(critical_path(write_ledger()).round_trips, 1U);
  auto at_borrower = write_ledger();
  at_borrower.erase("posted command");
  at_borrower["non-posted command"] = {.transactions = 1, .bytes = 64};
  EXPECT_EQ(critical_path(at_borrower).round_trips, 2U);
  auto with_load = read_ledger();
  with_load["non-posted control"] = {.transactions = 3, .bytes = 12};
  EXPECT_EQ(critical_path(with_load).round_trips, 3U);
  EXPECT_EQ(critical_path({}).one_way, 0U);
}

// Their configuration: the queue at the lender, a bounce buffer, polling.
TEST(Model, GivesWhatThePapersMeasured) {
  const Assumptions assumptions;
  const Range read = added_latency(critical_path(read_ledger()), kBlock, assumptions);
  const Range write = added_latency(critical_path(write_ledger()), kBlock, assumptions);
  EXPECT_TRUE(read.holds(published_remote().read_us)) << read.low << " to " << read.high;
  EXPECT_TRUE(write.holds(published_remote().write_us)) << write.low << " to " << write.high;
  EXPECT_FALSE(read.holds(published_remote().write_us));
  EXPECT_FALSE(write.holds(published_remote().read_us));
}

TEST(Model, ALatencyIsChipsAndCopies) {
  const Assumptions assumptions{.chips = 2, .chip_us = {.low = 0.1, .high = 0.2}, .copy_gb_s = {.low = 1, .high = 4}};
  const Range added = added_latency({.one_way = 2, .round_trips = 1}, 4000, assumptions);
  EXPECT_DOUBLE_EQ(added.low, 4 * 2 * 0.1 + 1);
  EXPECT_DOUBLE_EQ(added.high, 4 * 2 * 0.2 + 4);
  EXPECT_DOUBLE_EQ(added_latency({}, 0, assumptions).high, 0);
}

}  // namespace
}  // namespace smartio::bench_compare
