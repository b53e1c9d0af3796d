// SPDX-License-Identifier: GPL-2.0
#include "cluster/tsc.h"

#include <gtest/gtest.h>

namespace smartio::cluster {
namespace {

TEST(Tsc, MeasuresTheSameTwice) {
  const auto first = measure_tsc_khz();
  const auto second = measure_tsc_khz();
  if (first == 0 && second == 0) GTEST_SKIP() << "no time-stamp counter";
  // Any x86 of this century, and a thousandth between two measurements.
  EXPECT_GT(first, 100'000U);
  EXPECT_LT(first, 20'000'000U);
  EXPECT_NEAR(static_cast<double>(second), static_cast<double>(first), static_cast<double>(first) / 1000);
}

}  // namespace
}  // namespace smartio::cluster
