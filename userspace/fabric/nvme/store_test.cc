// SPDX-License-Identifier: GPL-2.0
// Media, write cache and store by themselves.
#include "fabric/nvme/store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>

#include "base/scratch_folder.h"
#include "fabric/nvme/fake_command.h"

namespace smartio::nvme {
namespace {

using test::pattern;

std::vector<std::byte> content(Store& store, std::uint64_t lba, std::uint64_t blocks = 1) {
  std::vector<std::byte> scratch(blocks * store.block_size());
  const auto data = store.read(lba, blocks, scratch);
  if (!data) return {};
  return {data->begin(), data->end()};
}

std::unique_ptr<Media> ram(std::uint64_t bytes) {
  auto media = make_ram_media(bytes);
  EXPECT_TRUE(media.has_value());
  return std::move(*media);
}

std::vector<std::byte> zeroes(std::size_t bytes) { return std::vector<std::byte>(bytes); }

// Both kinds of media must look the same.
class MediaTest : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<Media> open(std::uint64_t bytes) {
    auto media = GetParam() ? open_file_media(folder_ / "disk", bytes) : make_ram_media(bytes);
    EXPECT_TRUE(media.has_value());
    return std::move(*media);
  }
  ScratchFolder folder_;
};

TEST_P(MediaTest, ReadsBackWhatWasWritten) {
  auto media = open(64 << 10);
  const auto data = pattern(5000, 1);
  std::vector<std::byte> scratch(64 << 10);
  ASSERT_TRUE(media->write(1234, data));
  const auto seen = media->view(1234, data.size(), scratch);
  EXPECT_TRUE(std::ranges::equal(seen, data));
  EXPECT_TRUE(std::ranges::equal(media->view(0, 1234, scratch), zeroes(1234)));
}

TEST_P(MediaTest, DiscardLeavesTheNeighbours) {
  auto media = open(64 << 10);
  const auto data = pattern(64 << 10, 2);
  std::vector<std::byte> scratch(64 << 10);
  for (const auto& [at, bytes] : std::map<std::uint64_t, std::uint64_t>{
           {512, 512}, {4096, 4096}, {3584, 1024}, {1000, 20000}, {8192, 0}, {0, 64 << 10}}) {
    ASSERT_TRUE(media->write(0, data));
    ASSERT_TRUE(media->discard(at, bytes));
    auto expected = data;
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(at), bytes, std::byte{0});
    EXPECT_TRUE(std::ranges::equal(media->view(0, 64 << 10, scratch), expected)) << at << " " << bytes;
  }
}

TEST_P(MediaTest, ResizeKeepsWhatFitsAndGrowsWithZeroes) {
  auto media = open(8192);
  const auto data = pattern(8192, 3);
  std::vector<std::byte> scratch(1 << 20);
  ASSERT_TRUE(media->write(0, data));
  ASSERT_TRUE(media->resize(1536));
  EXPECT_EQ(media->size(), 1536U);
  ASSERT_TRUE(media->resize(1 << 20));
  const auto seen = media->view(0, 1 << 20, scratch);
  EXPECT_TRUE(std::ranges::equal(seen.first(1536), std::span(data).first(1536)));
  EXPECT_TRUE(std::ranges::equal(seen.subspan(1536), zeroes((1 << 20) - 1536)));
}

INSTANTIATE_TEST_SUITE_P(RamAndFile, MediaTest, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "File" : "Ram"; });

TEST(FileMedia, IsMadeSparseAndKeepsItsContent) {
  const ScratchFolder folder;
  const auto path = folder / "disk";
  const auto data = pattern(512, 4);
  {
    auto media = open_file_media(path, 1ULL << 30U);
    ASSERT_TRUE(media.has_value());
    ASSERT_TRUE((*media)->write(1ULL << 29U, data));
  }
  EXPECT_EQ(std::filesystem::file_size(path), 1ULL << 30U);
  auto again = open_file_media(path, 2ULL << 30U);
  ASSERT_TRUE(again.has_value());
  std::vector<std::byte> scratch(512);
  EXPECT_TRUE(std::ranges::equal((*again)->view(1ULL << 29U, 512, scratch), data));
  EXPECT_EQ(std::filesystem::file_size(path), 2ULL << 30U);
}

TEST(FileMedia, RefusesToShrinkAFile) {
  const ScratchFolder folder;
  std::ofstream(folder / "disk") << std::string(2000, 'x');
  const auto media = open_file_media(folder / "disk", 1024);
  ASSERT_FALSE(media.has_value());
  EXPECT_NE(media.error().message.find("2000 bytes"), std::string::npos) << media.error().message;
  EXPECT_EQ(std::filesystem::file_size(folder / "disk"), 2000U);
}

TEST(FileMedia, RefusesWhatIsNotAFile) {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "dir");
  EXPECT_FALSE(open_file_media(folder / "dir", 1024).has_value());
  EXPECT_FALSE(open_file_media(folder / "none/disk", 1024).has_value());
  EXPECT_FALSE(open_file_media("/dev/null", 1024).has_value());
  EXPECT_FALSE(open_file_media(folder / "huge", ~0ULL).has_value());
}

TEST(FileMedia, ReportsAFileThatWasCut) {
  const ScratchFolder folder;
  auto media = open_file_media(folder / "disk", 8192);
  ASSERT_TRUE(media.has_value());
  std::filesystem::resize_file(folder / "disk", 4096);
  std::vector<std::byte> scratch(8192);
  EXPECT_TRUE((*media)->view(4096, 4096, scratch).empty());
  WriteCache cache(0);
  Store store(std::move(*media), 512, cache);
  const auto data = store.read(8, 1, scratch);
  ASSERT_FALSE(data.has_value());
  EXPECT_EQ(data.error().status, status::kUnrecoveredReadError);
}

TEST(RamMedia, ReportsASizeThatCannotBe) { EXPECT_FALSE(make_ram_media(1ULL << 60U).has_value()); }

TEST(Store, KnowsItsRange) {
  WriteCache cache(1 << 20);
  Store store(ram(1 << 20), 512, cache);
  EXPECT_TRUE(store.in_range(0, 2048));
  EXPECT_TRUE(store.in_range(2048, 0));
  EXPECT_FALSE(store.in_range(0, 2049));
  EXPECT_FALSE(store.in_range(2049, 0));
  EXPECT_FALSE(store.in_range(~0ULL, 1));
  EXPECT_FALSE(store.in_range(1, ~0ULL));
}

TEST(Store, PowerCutLosesWhatWasNotFlushed) {
  WriteCache cache(1 << 20);
  Store store(ram(1 << 20), 512, cache);
  const auto a = pattern(1024, 1);
  const auto b = pattern(1024, 2);
  ASSERT_FALSE(store.write(10, a, Durability::cached));
  store.flush();
  ASSERT_FALSE(store.write(11, b, Durability::cached));
  EXPECT_EQ(cache.dirty_blocks(), 2U);
  EXPECT_EQ(cache.power_cut(), 2U);
  EXPECT_EQ(content(store, 10, 2), a);
  EXPECT_EQ(content(store, 12), zeroes(512));
  EXPECT_EQ(cache.dirty_blocks(), 0U);
}

TEST(Store, ManyWritesOfABlockFallBackToTheFlushedOne) {
  WriteCache cache(1 << 20);
  Store store(ram(1 << 20), 512, cache);
  ASSERT_FALSE(store.write(5, pattern(512, 1), Durability::durable));
  for (unsigned i = 2; i < 9; ++i) ASSERT_FALSE(store.write(5, pattern(512, i), Durability::cached));
  EXPECT_EQ(content(store, 5), pattern(512, 8));
  EXPECT_EQ(cache.power_cut(), 1U);
  EXPECT_EQ(content(store, 5), pattern(512, 1));
}

TEST(Store, ADurableWriteSettlesOnlyItsBlocks) {
  WriteCache cache(1 << 20);
  Store store(ram(1 << 20), 512, cache);
  ASSERT_FALSE(store.write(0, pattern(2048, 1), Durability::cached));
  const auto durable = pattern(512, 2);
  ASSERT_FALSE(store.write(2, durable, Durability::durable));
  EXPECT_EQ(cache.power_cut(), 3U);
  EXPECT_EQ(content(store, 0, 2), zeroes(1024));
  EXPECT_EQ(content(store, 2), durable);
  EXPECT_EQ(content(store, 3), zeroes(512));
}

TEST(Store, FlushOfOneStoreLeavesTheOther) {
  WriteCache cache(1 << 20);
  Store one(ram(1 << 20), 512, cache);
  Store two(ram(1 << 20), 4096, cache);
  ASSERT_FALSE(one.write(0, pattern(512, 1), Durability::cached));
  ASSERT_FALSE(two.write(0, pattern(4096, 2), Durability::cached));
  one.flush();
  EXPECT_EQ(cache.power_cut(), 1U);
  EXPECT_EQ(content(one, 0), pattern(512, 1));
  EXPECT_EQ(content(two, 0), zeroes(4096));
}

TEST(Store, AFullCacheMakesTheOldestDurable) {
  WriteCache cache(16 * 512);
  Store store(ram(1 << 20), 512, cache);
  for (unsigned i = 0; i < 17; ++i) ASSERT_FALSE(store.write(i, pattern(512, i + 1), Durability::cached));
  EXPECT_LE(cache.dirty_blocks(), 16U);
  cache.power_cut();
  EXPECT_EQ(content(store, 0), pattern(512, 1)) << "the oldest write left the full cache";
  EXPECT_EQ(content(store, 16), zeroes(512)) << "the newest one was in it";
}

TEST(Store, AWriteLargerThanTheCacheIsDurable) {
  WriteCache cache(4 * 512);
  Store store(ram(1 << 20), 512, cache);
  ASSERT_FALSE(store.write(0, pattern(5 * 512, 1), Durability::cached));
  EXPECT_EQ(cache.power_cut(), 0U);
  EXPECT_EQ(content(store, 0, 5), pattern(5 * 512, 1));
}

TEST(Store, WithoutCacheAllIsDurable) {
  WriteCache cache(0);
  Store store(ram(1 << 20), 512, cache);
  ASSERT_FALSE(store.write(0, pattern(512, 1), Durability::cached));
  EXPECT_EQ(cache.power_cut(), 0U);
  EXPECT_EQ(content(store, 0), pattern(512, 1));
}

TEST(Store, OverlappingWritesLeaveTheCacheTogether) {
  WriteCache cache(8 * 512);
  Store store(ram(1 << 20), 512, cache);
  // Blocks 0 to 3, then 3 to 5: joined. Three more blocks force the oldest out, and that must take both writes.
  const auto first = pattern(4 * 512, 1);
  const auto second = pattern(3 * 512, 2);
  ASSERT_FALSE(store.write(0, first, Durability::cached));
  ASSERT_FALSE(store.write(3, second, Durability::cached));
  ASSERT_FALSE(store.write(20, pattern(3 * 512, 3), Durability::cached));
  EXPECT_EQ(cache.power_cut(), 3U);
  EXPECT_EQ(content(store, 0, 3), std::vector(first.begin(), first.begin() + 3 * 512));
  EXPECT_EQ(content(store, 3, 3), second);
  EXPECT_EQ(content(store, 20, 3), zeroes(3 * 512));
}

TEST(Store, UnreadableBlocksAreMendedByAWrite) {
  WriteCache cache(1 << 20);
  Store store(ram(1 << 20), 512, cache);
  store.mark_unreadable(100, 3);
  EXPECT_EQ(store.verify(0, 2048)->lba, 100U);
  EXPECT_EQ(store.verify(101, 5)->lba, 101U);
  EXPECT_FALSE(store.verify(0, 100));
  EXPECT_FALSE(store.verify(103, 500));
  ASSERT_FALSE(store.write(101, pattern(512, 1), Durability::cached));
  EXPECT_FALSE(store.verify(101, 1));
  EXPECT_EQ(store.verify(101, 2)->lba, 102U);
  // The repair is durable: after a power cut the block must not be unreadable again, nor old.
  cache.power_cut();
  EXPECT_EQ(content(store, 101), pattern(512, 1));
  ASSERT_FALSE(store.deallocate(0, 2048));
  EXPECT_FALSE(store.verify(0, 2048));
}

TEST(Store, FaultsStayUntilCleared) {
  WriteCache cache(1 << 20);
  Store store(ram(1 << 20), 512, cache);
  store.add_fault({.lba = 10, .blocks = 5, .on_read = true, .on_write = false});
  store.add_fault({.lba = 20, .blocks = 5, .on_read = false, .on_write = true});
  EXPECT_TRUE(store.read(0, 10, {}).has_value());
  EXPECT_EQ(store.read(8, 4, {}).error().lba, 10U);
  EXPECT_EQ(store.read(14, 4, {}).error().lba, 14U);
  EXPECT_TRUE(store.read(15, 100, {}).has_value());
  ASSERT_FALSE(store.write(10, pattern(512, 1), Durability::cached));
  EXPECT_FALSE(store.read(10, 1, {}).has_value()) << "a write does not mend it";
  const auto fault = store.write(18, pattern(2048, 1), Durability::cached);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->status, status::kWriteFault);
  EXPECT_EQ(fault->lba, 20U);
  EXPECT_EQ(content(store, 18, 4), zeroes(2048)) << "a failed write changes nothing";
  store.clear_faults();
  EXPECT_EQ(content(store, 10), pattern(512, 1));
  EXPECT_FALSE(store.write(20, pattern(512, 1), Durability::cached));
}

TEST(Store, FormatErasesAndChangesTheBlockSize) {
  WriteCache cache(1 << 20);
  Store store(ram(1 << 20), 512, cache);
  ASSERT_FALSE(store.write(8, pattern(512, 1), Durability::cached));
  store.mark_unreadable(9, 1);
  ASSERT_TRUE(store.format(4096));
  EXPECT_EQ(store.blocks(), 256U);
  EXPECT_EQ(cache.dirty_blocks(), 0U);
  EXPECT_EQ(cache.power_cut(), 0U);
  EXPECT_EQ(content(store, 0, 256), zeroes(1 << 20));
  ASSERT_FALSE(store.write(255, pattern(4096, 2), Durability::cached));
  EXPECT_EQ(cache.power_cut(), 1U);
}

TEST(Store, ShrinkingForgetsWhatIsBeyond) {
  WriteCache cache(1 << 20);
  Store store(ram(1 << 20), 512, cache);
  ASSERT_FALSE(store.write(1000, pattern(512, 1), Durability::cached));
  ASSERT_FALSE(store.write(10, pattern(512, 2), Durability::cached));
  store.mark_unreadable(1001, 1);
  ASSERT_TRUE(store.resize(512 * 100));
  EXPECT_EQ(cache.dirty_blocks(), 1U);
  EXPECT_EQ(content(store, 10), pattern(512, 2));
  ASSERT_TRUE(store.resize(1 << 20));
  EXPECT_EQ(content(store, 100, 1948), zeroes(1948 * 512));
  EXPECT_EQ(cache.power_cut(), 1U);
}

// The power-cut semantics against a model that is obviously right: the state at the last flush, and a log of later
// writes. After a cut the media must be that state with all durable entries of the log and some of the cached ones
// applied. Each entry is applied whole (that is AWUPF). No cached entry is applied if they all fitted into the cache.
class PowerCut : public testing::TestWithParam<std::tuple<unsigned, std::uint64_t>> {};

struct LogEntry {
  std::uint64_t lba;
  std::uint64_t blocks;
  std::uint32_t value;  ///< in each of its blocks; unique, 0 for a deallocation
  bool durable;
};

template <typename Applies>
std::vector<std::uint32_t> replay(std::vector<std::uint32_t> state, const std::vector<LogEntry>& log, Applies applies) {
  for (const LogEntry& entry : log) {
    if (!applies(entry)) continue;
    std::fill_n(state.begin() + static_cast<std::ptrdiff_t>(entry.lba), entry.blocks, entry.value);
  }
  return state;
}

TEST_P(PowerCut, LosesWholeWritesOnly) {
  const auto [seed, capacity] = GetParam();
  static constexpr std::uint64_t kBlocks = 64;
  static constexpr std::uint32_t kBlock = 512;
  std::mt19937 random(seed);
  const auto pick = [&](std::uint64_t below) { return static_cast<std::uint64_t>(random() % below); };
  WriteCache cache(capacity);
  Store store(ram(kBlocks * kBlock), kBlock, cache);
  const auto shown = [&] {
    const auto bytes = content(store, 0, kBlocks);
    std::vector<std::uint32_t> values(kBlocks);
    for (std::uint64_t i = 0; i < kBlocks; ++i) std::memcpy(&values[i], &bytes[i * kBlock], sizeof(values[i]));
    return values;
  };

  std::vector<std::uint32_t> flushed(kBlocks, 0);
  std::vector<LogEntry> log;
  std::uint64_t cached_bytes = 0;
  std::uint32_t number = 0;
  unsigned cuts_that_lost = 0;
  unsigned cuts_that_kept = 0;
  const auto everything = [](const LogEntry&) { return true; };
  for (unsigned step = 0; step < 3000; ++step) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " step " << step);
    const std::uint64_t action = pick(100);
    const std::uint64_t lba = pick(kBlocks);
    const std::uint64_t blocks = 1 + pick(std::min<std::uint64_t>(kBlocks - lba, 12));
    if (action < 80) {
      const bool fua = action < 10;
      std::vector<std::byte> data(blocks * kBlock);
      ++number;
      for (std::uint64_t i = 0; i < blocks; ++i) std::memcpy(&data[i * kBlock], &number, sizeof(number));
      ASSERT_FALSE(store.write(lba, data, fua ? Durability::durable : Durability::cached));
      log.push_back({lba, blocks, number, fua});
      if (!fua) cached_bytes += blocks * kBlock;
    } else if (action < 85) {
      ASSERT_FALSE(store.deallocate(lba, blocks));
      log.push_back({lba, blocks, 0, true});
    } else if (action < 90) {
      store.flush();
      flushed = replay(flushed, log, everything);
      log.clear();
      cached_bytes = 0;
    } else if (action < 95) {
      cuts_that_lost += cache.power_cut() > 0 ? 1 : 0;
      const auto now = shown();
      // A cached entry counts as kept where any of its blocks is seen.
      const auto kept = [&](const LogEntry& entry) {
        return entry.durable || std::ranges::find(now, entry.value) != now.end();
      };
      ASSERT_EQ(now, replay(flushed, log, kept)) << "a write is torn";
      if (cached_bytes <= capacity) {
        ASSERT_EQ(now, replay(flushed, log, [](const LogEntry& entry) { return entry.durable; }))
            << "a write was kept that nothing made durable";
      } else if (std::ranges::any_of(log, [&](const LogEntry& entry) { return !entry.durable && kept(entry); })) {
        ++cuts_that_kept;
      }
      flushed = now;
      log.clear();
      cached_bytes = 0;
    } else {
      ASSERT_EQ(shown(), replay(flushed, log, everything)) << "without a cut nothing is lost";
    }
  }
  // The test must have seen both kinds of cuts.
  if (capacity != 0) {
    EXPECT_GT(cuts_that_lost, 10U);
  }
  if (capacity < (1U << 20U)) {
    EXPECT_GT(cuts_that_kept, 10U);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PowerCut,
                         testing::Combine(testing::Range(1U, 21U),
                                          testing::Values(0ULL, 4 * 512ULL, 16 * 512ULL, 40 * 512ULL, 1ULL << 20U)));

}  // namespace
}  // namespace smartio::nvme
