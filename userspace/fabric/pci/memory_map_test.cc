// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/memory_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "fabric/pci/guest_copy.h"
#include "fabric/pci/test_memory.h"

namespace smartio::pci {
namespace {

using testing::HasSubstr;
constexpr Rights kBoth{true, true};
constexpr std::uint64_t kMiB = 1 << 20;

class Maps : public testing::Test {
 protected:
  std::byte* find(std::uint64_t address, std::uint64_t length = 8, MemoryMap::Right right = MemoryMap::Right::write) {
    MemoryMap::Reader reader(map_);
    return reader.find({address}, length, right).memory;
  }
  int map_error(std::uint64_t address, std::uint64_t size, std::uint64_t offset) {
    const auto mapped = map_.map({address}, size, kBoth, offset, memory_.fd());
    return mapped ? 0 : mapped.error().number;
  }

  TestMemory memory_{kMiB};
  MemoryFiles files_;
  MemoryMap map_{files_};
};

TEST_F(Maps, AFileIsMappedOnceHoweverOftenItIsNamed) {
  MemoryMap other(files_);
  for (std::uint64_t i = 0; i < 16; ++i) {
    ASSERT_EQ(map_error(0x10000 + i * 4096, 4096, (15 - i) * 4096), 0);
  }
  ASSERT_TRUE(other.map({0}, kMiB, kBoth, 0, memory_.fd()));
  EXPECT_EQ(files_.count(), 1U);
  MemoryMap::Reader reader(other);
  EXPECT_EQ(reader.find({15 * 4096}, 1, MemoryMap::Right::read).memory, find(0x10000));
}

TEST_F(Maps, AFileIsLetGoWithItsLastRange) {
  ASSERT_EQ(map_error(0, 4096, 0), 0);
  ASSERT_EQ(map_error(8192, 4096, 0), 0);
  EXPECT_EQ(map_.unmap({0}, 4096), 1U);
  EXPECT_EQ(files_.count(), 1U);
  map_.clear();
  EXPECT_EQ(files_.count(), 0U);
  EXPECT_EQ(map_.ranges(), 0U);
}

TEST_F(Maps, RefusesWhatIsNoRange) {
  EXPECT_EQ(map_error(0, 0, 0), EINVAL);
  EXPECT_EQ(map_error(0, kMiB + 1, 0), EINVAL);
  EXPECT_EQ(map_error(0, kMiB, 1), EINVAL);
  EXPECT_EQ(map_error(0, 1, kMiB), EINVAL);
  EXPECT_EQ(map_error(0, 4096, ~0ULL), EINVAL);
  EXPECT_EQ(map_error(~0ULL - 4094, 4096, 0), EINVAL);
  EXPECT_EQ(map_error(~0ULL - 4095, 4096, 0), 0) << "the last page of the address space is one";
  EXPECT_NE(find(~0ULL - 7), nullptr);
}

TEST_F(Maps, RefusesOverlaps) {
  ASSERT_EQ(map_error(0x10000, 0x2000, 0), 0);
  EXPECT_EQ(map_error(0x10000, 0x2000, 0), EEXIST);
  EXPECT_EQ(map_error(0x11fff, 1, 0), EEXIST);
  EXPECT_EQ(map_error(0xf000, 0x1001, 0), EEXIST);
  EXPECT_EQ(map_error(0xf000, 0x8000, 0), EEXIST);
  EXPECT_EQ(map_error(0xf000, 0x1000, 0), 0);
  EXPECT_EQ(map_error(0x12000, 0x1000, 0), 0);
}

TEST_F(Maps, RefusesMoreRangesThanPromised) {
  for (std::uint64_t i = 0; i < MemoryMap::kMaxRanges; ++i) {
    ASSERT_TRUE(map_.map({i * 16}, 16, kBoth, 0, UniqueFd()));
  }
  const auto more = map_.map({1ULL << 40}, 16, kBoth, 0, UniqueFd());
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().number, ENOSPC);
}

TEST_F(Maps, RefusesMoreFilesThanAGuestNeeds) {
  std::vector<std::unique_ptr<TestMemory>> files;
  for (std::uint64_t i = 0; i < MemoryMap::kMaxFiles; ++i) {
    files.push_back(std::make_unique<TestMemory>(4096));
    ASSERT_TRUE(map_.map({i * 4096}, 4096, kBoth, 0, files.back()->fd()));
  }
  EXPECT_EQ(map_error(1ULL << 40, 4096, 0), ENOSPC);
  map_.unmap({0}, 4096);
  EXPECT_EQ(map_error(1ULL << 40, 4096, 0), 0);
}

TEST_F(Maps, AFileThatCanShrinkIsLeftToQemu) {
  const TestMemory loose(kMiB, false);
  std::string unsafe;
  ASSERT_TRUE(map_.map({0}, kMiB, kBoth, 0, loose.fd(), &unsafe));
  EXPECT_THAT(unsafe, HasSubstr("can shrink"));
  EXPECT_EQ(find(0), nullptr);
  EXPECT_EQ(files_.count(), 0U);
  UniqueFd not_memory = new_eventfd();
  ASSERT_TRUE(map_.map({kMiB}, kMiB, kBoth, 0, std::move(not_memory), &unsafe));
  EXPECT_EQ(find(kMiB), nullptr);
}

TEST_F(Maps, AFileSealedAgainstWritesIsReadOnly) {
  TestMemory sealed(4096);
  UniqueFd fd(::memfd_create("ro", MFD_ALLOW_SEALING | MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(fd.get(), 4096), 0);
  ASSERT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
  ASSERT_TRUE(map_.map({0}, 4096, kBoth, 0, std::move(fd)));
  EXPECT_EQ(find(0, 8, MemoryMap::Right::write), nullptr);
#ifdef F_SEAL_FUTURE_WRITE
  // Kernels before 6.7 refuse even a read-only shared mapping of such a file: then it is QEMU's to answer.
  (void)find(0, 8, MemoryMap::Right::read);
#endif
}

TEST_F(Maps, AFileThatGrewIsMappedAnewAndOldRangesStay) {
  ASSERT_EQ(map_error(0, 4096, 0), 0);
  std::byte* const before = find(0);
  ASSERT_EQ(::ftruncate(memory_.raw_fd(), 2 * kMiB), 0);
  ASSERT_EQ(map_error(kMiB, 4096, 2 * kMiB - 4096), 0);
  EXPECT_EQ(find(0), before);
  store_to_guest(find(kMiB), 42, 8);
  std::uint64_t back = 0;
  ASSERT_EQ(::pread(memory_.raw_fd(), &back, 8, 2 * kMiB - 4096), 8);
  EXPECT_EQ(back, 42U);
}

TEST_F(Maps, RightsAreHonoured) {
  ASSERT_TRUE(map_.map({0}, 4096, {true, false}, 0, memory_.fd()));
  ASSERT_TRUE(map_.map({4096}, 4096, {false, true}, 0, memory_.fd()));
  EXPECT_NE(find(0, 1, MemoryMap::Right::read), nullptr);
  EXPECT_EQ(find(0, 1, MemoryMap::Right::write), nullptr);
  EXPECT_EQ(find(4096, 1, MemoryMap::Right::read), nullptr);
  EXPECT_NE(find(4096, 1, MemoryMap::Right::write), nullptr);
}

TEST_F(Maps, RememberedRangeDoesNotGiveItsRightsAway) {
  ASSERT_TRUE(map_.map({0}, 4096, {true, false}, 0, memory_.fd()));
  MemoryMap::Reader reader(map_);
  EXPECT_NE(reader.find({0}, 8, MemoryMap::Right::read).memory, nullptr);
  EXPECT_EQ(reader.find({0}, 8, MemoryMap::Right::write).memory, nullptr);
}

TEST_F(Maps, PiecesEndWhereTheAnswerChanges) {
  ASSERT_EQ(map_error(0x1000, 0x1000, 0), 0);
  ASSERT_EQ(map_error(0x4000, 0x1000, 0x1000), 0);
  MemoryMap::Reader reader(map_);
  const auto piece = [&](std::uint64_t address, std::uint64_t length) {
    return reader.find({address}, length, MemoryMap::Right::read);
  };
  EXPECT_EQ(piece(0x0, 0x10000).length, 0x1000U);
  EXPECT_EQ(piece(0x0, 0x10000).memory, nullptr);
  EXPECT_EQ(piece(0x1800, 0x10000).length, 0x800U);
  EXPECT_EQ(piece(0x2000, 0x10000).length, 0x2000U);
  EXPECT_EQ(piece(0x2000, 0x10000).memory, nullptr);
  EXPECT_EQ(piece(0x5000, 0x10000).length, 0x10000U);
  EXPECT_EQ(piece(0x4fff, 0x10000).length, 1U);
}

TEST_F(Maps, UnmapDropsWhateverOverlaps) {
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(map_error(i * 0x2000, 0x2000, 0), 0);
  EXPECT_EQ(map_.unmap({0x3000}, 0x2000), 2U);
  EXPECT_NE(find(0), nullptr);
  EXPECT_EQ(find(0x2000), nullptr);
  EXPECT_EQ(find(0x4000), nullptr);
  EXPECT_NE(find(0x6000), nullptr);
  EXPECT_EQ(map_.unmap({0x100000}, 0x1000), 0U);
  EXPECT_EQ(map_.unmap({0}, 0), 0U);
  EXPECT_EQ(map_.unmap({0}, ~0ULL), 2U);
}

TEST_F(Maps, UnmapIsNotStarvedByCopies) {
  ASSERT_EQ(map_error(0, kMiB, 0), 0);
  std::atomic<std::uint64_t> copies{0};
  std::atomic<std::uint64_t> misses{0};
  std::vector<std::jthread> devices;
  for (int i = 0; i < 3; ++i) {
    devices.emplace_back([&, i](const std::stop_token& stop) {
      const std::vector<std::byte> data(64 << 10, static_cast<std::byte>(i));
      while (!stop.stop_requested()) {
        MemoryMap::Reader reader(map_);
        const auto piece = reader.find({static_cast<std::uint64_t>(i) * 65536}, data.size(), MemoryMap::Right::write);
        if (piece.memory != nullptr) {
          copy_to_guest(piece.memory, std::span(data).first(piece.length));
          ++copies;
        } else {
          ++misses;
        }
      }
    });
  }
  while (copies < 100) std::this_thread::yield();
  // Each unmap must come through while copies never stop; a reader-first lock hangs here.
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(map_.unmap({0}, kMiB), 1U);
    const std::uint64_t before = misses;
    while (misses == before) std::this_thread::yield();
    ASSERT_EQ(map_error(0, kMiB, 0), 0);
  }
}

}  // namespace
}  // namespace smartio::pci
