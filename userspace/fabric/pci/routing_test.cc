// SPDX-License-Identifier: GPL-2.0
// Where a device's accesses end: memory, a BAR of its host, QEMU, or unclaimed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "fabric/pci/endpoint.h"
#include "fabric/pci/fake_function.h"
#include "fabric/pci/host.h"
#include "fabric/pci/test_memory.h"

namespace smartio::pci {
namespace {

/// Remembers the writes handed to QEMU, and answers reads with the address's low byte.
class FakeLink : public GuestLink {
 public:
  bool post_write(BusAddress address, std::span<const std::byte> data) override {
    if (!alive) return false;
    writes.emplace_back(address.value, data.size());
    return true;
  }
  bool after_writes(std::function<void()> then) override {
    if (alive && !late) then();
    if (late) waiting.push_back(std::move(then));
    return alive;
  }
  bool settle() override {
    ++settled;
    return alive;
  }
  bool read(BusAddress address, std::span<std::byte> data,
            std::optional<std::chrono::steady_clock::time_point>) override {
    if (!alive) return false;
    std::ranges::fill(data, static_cast<std::byte>(address.value));
    reads.emplace_back(address.value, data.size());
    if (in_bar) in_bar(data);
    return true;
  }
  bool alive = true;
  bool late = false;  ///< its writes have not arrived yet
  std::vector<std::function<void()>> waiting;
  unsigned settled = 0;
  std::function<void(std::span<std::byte>)> in_bar;  ///< where the address leads to, if not to memory
  std::vector<std::pair<std::uint64_t, std::size_t>> writes;
  std::vector<std::pair<std::uint64_t, std::size_t>> reads;
};

constexpr std::uint64_t kBarA = 0xe0000000;
constexpr std::uint64_t kBarB = 0xe1000000;
constexpr std::uint64_t kWindowB = 0x1000000000;

class Routing : public testing::Test {
 protected:
  explicit Routing(bool iommu = false) : host_("h", iommu, files_, waits_) {
    start(a_, kBarA, 0x800000000);
    start(b_, kBarB, kWindowB);
    a_.attach(link_);
    b_.attach(other_link_);
    EXPECT_TRUE(a_.memory().map({0}, memory_.bytes().size(), {true, true}, 0, memory_.fd()));
  }
  static void start(Endpoint& endpoint, std::uint32_t bar, std::uint64_t window) {
    const std::uint16_t command = 6;
    endpoint.config_write(0x10, bytes_of(bar));
    endpoint.config_write(0x18, bytes_of(window));
    endpoint.config_write(0x04, bytes_of(command));
  }
  static void command(Endpoint& endpoint, std::uint16_t value) { endpoint.config_write(0x04, bytes_of(value)); }
  Outcome write(std::uint64_t address, std::uint64_t value, Transaction transaction = {}) {
    return a_.write({address}, bytes_of(value), transaction);
  }
  std::uint64_t read(std::uint64_t address, Transaction transaction = {}) {
    std::uint64_t value = 0;
    read_outcome_ = a_.read({address}, writable_bytes_of(value), transaction);
    return value;
  }

  MemoryFiles files_;
  Waits waits_;
  TestMemory memory_{1 << 20};
  Host host_;
  FakeFunction function_a_;
  FakeFunction function_b_;
  Endpoint& a_ = host_.add("a", function_a_);
  Endpoint& b_ = host_.add("b", function_b_);
  std::shared_ptr<FakeLink> link_ = std::make_shared<FakeLink>();
  std::shared_ptr<FakeLink> other_link_ = std::make_shared<FakeLink>();
  Outcome read_outcome_;
};

class RoutingWithIommu : public Routing {
 protected:
  RoutingWithIommu() : Routing(true) {}
};

TEST_F(Routing, MemoryComesFirst) {
  EXPECT_EQ(write(0x1000, 0x42).delivery, Delivery::memory);
  EXPECT_EQ(memory_.at(0x1000), 0x42U);
  EXPECT_EQ(read(0x1000), 0x42U);
  EXPECT_EQ(read_outcome_.delivery, Delivery::memory);
  EXPECT_EQ(a_.counters().get(Count::dma_writes_memory), 1U);
  EXPECT_EQ(a_.counters().get(Count::dma_reads_memory), 1U);
}

TEST_F(Routing, EachFunctionHasItsOwnMemoryMap) {
  const std::uint64_t value = 1;
  EXPECT_EQ(b_.write({0x1000}, bytes_of(value), {}).delivery, Delivery::qemu);
  EXPECT_EQ(memory_.at(0x1000), 0U);
}

TEST_F(Routing, AnotherEndpointsBarComesSecond) {
  const Outcome outcome = write(kBarB + 0x100, 0x43);
  EXPECT_EQ(outcome.delivery, Delivery::endpoint);
  EXPECT_EQ(outcome.kind, AccessKind::control) << "what bar_write said it was";
  EXPECT_EQ(function_b_.register_at(0x100), 0x43U);
  EXPECT_EQ(read(kBarB + 0x100), 0x43U);
  EXPECT_EQ(read_outcome_.delivery, Delivery::endpoint);
  EXPECT_EQ(b_.counters().get(Count::peer_writes), 1U);
  EXPECT_EQ(b_.counters().get(Count::peer_reads), 1U);
  EXPECT_EQ(write(kBarA + 0x100, 0x44).delivery, Delivery::endpoint) << "its own BAR too";
  EXPECT_EQ(function_a_.register_at(0x100), 0x44U);
  EXPECT_TRUE(link_->writes.empty());
}

TEST_F(Routing, ABarAnswersOnlyWithMemorySpaceEnabled) {
  command(b_, 4);
  EXPECT_EQ(write(kBarB, 1).delivery, Delivery::qemu);
  EXPECT_EQ(function_b_.writes(), 0U);
  command(b_, 2);
  EXPECT_EQ(write(kBarB, 1).delivery, Delivery::endpoint) << "bus mastering has nothing to do with it";
}

TEST_F(Routing, ABarMoves) {
  const std::uint32_t elsewhere = 0xe2000000;
  b_.config_write(0x10, bytes_of(elsewhere));
  EXPECT_EQ(write(kBarB, 1).delivery, Delivery::qemu);
  EXPECT_EQ(write(elsewhere, 1).delivery, Delivery::endpoint);
}

TEST_F(Routing, LargeReadsOfAPeerComeInPiecesThatAFunctionTakes) {
  std::vector<std::byte> data(0x4000);
  EXPECT_EQ(a_.read({kBarB}, data, {}).delivery, Delivery::endpoint);
  EXPECT_EQ(function_b_.largest_read(), 4096U);
}

TEST_F(Routing, QemuComesLast) {
  EXPECT_EQ(write(0xd0000000, 1).delivery, Delivery::qemu);
  ASSERT_EQ(link_->writes.size(), 1U);
  EXPECT_EQ(link_->writes[0].first, 0xd0000000U);
  EXPECT_EQ(read(0xd0000011, {.may_wait = true}), 0x1111111111111111U);
  EXPECT_EQ(read_outcome_.delivery, Delivery::qemu);
}

TEST_F(Routing, AReadThatMustNotWaitNeverGoesToQemu) {
  EXPECT_EQ(read(0xd0000000), ~0ULL);
  EXPECT_EQ(read_outcome_.delivery, Delivery::unclaimed);
  EXPECT_TRUE(link_->reads.empty());
}

TEST_F(Routing, AMissingRightIsLeftToQemu) {
  ASSERT_TRUE(a_.memory().map({1 << 20}, 4096, {true, false}, 0, memory_.fd()));
  EXPECT_EQ(write(1 << 20, 1).delivery, Delivery::qemu);
  EXPECT_EQ(read(1 << 20), 0U);
}

TEST_F(RoutingWithIommu, BarsAreReachedThroughQemuOnly) {
  EXPECT_EQ(write(kBarB, 1).delivery, Delivery::qemu);
  EXPECT_EQ(function_b_.writes(), 0U);
  EXPECT_EQ(read(kBarB), ~0ULL);
}

TEST_F(RoutingWithIommu, AWriteThatMayWaitOvertakesNoEarlierOne) {
  const std::uint64_t value = 1;
  a_.write({0x40}, bytes_of(value), {});
  EXPECT_EQ(link_->settled, 0U);
  EXPECT_EQ(a_.write({0x40}, bytes_of(value), {.may_wait = true}).delivery, Delivery::memory);
  EXPECT_EQ(link_->settled, 1U);
  EXPECT_EQ(a_.write({kWindowB}, bytes_of(value), {.may_wait = true}).delivery, Delivery::qemu);
  EXPECT_EQ(link_->settled, 1U) << "QEMU keeps the order";
}

TEST_F(RoutingWithIommu, AFunctionIsReadyAfterAResetWhenItsWritesHaveArrived) {
  std::uint32_t command = 0;
  const auto read_config = [&](std::uint64_t offset) {
    a_.config_read(offset, writable_bytes_of(command));
    return command;
  };
  link_->late = true;
  a_.device_reset();
  EXPECT_EQ(read_config(4), ~0U);
  EXPECT_NE(read_config(8), ~0U);
  a_.device_reset();
  ASSERT_EQ(link_->waiting.size(), 2U);
  link_->waiting[0]();
  EXPECT_EQ(read_config(4), ~0U) << "of the first reset";
  link_->waiting[1]();
  EXPECT_NE(read_config(4), ~0U);
}

TEST_F(RoutingWithIommu, AReadThatQemuFindsNothingForFails) {
  link_->in_bar = [this](std::span<std::byte> data) { b_.bar_read(2, 0x40, data); };
  EXPECT_EQ(read(kWindowB + 0x40, {.may_wait = true}), ~0ULL);
  EXPECT_EQ(read_outcome_.delivery, Delivery::unclaimed) << "the window is shut, and QEMU reports success";
  function_b_.open_window(a_, {0x1000});
  ASSERT_EQ(write(0x1040, ~0ULL).delivery, Delivery::memory);
  EXPECT_EQ(read(kWindowB + 0x40, {.may_wait = true}), ~0ULL);
  EXPECT_EQ(read_outcome_.delivery, Delivery::qemu) << "all ones that are really there";
}

TEST_F(RoutingWithIommu, ScatteredPagesOfOneAccessAreFoundOneByOne) {
  constexpr std::uint64_t iova = 0xfff00000;
  for (std::uint64_t page = 0; page < 4; ++page) {
    ASSERT_TRUE(a_.memory().map({iova + page * 4096}, 4096, {true, true}, (7 - page) * 4096, memory_.fd()));
  }
  std::vector<std::byte> data(3 * 4096);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i / 512 + 1);
  EXPECT_EQ(a_.write({iova + 100}, data, {}).delivery, Delivery::memory);
  EXPECT_EQ(memory_.at<std::byte>(7 * 4096 + 100), data[0]);
  EXPECT_EQ(memory_.at<std::byte>(6 * 4096), data[4096 - 100]);
  EXPECT_EQ(memory_.at<std::byte>(4 * 4096 + 99), data.back());
  std::vector<std::byte> back(data.size());
  EXPECT_EQ(a_.read({iova + 100}, back, {}).delivery, Delivery::memory);
  EXPECT_EQ(back, data);
  const std::uint64_t straddling = 0x1122334455667788;
  EXPECT_EQ(write(iova + 4096 - 3, straddling).delivery, Delivery::memory);
  EXPECT_EQ(read(iova + 4096 - 3), straddling);
}

TEST_F(Routing, AnAccessIsSplitWhereItsWaysPart) {
  std::vector<std::byte> data(0x2000, std::byte{0x5a});
  EXPECT_EQ(a_.write({(1 << 20) - 0x1000}, data, {}).delivery, Delivery::memory) << "of the first piece";
  EXPECT_EQ(memory_.at<std::uint8_t>((1 << 20) - 1), 0x5a);
  EXPECT_THAT(link_->writes, testing::ElementsAre(testing::Pair(1 << 20, 0x1000)));
  link_->writes.clear();
  data.assign(0x5000, std::byte{0x5b});
  a_.write({kBarB - 0x800}, data, {});
  EXPECT_EQ(function_b_.register_at(0x3ff8), 0x5b5b5b5b5b5b5b5bU);
  EXPECT_THAT(link_->writes,
              testing::ElementsAre(testing::Pair(kBarB - 0x800, 0x800), testing::Pair(kBarB + 0x4000, 0x800)));
}

TEST_F(Routing, AnAccessOfWhichAPartFailsHasFailed) {
  link_->alive = false;
  std::vector<std::byte> data(0x2000);
  EXPECT_EQ(a_.write({(1 << 20) - 0x1000}, data, {}).delivery, Delivery::unclaimed);
  EXPECT_EQ(a_.read({(1 << 20) - 0x1000}, data, {}).delivery, Delivery::unclaimed);
  EXPECT_EQ(data[0xfff], std::byte{0});
  EXPECT_EQ(data[0x1000], std::byte{0xff});
}

TEST_F(Routing, TheEndOfTheAddressSpaceIsAnEnd) {
  EXPECT_EQ(write(~0ULL - 3, 1).delivery, Delivery::unclaimed);
  EXPECT_THAT(link_->writes, testing::ElementsAre(testing::Pair(~0ULL - 3, 4)));
  EXPECT_EQ(read(~0ULL - 3, {.may_wait = true}), 0xfffffffffcfcfcfcU);
  const BusStore store{{~0ULL - 3}, 8, 1};
  Outcome outcome;
  a_.write_many({&store, 1}, {}, {&outcome, 1});
  EXPECT_EQ(outcome.delivery, Delivery::unclaimed);
}

TEST_F(Routing, MsiAddressesAreInterruptsAndNeverMemory) {
  ASSERT_TRUE(a_.memory().map({0xfee00000}, 4096, {true, true}, 0, memory_.fd()));
  const Outcome outcome = write(0xfee01000, 0x41);
  EXPECT_EQ(outcome.delivery, Delivery::qemu);
  EXPECT_EQ(outcome.kind, AccessKind::interrupt);
  EXPECT_EQ(write(0xfee00000, 0x41).delivery, Delivery::qemu);
  EXPECT_EQ(memory_.at(0), 0U);
  EXPECT_EQ(write(0xfef00000, 0x41).kind, AccessKind::message);
}

TEST_F(Routing, TaggedMemoryIsKnownThroughEveryFunction) {
  ASSERT_TRUE(b_.memory().map({0x500000}, 0x10000, {true, true}, 0x2000, memory_.fd()));
  const std::uint64_t id = a_.tag({0x2000}, 0x1000, AccessKind::command);
  ASSERT_NE(id, 0U);
  const std::uint64_t value = 7;
  EXPECT_EQ(b_.write({0x500000}, bytes_of(value), {}).kind, AccessKind::command);
  EXPECT_EQ(b_.write({0x501000}, bytes_of(value), {}).kind, AccessKind::message);
  EXPECT_EQ(b_.write({0x500000}, bytes_of(value), {AccessKind::data, 0, false}).kind, AccessKind::data)
      << "the origin knew better";
  const std::array<BusStore, 3> stores = {BusStore{{0x1ff8}, 8, 1}, {{0x2ff8}, 8, 2}, {{0x3000}, 8, 3}};
  std::array<Outcome, 3> outcomes;
  a_.write_many(stores, {}, outcomes);
  EXPECT_EQ(outcomes[0].kind, AccessKind::message);
  EXPECT_EQ(outcomes[1].kind, AccessKind::command);
  EXPECT_EQ(outcomes[2].kind, AccessKind::message);
  a_.untag(id);
  EXPECT_EQ(b_.write({0x500000}, bytes_of(value), {}).kind, AccessKind::message);
  EXPECT_EQ(a_.tag({0xd0000000}, 0x1000, AccessKind::command), 0U) << "not memory";
}

TEST_F(Routing, ManyStoresGoTheirOwnWays) {
  const std::array<BusStore, 6> stores = {BusStore{{0x100}, 8, 1},  {{kBarB + 0x10}, 4, 2}, {{0xd0000000}, 4, 3},
                                          {{0x108}, 2, 0xffff0004}, {{0xfee00000}, 4, 5},   {{(1 << 20) - 4}, 8, 6}};
  std::array<Outcome, 6> outcomes;
  a_.write_many(stores, {}, outcomes);
  EXPECT_EQ(memory_.at(0x100), 1U);
  EXPECT_EQ(function_b_.register_at(0x10), 2U);
  EXPECT_EQ(memory_.at(0x108), 4U) << "two bytes only";
  EXPECT_EQ(memory_.at<std::uint32_t>((1 << 20) - 4), 6U);
  EXPECT_THAT(link_->writes, testing::ElementsAre(testing::Pair(0xd0000000, 4), testing::Pair(0xfee00000, 4),
                                                  testing::Pair(1 << 20, 4)));
  EXPECT_EQ(outcomes[0].delivery, Delivery::memory);
  EXPECT_EQ(outcomes[1].delivery, Delivery::endpoint);
  EXPECT_EQ(outcomes[2].delivery, Delivery::qemu);
  EXPECT_EQ(outcomes[4].kind, AccessKind::interrupt);
  a_.write_many(stores, {}, {});
}

TEST_F(Routing, WithoutBusMasteringNothingLeaves) {
  command(a_, 2);
  EXPECT_FALSE(a_.bus_master());
  EXPECT_EQ(write(0x1000, 1).delivery, Delivery::unclaimed);
  EXPECT_EQ(memory_.at(0x1000), 0U);
  EXPECT_EQ(read(0x1000, {.may_wait = true}), ~0ULL);
  const BusStore store{{0x1000}, 8, 1};
  Outcome outcome{Delivery::memory, AccessKind::data};
  a_.write_many({&store, 1}, {}, {&outcome, 1});
  EXPECT_EQ(outcome.delivery, Delivery::unclaimed);
  EXPECT_EQ(memory_.at(0x1000), 0U);
  a_.interrupt(0);
  EXPECT_EQ(a_.counters().get(Count::interrupts_dropped), 1U);
  EXPECT_EQ(a_.counters().get(Count::dma_writes_unclaimed), 2U);
  EXPECT_EQ(a_.counters().get(Count::dma_reads_unclaimed), 1U);
}

TEST_F(Routing, AWindowLeadsToAnotherHost) {
  Host far("far", true, files_, waits_);
  FakeFunction far_function;
  Endpoint& far_endpoint = far.add("ntb", far_function);
  start(far_endpoint, kBarA, 0);
  TestMemory far_memory(1 << 16);
  ASSERT_TRUE(far_endpoint.memory().map({0x40000}, 1 << 16, {true, true}, 0, far_memory.fd()));
  function_b_.open_window(far_endpoint, {0x40000});
  EXPECT_EQ(write(kWindowB + 0x10, 0x99).delivery, Delivery::memory);
  EXPECT_EQ(far_memory.at(0x10), 0x99U);
  EXPECT_EQ(read(kWindowB + 0x10), 0x99U);
  EXPECT_EQ(read_outcome_.delivery, Delivery::memory);
  EXPECT_EQ(read(kWindowB + (1 << 20)), ~0ULL) << "what the far host does not map";
  EXPECT_EQ(read_outcome_.delivery, Delivery::unclaimed) << "the device that reads is told";
}

TEST_F(Routing, WindowsThatLeadIntoEachOtherEnd) {
  function_a_.open_window(b_, {kWindowB});     // a's window -> b's bus -> b's window …
  function_b_.open_window(a_, {0x800000000});  // … -> a's bus -> a's window
  EXPECT_EQ(write(kWindowB, 1).delivery, Delivery::unclaimed);
  EXPECT_EQ(read(kWindowB), ~0ULL);
  const BusStore store{{kWindowB}, 8, 1};
  Outcome outcome;
  a_.write_many({&store, 1}, {}, {&outcome, 1});
  EXPECT_EQ(outcome.delivery, Delivery::unclaimed);
}

TEST_F(Routing, DevicesOfADeadGuestReachNothing) {
  a_.detach();
  EXPECT_EQ(function_a_.disconnects(), 1);
  EXPECT_EQ(function_a_.last_reset(), ResetCause::disconnect);
  EXPECT_FALSE(a_.bus_master());
  EXPECT_EQ(write(0x1000, 1).delivery, Delivery::unclaimed);
  EXPECT_EQ(a_.memory().ranges(), 0U);
  a_.detach();
  EXPECT_EQ(function_a_.disconnects(), 1) << "once";
}

}  // namespace
}  // namespace smartio::pci
