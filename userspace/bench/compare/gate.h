// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/compare/figures.h"
#include "bench/guests/spread.h"

namespace smartio::bench_compare {

/// The costs of an I/O over the link, by the names of jobs. A busy machine changes how many timer ticks, context
/// switches and interrupts an I/O takes. So all costs are brought to the same number of these.
template <typename Number>
struct Costs {
  std::map<std::string, Number> instructions;         ///< of the borrower, against the stock driver's
  std::map<std::string, Number> driver_instructions;  ///< those in smartio_nvme
  std::map<std::string, Number> transactions;         ///< on the cable

  bool operator==(const Costs&) const = default;
};
using Limits = Costs<double>;       ///< the costs that were accepted last
using Seen = Costs<bench::Spread>;  ///< over the rounds of a run

/// A run is worse if its least round exceeds the limit by this part of it.
inline constexpr double kWorse = 0.01;
/// A run whose median exceeds the least by more can't tell.
inline constexpr double kNoise = 0.02;

/// The scenarios and jobs that a run needs for it.
std::vector<std::string> gate_scenarios();
std::vector<std::string> gate_jobs();

/// A job that was not measured is an error.
Result<Seen> seen_costs(const Figures& figures);
/// The least of each.
Limits limits_of(const Seen& seen);
/// For limits_from().
nlohmann::ordered_json to_json(const Limits& limits);
/// A file's text; one that holds nothing to any limit is an error.
Result<Limits> limits_from(std::string_view text);

/// A line for each figure of `limits`: reached unless the run's is worse, missing, or too noisy.
std::vector<Aim> judge(const Seen& seen, const Limits& limits);

}  // namespace smartio::bench_compare
