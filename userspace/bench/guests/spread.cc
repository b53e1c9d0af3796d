// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/spread.h"

#include <algorithm>

namespace smartio::bench {

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  const std::size_t rank = (values.size() * 99 + 99) / 100;  // nearest rank
  return {.min = values.front(), .median = median, .p99 = values[rank - 1], .max = values.back()};
}

}  // namespace smartio::bench
