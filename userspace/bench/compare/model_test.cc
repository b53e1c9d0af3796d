// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/model.h"

#include <gtest/gtest.h>

#include "bench/compare/link.h"
#include "bench/compare/published.h"

namespace smartio::bench_compare {
namespace {

constexpr double kBlock = 4096;

/// The ledger of a 4 KiB read with the queue at the lender: posted only.
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

TEST(Model, PredictsWhatWasNotUsedToMakeIt) {
  const auto all = checks({});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_TRUE(all[0].computed.holds(0.54)) << all[0].computed.low << " to " << all[0].computed.high;
  EXPECT_DOUBLE_EQ(all[0].published, 0.54);
  EXPECT_NEAR(all[0].error(), 0.0185, 0.0001);
  // Chips of Gen2 are slower than those that the model assumes.
  EXPECT_FALSE(all[1].computed.holds(all[1].published));
  EXPECT_NEAR(all[1].error(), -0.257, 0.001);
  EXPECT_TRUE(all[2].computed.holds(7)) << all[2].computed.low << " to " << all[2].computed.high;
  for (const Check& check : all) EXPECT_FALSE(check.source.empty()) << check.what;
}

TEST(Model, AMessageTakesTheHostsAndEachChip) {
  const Assumptions slow{.chips = 9, .chip_us = {.low = 1, .high = 2}, .copy_gb_s = {}};
  EXPECT_DOUBLE_EQ(message_latency(0, slow).high, 0.3);
  EXPECT_DOUBLE_EQ(message_latency(3, slow).low, 3.3);
  EXPECT_DOUBLE_EQ(message_latency(3, slow).high, 6.3);
}

TEST(Drive, IsAsPublished) {
  EXPECT_DOUBLE_EQ(drive_latency(0), 8);
  EXPECT_NEAR(drive_latency(0.30103), 9, 1e-9);
  EXPECT_DOUBLE_EQ(drive_latency(2), 10);
  EXPECT_DOUBLE_EQ(drive_latency(3.5), 23.5);
  EXPECT_DOUBLE_EQ(drive_latency(5), 37);
  EXPECT_DOUBLE_EQ(drive_latency(7), 37);
}

TEST(Link, CountsHeadersInEachDirection) {
  const WireBytes read = wire_bytes(read_ledger());
  EXPECT_DOUBLE_EQ(read.to_borrower, 4096 + 16 + 17 * 24);
  EXPECT_NEAR(read.to_lender, 64 + 8 + 2.01 * 24, 1e-9);
  // Eight requests of 512 bytes, each answered by two completions.
  const WireBytes write = wire_bytes(write_ledger());
  EXPECT_DOUBLE_EQ(write.to_borrower, 16 + 24 + 8 * 24);
  EXPECT_NEAR(write.to_lender, 64 + 8 + 2.01 * 24 + 4096 + 16 * 20, 1e-9);
  auto fetched = write_ledger();
  fetched["non-posted command"] = {.transactions = 1, .bytes = 64};
  EXPECT_NEAR(wire_bytes(fetched).to_lender, write.to_lender + 64 + 20, 1e-9);
  // A list that the borrower writes next to the queue.
  auto listed = read_ledger();
  listed["posted list"] = {.transactions = 1, .bytes = 256};
  EXPECT_NEAR(wire_bytes(listed).to_lender, read.to_lender + 256 + 24, 1e-9);
}

TEST(Link, CarriesWhatHeadersLeave) {
  // The slower direction decides. A lane of Gen4 is 16 GT/s, 128 bits in 130.
  const double raw = 16.0 * 4 * 128 / 130 / 8;
  const Range read = bandwidth(read_ledger(), kBlock, kGen4X4);
  EXPECT_NEAR(read.high, raw * 4096 / 4520, 1e-9);
  EXPECT_NEAR(read.low / read.high, 1 - 16.0 / 214 - 4.0 / 1538, 1e-9);
  EXPECT_NEAR(bandwidth(read_ledger(), kBlock, kGen4X8).high, 2 * read.high, 1e-9);
  EXPECT_NEAR(bandwidth(write_ledger(), kBlock, kGen4X4).high, raw * 4096 / (4096 + 320 + 72 + 2.01 * 24), 1e-9);
  EXPECT_DOUBLE_EQ(bandwidth({}, kBlock, kGen4X4).high, 0);
  // The authors of the header sizes give this for Gen3 x8 with 256 bytes: 57.9 Gb/s of packets.
  const Link gen3{.name = "Gen3 x8", .lane_gt_s = 8, .lanes = 8, .ack_bytes = 203};
  const bench::Ledger one{{"posted data", {.transactions = 1, .bytes = 256}}};
  EXPECT_NEAR(bandwidth(one, 280, gen3).low * 8, 57.9, 0.05);
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
