// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/spread.h"

#include <gtest/gtest.h>

#include <numeric>

namespace smartio::bench {
namespace {

TEST(Spread, OfValues) {
  EXPECT_DOUBLE_EQ(spread_of({3, 1, 2}).median, 2);
  EXPECT_DOUBLE_EQ(spread_of({4, 1, 2, 3}).median, 2.5);
  EXPECT_DOUBLE_EQ(spread_of({4, 1, 2, 3}).min, 1);
  EXPECT_DOUBLE_EQ(spread_of({4, 1, 2, 3}).max, 4);
  EXPECT_DOUBLE_EQ(spread_of({}).max, 0);
}

TEST(Spread, The99thIsAValueThatWasSeen) {
  std::vector<double> values(200);
  std::iota(values.begin(), values.end(), 1);
  EXPECT_DOUBLE_EQ(spread_of(values).p99, 198);
  EXPECT_DOUBLE_EQ(spread_of({7}).p99, 7);
  EXPECT_DOUBLE_EQ(spread_of({1, 2}).p99, 2);
}

}  // namespace
}  // namespace smartio::bench
