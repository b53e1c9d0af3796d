// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <vector>

namespace smartio::bench {

/// Several values of one thing.
struct Spread {
  double min = 0;
  double median = 0;
  double p99 = 0;  ///< the smallest value that 99 of 100 do not exceed
  double max = 0;
};
/// All zero if there are none.
Spread spread_of(std::vector<double> values);

}  // namespace smartio::bench
