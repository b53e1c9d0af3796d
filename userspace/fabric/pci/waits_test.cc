// SPDX-License-Identifier: GPL-2.0
// Loads of a host's CPU that only another host's QEMU can answer: they wait, but never in a circle.
#include "fabric/pci/waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "fabric/pci/endpoint.h"
#include "fabric/pci/fake_function.h"
#include "fabric/pci/host.h"
#include "fabric/pci/test_memory.h"

namespace smartio::pci {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kAllOnes = ~0ULL;
constexpr std::uint64_t kRegister = 0xd0000000;  // of a device that the fabric does not model

class Graph : public testing::Test {
 protected:
  MemoryFiles files_;
  Waits waits_;
  Host a_{"a", false, files_, waits_};
  Host b_{"b", false, files_, waits_};
  Host c_{"c", false, files_, waits_};
};

TEST_F(Graph, AWaitThatClosesACircleIsRefused) {
  EXPECT_FALSE(waits_.begin(a_, a_));
  const auto ab = waits_.begin(a_, b_);
  ASSERT_TRUE(ab);
  EXPECT_FALSE(waits_.begin(b_, a_));
  const auto bc = waits_.begin(b_, c_);
  ASSERT_TRUE(bc);
  EXPECT_FALSE(waits_.begin(c_, a_)) << "a waits for b, which waits for c";
  EXPECT_FALSE(waits_.begin(c_, b_));
  EXPECT_TRUE(waits_.begin(a_, c_)) << "two may wait for one";
}

TEST_F(Graph, AWaitThatEndedClosesNoCircle) {
  {
    const auto one = waits_.begin(a_, b_);
    {
      auto two = waits_.begin(a_, b_);
      ASSERT_TRUE(two);
      const Waits::Wait moved = std::move(*two);
      EXPECT_FALSE(waits_.begin(b_, a_));
    }
    EXPECT_FALSE(waits_.begin(b_, a_)) << "the first one waits still";
  }
  EXPECT_TRUE(waits_.begin(b_, a_));
}

TEST_F(Graph, NoCircleClosesWhoeverComesFirst) {
  const std::array<Host*, 3> hosts{&a_, &b_, &c_};
  std::array<std::atomic<const Host*>, 3> waits_for{};
  std::atomic<unsigned> circles{0};
  std::atomic<unsigned> begun{0};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      threads.emplace_back([&, i] {
        for (unsigned turn = 0; turn < 2000; ++turn) {
          const std::size_t to = (i + 1 + turn % 2) % hosts.size();
          const auto wait = waits_.begin(*hosts[i], *hosts[to]);
          if (!wait) continue;
          ++begun;
          waits_for[i] = hosts[to];
          // Follow the other threads' entries. A thread makes its entry after its wait began and clears it before the
          // wait ends.
          std::size_t at = to;
          for (unsigned step = 0; step < hosts.size(); ++step) {
            const Host* next = waits_for[at];
            if (next == nullptr) break;
            at = static_cast<std::size_t>(std::ranges::find(hosts, next) - hosts.begin());
            if (at == i) ++circles;
          }
          waits_for[i] = nullptr;
        }
      });
    }
  }
  EXPECT_EQ(circles, 0U);
  EXPECT_GT(begun, 0U);
}

/// A host's QEMU: it answers each read with the address, or with the `value` that `on_read` leaves.
class Qemu : public GuestLink {
 public:
  bool post_write(BusAddress, std::span<const std::byte>) override { return true; }
  bool after_writes(std::function<void()> then) override {
    then();
    return true;
  }
  bool settle() override { return true; }
  bool read(BusAddress address, std::span<std::byte> data,
            std::optional<std::chrono::steady_clock::time_point> until) override {
    ++asked;
    last_until = until;
    std::uint64_t value = address.value;
    if (on_read) on_read(value);
    std::memcpy(data.data(), &value, std::min(data.size(), sizeof(value)));
    return answers;
  }
  bool answers = true;
  unsigned asked = 0;
  std::optional<std::chrono::steady_clock::time_point> last_until;
  std::function<void(std::uint64_t&)> on_read;
};

/// A host with two functions whose windows lead to other hosts, as NTBs' do.
struct Machine {
  Machine(std::string name, MemoryFiles& files, Waits& waits) : host(std::move(name), false, files, waits) {
    for (Endpoint* endpoint : {&left, &right}) {
      const std::uint16_t command = 6;
      endpoint->config_write(0x04, bytes_of(command));
      endpoint->attach(qemu);
    }
  }
  static std::uint64_t load(Endpoint& endpoint, std::uint64_t offset) {
    std::uint64_t value = 0;
    endpoint.bar_read(2, offset, writable_bytes_of(value));
    return value;
  }
  FakeFunction left_function, right_function;
  Host host;
  Endpoint& left = host.add("left", left_function);
  Endpoint& right = host.add("right", right_function);
  std::shared_ptr<Qemu> qemu = std::make_shared<Qemu>();
};

/// a - b - c - a, each one's right neighbour through its right window, its left through its left one.
class Triangle : public testing::Test {
 protected:
  explicit Triangle(std::chrono::milliseconds patience = Waits::kPatience) : waits_(patience) {
    join(a_, b_);
    join(b_, c_);
    join(c_, a_);
  }
  static void join(Machine& one, Machine& other) {
    one.right_function.open_window(other.left, {kRegister});
    other.left_function.open_window(one.right, {kRegister});
  }
  MemoryFiles files_;
  Waits waits_;
  Machine a_{"a", files_, waits_}, b_{"b", files_, waits_}, c_{"c", files_, waits_};
};

TEST_F(Triangle, ALoadIsAnsweredByTheOtherHostsQemu) {
  EXPECT_EQ(Machine::load(a_.right, 0x10), kRegister + 0x10);
  EXPECT_EQ(b_.qemu->asked, 1U);
  EXPECT_EQ(b_.left.counters().get(Count::dma_reads_qemu), 1U);
}

TEST_F(Triangle, ALoadHasADeadlineAndADevicesReadThatOfItsLink) {
  const auto before = std::chrono::steady_clock::now();
  Machine::load(a_.right, 0);
  ASSERT_TRUE(b_.qemu->last_until);
  EXPECT_GE(*b_.qemu->last_until, before + Waits::kPatience);
  EXPECT_LE(*b_.qemu->last_until, std::chrono::steady_clock::now() + Waits::kPatience);
  std::uint64_t value = 0;
  b_.left.read({kRegister}, writable_bytes_of(value), {.may_wait = true});
  EXPECT_EQ(b_.qemu->asked, 2U);
  EXPECT_FALSE(b_.qemu->last_until);
}

TEST_F(Triangle, ALoadThatIsNotAnsweredGivesAllOnes) {
  b_.qemu->answers = false;
  EXPECT_EQ(Machine::load(a_.right, 0), kAllOnes);
  EXPECT_EQ(b_.left.counters().get(Count::dma_reads_unclaimed), 1U);
  EXPECT_EQ(b_.left.counters().get(Count::loads_in_circle), 0U);
  b_.qemu->answers = true;
  EXPECT_EQ(Machine::load(a_.right, 0), kRegister) << "and nobody waits any more";
}

TEST_F(Triangle, TwoHostsDoNotWaitForEachOther) {
  b_.qemu->on_read = [this](std::uint64_t& value) { value = Machine::load(b_.left, 0); };
  EXPECT_EQ(Machine::load(a_.right, 0), kAllOnes);
  EXPECT_EQ(a_.qemu->asked, 0U) << "its lock is held by the load";
  EXPECT_EQ(a_.right.counters().get(Count::loads_in_circle), 1U);
  b_.qemu->on_read = nullptr;
  EXPECT_EQ(Machine::load(a_.right, 0), kRegister);
}

TEST_F(Triangle, ThreeHostsDoNotWaitInACircle) {
  b_.qemu->on_read = [this](std::uint64_t& value) { value = Machine::load(b_.right, 0); };
  c_.qemu->on_read = [this](std::uint64_t& value) { value = Machine::load(c_.right, 0); };
  EXPECT_EQ(Machine::load(a_.right, 0), kAllOnes);
  EXPECT_EQ(a_.qemu->asked, 0U);
  EXPECT_EQ(c_.qemu->asked, 1U);
  EXPECT_EQ(a_.left.counters().get(Count::loads_in_circle), 1U);
}

TEST_F(Triangle, AChainOfHostsMayWait) {
  b_.qemu->on_read = [this](std::uint64_t& value) { value = Machine::load(b_.right, 8); };
  EXPECT_EQ(Machine::load(a_.right, 0), kRegister + 8) << "c's answer";
  EXPECT_EQ(c_.qemu->asked, 1U);
}

TEST_F(Triangle, AHostDoesNotWaitForItself) {
  a_.right_function.open_window(a_.left, {kRegister});
  EXPECT_EQ(Machine::load(a_.right, 0), kAllOnes);
  EXPECT_EQ(a_.qemu->asked, 0U);
}

/// A device's own thread waits for one host after the other. No host waits for those reads, so there is no circle.
TEST_F(Triangle, ADeviceThatWaitsIsInNoCircle) {
  b_.qemu->on_read = [this](std::uint64_t& value) { value = Machine::load(b_.left, 0); };
  std::uint64_t value = 0;
  b_.left.read({kRegister}, writable_bytes_of(value), {.may_wait = true});
  EXPECT_EQ(value, kRegister);
  EXPECT_EQ(a_.qemu->asked, 1U);
}

}  // namespace
}  // namespace smartio::pci
