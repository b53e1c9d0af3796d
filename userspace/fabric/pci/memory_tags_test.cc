// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/memory_tags.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace smartio::pci {
namespace {

class Tags : public testing::Test {
 protected:
  Traffic kind(std::size_t at) { return MemoryTags::Lookup(tags_).kind(&memory_[at], Traffic::message); }
  std::uint64_t tag(std::size_t begin, std::uint64_t size, Traffic kind) {
    const MemoryTags::Interval interval{&memory_[begin], size};
    return tags_.add(std::span(&interval, 1), kind);
  }

  std::array<std::byte, 1000> memory_{};
  MemoryTags tags_;
};

TEST_F(Tags, SayWhatABytesHolds) {
  EXPECT_EQ(kind(0), Traffic::message);
  const auto id = tag(100, 50, Traffic::command);
  EXPECT_NE(id, 0U);
  EXPECT_EQ(kind(99), Traffic::message);
  EXPECT_EQ(kind(100), Traffic::command);
  EXPECT_EQ(kind(149), Traffic::command);
  EXPECT_EQ(kind(150), Traffic::message);
  tags_.remove(id);
  EXPECT_EQ(kind(100), Traffic::message);
  EXPECT_EQ(tags_.size(), 0U);
  tags_.remove(id);
  tags_.remove(4711);
}

TEST_F(Tags, OneIdCoversManyIntervals) {
  const std::vector<MemoryTags::Interval> intervals = {{&memory_[0], 10}, {&memory_[500], 10}, {&memory_[700], 0}};
  const auto id = tags_.add(intervals, Traffic::completion);
  EXPECT_EQ(kind(5), Traffic::completion);
  EXPECT_EQ(kind(505), Traffic::completion);
  EXPECT_EQ(kind(700), Traffic::message);
  tags_.remove(id);
  EXPECT_EQ(kind(505), Traffic::message);
}

TEST_F(Tags, TheNewerOfTwoCounts) {
  tag(100, 100, Traffic::command);
  const auto inner = tag(140, 20, Traffic::completion);
  EXPECT_EQ(kind(139), Traffic::command);
  EXPECT_EQ(kind(140), Traffic::completion);
  EXPECT_EQ(kind(159), Traffic::completion);
  EXPECT_EQ(kind(160), Traffic::command);
  tags_.remove(inner);
  EXPECT_EQ(kind(150), Traffic::message);
  EXPECT_EQ(kind(160), Traffic::command);
  tag(50, 500, Traffic::list);
  EXPECT_EQ(kind(100), Traffic::list);
  EXPECT_EQ(kind(549), Traffic::list);
  tag(540, 20, Traffic::data);
  EXPECT_EQ(kind(539), Traffic::list);
  EXPECT_EQ(kind(545), Traffic::data);
  tags_.clear();
  EXPECT_EQ(kind(545), Traffic::message);
}

TEST_F(Tags, ALookupFollowsARunOfStoresAcrossBorders) {
  tag(100, 50, Traffic::command);
  tag(200, 50, Traffic::completion);
  MemoryTags::Lookup lookup(tags_);
  for (std::size_t i = 0; i < 300; ++i) {
    const Traffic expected = i >= 100 && i < 150   ? Traffic::command
                             : i >= 200 && i < 250 ? Traffic::completion
                                                   : Traffic::message;
    ASSERT_EQ(lookup.kind(&memory_[i], Traffic::message), expected) << i;
  }
  EXPECT_EQ(lookup.kind(&memory_[120], Traffic::message), Traffic::command);
}

}  // namespace
}  // namespace smartio::pci
