// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/gate.h"

#include <fmt/format.h>

namespace smartio::bench_compare {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr const char* kScenario = "remote";

double driver_instructions(const Measured& one) {
  double sum = 0;
  if (const auto found = one.functions.find(kBorrower); found != one.functions.end()) {
    for (const auto& [name, instructions] : found->second) {
      if (name.ends_with(" [smartio_nvme]")) sum += instructions;
    }
  }
  return sum;
}

double transactions(const Measured& one) {
  double sum = 0;
  for (const auto& [kind, count] : one.ledger) sum += count.transactions;
  return sum;
}

void judge_each(std::string_view what, const std::map<std::string, bench::Spread>& seen,
                const std::map<std::string, double>& limits, std::vector<Aim>& all) {
  for (const auto& [job, limit] : limits) {
    const double most = limit * (1 + kWorse);
    Aim aim{.what = fmt::format("{}, {} at most {:.4f}, 1 % above {:.4f}", job, what, most, limit),
            .seen = "not measured",
            .reached = false};
    if (const auto found = seen.find(job); found != seen.end()) {
      const bench::Spread& spread = found->second;
      const bool noisy = spread.max - spread.min > kNoise * spread.median;
      aim.seen = fmt::format("{:.4f} ({:.4f}-{:.4f}){}", spread.median, spread.min, spread.max,
                             noisy ? ", too noisy: nothing else may run on the machine" : "");
      aim.reached = !noisy && spread.median <= most;
    }
    all.push_back(std::move(aim));
  }
}

std::map<std::string, double> medians(const std::map<std::string, bench::Spread>& spreads) {
  std::map<std::string, double> all;
  for (const auto& [job, spread] : spreads) all[job] = spread.median;
  return all;
}

}  // namespace

std::vector<std::string> gate_scenarios() { return {find_scenario(kScenario)->stock, kScenario}; }

std::vector<std::string> gate_jobs() { return {"read-4k-qd1", "read-4k-qd32", "write-4k-qd1", "write-4k-qd32"}; }

Result<Seen> seen_costs(const Figures& figures) {
  Seen seen;
  for (const std::string& job : gate_jobs()) {
    const Cell cell(figures, *find_scenario(kScenario), *find_job(job));
    const auto ratio = cell.ratio(own_instructions);
    if (!ratio) return fail(fmt::format("{} was not measured", job));
    seen.instructions[job] = *ratio;
    seen.driver_instructions[job] = cell.spread(driver_instructions);
    seen.transactions[job] = cell.spread(transactions);
  }
  return seen;
}

Limits limits_of(const Seen& seen) {
  return {.instructions = medians(seen.instructions),
          .driver_instructions = medians(seen.driver_instructions),
          .transactions = medians(seen.transactions)};
}

ordered_json to_json(const Limits& limits) {
  return {{"renewed by", "make bench-gate-renew"},
          {"instructions of the borrower against the stock driver's", limits.instructions},
          {"instructions in smartio_nvme", limits.driver_instructions},
          {"transactions on the cable", limits.transactions}};
}

Result<Limits> limits_from(std::string_view text) {
  try {
    const json file = json::parse(text);
    Limits limits;
    file.at("instructions of the borrower against the stock driver's").get_to(limits.instructions);
    file.at("instructions in smartio_nvme").get_to(limits.driver_instructions);
    file.at("transactions on the cable").get_to(limits.transactions);
    for (const auto* each : {&limits.instructions, &limits.driver_instructions, &limits.transactions}) {
      for (const std::string& job : gate_jobs()) {
        if (!each->contains(job)) return fail(fmt::format("the limits lack {}", job));
      }
    }
    return limits;
  } catch (const json::exception& error) {
    return fail(fmt::format("the limits can't be read: {}", error.what()));
  }
}

std::vector<Aim> judge(const Seen& seen, const Limits& limits) {
  std::vector<Aim> all;
  judge_each("instructions of the borrower against the stock driver's", seen.instructions, limits.instructions, all);
  judge_each("instructions in smartio_nvme", seen.driver_instructions, limits.driver_instructions, all);
  judge_each("transactions on the cable", seen.transactions, limits.transactions, all);
  return all;
}

}  // namespace smartio::bench_compare
