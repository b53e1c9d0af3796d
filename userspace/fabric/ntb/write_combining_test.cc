// SPDX-License-Identifier: GPL-2.0
#include "fabric/ntb/write_combining.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "base/eventually.h"
#include "fabric/ntb/ntb_test_support.h"

namespace smartio::ntb {
namespace {

/// What came out of the buffers.
struct Written {
  unsigned window;
  pci::Store store;
  bool operator==(const Written& other) const {
    return window == other.window && store.offset == other.store.offset && store.size == other.store.size &&
           store.data == other.store.data;
  }
};

class Buffers {
 public:
  explicit Buffers(std::uint64_t seed) : combining(sink(), seed) {}

  /// As a CPU with memory at offset 0.
  void store(std::uint64_t offset, std::uint64_t data, std::uint32_t size = 8) {
    combining.store(0, {.offset = offset, .size = size, .data = data});
  }
  std::vector<Written> written() {
    const std::scoped_lock lock(mutex_);
    return written_;
  }
  /// The place of the write that has the byte at `offset`, in the order of writes.
  std::size_t place(std::uint64_t offset) {
    const auto all = written();
    const auto found = std::ranges::find_if(
        all, [&](const Written& w) { return offset >= w.store.offset && offset < w.store.offset + w.store.size; });
    return static_cast<std::size_t>(found - all.begin());
  }
  std::map<std::uint64_t, std::uint8_t> memory() {
    std::map<std::uint64_t, std::uint8_t> bytes;
    for (const auto& [window, store] : written())
      for (std::uint32_t i = 0; i < store.size; i++)
        bytes[(std::uint64_t{window} << 32) + store.offset + i] = static_cast<std::uint8_t>(store.data >> (8 * i));
    return bytes;
  }

 private:
  WriteCombining::Sink sink() {
    return [this](unsigned window, std::span<const pci::Store> writes) {
      const std::scoped_lock lock(mutex_);
      for (const auto& write : writes) written_.push_back({window, write});
    };
  }
  std::mutex mutex_;
  std::vector<Written> written_;

 public:
  WriteCombining combining;
};

constexpr std::uint64_t kSeeds = 64;

/// What `run` returns when it takes less than kLongest. A line is written by itself when it is held for so long. A run
/// that takes longer, since the machine does something else, depends on the clock.
template <typename Run>
auto before_lines_age(Run run) {
  while (true) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = run();
    if (std::chrono::steady_clock::now() - begin < WriteCombining::kLongest) return result;
  }
}

TEST(WriteCombining, AfterAFenceMemoryHasTheLastStoreOfEachByte) {
  for (std::uint64_t seed = 1; seed <= kSeeds; seed++) {
    Buffers buffers(seed);
    std::minstd_rand random(static_cast<unsigned>(seed) + 1000);
    std::map<std::uint64_t, std::uint8_t> expected;
    for (unsigned i = 0; i < 400; i++) {
      const unsigned window = random() / 16 % 2;
      const auto size = static_cast<std::uint32_t>(1 + random() / 16 % 8);
      const std::uint64_t offset = random() / 16 % 1500;
      const std::uint64_t data = random() * 0x1'0000'0001ULL;
      buffers.combining.store(window, {.offset = offset, .size = size, .data = data});
      for (std::uint32_t k = 0; k < size; k++)
        expected[(std::uint64_t{window} << 32) + offset + k] = static_cast<std::uint8_t>(data >> (8 * k));
    }
    buffers.combining.fence();
    EXPECT_EQ(buffers.memory(), expected) << "seed " << seed;
  }
}

TEST(WriteCombining, WithoutAFenceTheFlagMayComeBeforeTheDataAndWithOneNever) {
  unsigned before = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; seed++) {
    Buffers loose(seed);
    loose.store(0, 1);
    loose.store(640, 2);
    loose.combining.fence();
    if (loose.place(640) < loose.place(0)) before++;

    Buffers fenced(seed);
    fenced.store(0, 1);
    fenced.combining.fence();
    fenced.store(640, 2);
    fenced.combining.fence();
    EXPECT_LT(fenced.place(0), fenced.place(640)) << "seed " << seed;
  }
  EXPECT_GT(before, kSeeds / 4);
  EXPECT_LT(before, kSeeds * 3 / 4);
}

TEST(WriteCombining, ALineTearsIntoWritesOfEightBytesInAnyOrder) {
  unsigned torn = 0;
  unsigned disordered = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; seed++) {
    Buffers buffers(seed);
    for (std::uint64_t at = 0; at < WriteCombining::kLine; at += 4) buffers.store(at, at, 4);
    buffers.combining.fence();
    const auto all = buffers.written();
    EXPECT_LE(all.size(), 16);
    EXPECT_GE(all.size(), 8);
    for (const auto& write : all) EXPECT_TRUE(write.store.size == 8 || write.store.size == 4);
    if (buffers.combining.counts().torn > 0) torn++;
    if (!std::ranges::is_sorted(all, {}, [](const Written& w) { return w.store.offset; })) disordered++;
  }
  EXPECT_GT(torn, kSeeds / 4);
  EXPECT_LT(torn, kSeeds);  // some full lines stay in one piece
  EXPECT_GT(disordered, kSeeds / 4);
}

TEST(WriteCombining, AnAlignedStoreStaysWhole) {
  for (std::uint64_t seed = 1; seed <= kSeeds; seed++) {
    Buffers buffers(seed);
    buffers.store(24, 0x1122334455667788);
    buffers.combining.fence();
    EXPECT_EQ(buffers.written(), (std::vector<Written>{{0, {24, 8, 0x1122334455667788}}}));
  }
}

TEST(WriteCombining, AStoreAcrossTwoLinesIsInBoth) {
  Buffers buffers(1);
  buffers.store(60, 0x1122334455667788);
  buffers.combining.fence();
  const auto memory = buffers.memory();
  EXPECT_EQ(memory.size(), 8);
  EXPECT_EQ(memory.at(60), 0x88);
  EXPECT_EQ(memory.at(67), 0x11);
  EXPECT_EQ(buffers.combining.counts().evicted, 2);
}

TEST(WriteCombining, TheSameSeedGivesTheSameWrites) {
  const auto run = [](std::uint64_t seed) {
    return before_lines_age([&] {
      Buffers buffers(seed);
      for (std::uint64_t i = 0; i < 9; i++) buffers.store(i * 64 + i * 8 % 64, i);
      buffers.combining.fence();
      return buffers.written();
    });
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

TEST(WriteCombining, MoreLinesThanBuffersEvictSome) {
  Buffers buffers(3);
  for (std::uint64_t i = 0; i <= WriteCombining::kBuffers; i++) buffers.store(i * 64, i);
  EXPECT_FALSE(buffers.written().empty());
}

TEST(WriteCombining, AStoreWithoutAFenceComesByItself) {
  Buffers buffers(1);
  buffers.store(0, 1);
  EXPECT_TRUE(eventually([&] { return !buffers.written().empty(); }));
  EXPECT_EQ(buffers.written().size(), 1);
}

TEST(WriteCombining, AResetLosesWhatIsHeld) {
  for (std::uint64_t seed = 1; seed <= kSeeds; seed++) {
    const auto [early, all] = before_lines_age([&] {
      Buffers buffers(seed);
      buffers.store(0, 1);
      const auto before = buffers.written();
      buffers.combining.forget();
      buffers.combining.fence();
      return std::pair(before, buffers.written());
    });
    EXPECT_EQ(all, early) << "seed " << seed;
  }
}

/// Two hosts; the primary's CPUs combine their stores to the secondary's memory.
class Combining : public ::testing::Test {
 protected:
  void SetUp() override {
    auto& primary = cable.function(Side::primary);
    auto& secondary = cable.function(Side::secondary);
    primary.combine_stores(1, entry);
    primary.bind(near);
    secondary.bind(far);
    primary.connected();
    secondary.connected();
    test::Driver(secondary).open(0, 0, 1 << 16);
  }
  /// Two lines: with seed 1 neither is evicted before something drains them.
  void store() {
    cpu.write(0x100, 1, 8, 2);
    cpu.write(0x200, 2, 8, 2);
  }
  [[nodiscard]] bool landed() const { return far.load(0x100) == 1 && far.load(0x200) == 2; }

  FencePage::Address entry{0};
  test::FakeHost near, far;
  Cable cable{{.name = "cable", .windows = {1 << 20, 1 << 16}}};
  test::Driver cpu{cable.function(Side::primary)};
};

TEST_F(Combining, AStoreToMemoryIsHeld) {
  store();
  const auto counts = cable.function(Side::primary).combined();
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->stores, 2);
  EXPECT_FALSE(cable.function(Side::secondary).combined());
}

TEST_F(Combining, TheFenceRegisterDrains) {
  store();
  cpu.write(kFenceRegister, 0);
  EXPECT_TRUE(landed());
}

TEST_F(Combining, ADoorbellComesBehindStoresBeforeIt) {
  store();
  cpu.write(amd::reg::DBREQ, 1, 2);
  EXPECT_TRUE(landed());
}

TEST_F(Combining, ALoadDrains) {
  store();
  cpu.read(0x300, 8, 2);
  EXPECT_TRUE(landed());
}

TEST_F(Combining, AStoreToRegistersOfThePeersDrainsAndIsNotHeld) {
  test::Driver(cable.function(Side::secondary)).open(0, 0xfee00000, 1 << 16);
  EXPECT_EQ(cpu.write(0, 0x41, 4, 2).kind, pci::AccessKind::interrupt);
  EXPECT_EQ(cable.function(Side::primary).combined()->stores, 0);
}

TEST_F(Combining, ThePluginLearnsWhereTheFenceRegisterIs) {
  std::array<pci::BusAddress, 6> bars{};
  bars[0] = {0xc0000000};
  cable.function(Side::primary).bars_placed(bars, true);
  EXPECT_EQ(entry.load(), 0xc0000000 + kFenceRegister);
  cable.function(Side::primary).bars_placed(bars, false);
  EXPECT_EQ(entry.load(), 0);
}

TEST_F(Combining, WhatADeviceWritesKeepsItsOrder) {
  const std::uint64_t data = 3;
  cable.function(Side::primary)
      .bar_write(2, 0x100, std::as_bytes(std::span(&data, 1)), {.kind = pci::AccessKind::data});
  EXPECT_EQ(far.load(0x100), 3);
}

}  // namespace
}  // namespace smartio::ntb
