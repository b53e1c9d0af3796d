// SPDX-License-Identifier: GPL-2.0
// The register rules of docs/fabric.md, one test each: the stock ntb_hw_amd relies on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/eventually.h"
#include "fabric/ntb/ntb_test_support.h"

namespace smartio::ntb {
namespace {

using namespace amd;
using test::Driver;
using test::FakeHost;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Registers : public ::testing::Test {
 protected:
  Registers() {
    cable.function(Side::primary).bind(host_a);
    cable.function(Side::secondary).bind(host_b);
    for (const auto side : {Side::primary, Side::secondary}) {
      cable.function(side).reset(pci::ResetCause::power_on);
      cable.function(side).connected();
    }
    host_a.take();
    host_b.take();
  }
  /// Both drivers loaded, with their events on; interrupts that were pending from attaching are taken.
  void load_drivers() {
    for (auto* driver : {&a, &b}) {
      driver->set_ready();
      driver->write(reg::INTMASK, 0);
      while (const auto event = driver->read(reg::INTSTAT)) driver->write(reg::INTSTAT, event);
    }
    host_a.take();
    host_b.take();
  }
  /// The cable brings the link up by itself, after a while.
  bool comes_up() {
    return eventually([&] { return cable.is_up(); });
  }
  void shake_off(Driver& driver) {
    while (const auto event = driver.read(reg::INTSTAT)) driver.write(reg::INTSTAT, event);
  }

  FakeHost host_a, host_b;
  Cable cable{{.name = "ab", .windows = {1 << 20, 1 << 16}, .training = {}}};
  Driver a{cable.function(Side::primary)};
  Driver b{cable.function(Side::secondary)};
};

TEST_F(Registers, DescribesAnAmdNtb) {
  const auto& d = cable.function(Side::secondary).description();
  EXPECT_EQ(d.vendor, 0x1022);
  EXPECT_EQ(d.device, 0x148b);
  EXPECT_EQ(d.class_code, 0x068000U);
  EXPECT_EQ(d.bars[0].size, 0x4000U);
  EXPECT_FALSE(d.bars[0].is64 || d.bars[0].prefetchable);
  EXPECT_EQ(d.bars[2].size, 1U << 20);
  EXPECT_EQ(d.bars[4].size, 1U << 16);
  EXPECT_TRUE(d.bars[2].is64 && d.bars[2].prefetchable && d.bars[4].is64 && d.bars[4].prefetchable);
  EXPECT_EQ(d.msix_vectors, 24);
  EXPECT_EQ(d.msix_table_offset, 0x2000U);
  EXPECT_EQ(d.msix_pba_offset, 0x3000U);
}

TEST(CableConfig, RefusesWhatIsNoNtb) {
  EXPECT_THROW(Cable({.name = "x", .windows = {3 << 12, 4096}}), std::invalid_argument);
  EXPECT_THROW(Cable({.name = "x", .windows = {4096, 0}}), std::invalid_argument);
  EXPECT_THROW(Cable({.name = "x", .windows = {4096, 4096}, .vectors = 23}), std::invalid_argument);
  EXPECT_THROW(Cable({.name = "x", .windows = {4096, 4096}, .vectors = 257}), std::invalid_argument);
  EXPECT_NO_THROW(Cable({.name = "x", .windows = {4096, 4096}, .vectors = 256}));
}

TEST_F(Registers, PowerOnState) {
  EXPECT_EQ(a.read(reg::SIDEINFO), 0U);
  EXPECT_EQ(b.read(reg::SIDEINFO), kSideSecondary);
  EXPECT_EQ(a.read(reg::DBMASK), 0xffffU);
  EXPECT_EQ(a.read(reg::INTMASK), 0x7fU);
  EXPECT_EQ(a.read(reg::DBSTAT), 0U);
  EXPECT_EQ(a.read(reg::PEER_VIEW + reg::BAR23LMT, 8), 0U);
}

TEST_F(Registers, EachSideSeesItsOwnReadyAndThePeers) {
  a.set_ready();
  EXPECT_EQ(a.read(reg::SIDEINFO), kSideReady);
  EXPECT_EQ(b.peer_sideinfo(), kSideReady);
  EXPECT_EQ(a.peer_sideinfo(), kSideSecondary);
  b.set_ready();
  EXPECT_EQ(a.peer_sideinfo(), kSideSecondary | kSideReady);
}

TEST_F(Registers, OnlyReadyOfSideinfoCanBeWritten) {
  a.write(reg::SIDEINFO, ~0U);
  EXPECT_EQ(a.read(reg::SIDEINFO), kSideReady) << "a primary does not become a secondary";
  b.write(reg::SIDEINFO, 0);
  EXPECT_EQ(b.read(reg::SIDEINFO), kSideSecondary);
}

TEST_F(Registers, PeersReadyCannotBeClearedFromHere) {
  b.set_ready();
  a.write(reg::PEER_VIEW + reg::SIDEINFO, kSideSecondary);
  EXPECT_EQ(b.read(reg::SIDEINFO), kSideSecondary | kSideReady);
  EXPECT_EQ(a.peer_sideinfo(), kSideSecondary | kSideReady);
  a.write(reg::PEER_VIEW + reg::SIDEINFO, 0, 8);
  EXPECT_EQ(a.peer_sideinfo(), kSideSecondary | kSideReady) << "nor with an 8-byte store";
}

TEST_F(Registers, PeersSideinfoReadsZeroWithTheCableOut) {
  load_drivers();
  cable.down();
  EXPECT_EQ(a.peer_sideinfo(), 0U);
  EXPECT_EQ(b.peer_sideinfo(), 0U);
  EXPECT_EQ(a.read(reg::SIDEINFO), kSideReady) << "its own is still there";
  EXPECT_EQ(a.read(reg::PEER_VIEW + reg::DBMASK), 0xffffffffU) << "other registers of the peer read all ones";
  shake_off(a);
  shake_off(b);
  cable.up();
  EXPECT_EQ(a.peer_sideinfo(), kSideSecondary | kSideReady);
}

TEST_F(Registers, ScratchpadsAreOneBank) {
  for (unsigned i = 0; i < kScratchpads; i++) (i % 2 ? a : b).write(reg::SPAD + 4 * i, 0x1000 + i);
  for (unsigned i = 0; i < kScratchpads; i++) {
    EXPECT_EQ(a.read(reg::SPAD + 4 * i), 0x1000 + i);
    EXPECT_EQ(b.read(reg::SPAD + 4 * i), 0x1000 + i);
  }
}

TEST_F(Registers, ScratchpadsOfThePeerNeedTheCable) {
  a.write(reg::SPAD, 1);
  a.write(reg::SPAD + 0x20, 2);
  cable.down();
  EXPECT_EQ(a.read(reg::SPAD), 1U);
  EXPECT_EQ(a.read(reg::SPAD + 0x20), 0xffffffffU);
  EXPECT_EQ(b.read(reg::SPAD), 0xffffffffU);
  EXPECT_EQ(b.read(reg::SPAD + 0x20), 2U);
  EXPECT_EQ(a.write(reg::SPAD + 0x20, 3).delivery, pci::Delivery::unclaimed);
  EXPECT_EQ(b.read(reg::SPAD + 0x20), 2U) << "a write to the peer's is dropped";
  EXPECT_EQ(cable.ledger().snapshot().dropped[0], 1U);
}

TEST_F(Registers, AccessesOfAllWidths) {
  a.write(reg::SPAD, 0x1122334455667788, 8);
  EXPECT_EQ(a.read(reg::SPAD, 4), 0x55667788U);
  EXPECT_EQ(a.read(reg::SPAD + 4, 4), 0x11223344U);
  EXPECT_EQ(a.read(reg::SPAD, 8), 0x1122334455667788U);
  EXPECT_EQ(a.read(reg::SPAD + 3, 2), 0x4455U);
  a.write(reg::SPAD + 2, 0xabcd, 2);
  EXPECT_EQ(a.read(reg::SPAD, 8), 0x11223344abcd7788U);
  a.write(reg::SPAD + 7, 0xee, 1);
  EXPECT_EQ(a.read(reg::SPAD, 8), 0xee223344abcd7788U);
  a.write(reg::SPAD + 1, 0x0102030405060708, 8);
  EXPECT_EQ(a.read(reg::SPAD + 1, 8), 0x0102030405060708U) << "across two words";
  EXPECT_EQ(a.read(reg::SPAD, 1), 0x88U) << "and no byte more";
}

TEST_F(Registers, WhatIsNotModelledReadsZeroAndIgnoresWrites) {
  for (const std::uint64_t offset : {0x0U, 0x1fcU, 0x204U, 0x250U, 0x410U, 0x428U, 0x430U, 0x450U, 0x458U, 0x480U,
                                     0x500U, 0x900U, 0x2000U, 0x3000U, 0x3ff8U}) {
    a.write(offset, ~0ULL >> 1, 4);
    EXPECT_EQ(a.read(offset), 0U) << std::hex << offset;
  }
  EXPECT_THAT(host_a.take(), IsEmpty());
  EXPECT_THAT(host_b.take(), IsEmpty());
}

TEST_F(Registers, ControlIsKept) {
  a.write(reg::CNTL, 0x300000);
  EXPECT_EQ(a.read(reg::CNTL), 0x300000U);
  EXPECT_EQ(b.read(reg::CNTL), 0U);
  a.write(reg::SMUACK, 0x20);
  EXPECT_EQ(a.read(reg::SMUACK), 0x20U);
}

// ---- doorbells ----------------------------------------------------------------------------------------------------

TEST_F(Registers, DoorbellInterruptsThePeerEachTimeItIsRung) {
  b.write(reg::DBMASK, 0, 2);
  a.write(reg::DBREQ, 1 << 3, 2);
  a.write(reg::DBREQ, 1 << 3, 2);
  EXPECT_EQ(b.read(reg::DBSTAT, 2), 1U << 3);
  EXPECT_THAT(host_b.take(), ElementsAre(3, 3));
  EXPECT_THAT(host_a.take(), IsEmpty());
  EXPECT_EQ(a.read(reg::DBREQ), 0U);
}

TEST_F(Registers, SeveralDoorbellsAtOnce) {
  b.write(reg::DBMASK, 0x0002, 2);
  a.write(reg::DBREQ, 0xffff8003, 4);
  EXPECT_EQ(b.read(reg::DBSTAT), 0x8003U);
  EXPECT_THAT(host_b.take(), ElementsAre(0, 15));
}

TEST_F(Registers, MaskedDoorbellInterruptsWhenItIsUnmasked) {
  a.write(reg::DBREQ, 0x21, 2);
  EXPECT_THAT(host_b.take(), IsEmpty());
  b.write(reg::DBMASK, 0xfffe, 2);
  EXPECT_THAT(host_b.take(), ElementsAre(0));
  b.write(reg::DBMASK, 0xfffe, 2);
  EXPECT_THAT(host_b.take(), IsEmpty()) << "it was not masked before";
  b.write(reg::DBSTAT, 0x20, 2);
  b.write(reg::DBMASK, 0, 2);
  EXPECT_THAT(host_b.take(), IsEmpty()) << "what was cleared while masked is forgotten";
}

TEST_F(Registers, DoorbellStatusIsWriteOneToClear) {
  a.write(reg::DBREQ, 0xff, 2);
  b.write(reg::DBSTAT, 0x0f, 2);
  EXPECT_EQ(b.read(reg::DBSTAT), 0xf0U);
  b.write(reg::DBSTAT, 0, 4);
  EXPECT_EQ(b.read(reg::DBSTAT), 0xf0U);
}

TEST_F(Registers, DoorbellIsLostWithTheCableOut) {
  b.write(reg::DBMASK, 0, 2);
  cable.down();
  host_b.take();
  EXPECT_EQ(a.write(reg::DBREQ, 1, 2).delivery, pci::Delivery::unclaimed);
  cable.up();
  EXPECT_EQ(b.read(reg::DBSTAT), 0U);
  EXPECT_THAT(host_b.take(), IsEmpty());
}

TEST_F(Registers, ThePeersDoorbellRegisterRingsThisSide) {
  a.write(reg::DBMASK, 0, 2);
  a.write(reg::PEER_VIEW + reg::DBREQ, 0x10, 2);
  EXPECT_EQ(a.read(reg::DBSTAT), 0x10U);
  EXPECT_THAT(host_a.take(), ElementsAre(4));
}

// ---- events -------------------------------------------------------------------------------------------------------

TEST_F(Registers, PullingTheCableTellsBothSides) {
  load_drivers();
  cable.down();
  EXPECT_FALSE(cable.is_up());
  EXPECT_THAT(host_a.take(), ElementsAre(kEventVector));
  EXPECT_THAT(host_b.take(), ElementsAre(kEventVector));
  EXPECT_EQ(a.read(reg::INTSTAT), kLinkDownEvent);
  EXPECT_EQ(b.read(reg::INTSTAT), kLinkDownEvent);
  cable.down();
  EXPECT_THAT(host_a.take(), IsEmpty()) << "it is out already";
  a.write(reg::INTSTAT, kLinkDownEvent);
  b.write(reg::INTSTAT, kLinkDownEvent);
  cable.up();
  EXPECT_EQ(a.read(reg::INTSTAT), kLinkUpEvent);
  EXPECT_THAT(host_a.take(), ElementsAre(kEventVector));
}

TEST_F(Registers, OneEventBitAtATime) {
  load_drivers();
  cable.function(Side::secondary).reset(pci::ResetCause::power_on);  // the link is lost and returns
  EXPECT_EQ(a.read(reg::INTSTAT), kLinkDownEvent) << "the other waits until this one is cleared";
  EXPECT_THAT(host_a.take(), ElementsAre(kEventVector));
  a.write(reg::INTSTAT, kLinkDownEvent);
  EXPECT_EQ(a.read(reg::INTSTAT), kLinkUpEvent);
  EXPECT_THAT(host_a.take(), ElementsAre(kEventVector));
  a.write(reg::INTSTAT, kLinkUpEvent);
  EXPECT_EQ(a.read(reg::INTSTAT), 0U);
  EXPECT_THAT(host_a.take(), IsEmpty());
}

TEST_F(Registers, ManyFlapsEndWithTheTruthAndNoBacklog) {
  load_drivers();
  for (int i = 0; i < 20; i++) {
    cable.function(Side::secondary).reset(pci::ResetCause::power_on);
    b.set_ready();
  }
  cable.down();
  std::vector<std::uint64_t> events;
  while (const auto event = a.read(reg::INTSTAT)) {
    events.push_back(event);
    a.write(reg::INTSTAT, event);
  }
  ASSERT_LE(events.size(), 3U);
  EXPECT_EQ(events.front(), kLinkDownEvent);
  EXPECT_EQ(events.back(), kLinkDownEvent);
}

TEST_F(Registers, MaskedEventWaitsForItsUnmasking) {
  a.set_ready();
  b.set_ready();
  cable.down();
  EXPECT_THAT(host_a.take(), IsEmpty());
  a.write(reg::INTMASK, 0x7f & ~kLinkDownEvent);
  EXPECT_EQ(a.read(reg::INTSTAT), 0U) << "LINK_UP from attaching comes first and is masked";
  a.write(reg::INTMASK, 0);
  EXPECT_EQ(a.read(reg::INTSTAT), kLinkUpEvent);
  a.write(reg::INTSTAT, kLinkUpEvent);
  EXPECT_EQ(a.read(reg::INTSTAT), kLinkDownEvent);
}

TEST_F(Registers, EventThatNobodyHandledIsSignalledAgainAtUnmasking) {
  load_drivers();
  cable.down();
  host_a.take();
  a.write(reg::INTMASK, 0x7f);  // the driver is unloaded without having handled it, and loaded again
  a.write(reg::INTMASK, 0);
  EXPECT_THAT(host_a.take(), ElementsAre(kEventVector));
  EXPECT_EQ(a.read(reg::INTSTAT), kLinkDownEvent);
}

TEST_F(Registers, RegistersAreRightWhenTheEventComes) {
  load_drivers();
  struct Looker : FakeHost {
    void interrupt(unsigned) override { seen = driver->peer_sideinfo(); }
    Driver* driver = nullptr;
    std::uint64_t seen = 99;
  } looker;
  looker.driver = &a;
  cable.function(Side::primary).bind(looker);
  cable.down();
  EXPECT_EQ(looker.seen, 0U);
  a.write(reg::INTSTAT, kLinkDownEvent);
  b.write(reg::INTSTAT, kLinkDownEvent);
  cable.up();
  EXPECT_EQ(looker.seen, kSideSecondary | kSideReady);
  cable.function(Side::primary).bind(host_a);
}

TEST_F(Registers, GuestThatGoesIsSeenByThePeerAndOneThatComes) {
  load_drivers();
  cable.function(Side::secondary).disconnected();
  cable.function(Side::secondary).reset(pci::ResetCause::disconnect);
  EXPECT_EQ(a.read(reg::INTSTAT), kLinkDownEvent);
  EXPECT_EQ(a.peer_sideinfo(), kSideSecondary) << "READY went with the guest";
  a.write(reg::INTSTAT, kLinkDownEvent);
  cable.function(Side::secondary).connected();
  EXPECT_EQ(a.read(reg::INTSTAT), kLinkUpEvent);
  a.write(reg::INTSTAT, kLinkUpEvent);
  cable.function(Side::secondary).reset(pci::ResetCause::function);
  EXPECT_EQ(a.read(reg::INTSTAT), 0U) << "its firmware's reset is nothing that a peer need know";
  EXPECT_THAT(host_a.take(), ElementsAre(kEventVector, kEventVector));
}

TEST_F(Registers, HardResetOfAWorkingHostIsALinkGoneAndBack) {
  load_drivers();
  cable.function(Side::secondary).reset(pci::ResetCause::function);
  EXPECT_EQ(a.read(reg::INTSTAT), kLinkDownEvent);
  EXPECT_EQ(a.peer_sideinfo(), kSideSecondary);
  a.write(reg::INTSTAT, kLinkDownEvent);
  EXPECT_EQ(a.read(reg::INTSTAT), kLinkUpEvent);
}

TEST_F(Registers, NoLinkUpWhileThePeersHostIsOff) {
  load_drivers();
  cable.function(Side::secondary).disconnected();
  cable.function(Side::secondary).reset(pci::ResetCause::disconnect);
  shake_off(a);
  cable.down();
  cable.up();
  EXPECT_EQ(a.read(reg::INTSTAT), 0U);
}

TEST_F(Registers, ResetForgetsAllButTheSide) {
  load_drivers();
  b.write(reg::SPAD + 0x20, 5);
  b.write(reg::DBMASK, 0);
  b.write(reg::CNTL, 7);
  a.write(reg::DBREQ, 1);
  cable.function(Side::secondary).reset(pci::ResetCause::function);
  EXPECT_EQ(b.read(reg::SPAD + 0x20), 0U);
  EXPECT_EQ(b.read(reg::DBMASK), 0xffffU);
  EXPECT_EQ(b.read(reg::DBSTAT), 0U);
  EXPECT_EQ(b.read(reg::CNTL), 0U);
  EXPECT_EQ(b.read(reg::SIDEINFO), kSideSecondary);
  EXPECT_EQ(b.read(reg::INTMASK), 0x7fU);
}

// ---- silent, flap -------------------------------------------------------------------------------------------------

TEST_F(Registers, SilentLinkLosesWhatIsSentAndTellsNobody) {
  load_drivers();
  b.write(reg::DBMASK, 0);
  cable.silent();
  EXPECT_FALSE(cable.is_up());
  a.write(reg::DBREQ, 1);
  a.write(reg::SPAD + 0x20, 7);
  EXPECT_EQ(a.peer_sideinfo(), kSideSecondary | kSideReady) << "the driver still takes the link for up";
  EXPECT_EQ(b.read(reg::DBSTAT), 0U);
  EXPECT_EQ(b.read(reg::SPAD + 0x20), 0U);
  EXPECT_THAT(host_a.take(), IsEmpty());
  EXPECT_THAT(host_b.take(), IsEmpty());
  cable.up();
  EXPECT_THAT(host_a.take(), IsEmpty());
  EXPECT_EQ(cable.ledger().snapshot().dropped[0], 2U);
}

TEST_F(Registers, WhatASilentLinkHidIsToldLater) {
  load_drivers();
  cable.silent();
  cable.function(Side::secondary).disconnected();
  EXPECT_EQ(a.read(reg::INTSTAT), 0U);
  cable.up();
  EXPECT_EQ(a.read(reg::INTSTAT), kLinkDownEvent);
}

TEST_F(Registers, FlapComesBackByItself) {
  load_drivers();
  cable.flap(std::chrono::milliseconds(5));
  EXPECT_EQ(a.read(reg::INTSTAT), kLinkDownEvent);
  shake_off(a);
  shake_off(b);
  EXPECT_TRUE(comes_up());
}

TEST_F(Registers, ALinkIsNotBackBeforeBothDriversHaveHeardOfItsLoss) {
  load_drivers();
  cable.flap({});
  shake_off(a);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(cable.state(), LinkState::down);
  EXPECT_EQ(b.read(reg::INTSTAT), kLinkDownEvent);
  EXPECT_THAT(host_b.take(), ElementsAre(kEventVector));
  cable.up();
  EXPECT_EQ(cable.state(), LinkState::down) << "nor if it is asked for";
  shake_off(b);
  EXPECT_TRUE(comes_up());
  cable.down();
  b.write(reg::INTMASK, 0x7f);
  shake_off(a);
  cable.up();
  EXPECT_TRUE(cable.is_up()) << "who does not listen is not waited for";
}

TEST_F(Registers, ALinkTrainsFromThenOn) {
  Cable slow{{.name = "cd", .windows = {1 << 20, 1 << 16}, .training = std::chrono::hours(1)}};
  slow.down();
  slow.up();
  EXPECT_EQ(slow.state(), LinkState::down);
  slow.silent();
  slow.up();
  EXPECT_TRUE(slow.is_up()) << "a silent link was never down";
}

TEST_F(Registers, AnOrderEndsAFlap) {
  load_drivers();
  cable.flap(std::chrono::hours(1));
  EXPECT_EQ(cable.state(), LinkState::down);
  shake_off(a);
  shake_off(b);
  cable.up();
  EXPECT_EQ(cable.state(), LinkState::up);
  cable.flap(std::chrono::hours(1));  // and destruction does not wait for it
}

TEST_F(Registers, PeerRegisterAccessesStandInTheLedger) {
  cable.ledger().reset();
  a.read(reg::DBMASK);
  a.write(reg::DBMASK, 0);
  auto seen = cable.ledger().snapshot();
  const auto control = std::to_underlying(pci::AccessKind::control);
  EXPECT_EQ(seen.posted[0][control].transactions + seen.non_posted[0][control].transactions, 0U)
      << "its own registers cross nothing";
  a.peer_sideinfo();
  a.write(reg::DBREQ, 1, 2);
  seen = cable.ledger().snapshot();
  EXPECT_EQ(seen.non_posted[0][control].transactions, 1U);
  EXPECT_EQ(seen.posted[0][control].transactions, 1U);
  EXPECT_EQ(seen.posted[0][control].bytes, 2U);
}

}  // namespace
}  // namespace smartio::ntb
