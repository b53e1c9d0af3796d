// SPDX-License-Identifier: GPL-2.0
// An endpoint as its guest sees it: configuration space, BARs, interrupts, removal.
#include "fabric/pci/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "fabric/pci/fake_function.h"
#include "fabric/pci/host.h"
#include "fabric/pci/test_memory.h"

namespace smartio::pci {
namespace {

class NoLink : public GuestLink {
 public:
  bool post_write(BusAddress, std::span<const std::byte>) override { return false; }
  bool after_writes(std::function<void()>) override { return false; }
  bool settle() override { return false; }
  bool read(BusAddress, std::span<std::byte>, std::optional<std::chrono::steady_clock::time_point>) override {
    return false;
  }
};

class Endpoints : public testing::Test {
 protected:
  void start() {
    const std::uint16_t command = 6;
    const std::uint32_t bar = 0xe0000000;
    endpoint_.config_write(0x10, bytes_of(bar));
    endpoint_.config_write(0x04, bytes_of(command));
  }
  template <typename T = std::uint32_t>
  T config(std::uint64_t offset) {
    T value{};
    endpoint_.config_read(offset, writable_bytes_of(value));
    return value;
  }
  template <typename T = std::uint64_t>
  T bar(std::uint64_t offset) {
    T value{};
    endpoint_.bar_read(0, offset, writable_bytes_of(value));
    return value;
  }
  MemoryFiles files_;
  Waits waits_;
  Host host_{"h", false, files_, waits_};
  FakeFunction function_;
  Endpoint& endpoint_ = host_.add("dev", function_);
};

TEST_F(Endpoints, AFunctionIsBoundAndPoweredOn) {
  EXPECT_EQ(&function_.port(), &endpoint_);
  EXPECT_EQ(function_.last_reset(), ResetCause::power_on);
  EXPECT_EQ(endpoint_.full_name(), "h.dev");
  EXPECT_EQ(host_.find("dev"), &endpoint_);
  EXPECT_EQ(host_.find("other"), nullptr);
}

TEST_F(Endpoints, InterruptsGoOutWhenTheGuestTakesThem) {
  start();
  endpoint_.interrupt(5);
  EXPECT_EQ(endpoint_.counters().get(Count::interrupts_kept), 1U);
  EXPECT_EQ(bar(0x3000), 1U << 5) << "the Pending Bit Array";
  UniqueFd fd = new_eventfd();
  std::array<UniqueFd, 1> fds = {duplicate(fd)};
  endpoint_.vectors().assign(5, fds);
  EXPECT_EQ(signals(fd), 1U);
  EXPECT_EQ(bar(0x3000), 0U);
  endpoint_.interrupt(5);
  EXPECT_EQ(signals(fd), 1U);
  endpoint_.interrupt(64);
  EXPECT_EQ(endpoint_.counters().get(Count::interrupts_dropped), 1U);
}

TEST_F(Endpoints, RegistersBesideThePendingBitsAreTheFunctions) {
  const std::uint64_t value = 0x77;
  endpoint_.bar_write(0, 0x3008, bytes_of(value));
  EXPECT_EQ(bar(0x3008), 0x77U);
}

TEST_F(Endpoints, LargeReadsComeInPiecesThatAFunctionTakes) {
  std::vector<std::byte> data(0x3000);
  endpoint_.bar_read(0, 0, data);
  EXPECT_EQ(function_.largest_read(), 4096U);
}

TEST_F(Endpoints, ManyStoresArriveInOrder) {
  const std::array<Store, 3> stores = {Store{0x10, 8, 1}, {0x10, 4, 2}, {0x14, 1, 3}};
  endpoint_.bar_write_many(0, stores);
  EXPECT_EQ(bar(0x10), 0x300000002U);
  EXPECT_EQ(endpoint_.counters().get(Count::register_writes), 3U);
}

TEST_F(Endpoints, FunctionLevelReset) {
  start();
  endpoint_.interrupt(1);
  std::uint8_t express = config<std::uint8_t>(0x34);
  while (config<std::uint8_t>(express) != 0x10) express = config<std::uint8_t>(express + 1U);
  const std::uint16_t control = 0x8000;
  const int before = function_.resets();
  endpoint_.config_write(express + 8U, bytes_of(control));
  EXPECT_EQ(function_.resets(), before + 1);
  EXPECT_EQ(function_.last_reset(), ResetCause::function);
  EXPECT_FALSE(endpoint_.bus_master());
  EXPECT_EQ(config(0x10), 0xe0000000U) << "QEMU keeps the BARs, so do we";
  EXPECT_EQ(bar(0x3000), 0U) << "nothing pending";
}

TEST_F(Endpoints, DeviceReset) {
  start();
  endpoint_.device_reset();
  EXPECT_EQ(function_.last_reset(), ResetCause::function);
  EXPECT_EQ(config(0x10), 0U);
  EXPECT_EQ(host_.find_bar({0xe0000000}, 4).endpoint, nullptr);
}

TEST_F(Endpoints, ARemovedDeviceIsNotThere) {
  start();
  endpoint_.attach(std::make_shared<NoLink>());
  TestMemory memory(4096);
  ASSERT_TRUE(endpoint_.memory().map({0}, 4096, {true, true}, 0, memory.fd()));
  endpoint_.set_present(false);
  EXPECT_EQ(config(0), ~0U);
  EXPECT_EQ(bar(0), ~0ULL);
  EXPECT_EQ(bar(0x3000), ~0ULL);
  const std::uint64_t value = 1;
  const std::uint64_t writes = function_.writes();
  endpoint_.bar_write(0, 0, bytes_of(value));
  const Store store{0, 8, 1};
  endpoint_.bar_write_many(0, {&store, 1});
  endpoint_.config_write(4, bytes_of(value));
  EXPECT_EQ(function_.writes(), writes);
  EXPECT_EQ(endpoint_.write({0}, bytes_of(value), {}).delivery, Delivery::unclaimed);
  EXPECT_EQ(memory.at(0), 0U);
  endpoint_.interrupt(0);
  EXPECT_EQ(endpoint_.counters().get(Count::interrupts_dropped), 1U);
  EXPECT_EQ(host_.find_bar({0xe0000000}, 4).endpoint, nullptr);
  EXPECT_EQ(endpoint_.peer_write(0, 0, bytes_of(value), {}).delivery, Delivery::unclaimed);
  std::uint64_t read = 0;
  EXPECT_EQ(endpoint_.peer_read(0, 0, writable_bytes_of(read), {}).delivery, Delivery::unclaimed);
  EXPECT_EQ(read, ~0ULL);

  endpoint_.set_present(true);
  EXPECT_EQ(function_.last_reset(), ResetCause::power_on);
  EXPECT_EQ(config(0), 0xcafe1234U);
  EXPECT_FALSE(endpoint_.bus_master());
  start();
  EXPECT_EQ(endpoint_.write({0}, bytes_of(value), {}).delivery, Delivery::memory);
  const int resets = function_.resets();
  endpoint_.set_present(true);
  EXPECT_EQ(function_.resets(), resets) << "it was there";
}

TEST_F(Endpoints, AFunctionHearsWhenItIsRemovedAndPutBack) {
  endpoint_.set_present(false);
  endpoint_.set_present(true);
  EXPECT_EQ(function_.connects() + function_.disconnects(), 0) << "there is no guest to come or go";
  endpoint_.attach(std::make_shared<NoLink>());
  EXPECT_EQ(function_.connects(), 1);
  endpoint_.set_present(false);
  EXPECT_EQ(function_.disconnects(), 1) << "an NTB's peer must see its link go";
  endpoint_.set_present(true);
  EXPECT_EQ(function_.connects(), 2);
  endpoint_.set_present(false);
  endpoint_.detach();
  EXPECT_EQ(function_.disconnects(), 2) << "it knew";
  endpoint_.attach(std::make_shared<NoLink>());
  EXPECT_EQ(function_.connects(), 2) << "a guest that finds an empty slot";
  endpoint_.set_present(true);
  EXPECT_EQ(function_.connects(), 3);
  endpoint_.detach();
  EXPECT_EQ(function_.disconnects(), 3);
}

TEST_F(Endpoints, CountersHaveNames) {
  config(0);
  for (const auto& [name, value] : endpoint_.counters().all()) {
    EXPECT_NE(name, "unknown");
    EXPECT_EQ(value, name == "config_reads" ? 1U : 0U) << name;
  }
  endpoint_.counters().reset();
  EXPECT_EQ(endpoint_.counters().get(Count::config_reads), 0U);
}

TEST_F(Endpoints, AGuestMayComeAndGoWhileItsDeviceWorks) {
  TestMemory memory(1 << 16);
  std::atomic<std::uint64_t> reached{0};
  std::jthread device([&](const std::stop_token& stop) {
    std::vector<std::byte> data(1 << 14);
    std::vector<BusStore> stores(64, BusStore{{0x100}, 8, 1});
    while (!stop.stop_requested()) {
      if (endpoint_.write({0}, data, {}).delivery == Delivery::memory) ++reached;
      endpoint_.read({0}, data, {});
      endpoint_.write_many(stores, {}, {});
      endpoint_.interrupt(0);
      const auto id = endpoint_.tag({0}, 4096, AccessKind::command);
      endpoint_.untag(id);
    }
  });
  for (int i = 0; i < 30; ++i) {
    endpoint_.attach(std::make_shared<NoLink>());
    ASSERT_TRUE(endpoint_.memory().map({0}, 1 << 16, {true, true}, 0, memory.fd()));
    std::array<UniqueFd, 1> fds = {new_eventfd()};
    endpoint_.vectors().assign(0, fds);
    start();
    const std::uint64_t before = reached;
    while (reached == before) std::this_thread::yield();
    endpoint_.detach();
  }
}

}  // namespace
}  // namespace smartio::pci
