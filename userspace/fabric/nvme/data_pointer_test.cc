// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/data_pointer.h"

#include <gtest/gtest.h>

#include <numeric>

#include "fabric/nvme/test_host.h"

namespace smartio::nvme {
namespace {

constexpr std::uint64_t kList = 0x10000;
constexpr std::uint64_t kPage = 0x1000;

class DataMapTest : public ::testing::Test {
 protected:
  DataMapTest() { dma.bind(memory); }

  SubmissionEntry prp(std::uint64_t prp1, std::uint64_t prp2 = 0) {
    SubmissionEntry entry{};
    entry.prp1 = prp1;
    entry.prp2 = prp2;
    return entry;
  }
  SubmissionEntry sgl(const SglDescriptor& first) {
    SubmissionEntry entry{};
    entry.flags = 1U << 6;
    std::memcpy(&entry.prp1, &first, 16);
    return entry;
  }
  static SglDescriptor descriptor(unsigned type, std::uint64_t address, std::uint32_t length, unsigned subtype = 0) {
    return {address, length, {}, static_cast<std::uint8_t>(type << 4 | subtype)};
  }
  void put(std::uint64_t address, const std::vector<std::uint64_t>& words) {
    std::memcpy(memory.at(address, words.size() * 8).data(), words.data(), words.size() * 8);
  }
  void put(std::uint64_t address, const std::vector<SglDescriptor>& descriptors) {
    std::memcpy(memory.at(address, descriptors.size() * 16).data(), descriptors.data(), descriptors.size() * 16);
  }
  Status map_prp(const SubmissionEntry& entry, std::uint64_t length, std::uint32_t page = 4096) {
    return map.map(dma, entry, length, true, {.page_size = page, .sgl = true});
  }
  Status map_sgl(const SglDescriptor& first, std::uint64_t length, bool to_host = true) {
    return map.map(dma, sgl(first), length, to_host, {.page_size = 4096, .sgl = true});
  }
  unsigned list_reads() { return memory.reads[static_cast<std::size_t>(pci::AccessKind::list)]; }

  HostMemory memory{4 << 20};
  Cmb cmb{0};
  Dma dma{cmb};
  DataMap map;
};

TEST_F(DataMapTest, NothingToMove) {
  EXPECT_EQ(map_prp(prp(1), 0), status::kSuccess) << "the pointer is not looked at";
  EXPECT_TRUE(map.pieces().empty());
}

TEST_F(DataMapTest, OnePageWithAnOffset) {
  ASSERT_EQ(map_prp(prp(0x1204), 512), status::kSuccess);
  ASSERT_EQ(map.pieces().size(), 1U);
  EXPECT_EQ(map.pieces()[0].address.value, 0x1204U);
  EXPECT_EQ(map.pieces()[0].length, 512U);
}

TEST_F(DataMapTest, TwoPages) {
  ASSERT_EQ(map_prp(prp(0x1E00, 0x5000), 4096), status::kSuccess);
  ASSERT_EQ(map.pieces().size(), 2U);
  EXPECT_EQ(map.pieces()[0].length, 0x200U);
  EXPECT_EQ(map.pieces()[1].address.value, 0x5000U);
  EXPECT_EQ(map.pieces()[1].start, 0x200U);
  EXPECT_EQ(list_reads(), 0U);
}

TEST_F(DataMapTest, AdjacentPagesBecomeOnePiece) {
  ASSERT_EQ(map_prp(prp(0x1E00, 0x2000), 4096), status::kSuccess);
  ASSERT_EQ(map.pieces().size(), 1U);
  EXPECT_EQ(map.pieces()[0].length, 4096U);
}

TEST_F(DataMapTest, PagesDoNotJoinAcrossTheTopOfTheAddressSpace) {
  ASSERT_EQ(map_prp(prp(0xFFFFFFFFFFFFF000, 0), 8192), status::kSuccess);
  EXPECT_EQ(map.pieces().size(), 2U);
}

TEST_F(DataMapTest, OffsetsThatAreNotAllowed) {
  EXPECT_EQ(map_prp(prp(0x1002), 512), status::kPrpOffsetInvalid) << "PRP1 not a dword";
  EXPECT_EQ(map_prp(prp(0x1E00, 0x5004), 4096), status::kPrpOffsetInvalid) << "PRP2 has an offset";
  EXPECT_EQ(map_prp(prp(0x1000, kList + 4), 4 * kPage), status::kPrpOffsetInvalid) << "list not a qword";
  put(kList, std::vector<std::uint64_t>{0x2000, 0x3008, 0x4000});
  EXPECT_EQ(map_prp(prp(0x1000, kList), 4 * kPage), status::kPrpOffsetInvalid) << "an entry has an offset";
  EXPECT_TRUE(map.pieces().empty());
}

TEST_F(DataMapTest, ListReadsOnlyWhatItNeeds) {
  put(kList + 8, std::vector<std::uint64_t>{0x2000, 0x4000, 0x6000, 0xBAD});
  ASSERT_EQ(map_prp(prp(0x1000, kList + 8), 4 * kPage), status::kSuccess);
  EXPECT_EQ(list_reads(), 1U);
  ASSERT_EQ(map.pieces().size(), 3U) << "0x1000 and 0x2000 are adjacent";
  EXPECT_EQ(map.pieces()[2].address.value, 0x6000U);
}

TEST_F(DataMapTest, ListGoesOnInTheNextPage) {
  // Two entries fit before the page ends: one page, and the address of the rest of the list.
  put(kList + 0xFF0, std::vector<std::uint64_t>{0x2000, 0x20000});
  put(0x20000, std::vector<std::uint64_t>{0x5000, 0x7000});
  ASSERT_EQ(map_prp(prp(0x1800, kList + 0xFF0), 0x800 + 3 * kPage), status::kSuccess);
  EXPECT_EQ(list_reads(), 2U);
  ASSERT_EQ(map.pieces().size(), 3U);
  EXPECT_EQ(map.pieces()[1].address.value, 0x5000U);
  EXPECT_EQ(map.length(), 0x800 + 3 * kPage);
  put(kList + 0xFF0, std::vector<std::uint64_t>{0x2000, 0x20008});
  EXPECT_EQ(map_prp(prp(0x1800, kList + 0xFF0), 0x800 + 3 * kPage), status::kPrpOffsetInvalid);
}

TEST_F(DataMapTest, ExactlyFullListPageIsNotChained) {
  // Exactly 512 entries are needed and fit: the last is a page, not a pointer.
  std::vector<std::uint64_t> pages(512);
  std::iota(pages.begin(), pages.end(), 0x100);
  for (std::uint64_t& page : pages) page *= 0x2000;
  put(kList, pages);
  ASSERT_EQ(map_prp(prp(0x1000, kList), 513 * kPage), status::kSuccess);
  EXPECT_EQ(list_reads(), 1U);
  EXPECT_EQ(map.pieces().back().address.value, pages.back());
}

TEST_F(DataMapTest, ListThatLeadsIntoItselfEnds) {
  std::vector<std::uint64_t> loop(512, 0x2000);
  loop.back() = kList;
  put(kList, loop);
  EXPECT_EQ(map_prp(prp(0x1000, kList), 2000 * kPage), status::kSuccess);
  EXPECT_EQ(list_reads(), 4U);
}

TEST_F(DataMapTest, ListOutsideMemory) {
  EXPECT_EQ(map_prp(prp(0x1000, 0x7000000000), 4 * kPage), status::kDataTransferError);
}

TEST_F(DataMapTest, LargerMemoryPages) {
  ASSERT_EQ(map_prp(prp(0x4000, 0x10000), 0x8000, 0x4000), status::kSuccess);
  ASSERT_EQ(map.pieces().size(), 2U);
  EXPECT_EQ(map.pieces()[0].length, 0x4000U);
  EXPECT_EQ(map_prp(prp(0x4000, 0x11000), 0x8000, 0x4000), status::kPrpOffsetInvalid);
}

TEST_F(DataMapTest, ReservedAndUnsupportedPointerTypes) {
  SubmissionEntry entry = prp(0x1000);
  entry.flags = 3U << 6;
  EXPECT_EQ(map_prp(entry, 512), status::kInvalidField);
  EXPECT_EQ(map.map(dma, sgl(descriptor(0, 0x1000, 512)), 512, true, {.page_size = 4096, .sgl = false}),
            status::kInvalidField);
  EXPECT_EQ(map_prp(prp(0x1000), DataMap::kMaxLength + 1), status::kInvalidField);
}

TEST_F(DataMapTest, SglOneDataBlockAtAnyAddress) {
  ASSERT_EQ(map_sgl(descriptor(0, 0x1001, 100000), 100000), status::kSuccess);
  ASSERT_EQ(map.pieces().size(), 1U);
  EXPECT_EQ(map.pieces()[0].address.value, 0x1001U);
  EXPECT_EQ(list_reads(), 0U);
}

TEST_F(DataMapTest, SglLengthMustFit) {
  EXPECT_EQ(map_sgl(descriptor(0, 0x1000, 511), 512), status::kDataSglLengthInvalid);
  EXPECT_EQ(map_sgl(descriptor(0, 0x1000, 513), 512), status::kDataSglLengthInvalid);
  EXPECT_EQ(map_sgl(descriptor(0, 0x1000, 0), 512), status::kDataSglLengthInvalid);
}

TEST_F(DataMapTest, SglSegments) {
  put(kList, std::vector{descriptor(0, 0x1000, 512), descriptor(0, 0x1200, 512), descriptor(3, kList + 0x100, 32)});
  put(kList + 0x100, std::vector{descriptor(0, 0x5000, 256), descriptor(0, 0x6000, 256)});
  ASSERT_EQ(map_sgl(descriptor(2, kList, 48), 1536), status::kSuccess);
  ASSERT_EQ(map.pieces().size(), 3U);
  EXPECT_EQ(map.pieces()[0].length, 1024U);
  EXPECT_EQ(map.pieces()[2].address.value, 0x6000U);
  EXPECT_EQ(list_reads(), 2U);
}

TEST_F(DataMapTest, SglLongSegmentIsReadInParts) {
  std::vector<SglDescriptor> blocks;
  for (unsigned index = 0; index < 600; ++index) blocks.push_back(descriptor(0, 0x100000 + index * 1024, 512));
  put(kList, blocks);
  ASSERT_EQ(map_sgl(descriptor(3, kList, 600 * 16), 600 * 512), status::kSuccess);
  EXPECT_EQ(map.pieces().size(), 600U);
  EXPECT_EQ(list_reads(), 3U);
}

TEST_F(DataMapTest, SglSegmentErrors) {
  EXPECT_EQ(map_sgl(descriptor(3, kList, 0), 512), status::kInvalidSglSegmentDescriptor) << "empty";
  EXPECT_EQ(map_sgl(descriptor(3, kList, 24), 512), status::kInvalidSglSegmentDescriptor) << "not whole descriptors";
  EXPECT_EQ(map_sgl(descriptor(3, 0x7000000000, 16), 512), status::kDataTransferError);
  put(kList, std::vector{descriptor(3, kList + 0x100, 16), descriptor(0, 0x1000, 512)});
  EXPECT_EQ(map_sgl(descriptor(2, kList, 32), 512), status::kInvalidSglSegmentDescriptor) << "leads on too early";
  put(kList, std::vector{descriptor(0, 0x1000, 256), descriptor(2, kList, 16)});
  EXPECT_EQ(map_sgl(descriptor(3, kList, 32), 512), status::kInvalidSglSegmentDescriptor) << "last one leads on";
  put(kList, std::vector{descriptor(0, 0x1000, 512)});
  EXPECT_EQ(map_sgl(descriptor(2, kList, 16), 512), status::kInvalidSglSegmentDescriptor) << "leads nowhere";
  EXPECT_EQ(map_sgl(descriptor(2, kList, 16, 1), 512), status::kSglDescriptorTypeInvalid);
}

TEST_F(DataMapTest, SglTypesThatDoNotExist) {
  EXPECT_EQ(map_sgl(descriptor(4, 0x1000, 512), 512), status::kSglDescriptorTypeInvalid) << "keyed";
  EXPECT_EQ(map_sgl(descriptor(15, 0x1000, 512), 512), status::kSglDescriptorTypeInvalid);
  EXPECT_EQ(map_sgl(descriptor(0, 0x1000, 512, 1), 512), status::kSglDescriptorTypeInvalid) << "offset subtype";
  EXPECT_EQ(map_sgl(descriptor(0, ~std::uint64_t{0} - 4, 512), 512), status::kDataTransferError) << "wraps";
}

TEST_F(DataMapTest, SglThatNeverEndsIsRefused) {
  put(kList, std::vector{descriptor(0, 0x1000, 0), descriptor(2, kList, 32)});
  EXPECT_EQ(map_sgl(descriptor(2, kList, 32), 512), status::kInvalidNumberOfSglDescriptors);
  EXPECT_EQ(map_sgl(descriptor(3, kList, 0xFFFFFFF0), 512), status::kInvalidNumberOfSglDescriptors);
}

TEST_F(DataMapTest, BitBucketTakesBytesOnlyOnTheWayToTheHost) {
  put(kList, std::vector{descriptor(0, 0x1000, 512), descriptor(1, 0, 512), descriptor(0, 0x2000, 512)});
  ASSERT_EQ(map_sgl(descriptor(3, kList, 48), 1536), status::kSuccess);
  const std::vector<std::byte> data(1536, std::byte{9});
  EXPECT_EQ(map.write(dma, 0, data), status::kSuccess);
  EXPECT_EQ(memory.at(0x11FF, 1)[0], std::byte{9});
  EXPECT_EQ(memory.at(0x1200, 1)[0], std::byte{0});
  EXPECT_EQ(memory.at(0x21FF, 1)[0], std::byte{9});
  ASSERT_EQ(map_sgl(descriptor(3, kList, 48), 1024, false), status::kSuccess);
  EXPECT_EQ(map.pieces().size(), 2U);
  EXPECT_EQ(map_sgl(descriptor(1, 0, 513), 512), status::kDataSglLengthInvalid);
}

TEST_F(DataMapTest, TransfersInAnyOrderAndSize) {
  put(kList, std::vector<std::uint64_t>{0x8000, 0x4000, 0x6000});
  ASSERT_EQ(map_prp(prp(0x1800, kList), 0x800 + 2 * kPage), status::kSuccess);
  std::vector<std::byte> data(map.length());
  for (std::size_t index = 0; index < data.size(); ++index) data[index] = static_cast<std::byte>(index * 7);
  // Pieces of 100 bytes, from the end to the start.
  for (std::size_t end = data.size(); end != 0;) {
    const std::size_t start = end > 100 ? end - 100 : 0;
    ASSERT_EQ(map.write(dma, start, std::span(data).subspan(start, end - start)), status::kSuccess);
    end = start;
  }
  EXPECT_EQ(memory.at(0x1800, 1)[0], data[0]);
  EXPECT_EQ(memory.at(0x8000, 1)[0], data[0x800]);
  EXPECT_EQ(memory.at(0x4FFF, 1)[0], data.back());
  std::vector<std::byte> back(data.size());
  ASSERT_EQ(map.read(dma, 0, back), status::kSuccess);
  EXPECT_EQ(back, data);
  std::vector<std::byte> middle(3000);
  ASSERT_EQ(map.read(dma, 2000, middle), status::kSuccess);
  EXPECT_TRUE(std::ranges::equal(middle, std::span(data).subspan(2000, 3000)));
}

TEST_F(DataMapTest, TransfersBeyondWhatWasMappedFail) {
  std::vector<std::byte> data(513);
  EXPECT_EQ(map.read(dma, 0, data), status::kDataTransferError) << "nothing mapped";
  ASSERT_EQ(map_prp(prp(0x1000), 512), status::kSuccess);
  EXPECT_EQ(map.read(dma, 0, data), status::kDataTransferError);
  EXPECT_EQ(map.write(dma, 512, std::span(data).first(1)), status::kDataTransferError);
  EXPECT_EQ(map.write(dma, ~std::uint64_t{0}, std::span(data).first(2)), status::kDataTransferError);
  EXPECT_EQ(map.read(dma, 512, std::span(data).first(0)), status::kSuccess);
}

TEST_F(DataMapTest, RefusedReadsFailAndRefusedWritesDoNot) {
  ASSERT_EQ(map_prp(prp(0x7000000000), 512), status::kSuccess);
  std::vector<std::byte> data(512);
  EXPECT_EQ(map.read(dma, 0, data), status::kDataTransferError);
  EXPECT_EQ(map.write(dma, 0, data), status::kSuccess) << "posted";
  EXPECT_EQ(memory.refused, 2U);
}

}  // namespace
}  // namespace smartio::nvme
