// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/memory_tags.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace smartio::pci {
namespace {

class Tags : public testing::Test {
 protected:
  AccessKind kind(std::size_t at) { return MemoryTags::Lookup(tags_).kind(&memory_[at], AccessKind::message); }
  std::uint64_t tag(std::size_t begin, std::uint64_t size, AccessKind kind) {
    const MemoryTags::Interval interval{&memory_[begin], size};
    return tags_.add(std::span(&interval, 1), kind);
  }

  std::array<std::byte, 1000> memory_{};
  MemoryTags tags_;
};

TEST_F(Tags, SayWhatABytesHolds) {
  EXPECT_EQ(kind(0), AccessKind::message);
  const auto id = tag(100, 50, AccessKind::command);
  EXPECT_NE(id, 0U);
  EXPECT_EQ(kind(99), AccessKind::message);
  EXPECT_EQ(kind(100), AccessKind::command);
  EXPECT_EQ(kind(149), AccessKind::command);
  EXPECT_EQ(kind(150), AccessKind::message);
  tags_.remove(id);
  EXPECT_EQ(kind(100), AccessKind::message);
  EXPECT_EQ(tags_.size(), 0U);
  tags_.remove(id);
  tags_.remove(4711);
}

TEST_F(Tags, OneIdCoversManyIntervals) {
  const std::vector<MemoryTags::Interval> intervals = {{&memory_[0], 10}, {&memory_[500], 10}, {&memory_[700], 0}};
  const auto id = tags_.add(intervals, AccessKind::completion);
  EXPECT_EQ(kind(5), AccessKind::completion);
  EXPECT_EQ(kind(505), AccessKind::completion);
  EXPECT_EQ(kind(700), AccessKind::message);
  tags_.remove(id);
  EXPECT_EQ(kind(505), AccessKind::message);
}

TEST_F(Tags, TheNewerOfTwoCounts) {
  tag(100, 100, AccessKind::command);
  const auto inner = tag(140, 20, AccessKind::completion);
  EXPECT_EQ(kind(139), AccessKind::command);
  EXPECT_EQ(kind(140), AccessKind::completion);
  EXPECT_EQ(kind(159), AccessKind::completion);
  EXPECT_EQ(kind(160), AccessKind::command);
  tags_.remove(inner);
  EXPECT_EQ(kind(150), AccessKind::message);
  EXPECT_EQ(kind(160), AccessKind::command);
  tag(50, 500, AccessKind::list);
  EXPECT_EQ(kind(100), AccessKind::list);
  EXPECT_EQ(kind(549), AccessKind::list);
  tag(540, 20, AccessKind::data);
  EXPECT_EQ(kind(539), AccessKind::list);
  EXPECT_EQ(kind(545), AccessKind::data);
  tags_.clear();
  EXPECT_EQ(kind(545), AccessKind::message);
}

TEST_F(Tags, ALookupFollowsARunOfStoresAcrossBorders) {
  tag(100, 50, AccessKind::command);
  tag(200, 50, AccessKind::completion);
  MemoryTags::Lookup lookup(tags_);
  for (std::size_t i = 0; i < 300; ++i) {
    const AccessKind expected = i >= 100 && i < 150   ? AccessKind::command
                                : i >= 200 && i < 250 ? AccessKind::completion
                                                      : AccessKind::message;
    ASSERT_EQ(lookup.kind(&memory_[i], AccessKind::message), expected) << i;
  }
  EXPECT_EQ(lookup.kind(&memory_[120], AccessKind::message), AccessKind::command);
}

}  // namespace
}  // namespace smartio::pci
