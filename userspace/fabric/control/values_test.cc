// SPDX-License-Identifier: GPL-2.0
#include "fabric/control/values.h"

#include <gtest/gtest.h>

namespace smartio::control {
namespace {

using namespace std::chrono_literals;

TEST(Values, Numbers) {
  EXPECT_EQ(number_of("0"), 0U);
  EXPECT_EQ(number_of("42"), 42U);
  EXPECT_EQ(number_of("7", 7), 7U);
  EXPECT_FALSE(number_of("x1"));
  EXPECT_FALSE(number_of("8", 7));
  EXPECT_EQ(number_of("8", 7).error().message, "'8' is not a whole number from 0 to 7");
}

TEST(Values, Sizes) {
  EXPECT_EQ(size_of("2G"), 2ULL << 30);
  EXPECT_EQ(size_of("1k").error().message, "'1k' is not a size such as 4096, 64K or 2G");
}

TEST(Values, Durations) {
  EXPECT_EQ(duration_of("5ms"), 5ms);
  EXPECT_EQ(duration_of("500us"), 500us);
  EXPECT_EQ(duration_of("7ns"), 7ns);
  EXPECT_EQ(duration_of("2s"), 2s);
  EXPECT_EQ(duration_of("0s"), 0s);
  EXPECT_EQ(duration_of("86400s"), 24h);
  for (const auto* wrong : {"", "5", "ms", "s", "5m", "5h", "-5ms", "86401s", "1.5s", "99999999999999999999s"})
    EXPECT_FALSE(duration_of(wrong)) << wrong;
}

TEST(Values, ErrorsQuoteOnlyWhatCanBePrinted) {
  EXPECT_EQ(number_of("\x01\xff").error().message,
            "'" + std::string(2, '?') + "' is not a whole number such as 42 or 0x2a");
  EXPECT_LT(size_of(std::string(10'000, 'x')).error().message.size(), 200U);
}

}  // namespace
}  // namespace smartio::control
