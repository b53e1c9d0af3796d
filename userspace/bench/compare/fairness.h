// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <vector>

namespace smartio::bench_compare {

/// Jain's index of how equal shares are: 1 if all are, 1/n if one of n has everything. 0 if there is nothing to share.
double jain_index(const std::vector<double>& shares);

}  // namespace smartio::bench_compare
