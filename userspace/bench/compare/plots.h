// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/compare/figures.h"

namespace smartio::bench_compare {

/// A plot, as a specification for Vega 5.
struct Plot {
  std::string title;
  nlohmann::ordered_json spec;
};

/// The computed distribution of latency; box plots of emulated latency for each job; bars of instructions, of
/// transactions, of hosts that share.
std::vector<Plot> all_plots(const Figures& figures, const Assumptions& assumptions);

}  // namespace smartio::bench_compare
