// SPDX-License-Identifier: GPL-2.0
#include "fabric/control/values.h"

#include <gtest/gtest.h>

namespace smartio::control {
namespace {

using namespace std::chrono_literals;

TEST(Values, Numbers) {
  EXPECT_EQ(parse_number("0"), 0U);
  EXPECT_EQ(parse_number("42"), 42U);
  EXPECT_EQ(parse_number("0x2a"), 42U);
  EXPECT_EQ(parse_number("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_number("7", 7), 7U);
  for (const auto* wrong : {"", "-1", "+1", " 1", "1 ", "1.5", "0x", "x1", "18446744073709551616", "1e3", "12a"})
    EXPECT_FALSE(parse_number(wrong)) << wrong;
  EXPECT_FALSE(parse_number("8", 7));
  EXPECT_EQ(parse_number("8", 7).error().message, "'8' is not a whole number from 0 to 7");
}

TEST(Values, Sizes) {
  EXPECT_EQ(parse_size("512"), 512U);
  EXPECT_EQ(parse_size("64K"), 65536U);
  EXPECT_EQ(parse_size("64M"), 64ULL << 20);
  EXPECT_EQ(parse_size("2G"), 2ULL << 30);
  EXPECT_EQ(parse_size("1T"), 1ULL << 40);
  for (const auto* wrong : {"", "K", "1k", "1KB", "1.5G", "-1M", "16777216T", "64 K"})
    EXPECT_FALSE(parse_size(wrong)) << wrong;
}

TEST(Values, Durations) {
  EXPECT_EQ(parse_duration("5ms"), 5ms);
  EXPECT_EQ(parse_duration("500us"), 500us);
  EXPECT_EQ(parse_duration("7ns"), 7ns);
  EXPECT_EQ(parse_duration("2s"), 2s);
  EXPECT_EQ(parse_duration("0s"), 0s);
  EXPECT_EQ(parse_duration("86400s"), 24h);
  for (const auto* wrong : {"", "5", "ms", "s", "5m", "5h", "-5ms", "86401s", "1.5s", "99999999999999999999s"})
    EXPECT_FALSE(parse_duration(wrong)) << wrong;
}

TEST(Values, ErrorsQuoteOnlyWhatCanBePrinted) {
  EXPECT_EQ(parse_number("\x01\xff").error().message,
            "'" + std::string(2, '?') + "' is not a whole number such as 42 or 0x2a");
  EXPECT_LT(parse_size(std::string(10'000, 'x')).error().message.size(), 200U);
}

}  // namespace
}  // namespace smartio::control
