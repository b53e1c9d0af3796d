// SPDX-License-Identifier: GPL-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tcg_count/block_table.h"
#include "tcg_count/string_move.h"

namespace smartio::tcg_count {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr std::uint64_t kText = 0xFFFFFFFF81000000;

TEST(BlockTable, ProcessesShareACounter) {
  BlockTable table(10);
  EXPECT_EQ(table.counter_of(0x400000), BlockTable::kUser);
  EXPECT_EQ(table.counter_of(0x7FFFFFFFF000), BlockTable::kUser);
  EXPECT_EQ(table.used(), 2U);
}

TEST(BlockTable, KernelCodeHasACounterForEvery16Bytes) {
  BlockTable table(10);
  const std::size_t first = table.counter_of(kText + 3);
  EXPECT_EQ(table.counter_of(kText + 15), first);
  const std::size_t second = table.counter_of(kText + 16);
  EXPECT_NE(second, first);
  EXPECT_EQ(table.counter_of(kText), first);
  EXPECT_THAT(table.kernel(),
              ElementsAre(Pair(0, BlockTable::kOverflow), Pair(kText, first), Pair(kText + 16, second)));
  EXPECT_EQ(table.used(), 4U);
}

TEST(BlockTable, WhenAllAreTakenTheRestSharesOne) {
  BlockTable table(3);
  EXPECT_EQ(table.counter_of(kText), 2U);
  EXPECT_EQ(table.counter_of(kText + 32), BlockTable::kOverflow);
  EXPECT_EQ(table.counter_of(kText), 2U);
}

std::size_t move(std::initializer_list<std::uint8_t> bytes) {
  return string_move_bytes(std::span(bytes.begin(), bytes.size()));
}

TEST(StringMove, StepsOfEachKind) {
  EXPECT_EQ(move({0xF3, 0xA4}), 1U);
  EXPECT_EQ(move({0xF3, 0xA5}), 4U);
  EXPECT_EQ(move({0xF3, 0x48, 0xA5}), 8U);
  EXPECT_EQ(move({0x66, 0xF3, 0xA5}), 2U);
  EXPECT_EQ(move({0x65, 0xA4}), 1U);
  EXPECT_EQ(move({0x48, 0xF3, 0xA5}), 4U);  // the REX prefix does not count there
}

TEST(StringMove, NothingElse) {
  EXPECT_EQ(move({0xF3, 0xAA}), 0U);              // rep stosb
  EXPECT_EQ(move({0x48, 0x89, 0xA4, 0x24}), 0U);  // mov, with A4 among its operands
  EXPECT_EQ(move({0x0F, 0xA4}), 0U);
  EXPECT_EQ(move({}), 0U);
}

}  // namespace
}  // namespace smartio::tcg_count
