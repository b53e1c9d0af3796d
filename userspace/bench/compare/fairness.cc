// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/fairness.h"

namespace smartio::bench_compare {

double jain_index(const std::vector<double>& shares) {
  double sum = 0;
  double squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(shares.size()) * squares) : 0;
}

}  // namespace smartio::bench_compare
