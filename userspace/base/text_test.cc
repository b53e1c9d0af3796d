// SPDX-License-Identifier: GPL-2.0
#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/numbers.h"

namespace smartio {
namespace {

TEST(Numbers, AsTheKernelPrintsThem) {
  EXPECT_EQ(parse_number("12"), 12U);
  EXPECT_EQ(parse_number("0x1f"), 31U);
  EXPECT_EQ(parse_number("0xffffffffffffffff"), UINT64_MAX);
  EXPECT_EQ(parse_number("18446744073709551615"), UINT64_MAX);
  for (const char* wrong :
       {"", "0x", "-1", "+1", " 1", "12 ", "1x", "x1", "1.5", "1e3", "18446744073709551616", "0x10000000000000000"}) {
    EXPECT_EQ(parse_number(wrong), std::nullopt) << wrong;
  }
}

TEST(Numbers, SizesAreReadAndWritten) {
  EXPECT_EQ(parse_size("0").value(), 0U);
  EXPECT_EQ(parse_size("4096").value(), 4096U);
  EXPECT_EQ(parse_size("64K").value(), 64ULL << 10);
  EXPECT_EQ(parse_size("64M").value(), 64ULL << 20);
  EXPECT_EQ(parse_size("4G").value(), 4ULL << 30);
  EXPECT_EQ(parse_size("16777215T").value(), 16777215ULL << 40);
  for (std::string_view wrong :
       {"", "K", "-1", "+1", "1k", "1KB", "1 K", " 1", "0x10", "1.5G", "16777216T", "18446744073709551616"}) {
    EXPECT_FALSE(parse_size(wrong)) << wrong;
  }
  for (std::uint64_t size : {0ULL, 1ULL, 1023ULL, 1024ULL, 1536ULL, 64ULL << 20, 3ULL << 40, 1ULL << 50}) {
    EXPECT_EQ(parse_size(format_size(size)).value(), size);
  }
  EXPECT_EQ(format_size(512ULL << 20), "512M");
  EXPECT_EQ(format_size(1ULL << 40), "1T");
}

TEST(Printable, AnotherHostsNameCanNotDriveTheTerminal) {
  EXPECT_EQ(printable("a\033[2Jb\n\xff"), "a?[2Jb??");
  EXPECT_EQ(printable(std::string(1000, 'x')).size(), 256U);
}

TEST(Words, WhiteSpaceOfAnyLength) {
  EXPECT_THAT(words_of("  ntb0\n ntb1 "), ::testing::ElementsAre("ntb0", "ntb1"));
  EXPECT_TRUE(words_of(" \n").empty());
  EXPECT_EQ(trimmed(" a b\n"), "a b");
  EXPECT_EQ(trimmed("\n"), "");
}

}  // namespace
}  // namespace smartio
