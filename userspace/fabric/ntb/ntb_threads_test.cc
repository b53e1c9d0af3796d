// SPDX-License-Identifier: GPL-2.0
// Both directions at work while cables are pulled and hosts reset: no deadlock, no race, and nothing lands in a
// window after it was shut. Meant for -DSMARTIO_SANITIZE=thread; right without it too.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/eventually.h"
#include "fabric/ntb/intel_test_support.h"
#include "fabric/ntb/ntb_test_support.h"

namespace smartio::ntb {
namespace {

using namespace amd;
using test::Driver;

/// Memory is one atomic word, so that the test itself is free of races; `pause` holds a write up on its way.
class Sink : public pci::Port {
 public:
  pci::Outcome write(pci::BusAddress, std::span<const std::byte>, pci::Transaction transaction) override {
    arrived++;
    while (pause.load()) std::this_thread::yield();
    landed++;
    return {pci::Delivery::memory, transaction.kind};
  }
  void write_many(std::span<const pci::BusStore> stores, pci::Transaction transaction,
                  std::span<pci::Outcome> outcomes) override {
    landed += stores.size();
    for (auto& outcome : outcomes) outcome = {pci::Delivery::memory, transaction.kind};
  }
  pci::Outcome read(pci::BusAddress, std::span<std::byte> data, pci::Transaction transaction) override {
    std::ranges::fill(data, std::byte{0});
    return {pci::Delivery::memory, transaction.kind};
  }
  void interrupt(unsigned) override { interrupts++; }
  std::uint64_t tag(pci::BusAddress, std::uint64_t, pci::AccessKind) override { return 0; }
  void untag(std::uint64_t) override {}
  [[nodiscard]] bool bus_master() const override { return true; }

  std::atomic<std::uint64_t> arrived{0}, landed{0}, interrupts{0};
  std::atomic<bool> pause{false};
};

class Threads : public ::testing::Test {
 protected:
  Threads() {
    for (const auto side : {Side::primary, Side::secondary}) {
      auto& function = cable.function(side);
      function.bind(side == Side::primary ? host_a : host_b);
      function.connected();
      Driver(function).open(0, 0x1000, 0x10000);
    }
  }
  Sink host_a, host_b;
  Cable cable{{.name = "ab", .windows = {1 << 20, 1 << 16}, .training = {}}};
};

TEST_F(Threads, EverythingAtOnce) {
  const std::vector<pci::Store> stores(100, pci::Store{8, 8, 1});
  const std::vector<std::byte> page(4096);
  std::atomic<unsigned> done{0};
  constexpr unsigned kTurns = 400;
  {
    std::vector<std::jthread> threads;
    for (const auto side : {Side::primary, Side::secondary}) {
      auto& function = cable.function(side);
      threads.emplace_back([&] {  // a guest's CPU: windows, doorbells, events, its inbound window opened and shut
        Driver driver(function);
        driver.set_ready();
        driver.write(reg::INTMASK, 0);
        driver.write(reg::DBMASK, 0);
        for (unsigned i = 0; i < kTurns; i++) {
          function.bar_write_many(2, stores, {});
          driver.write(8, i, 8, 2);
          driver.read(8, 8, 2);
          driver.write(reg::DBREQ, 1U << (i % 16), 2);
          driver.write(reg::DBSTAT, 0xffff, 2);
          driver.write(reg::INTSTAT, driver.read(reg::INTSTAT));
          driver.peer_sideinfo();
          if (i % 8 == 0) driver.open(0, 0x1000, i % 16 == 0 ? 0 : 0x10000);
        }
        done++;
      });
      threads.emplace_back([&] {  // a drive of the same host
        std::vector<std::byte> buffer(4096);
        for (unsigned i = 0; i < kTurns; i++) {
          function.bar_write(2, 0, page, {.kind = pci::AccessKind::data});
          function.bar_read(2, 0, buffer, {.kind = pci::AccessKind::data, .may_wait = true});
        }
        done++;
      });
    }
    threads.emplace_back([&] {
      for (unsigned i = 0; i < kTurns / 8; i++) {
        cable.down();
        cable.up();
        cable.silent();
        cable.flap(std::chrono::milliseconds(0));
        cable.up();
        cable.function(i % 2 ? Side::primary : Side::secondary).reset(pci::ResetCause::function);
        static_cast<void>(cable.ledger().snapshot());
        static_cast<void>(cable.function(Side::primary).status());
      }
      done++;
    });
  }
  EXPECT_EQ(done, 5U);
  // The link returns when both drivers have dealt with its loss.
  EXPECT_TRUE(eventually([&] {
    for (const auto side : {Side::primary, Side::secondary}) {
      Driver driver(cable.function(side));
      driver.write(reg::INTSTAT, driver.read(reg::INTSTAT));
    }
    return cable.is_up();
  }));
}

/// What each of these orders promises: when it returns, nothing that went through the window is still on its way.
class Shutting : public Threads, public ::testing::WithParamInterface<int> {
 protected:
  void shut() {
    Driver b(cable.function(Side::secondary));
    switch (GetParam()) {
      case 0:
        return b.open(0, 0x1000, 0);
      case 1:
        return b.open(0, 0x2000, 0x10000);
      case 2:
        return cable.down();
      case 3:
        return cable.silent();
      case 4:
        return cable.function(Side::secondary).reset(pci::ResetCause::function);
      default:
        return cable.function(Side::secondary).disconnected();
    }
  }
};

TEST_P(Shutting, WaitsForTheWriteUnderWay) {
  host_b.pause = true;
  std::jthread writer([&] { Driver(cable.function(Side::primary)).write(0, 1, 8, 2); });
  ASSERT_TRUE(eventually([&] { return host_b.arrived == 1; }));
  std::atomic<bool> shutting{false};
  std::atomic<std::uint64_t> landed_by_then{99};
  std::jthread closer([&] {
    shutting = true;
    shut();
    landed_by_then = host_b.landed.load();
  });
  ASSERT_TRUE(eventually([&] { return shutting.load(); }));
  // Time for one that does not wait to return: can only ever pass where it does wait, however slow the machine.
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  while (std::chrono::steady_clock::now() < until && landed_by_then == 99) std::this_thread::yield();
  EXPECT_EQ(landed_by_then, 99U) << "returned while a write was in flight";
  host_b.pause = false;
  closer.join();
  EXPECT_EQ(landed_by_then, 1U);
}

INSTANTIATE_TEST_SUITE_P(Ways, Shutting, ::testing::Range(0, 6));

TEST_F(Threads, WriteThatNeverEndsDoesNotHoldUpAReset) {
  host_b.pause = true;
  std::jthread writer([&] { Driver(cable.function(Side::primary)).write(0, 1, 8, 2); });
  ASSERT_TRUE(eventually([&] { return host_b.arrived == 1; }));
  cable.function(Side::secondary).reset(pci::ResetCause::function);  // returns, with a log line
  EXPECT_EQ(host_b.landed, 0U);
  EXPECT_EQ(cable.function(Side::secondary).status().limit[0], 0U);
  host_b.pause = false;
}

/// The same for what Intel's driver does.
class ShuttingIntel : public ::testing::TestWithParam<int> {};

TEST_P(ShuttingIntel, WaitsForTheWriteUnderWay) {
  Sink host_a, host_b;
  Cable cable{{.name = "ab", .windows = {1 << 20, 1 << 16}, .family = Family::intel_spr, .training = {}}};
  cable.function(Side::primary).bind(host_a);
  cable.function(Side::secondary).bind(host_b);
  test::IntelDriver a(cable.function(Side::primary), 1ULL << 40, 1ULL << 41);
  test::IntelDriver b(cable.function(Side::secondary), 1ULL << 40, 1ULL << 41);
  for (auto* driver : {&a, &b}) {
    driver->probe();
    driver->enable_link();
  }
  ASSERT_TRUE(eventually([&] { return cable.is_up(); }));
  ASSERT_TRUE(b.set_trans(0, 0x1000));
  host_b.pause = true;
  std::jthread writer([&] { a.write(0, 1, 8, 2); });
  ASSERT_TRUE(eventually([&] { return host_b.arrived == 1; }));
  std::atomic<bool> shut{false};
  std::jthread closer([&] {
    switch (GetParam()) {
      case 0:
        EXPECT_TRUE(b.set_trans(0, 0, 0));
        break;
      case 1:
        b.disable_link();
        break;
      default:
        cable.function(Side::secondary).reset(pci::ResetCause::function);
    }
    shut = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(shut) << "returned while a write was in flight";
  host_b.pause = false;
  closer.join();
  EXPECT_EQ(host_b.landed, 1U);
}

INSTANTIATE_TEST_SUITE_P(Ways, ShuttingIntel, ::testing::Range(0, 3));

/// Both hosts load and unload clients while a cable flaps: the link ends up, and everybody knows.
TEST(IntelThreads, LinkIsEnabledAndDisabledWhileTheCableFlaps) {
  Sink host_a, host_b;
  Cable cable{{.name = "ab", .windows = {1 << 20, 1 << 16}, .family = Family::intel_spr, .training = {}}};
  std::atomic<bool> stop{false};
  std::atomic<unsigned> settled{0};  // drivers that do no more than hear of the link
  {
    std::vector<std::jthread> threads;
    for (const auto side : {Side::primary, Side::secondary}) {
      auto& function = cable.function(side);
      function.bind(side == Side::primary ? host_a : host_b);
      function.connected();
      threads.emplace_back([&] {
        test::IntelDriver driver(function, 1ULL << 40, 1ULL << 41);
        driver.probe();
        for (unsigned i = 0; i < 200; i++) {
          driver.enable_link();
          driver.set_trans(0, 0x1000);
          driver.write(8, i, 8, 2);
          driver.ring(i % intel::kDoorbells);
          driver.poll_link();
          if (i % 4 == 0) driver.disable_link();
        }
        settled++;
        while (!stop) driver.poll_link();
      });
    }
    threads.emplace_back([&] {
      for (unsigned i = 0; i < 50; i++) {
        cable.flap(std::chrono::microseconds(50));
        cable.silent();
        cable.down();
        cable.up();
      }
      EXPECT_TRUE(eventually([&] { return settled == 2 && cable.is_up(); }));
      stop = true;
    });
  }
  for (const auto side : {Side::primary, Side::secondary}) {
    Driver driver(cable.function(side));
    EXPECT_NE(driver.read(intel::reg::LINK_CTRL) & intel::kLinkActive, 0U);
  }
}

TEST(WriteGate, IsNotStarvedByNewWrites) {
  WriteGate gate;
  std::atomic<bool> stop{false};
  std::vector<std::jthread> writers;
  for (int i = 0; i < 3; i++)
    writers.emplace_back([&] {
      while (!stop) const WriteGate::Pass pass(gate);
    });
  bool all = true;
  for (int i = 0; i < 50; i++) all &= gate.synchronize(std::chrono::seconds(30));
  stop = true;
  EXPECT_TRUE(all);
}

TEST(WriteGate, TwoThatShutAtOnceBothWait) {
  WriteGate gate;
  std::atomic<int> value{0};
  std::vector<std::jthread> closers;
  for (int i = 0; i < 4; i++)
    closers.emplace_back([&] {
      for (int turn = 0; turn < 100; turn++) {
        {
          const WriteGate::Pass pass(gate);
        }
        if (gate.synchronize(std::chrono::seconds(30))) value++;
      }
    });
  closers.clear();
  EXPECT_EQ(value, 400);
}

TEST(WriteGate, ThreadInsideAPassDoesNotWaitForItself) {
  WriteGate gate;
  const WriteGate::Pass pass(gate);
  EXPECT_TRUE(gate.synchronize(std::chrono::seconds(30)));
}

TEST(WriteGate, GivesUpAtItsLimit) {
  WriteGate gate;
  std::atomic<int> stage{0};
  std::jthread writer([&] {
    const WriteGate::Pass pass(gate);
    stage = 1;
    while (stage != 2) std::this_thread::yield();
  });
  while (stage != 1) std::this_thread::yield();
  EXPECT_FALSE(gate.synchronize(std::chrono::milliseconds(5)));
  stage = 2;
  writer.join();
  EXPECT_TRUE(gate.synchronize(std::chrono::seconds(30)));
}

}  // namespace
}  // namespace smartio::ntb
