// SPDX-License-Identifier: GPL-2.0
// Windows: where an access comes out, when it does not, and the ledger's count of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "fabric/ntb/ntb_test_support.h"

namespace smartio::ntb {
namespace {

using namespace amd;
using pci::AccessKind;
using pci::Delivery;
using pci::Transaction;
using test::Driver;
using test::FakeHost;

class Windows : public ::testing::Test {
 protected:
  Windows() {
    fa.bind(host_a);
    fb.bind(host_b);
    fa.connected();
    fb.connected();
  }
  ledger::Cell posted(AccessKind kind, unsigned direction = 0) {
    return cable.ledger().snapshot().posted[direction][std::to_underlying(kind)];
  }
  ledger::Cell non_posted(AccessKind kind, unsigned direction = 0) {
    return cable.ledger().snapshot().non_posted[direction][std::to_underlying(kind)];
  }
  std::uint64_t dropped(unsigned direction = 0) { return cable.ledger().snapshot().dropped[direction]; }
  static std::vector<pci::Store> row(std::uint64_t offset, unsigned count, std::uint32_t size = 8) {
    std::vector<pci::Store> stores;
    for (unsigned i = 0; i < count; i++) stores.push_back({offset + std::uint64_t{i} * size, size, 0x100 + i});
    return stores;
  }

  FakeHost host_a, host_b;
  Cable cable{{.name = "ab", .windows = {1 << 20, 1 << 16}, .training = {}}};
  NtbFunction& fa = cable.function(Side::primary);
  NtbFunction& fb = cable.function(Side::secondary);
  Driver a{fa};
  Driver b{fb};
};

TEST_F(Windows, ComeOutAtTheReceiversTranslation) {
  b.open(0, 0x1000, 0x2000);
  b.open(1, 0x8000, 0x1000);
  EXPECT_EQ(a.write(0x10, 0x1122334455667788, 8, 2).delivery, Delivery::memory);
  EXPECT_EQ(a.write(0x20, 0xaabbccdd, 4, 4).delivery, Delivery::memory);
  EXPECT_EQ(host_b.load(0x1010), 0x1122334455667788U);
  EXPECT_EQ(host_b.load(0x8020, 4), 0xaabbccddU);
  EXPECT_EQ(a.read(0x10, 8, 2), 0x1122334455667788U);
  EXPECT_EQ(a.read(0x22, 2, 4), 0xaabbU);
  EXPECT_EQ(host_a.load(0x1010), 0U);
}

TEST_F(Windows, BothDirectionsAreTheirOwn) {
  a.open(0, 0x4000, 0x1000);
  EXPECT_EQ(a.write(0, 1, 8, 2).delivery, Delivery::unclaimed) << "the secondary has opened nothing";
  EXPECT_EQ(b.write(0, 2, 8, 2).delivery, Delivery::memory);
  EXPECT_EQ(host_a.load(0x4000), 2U);
}

TEST_F(Windows, TranslationReadsBackAndIsSeenByThePeerAsItsOwn) {
  b.open(0, 0x123456789abc000, 0x10000);
  b.open(1, 0xfee00000, 0x1000);
  EXPECT_EQ(b.read(reg::PEER_VIEW + reg::BAR23XLAT, 8), 0x123456789abc000U);
  EXPECT_EQ(b.read(reg::PEER_VIEW + reg::BAR23LMT, 8), 0x10000U);
  EXPECT_EQ(a.read(reg::BAR23XLAT, 8), 0x123456789abc000U);
  EXPECT_EQ(a.read(reg::BAR45XLAT, 4), 0xfee00000U);
  EXPECT_EQ(a.read(reg::BAR23LMT, 8), 0x10000U);
  EXPECT_EQ(a.read(reg::PEER_VIEW + reg::BAR23LMT, 8), 0U) << "the other direction's";
  const auto status = fb.status();
  EXPECT_TRUE(status.connected);
  EXPECT_FALSE(status.ready);
  EXPECT_EQ(status.translation[1], 0xfee00000U);
  EXPECT_EQ(status.limit[0], 0x10000U);
}

TEST_F(Windows, TranslationWrittenInWords) {
  b.write(reg::PEER_VIEW + reg::BAR45XLAT, 0x2000);
  b.write(reg::PEER_VIEW + reg::BAR45XLAT + 4, 0);
  b.write(reg::PEER_VIEW + reg::BAR45LMT, 0x1000);
  b.write(reg::PEER_VIEW + reg::BAR45LMT + 4, 0);
  EXPECT_EQ(a.write(8, 9, 8, 4).delivery, Delivery::memory);
  EXPECT_EQ(host_b.load(0x2008), 9U);
}

TEST_F(Windows, LimitIsASizeAndZeroIsShut) {
  EXPECT_EQ(a.write(0, 1, 1, 2).delivery, Delivery::unclaimed);
  EXPECT_EQ(a.read(0, 8, 2), ~0ULL);
  b.open(0, 0x1000, 0x100);
  EXPECT_EQ(a.write(0xf8, 1, 8, 2).delivery, Delivery::memory);
  EXPECT_EQ(a.write(0xfc, 1, 8, 2).delivery, Delivery::unclaimed) << "one half inside is outside";
  EXPECT_EQ(a.write(0x100, 1, 1, 2).delivery, Delivery::unclaimed);
  EXPECT_EQ(a.read(0xfc, 8, 2), ~0ULL);
  EXPECT_EQ(a.read(0xf8, 8, 2), 1U);
  EXPECT_EQ(dropped(), 5U);
}

TEST_F(Windows, AddressThatWrapsAroundIsDropped) {
  b.open(0, ~0ULL - 0xfff, 0x10000);
  EXPECT_EQ(a.write(0x1000, 1, 8, 2).delivery, Delivery::unclaimed);
  b.open(0, ~0ULL - 3, 0x10000);
  EXPECT_EQ(a.write(0, 1, 8, 2).delivery, Delivery::unclaimed);
  EXPECT_EQ(a.write(~0ULL - 7, 1, 8, 2).delivery, Delivery::unclaimed) << "an offset that no BAR has";
  EXPECT_EQ(host_b.load(0), 0U);
}

TEST_F(Windows, CableOutDropsWritesAndReadsAllOnes) {
  b.open(0, 0, 0x1000);
  cable.down();
  EXPECT_EQ(a.write(0, 5, 8, 2).delivery, Delivery::unclaimed);
  EXPECT_EQ(a.read(0, 8, 2), ~0ULL);
  fa.bar_write_many(2, row(0, 10), {});
  EXPECT_EQ(host_b.load(0), 0U);
  EXPECT_EQ(dropped(), 12U);
  cable.up();
  EXPECT_EQ(a.write(0, 5, 8, 2).delivery, Delivery::memory) << "translations outlive a flap";
  cable.silent();
  EXPECT_EQ(a.write(0, 6, 8, 2).delivery, Delivery::unclaimed);
  EXPECT_EQ(a.read(0, 8, 2), ~0ULL);
  EXPECT_EQ(host_b.load(0), 5U);
}

TEST_F(Windows, ReceiverCanShutItsWindowWithTheCableOut) {
  b.open(0, 0, 0x1000);
  cable.down();
  b.open(0, 0, 0);
  EXPECT_EQ(b.read(reg::PEER_VIEW + reg::BAR23LMT, 8), 0U);
  cable.up();
  EXPECT_EQ(a.write(0, 5, 8, 2).delivery, Delivery::unclaimed);
}

TEST_F(Windows, SenderCannotReopenItWithTheCableOut) {
  cable.down();
  a.write(reg::BAR23LMT, 0x1000, 8);
  EXPECT_EQ(a.read(reg::BAR23LMT, 8), ~0ULL);
  cable.up();
  EXPECT_EQ(a.write(0, 5, 8, 2).delivery, Delivery::unclaimed);
}

TEST_F(Windows, ReceiversResetAndDisconnectShutThem) {
  for (const auto cause : {pci::ResetCause::power_on, pci::ResetCause::function, pci::ResetCause::disconnect}) {
    b.open(0, 0, 0x1000);
    a.open(0, 0, 0x1000);
    fb.reset(cause);
    EXPECT_EQ(a.write(0, 5, 8, 2).delivery, Delivery::unclaimed);
    EXPECT_EQ(b.write(0, 5, 8, 2).delivery, Delivery::memory) << "the other direction is the other's";
  }
  b.open(0, 0, 0x1000);
  fb.disconnected();
  EXPECT_EQ(a.write(0, 5, 8, 2).delivery, Delivery::unclaimed) << "already before the reset that follows";
}

TEST_F(Windows, BarsThatAreNotThere) {
  for (const unsigned bar : {1U, 3U, 5U, 6U}) {
    EXPECT_EQ(a.write(0, 5, 8, bar).delivery, Delivery::unclaimed);
    EXPECT_EQ(a.read(0, 8, bar), ~0ULL);
    fa.bar_write_many(bar, row(0, 2), {});
  }
}

TEST_F(Windows, NothingIsBoundOnTheOtherSide) {
  Cable lonely({.name = "x", .windows = {4096, 4096}});
  FakeHost host;
  lonely.function(Side::primary).bind(host);
  Driver secondary(lonely.function(Side::secondary));
  Driver primary(lonely.function(Side::primary));
  secondary.open(0, 0, 4096);
  EXPECT_EQ(primary.write(0, 1, 8, 2).delivery, Delivery::unclaimed);
  EXPECT_EQ(primary.read(0, 8, 2), ~0ULL);
  lonely.function(Side::primary).bar_write_many(2, row(0, 3), {});
  primary.write(reg::DBREQ, 1);
}

TEST_F(Windows, EachSideHasItsOwnSize) {
  Cable uneven({.name = "x", .windows = {1 << 20, 1 << 16}, .secondary_windows = {1 << 16, 0}});
  EXPECT_EQ(uneven.function(Side::primary).description().bars[2].size, 1U << 20);
  EXPECT_EQ(uneven.function(Side::secondary).description().bars[2].size, 1U << 16);
  EXPECT_EQ(uneven.function(Side::secondary).description().bars[4].size, 1U << 16) << "0: as the primary side's";
  EXPECT_THROW(Cable({.name = "x", .windows = {4096, 4096}, .secondary_windows = {4096, 5000}}), std::invalid_argument);
}

TEST_F(Windows, PassesHopsAndLeaveToWaitOn) {
  b.open(0, 0, 0x1000);
  a.read(0, 8, 2);
  EXPECT_FALSE(host_b.last.may_wait) << "a guest's read never waits for another guest's QEMU";
  EXPECT_EQ(host_b.last.hops, 1);
  std::array<std::byte, 64> page{};
  fa.bar_read(2, 0, page, {.kind = AccessKind::data, .hops = 2, .may_wait = true});
  EXPECT_TRUE(host_b.last.may_wait);
  EXPECT_EQ(host_b.last.hops, 3);
  EXPECT_EQ(host_b.last.kind, AccessKind::data);
}

TEST_F(Windows, ManyHopsEnd) {
  b.open(0, 0, 0x1000);
  std::array<std::byte, 16> data{};
  EXPECT_EQ(fa.bar_write(2, 0, data, {.hops = pci::kMaxHops}).delivery, Delivery::unclaimed);
  fa.bar_read(2, 0, data, {.hops = pci::kMaxHops});
  EXPECT_EQ(data[15], std::byte{0xff});
  EXPECT_EQ(dropped(), 2U);
}

/// Each host's address 0x100000 is the start of its own window to the other: two windows that lead into each other.
TEST_F(Windows, WindowsThatLeadIntoEachOtherEnd) {
  a.open(0, 0x100000, 0x1000);
  b.open(0, 0x100000, 0x1000);
  unsigned turns = 0;
  const auto loop = [&](NtbFunction& next) {
    return [&](pci::BusAddress address, std::span<const std::byte> data,
               Transaction transaction) -> std::optional<pci::Outcome> {
      turns++;
      return next.bar_write(2, address.value - 0x100000, data, transaction);
    };
  };
  host_a.on_write = loop(fa);
  host_b.on_write = loop(fb);
  EXPECT_EQ(a.write(0, 1, 8, 2).delivery, Delivery::unclaimed);
  EXPECT_EQ(turns, unsigned{pci::kMaxHops});
}

/// A store through the window that ends at the very registers that steer the window.
TEST_F(Windows, StoreThatShutsItsOwnWindowDoesNotHang) {
  b.open(0, 0x100000, 0x4000);
  host_b.on_write = [&](pci::BusAddress address, std::span<const std::byte> data,
                        Transaction transaction) -> std::optional<pci::Outcome> {
    return fb.bar_write(0, address.value - 0x100000, data, transaction);
  };
  EXPECT_EQ(a.write(reg::PEER_VIEW + reg::BAR23LMT, 0, 8, 2).kind, AccessKind::control);
  EXPECT_EQ(fb.status().limit[0], 0U);
  EXPECT_EQ(a.write(0, 0, 8, 2).delivery, Delivery::unclaimed);
}

// ---- many stores --------------------------------------------------------------------------------------------------

TEST_F(Windows, ManyStoresLandInOrder) {
  b.open(0, 0x1000, 0x8000);
  auto stores = row(0, 1000);
  stores.push_back({0, 8, 0xfeed});
  fa.bar_write_many(2, stores, {});
  EXPECT_EQ(host_b.load(0x1000), 0xfeedU);
  for (unsigned i = 1; i < 1000; i++) ASSERT_EQ(host_b.load(0x1000 + 8 * i), 0x100 + i);
  EXPECT_EQ(host_b.batches, 4U);
}

TEST_F(Windows, ManyStoresSkipThoseBeyondTheLimit) {
  b.open(0, 0x1000, 0x40);
  const std::array stores{pci::Store{0, 4, 1}, pci::Store{0x40, 8, 2}, pci::Store{8, 2, 0xaabbccdd},
                          pci::Store{0x3c, 8, 4}, pci::Store{0x38, 8, 5}};
  fa.bar_write_many(2, stores, {});
  EXPECT_EQ(host_b.load(0x1000), 1U);
  EXPECT_EQ(host_b.load(0x1008), 0xccddU);
  EXPECT_EQ(host_b.load(0x1038), 5U);
  EXPECT_EQ(host_b.load(0x1040), 0U);
  EXPECT_EQ(dropped(), 2U);
  EXPECT_EQ(posted(AccessKind::message).bytes, 14U);
}

TEST_F(Windows, ManyStoresToRegisters) {
  const std::array stores{pci::Store{reg::SPAD, 4, 7}, pci::Store{reg::SPAD + 4, 2, 0x12345},
                          pci::Store{reg::DBREQ, 2, 1}};
  fa.bar_write_many(0, stores, {});
  EXPECT_EQ(b.read(reg::SPAD), 7U);
  EXPECT_EQ(b.read(reg::SPAD + 4), 0x2345U);
  EXPECT_EQ(b.read(reg::DBSTAT), 1U);
}

// ---- ledger -------------------------------------------------------------------------------------------------------

TEST_F(Windows, AscendingStoresOfALineCombine) {
  b.open(0, 0, 0x8000);
  fa.bar_write_many(2, row(0, 8), {});
  EXPECT_EQ(posted(AccessKind::message).transactions, 1U);
  EXPECT_EQ(posted(AccessKind::message).bytes, 64U);
  fa.bar_write_many(2, row(64, 16), {});
  EXPECT_EQ(posted(AccessKind::message).transactions, 3U);
}

TEST_F(Windows, CombiningDoesNotDependOnHowMessagesAreCut) {
  b.open(0, 0, 0x8000);
  for (const auto& store : row(0, 8)) fa.bar_write_many(2, std::span(&store, 1), {});
  EXPECT_EQ(posted(AccessKind::message).transactions, 1U);
  a.write(64, 1, 8, 2);
  a.write(72, 1, 8, 2);
  EXPECT_EQ(posted(AccessKind::message).transactions, 2U);
}

TEST_F(Windows, WhatDoesNotCombine) {
  b.open(0, 0, 0x8000);
  b.open(1, 0, 0x8000);
  a.write(0, 1, 4, 2);
  a.write(8, 1, 4, 2);  // a gap
  a.write(4, 1, 4, 2);  // backwards
  a.write(8, 1, 4, 4);  // the other window
  a.write(12, 1, 4, 2);
  EXPECT_EQ(posted(AccessKind::message).transactions, 5U);
  a.write(reg::CNTL, 0);  // a store to an uncached register empties the buffer
  a.write(16, 1, 4, 2);
  EXPECT_EQ(posted(AccessKind::message).transactions, 6U);
  a.read(0, 4, 2);  // and so does a load
  a.write(20, 1, 4, 2);
  EXPECT_EQ(posted(AccessKind::message).transactions, 7U);
  a.write(60, 1, 8, 2);  // across two lines
  EXPECT_EQ(posted(AccessKind::message).transactions, 9U);
}

TEST_F(Windows, OutcomesKindIsTheColumn) {
  b.open(0, 0, 0x8000);
  host_b.queue_begin = 0x1000;
  host_b.queue_end = 0x2000;
  fa.bar_write_many(2, row(0x0fc0, 16), {});  // 64 bytes of message, then an SQ entry
  EXPECT_EQ(posted(AccessKind::message).transactions, 1U);
  EXPECT_EQ(posted(AccessKind::command).transactions, 1U);
  EXPECT_EQ(posted(AccessKind::command).bytes, 64U);
  b.open(1, 0xfee00000, 0x1000);
  EXPECT_EQ(a.write(0, 0x41, 4, 4).delivery, Delivery::qemu);
  EXPECT_EQ(posted(AccessKind::interrupt).transactions, 1U);
}

TEST_F(Windows, DevicesWritesSplitAtMaxPayload) {
  b.open(0, 0, 0x8000);
  const std::vector<std::byte> page(4096, std::byte{0x5a});
  fa.bar_write(2, 0x1000, page, {.kind = AccessKind::data});
  EXPECT_EQ(posted(AccessKind::data).transactions, 16U);
  fa.bar_write(2, 0x1004, page, {.kind = AccessKind::data});
  EXPECT_EQ(posted(AccessKind::data).transactions, 33U);
  EXPECT_EQ(posted(AccessKind::data).bytes, 8192U);
  const std::array<std::byte, 16> cqe{};
  fa.bar_write(2, 0, cqe, {.kind = AccessKind::completion});
  fa.bar_write(2, 16, cqe, {.kind = AccessKind::completion});
  EXPECT_EQ(posted(AccessKind::completion).transactions, 2U) << "a device's completions do not combine";
  const std::array<std::byte, 4> msi{};
  fa.bar_write(2, 0, msi, {.kind = AccessKind::interrupt});
  fa.bar_write(2, 4, msi, {.kind = AccessKind::interrupt});
  EXPECT_EQ(posted(AccessKind::interrupt).transactions, 2U);
}

TEST_F(Windows, ReadsSplitAtMaxReadRequest) {
  b.open(0, 0, 0x8000);
  std::vector<std::byte> page(4096);
  fa.bar_read(2, 0x1000, page, {.kind = AccessKind::data, .may_wait = true});
  EXPECT_EQ(non_posted(AccessKind::data).transactions, 8U);
  EXPECT_EQ(non_posted(AccessKind::data).bytes, 4096U);
  a.read(0, 8, 2);
  a.read(8, 8, 2);
  EXPECT_EQ(non_posted(AccessKind::message).transactions, 2U) << "every load is one";
  EXPECT_EQ(posted(AccessKind::data).transactions, 0U);
}

TEST_F(Windows, DirectionIsTheRequesters) {
  a.open(0, 0, 0x8000);
  b.write(0, 1, 8, 2);
  b.read(0, 8, 2);
  b.write(0x9000, 1, 8, 2);
  EXPECT_EQ(posted(AccessKind::message, 1).transactions, 1U);
  EXPECT_EQ(non_posted(AccessKind::message, 1).transactions, 1U);
  EXPECT_EQ(dropped(1), 1U);
  EXPECT_EQ(posted(AccessKind::message, 0).transactions + non_posted(AccessKind::message, 0).transactions + dropped(0),
            0U);
}

TEST_F(Windows, RefusedBehindTheLinkIsDropped) {
  b.open(0, 0, 1 << 20);
  EXPECT_EQ(a.write(1 << 17, 1, 8, 2).delivery, Delivery::unclaimed) << "beyond the host's memory";
  EXPECT_EQ(a.read(1 << 17, 8, 2), ~0ULL);
  fa.bar_write_many(2, row(1 << 17, 3), {});
  EXPECT_EQ(dropped(), 5U);
  EXPECT_EQ(posted(AccessKind::message).transactions, 0U);
}

TEST_F(Windows, ADeviceLearnsThatItsReadWasRefused) {
  std::vector<std::byte> page(4096);
  const Transaction device{.kind = AccessKind::data, .may_wait = true};
  EXPECT_EQ(fa.bar_read(2, 0x1000, page, device).delivery, Delivery::unclaimed) << "shut";
  b.open(0, 0, 1 << 20);
  EXPECT_EQ(fa.bar_read(2, 0x1000, page, device).delivery, Delivery::memory);
  EXPECT_EQ(fa.bar_read(2, 1 << 17, page, device).delivery, Delivery::unclaimed) << "beyond the host's memory";
  cable.down();
  EXPECT_EQ(fa.bar_read(2, 0x1000, page, device).delivery, Delivery::unclaimed) << "no cable";
  EXPECT_EQ(fa.bar_read(0, 0, std::span(page).first(4), {}).delivery, Delivery::endpoint) << "its own register";
}

TEST_F(Windows, EmptyAccessesDoNothing) {
  b.open(0, 0, 0x1000);
  EXPECT_EQ(fa.bar_write(2, 0, {}, {}).delivery, Delivery::unclaimed);
  fa.bar_read(2, 0, {}, {});
  fa.bar_write_many(2, {}, {});
  fa.bar_write(0, reg::SPAD, {}, {});
  EXPECT_EQ(dropped(), 0U);
}

}  // namespace
}  // namespace smartio::ntb
