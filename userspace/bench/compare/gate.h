// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/compare/figures.h"

namespace smartio::bench_compare {

/// A run is worse if it exceeds the limit by this part of it.
inline constexpr double kWorse = 0.01;
/// The most instructions of a read over the link, against the stock driver's on a drive of the host's own. This driver
/// always has nvme-core's multipath, which is why there is a second limit: against the stock driver with it.
inline constexpr double kMostOfStock = 1.03;
inline constexpr double kMostOfMultipath = 1.00;
/// The most instructions of an I/O on a drive that is lent whole, against the same driver on the host's own drive.
inline constexpr double kMostLent = 1.05;
/// A run whose median exceeds the least by more can't tell.
inline constexpr double kNoise = 0.02;

/// One cost in a run.
struct Cost {
  double least = 0;  ///< of the rounds; of a ratio, the least over the stock driver's least
  double noise = 0;  ///< by which part of it the median exceeds the least; of a ratio, that of the noisier driver
  [[nodiscard]] bool noisy() const { return noise > kNoise; }
};

/// The costs of an I/O over the link, by the names of jobs. A busy machine changes how many timer ticks, context
/// switches and interrupts an I/O takes. So all costs are brought to the same number of these.
template <typename Number>
struct Costs {
  std::map<std::string, Number> instructions;         ///< of the borrower, against the stock driver's
  std::map<std::string, Number> driver_instructions;  ///< those in smartio_nvme
  std::map<std::string, Number> transactions;         ///< on the cable

  bool operator==(const Costs&) const = default;
};
using Limits = Costs<double>;  ///< the costs that were accepted last
/// Over the rounds of a run.
struct Seen : Costs<Cost> {
  std::map<std::string, Cost> multipath;  ///< instructions of the borrower, against the stock driver's with multipath
};

/// The scenarios and jobs that a run needs for it.
std::vector<std::string> gate_scenarios();
std::vector<std::string> gate_jobs();

/// Fails if a job was not measured, or if the counters lack a part of the figures.
Result<Seen> seen_costs(const Figures& figures);
/// Whether any of them is.
bool noisy(const Seen& seen);
/// The least of each.
Limits limits_of(const Seen& seen);
/// For limits_from().
nlohmann::ordered_json to_json(const Limits& limits);
/// A file's text; one that holds nothing to any limit is an error.
Result<Limits> limits_from(std::string_view text);

/// A line for each figure of `limits`: reached unless the run's is worse, missing, or too noisy. Then the reads against
/// kMostOfStock and kMostOfMultipath, which no renewal of the limits moves.
std::vector<Aim> judge(const Seen& seen, const Limits& limits);
/// A line for each job that was measured on a drive that is lent whole, and on the host's own: reached unless the
/// least of the rounds exceeds kMostLent, or the run is too noisy.
std::vector<Aim> judge_lent(const Figures& figures);

}  // namespace smartio::bench_compare
