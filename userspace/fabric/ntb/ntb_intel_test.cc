// SPDX-License-Identifier: GPL-2.0
// Intel's registers and link: rules that the stock ntb_hw_intel relies on, and accesses that the hardware drops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <map>
#include <thread>

#include "base/eventually.h"
#include "fabric/ntb/intel_test_support.h"

namespace smartio::ntb {
namespace {

using pci::Delivery;
using test::FakeHost;
using test::IntelDriver;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace intel;

constexpr std::uint64_t kFirst = 0x3800'0000'0000, kSecond = 0x3900'0000'0000;  // where BAR2 and BAR4 are
constexpr std::uint64_t kSize = 1 << 20;

class Intel : public ::testing::Test {
 protected:
  explicit Intel(Family family = Family::intel_spr, std::chrono::nanoseconds training = {})
      : cable({.name = "ab", .windows = {kSize, 1 << 16}, .family = family, .training = training}) {
    for (const auto side : {Side::primary, Side::secondary}) {
      cable.function(side).bind(side == Side::primary ? host_a : host_b);
      cable.function(side).reset(pci::ResetCause::power_on);
      cable.function(side).connected();
    }
    host_a.take();
    host_b.take();
  }
  /// Both drivers at work, the link up, and both notified of it.
  void link_up() {
    for (auto* driver : {&a, &b}) {
      driver->probe();
      driver->enable_link();
    }
    ASSERT_TRUE(eventually([&] { return cable.is_up() && host_a.interrupts() > 0 && host_b.interrupts() > 0; }));
    take_link_events();
  }
  /// Both drivers take the link's event.
  void take_link_events() {
    a.poll_link();
    b.poll_link();
    host_a.take();
    host_b.take();
  }
  std::uint64_t dropped(unsigned direction = 0) { return cable.ledger().snapshot().dropped[direction]; }

  FakeHost host_a, host_b;
  Cable cable;
  NtbFunction& fa = cable.function(Side::primary);
  NtbFunction& fb = cable.function(Side::secondary);
  IntelDriver a{fa, kFirst, kSecond};
  IntelDriver b{fb, kFirst + kSize, kSecond + kSize};  // elsewhere than on the other host
};

/// A link that takes an hour to train.
class SlowlyTraining : public Intel {
 protected:
  SlowlyTraining() : Intel(Family::intel_spr, std::chrono::hours(1)) {}
};

class IceLake : public Intel {
 protected:
  IceLake() : Intel(Family::intel_icx) {}
};

// ---- the function -------------------------------------------------------------------------------------------------

TEST_F(Intel, FunctionIsOneThatTheDriverTakesForSapphireRapids) {
  const auto& d = fb.description();
  EXPECT_EQ(d.vendor, 0x8086);
  EXPECT_EQ(d.device, 0x347e);
  EXPECT_GT(d.revision, 0x0f);
  EXPECT_EQ(d.class_code, 0x068000U);
  EXPECT_EQ(d.bars[0].size, 0x10000U);
  EXPECT_EQ(d.bars[2].size, kSize);
  EXPECT_EQ(d.bars[4].size, 1U << 16);
  EXPECT_TRUE(d.bars[0].is64 && d.bars[2].is64 && d.bars[4].is64);
  EXPECT_EQ(d.msix_vectors, 33);
}

TEST_F(IceLake, FunctionIsOneThatTheDriverTakesForIceLake) {
  EXPECT_GE(fa.description().revision, 0x02);
  EXPECT_LE(fa.description().revision, 0x0f);
  EXPECT_EQ(fa.description().device, 0x347e);
}

TEST(IntelConfig, HasThirtyThreeVectors) {
  EXPECT_THROW(Cable({.name = "x", .windows = {4096, 4096}, .family = Family::intel_spr, .vectors = 64}),
               std::invalid_argument);
  EXPECT_THROW(Cable({.name = "x", .windows = {4096, 4096}, .family = Family::intel_icx, .vectors = 32}),
               std::invalid_argument);
  EXPECT_NO_THROW(Cable({.name = "x", .windows = {4096, 4096}, .family = Family::intel_icx, .vectors = 33}));
}

TEST(IntelConfig, ConfigurationSpaceHasTheWindowsSizes) {
  Cable cable({.name = "x", .windows = {1ULL << 32, 1 << 26}, .family = Family::intel_spr});
  std::map<unsigned, unsigned> bytes;
  for (const auto& [offset, value] : cable.function(Side::primary).description().config_bytes) bytes[offset] = value;
  EXPECT_EQ(bytes, (std::map<unsigned, unsigned>{{0xc4, 32}, {0xc5, 26}, {0xc6, 32}, {0xc7, 26}}));
  EXPECT_EQ(cable.function(Side::primary).description().capabilities.express, 0x40) << "DEVSTS is at 0x4a";
}

TEST(IntelConfig, ASideHasAWindowOfItsOwnAndThatOfThePeer) {
  Cable cable(
      {.name = "x", .windows = {1ULL << 32, 1 << 26}, .secondary_windows = {1 << 30}, .family = Family::intel_spr});
  std::map<unsigned, unsigned> bytes;
  for (const auto& [offset, value] : cable.function(Side::secondary).description().config_bytes) bytes[offset] = value;
  EXPECT_EQ(bytes, (std::map<unsigned, unsigned>{{0xc4, 30}, {0xc5, 26}, {0xc6, 32}, {0xc7, 26}}));
  EXPECT_EQ(cable.function(Side::secondary).description().bars[2].size, 1ULL << 30);
  EXPECT_EQ(cable.function(Side::primary).description().bars[2].size, 1ULL << 32);
  EXPECT_EQ(cable.function(Side::secondary).status().limit[0], 1ULL << 32) << "open in full, for the peer";
  EXPECT_EQ(cable.function(Side::primary).status().limit[0], 1ULL << 30);
}

TEST_F(Intel, PowerOnState) {
  EXPECT_EQ(a.read(reg::INT_DISABLE, 8), 0x1ffffffffU);
  EXPECT_EQ(a.read(reg::INT_STATUS, 8), 0U);
  EXPECT_EQ(a.read(reg::LINK_CTRL), 0U);
  EXPECT_EQ(a.read(reg::PPD0), 0U);
  EXPECT_EQ(a.read(reg::INTVEC), 0x04030201U) << "doorbells by the vectors from 1 on";
  EXPECT_EQ(a.read(reg::INTVEC + 32, 1), 0U) << "and the link by the first one";
  EXPECT_EQ(cable.state(), LinkState::down);
}

TEST_F(Intel, TopologyTellsTheTwoSidesApart) {
  EXPECT_EQ(a.read(reg::PPD1) & 0x4700, 0x0200U);
  EXPECT_EQ(b.read(reg::PPD1) & 0x4700, 0x4200U);
  a.write(reg::PPD1, 0);
  EXPECT_EQ(a.read(reg::PPD1) & 0x4700, 0x0200U) << "read only";
}

TEST_F(IceLake, TopologyTellsTheTwoSidesApart) {
  EXPECT_EQ(a.read(reg::PPD1) & 0x1300, 0x0200U);
  EXPECT_EQ(b.read(reg::PPD1) & 0x1300, 0x1200U);
}

// ---- the link -----------------------------------------------------------------------------------------------------

TEST_F(Intel, LinkComesUpWhenBothDriversWantIt) {
  a.probe();
  b.probe();
  a.enable_link();
  EXPECT_EQ(a.read(reg::PPD0) & kTrain, kTrain) << "training has started, as the driver checks";
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(cable.state(), LinkState::down);
  EXPECT_FALSE(a.link());
  EXPECT_THAT(host_a.take(), IsEmpty());
  b.enable_link();
  ASSERT_TRUE(eventually([&] { return a.link() && b.link(); }));
  EXPECT_TRUE(cable.is_up());
  EXPECT_TRUE(eventually([&] { return host_b.interrupts() == 1; }));
  EXPECT_THAT(host_a.take(), ElementsAre(32));
  EXPECT_THAT(host_b.take(), ElementsAre(32));
  EXPECT_EQ(a.link_status(), 0x2000U | 16U << 4 | 5U) << "x16, 32 GT/s";
  EXPECT_EQ(a.read(reg::INT_STATUS, 8), kLinkBit);
}

TEST_F(Intel, OneThatIsDisabledDoesNotTrain) {
  a.probe();
  b.probe();
  a.enable_link();
  b.write(reg::PPD0, kTrain);  // its LINK_CTRL says no
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(cable.state(), LinkState::down);
}

TEST_F(SlowlyTraining, TrainingTakesItsTime) {
  a.enable_link();
  b.enable_link();
  cable.up();
  EXPECT_EQ(cable.state(), LinkState::down) << "nor is it up if it is asked for";
}

TEST_F(Intel, DisablingTakesTheLinkDownOnBothSides) {
  link_up();
  a.disable_link();
  EXPECT_FALSE(a.link());
  EXPECT_FALSE(b.link());
  EXPECT_EQ(cable.state(), LinkState::down);
  EXPECT_THAT(host_a.take(), ElementsAre(32));
  EXPECT_THAT(host_b.take(), ElementsAre(32));
  take_link_events();
  a.enable_link();
  EXPECT_TRUE(eventually([&] { return a.link() && b.link(); }));
}

TEST_F(Intel, LinksBitStandsAsLongAsTheSlotSaysSo) {
  link_up();
  cable.down();
  a.write(reg::INT_STATUS, kLinkBit, 8);
  EXPECT_EQ(a.read(reg::INT_STATUS, 8), kLinkBit) << "SLOTSTS comes first";
  a.write(reg::SLOTSTS, 0);
  EXPECT_EQ(a.read(reg::SLOTSTS), kLinkChanged) << "write 1 to clear";
  a.write(reg::SLOTSTS + 2, kLinkChanged >> 16, 2);
  EXPECT_EQ(a.read(reg::INT_STATUS, 8), kLinkBit);
  a.write(reg::INT_STATUS, kLinkBit, 8);
  EXPECT_EQ(a.read(reg::INT_STATUS, 8), 0U);
}

/// One that comes between the driver's clearing of SLOTSTS and of INT_STATUS, or each would be the last.
TEST_F(Intel, EachChangeOfTheSlotInterrupts) {
  link_up();
  cable.down();
  take_link_events();
  cable.up();
  EXPECT_THAT(host_a.take(), ElementsAre(32));
  a.write(reg::SLOTSTS + 2, kLinkChanged >> 16, 2);
  cable.down();
  EXPECT_THAT(host_a.take(), ElementsAre(32));
}

TEST_F(Intel, ALinkIsNotBackBeforeTheOtherDriverHasHeardOfItsLoss) {
  link_up();
  a.disable_link();
  a.poll_link();
  a.enable_link();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(cable.state(), LinkState::down);
  b.poll_link();
  EXPECT_TRUE(eventually([&] { return cable.is_up(); }));
}

TEST_F(Intel, CableOutAndIn) {
  link_up();
  cable.down();
  EXPECT_FALSE(a.link());
  EXPECT_THAT(host_a.take(), ElementsAre(32));
  EXPECT_THAT(host_b.take(), ElementsAre(32));
  take_link_events();
  cable.up();
  EXPECT_TRUE(cable.is_up());
  EXPECT_TRUE(a.link() && b.link());
  EXPECT_THAT(host_a.take(), ElementsAre(32));
  a.disable_link();
  take_link_events();
  cable.down();
  EXPECT_THAT(host_a.take(), IsEmpty()) << "no link was there to be lost";
  a.enable_link();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(cable.state(), LinkState::down) << "nothing trains without a cable";
  cable.up();
  EXPECT_TRUE(eventually([&] { return cable.is_up(); }));
}

TEST_F(Intel, ResetAndDisconnectTakeTheLinkDown) {
  for (const bool reset : {true, false}) {
    link_up();
    if (reset) {
      fb.reset(pci::ResetCause::function);
    } else {
      fb.disconnected();
      fb.reset(pci::ResetCause::disconnect);
    }
    EXPECT_FALSE(a.link());
    EXPECT_THAT(host_a.take(), ElementsAre(32));
    EXPECT_EQ(b.read(reg::INT_STATUS, 8), 0U);
    EXPECT_EQ(b.read(reg::INT_DISABLE, 8), 0x1ffffffffU);
    EXPECT_EQ(b.read(reg::PPD0), 0U);
    EXPECT_THAT(host_b.take(), IsEmpty());
    if (!reset) fb.connected();
    EXPECT_FALSE(b.link());
  }
}

TEST_F(Intel, SilentLinkLosesWhatIsSentAndTellsNobody) {
  link_up();
  b.write(reg::INT_DISABLE, 0, 8);
  ASSERT_TRUE(b.set_trans(0, 0));
  cable.silent();
  EXPECT_EQ(a.ring(1).delivery, Delivery::unclaimed);
  EXPECT_EQ(a.write(0, 5, 8, 2).delivery, Delivery::unclaimed);
  EXPECT_TRUE(a.link() && b.link());
  EXPECT_THAT(host_b.take(), IsEmpty());
  EXPECT_EQ(dropped(), 2U);
  cable.up();
  EXPECT_EQ(a.write(0, 5, 8, 2).delivery, Delivery::memory);
  cable.silent();
  a.disable_link();
  EXPECT_FALSE(b.link()) << "the link itself is seen to go";
  take_link_events();
  cable.up();
  EXPECT_EQ(cable.state(), LinkState::down);
  a.enable_link();
  EXPECT_TRUE(eventually([&] { return cable.is_up(); }));
}

// ---- doorbells ----------------------------------------------------------------------------------------------------

TEST_F(Intel, EachDoorbellHasAWordAndAVector) {
  link_up();
  b.write(reg::INT_DISABLE, 0, 8);
  for (unsigned doorbell = 0; doorbell < kDoorbells; doorbell++) {
    EXPECT_EQ(a.ring(doorbell).delivery, Delivery::endpoint);
    EXPECT_THAT(host_b.take(), ElementsAre(doorbell));
    EXPECT_EQ(b.read(reg::INT_STATUS, 8), 1ULL << doorbell);
    b.write(reg::INT_STATUS, 1ULL << doorbell, 8);
    EXPECT_EQ(b.read(reg::INT_STATUS, 8), 0U);
  }
  EXPECT_THAT(host_a.take(), IsEmpty());
  EXPECT_EQ(a.read(reg::IM_DOORBELL), 0U);
}

TEST_F(Intel, OnlyOneRings) {
  link_up();
  b.write(reg::INT_DISABLE, 0, 8);
  a.write(reg::IM_DOORBELL + 8, 0);
  a.write(reg::IM_DOORBELL + 8, 0xfffffffe);
  a.write(reg::IM_DOORBELL_END, 1);
  EXPECT_EQ(b.read(reg::INT_STATUS, 8), 0U);
  a.write(reg::IM_DOORBELL + 8, 1ULL << 32 | 1, 8);
  EXPECT_EQ(b.read(reg::INT_STATUS, 8), 0xcU) << "two words at once";
  EXPECT_THAT(host_b.take(), ElementsAre(2, 3));
}

TEST_F(Intel, AStatusBitInterruptsOnce) {
  link_up();
  b.write(reg::INT_DISABLE, 0, 8);
  a.ring(4);
  a.ring(4);
  EXPECT_THAT(host_b.take(), ElementsAre(4)) << "until it is cleared";
  b.write(reg::INT_STATUS, 0x10, 8);
  a.ring(4);
  EXPECT_THAT(host_b.take(), ElementsAre(4));
}

TEST_F(Intel, MaskedDoorbellInterruptsWhenItIsUnmasked) {
  link_up();
  a.ring(0);
  a.ring(5);
  EXPECT_THAT(host_b.take(), IsEmpty());
  b.write(reg::INT_DISABLE, 0xfffffffe, 8);
  EXPECT_THAT(host_b.take(), ElementsAre(0));
  b.write(reg::INT_STATUS, 0x20, 8);
  b.write(reg::INT_DISABLE, 0, 8);
  EXPECT_THAT(host_b.take(), IsEmpty()) << "what was cleared while masked is forgotten";
  b.write(reg::INT_DISABLE, ~0ULL, 8);
  EXPECT_EQ(b.read(reg::INT_DISABLE, 8), 0x1ffffffffU) << "there are 33";
}

/// ntb_perf clears a doorbell, sees the link down in its driver's copy of the state, and forgets the doorbell.
TEST_F(Intel, DoorbellWaitsUntilTheDriverHasHeardOfTheLink) {
  link_up();
  b.write(reg::INT_DISABLE, 0, 8);
  cable.down();
  take_link_events();
  cable.up();
  a.poll_link();
  EXPECT_THAT(host_b.take(), ElementsAre(32));
  a.ring(3);
  EXPECT_EQ(b.read(reg::INT_STATUS, 8), kLinkBit | 8);
  EXPECT_TRUE(b.link());
  EXPECT_THAT(host_b.take(), IsEmpty()) << "it has not taken the event";
  EXPECT_NE(b.poll_link(), 0U);
  EXPECT_THAT(host_b.take(), ElementsAre(3));
  cable.down();
  b.write(reg::INT_STATUS, 8, 8);
  take_link_events();
  cable.up();
  a.poll_link();
  host_b.take();
  a.ring(4);
  cable.down();
  EXPECT_THAT(host_b.take(), ElementsAre(4)) << "it rang, and is told of when nothing is left to wait for";
}

TEST_F(Intel, VectorsAreWhereTheDriverPutsThem) {
  link_up();
  b.write(reg::INT_DISABLE, 0, 8);
  b.write(reg::INTVEC + 7, 31, 1);
  b.write(reg::INTVEC + 8, 33, 1);
  EXPECT_EQ(b.read(reg::INTVEC + 7, 1), 31U);
  a.ring(7);
  EXPECT_THAT(host_b.take(), ElementsAre(31));
  a.ring(8);
  EXPECT_THAT(host_b.take(), IsEmpty()) << "there is no vector 33";
  b.write(reg::INTVEC + 32, 2, 1);
  cable.down();
  EXPECT_THAT(host_b.take(), ElementsAre(2));
}

TEST_F(Intel, DoorbellIsLostWithoutALink) {
  b.probe();
  b.write(reg::INT_DISABLE, 0, 8);
  EXPECT_EQ(a.ring(0).delivery, Delivery::unclaimed);
  EXPECT_EQ(b.read(reg::INT_STATUS, 8), 0U);
  EXPECT_EQ(dropped(), 1U);
}

// ---- scratchpads --------------------------------------------------------------------------------------------------

TEST_F(Intel, EachSideHasABankOfScratchpads) {
  link_up();
  for (unsigned i = 0; i < kScratchpads; i++) {
    a.write(reg::IM_SPAD + 4 * i, 0x1000 + i);
    a.write(reg::EM_SPAD + 4 * i, 0x2000 + i);
  }
  for (unsigned i = 0; i < kScratchpads; i++) {
    EXPECT_EQ(a.read(reg::IM_SPAD + 4 * i), 0x1000 + i);
    EXPECT_EQ(b.read(reg::EM_SPAD + 4 * i), 0x1000 + i);
    EXPECT_EQ(b.read(reg::IM_SPAD + 4 * i), 0x2000 + i);
    EXPECT_EQ(a.read(reg::EM_SPAD + 4 * i), 0x2000 + i);
  }
  EXPECT_EQ(a.read(reg::EM_SPAD_END), 0U);
}

TEST_F(Intel, ThePeersScratchpadsNeedTheLink) {
  a.write(reg::IM_SPAD, 1);
  EXPECT_EQ(a.read(reg::IM_SPAD), 1U);
  EXPECT_EQ(a.read(reg::EM_SPAD), 0xffffffffU);
  EXPECT_EQ(a.write(reg::EM_SPAD, 3).delivery, Delivery::unclaimed);
  EXPECT_EQ(b.read(reg::IM_SPAD), 0U);
  EXPECT_EQ(dropped(), 1U);
}

// ---- windows ------------------------------------------------------------------------------------------------------

TEST_F(Intel, WindowComesOutAtTheReceiversTranslation) {
  link_up();
  ASSERT_TRUE(b.set_trans(0, 0x1000, 0x2000));
  ASSERT_TRUE(b.set_trans(1, 0x8000));
  EXPECT_EQ(a.write(0x10, 0x1122334455667788, 8, 2).delivery, Delivery::memory);
  EXPECT_EQ(a.write(0x20, 0xaabbccdd, 4, 4).delivery, Delivery::memory);
  EXPECT_EQ(host_b.load(0x1010), 0x1122334455667788U);
  EXPECT_EQ(host_b.load(0x8020, 4), 0xaabbccddU);
  EXPECT_EQ(a.read(0x10, 8, 2), 0x1122334455667788U);
  EXPECT_EQ(host_a.load(0x1010), 0U);
  const auto status = fb.status();
  EXPECT_EQ(status.translation[0], 0x1000U);
  EXPECT_EQ(status.limit[0], 0x2000U) << "in bytes";
  EXPECT_EQ(status.limit[1], 1U << 16);
  EXPECT_TRUE(status.ready);
}

TEST_F(Intel, WindowNeedsTheLink) {
  ASSERT_TRUE(b.set_trans(0, 0x1000));
  EXPECT_EQ(a.write(0, 1, 8, 2).delivery, Delivery::unclaimed);
  EXPECT_EQ(a.read(0, 8, 2), ~0ULL);
  EXPECT_EQ(dropped(), 2U);
}

TEST_F(Intel, LimitIsAnAddressInTheReceiversOwnBar) {
  link_up();
  ASSERT_TRUE(b.set_trans(0, 0x1000, 0x2000));
  EXPECT_EQ(b.read(reg::IM23XLMT, 8), kFirst + kSize + 0x2000);
  EXPECT_EQ(a.write(0x1ff8, 1, 8, 2).delivery, Delivery::memory);
  EXPECT_EQ(a.write(0x1ffc, 1, 8, 2).delivery, Delivery::unclaimed) << "one half inside is outside";
  EXPECT_EQ(a.write(0x2000, 1, 1, 2).delivery, Delivery::unclaimed);
  EXPECT_EQ(a.read(0x2000, 8, 2), ~0ULL);
  EXPECT_EQ(dropped(), 3U);
}

TEST_F(Intel, TheBarsOwnAddressShutsTheWindow) {
  link_up();
  ASSERT_TRUE(b.set_trans(0, 0, 0)) << "as ntb_mw_clear_trans() does";
  EXPECT_EQ(a.write(0, 1, 1, 2).delivery, Delivery::unclaimed);
  EXPECT_EQ(fb.status().limit[0], 0U);
}

TEST_F(Intel, ALimitOutsideOfTheBarHasNoEffect) {
  link_up();
  const std::uint64_t place = kFirst + kSize;
  for (const std::uint64_t limit : {std::uint64_t{0x2000'0000'0000'0000}, std::uint64_t{0x1000}, place - 0x1000,
                                    place + kSize + 0x1000, std::uint64_t{0}}) {
    b.write(reg::IM23XLMT, limit, 8);
    EXPECT_EQ(b.read(reg::IM23XLMT, 8), 0U) << std::hex << limit;
    EXPECT_EQ(fb.status().limit[0], kSize) << std::hex << limit;
  }
}

TEST_F(Intel, LimitWrittenInWords) {
  link_up();
  const std::uint64_t limit = kFirst + kSize + 0x3000;
  b.write(reg::IM23XLMT, limit & 0xffffffff);
  b.write(reg::IM23XLMT + 4, limit >> 32);
  EXPECT_EQ(b.read(reg::IM23XLMT, 8), limit);
  EXPECT_EQ(fb.status().limit[0], 0x3000U);
}

TEST_F(Intel, LimitFollowsTheBar) {
  ASSERT_TRUE(b.set_trans(0, 0x1000, 0x2000));
  std::array<pci::BusAddress, 6> bars{};
  bars[2].value = kFirst + kSize + 0x1000;
  fb.bars_placed(bars, true);
  EXPECT_EQ(fb.status().limit[0], 0x1000U);
}

TEST_F(Intel, LimitAndTranslationHaveTheGranularityOfPages) {
  EXPECT_FALSE(b.set_trans(0, 0x1800)) << "it does not read back";
  b.write(reg::IM23XBASE, 0x12345fff, 8);
  EXPECT_EQ(b.read(reg::IM23XBASE, 8), 0x12345000U);
  EXPECT_TRUE(b.set_trans(0, 0x1000, 0x1000));
  EXPECT_FALSE(b.set_trans(0, 0x1000, 0x1800));
  EXPECT_EQ(fb.status().limit[0], 0U) << "the driver shuts it then";
}

TEST_F(IceLake, TranslationIsAlignedToTheSizeOfTheBar) {
  EXPECT_FALSE(b.set_trans(0, 0x1000));
  EXPECT_FALSE(b.set_trans(0, kSize / 2));
  EXPECT_TRUE(b.set_trans(0, 3 * kSize));
  EXPECT_TRUE(b.set_trans(0, 0));
  EXPECT_TRUE(b.set_trans(1, 0x50000)) << "the other one is smaller";
  EXPECT_FALSE(b.set_trans(1, 0x58000));
  b.write(reg::IM23XBASE, 5 * kSize + 0x1234, 8);
  EXPECT_EQ(b.read(reg::IM23XBASE, 8), 5 * kSize);
  EXPECT_EQ(fb.status().translation[0], 5 * kSize);
}

TEST_F(IceLake, TheIndexOfTheBaseHasSixBits) {
  b.write(reg::IM23XBASEIDX, 20, 2);
  b.write(reg::IM45XBASEIDX, 0xffff, 2);
  EXPECT_EQ(b.read(reg::IM23XBASEIDX, 2), 20U);
  EXPECT_EQ(b.read(reg::IM45XBASEIDX, 2), 0x3fU);
}

TEST_F(IceLake, TheDriverCannotShutAWindow) {
  EXPECT_FALSE(b.set_trans(0, 0, 0));
  EXPECT_TRUE(b.set_trans(0, 3 * kSize, 0x1000));
  EXPECT_EQ(fb.status().limit[0], 0x1000U) << "the least that it can open";
}

TEST_F(Intel, ResetForgetsTranslations) {
  link_up();
  ASSERT_TRUE(b.set_trans(0, 0x1000, 0x1000));
  fb.reset(pci::ResetCause::function);
  EXPECT_EQ(b.read(reg::IM23XBASE, 8), 0U);
  EXPECT_EQ(b.read(reg::IM23XLMT, 8), 0U);
  EXPECT_EQ(a.write(0, 1, 8, 2).delivery, Delivery::unclaimed) << "there is no link";
}

// ---- the rest -----------------------------------------------------------------------------------------------------

TEST_F(Intel, WhatIsKeptWithoutEffect) {
  a.write(reg::NTBCNTL, 0x154);
  a.write(reg::LTR_SWSEL, 1, 1);
  a.write(reg::LTR_ACTIVE, 0x88008800);
  a.write(reg::LTR_IDLE, 0x8a588a58);
  EXPECT_EQ(a.read(reg::NTBCNTL), 0x154U);
  EXPECT_EQ(a.read(reg::LTR_SWSEL, 1), 1U);
  EXPECT_EQ(a.read(reg::LTR_ACTIVE), 0x88008800U);
  EXPECT_EQ(a.read(reg::LTR_IDLE), 0x8a588a58U);
  EXPECT_EQ(b.read(reg::NTBCNTL), 0U);
}

TEST_F(Intel, WhatIsNotModelledReadsZeroAndIgnoresWrites) {
  for (const std::uint64_t offset :
       {0x4U, 0x8U, 0x38U, 0x78U, 0xc0U, 0xc4U, 0xf0U, 0x180U, 0x1000U, 0x30e8U, 0x8000U, 0xb054U, 0xf040U, 0xfff8U}) {
    a.write(offset, 0x7fffffff);
    EXPECT_EQ(a.read(offset), 0U) << std::hex << offset;
  }
  EXPECT_THAT(host_a.take(), IsEmpty());
  EXPECT_THAT(host_b.take(), IsEmpty());
}

TEST_F(Intel, LoadsOfWindowRegistersCanBeSlow) {
  constexpr std::chrono::milliseconds kPause(30);
  cable.slow_windows(kPause);
  const auto begin = std::chrono::steady_clock::now();
  a.read(reg::IM23XBASE, 8);
  a.read(reg::IM45XLMT, 8);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 2 * kPause);
}

TEST_F(Intel, WindowRegistersCanBeStuck) {
  ASSERT_TRUE(a.set_trans(0, 0x1000, 0x1000));
  cable.stick_window(0);
  EXPECT_FALSE(a.set_trans(0, 0x1000, 0));
  EXPECT_TRUE(a.set_trans(1, 0x1000, 0));
  EXPECT_THAT(fa.status().limit, ElementsAre(0x1000, 0));
  cable.stick_window({});
  EXPECT_TRUE(a.set_trans(0, 0x1000, 0));
  EXPECT_THAT(fa.status().limit, ElementsAre(0, 0));
}

}  // namespace
}  // namespace smartio::ntb
