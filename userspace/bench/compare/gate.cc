// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace smartio::bench_compare {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr const char* kScenario = "remote";

/// The costs of events that a busy machine makes more or fewer, in instructions. A least-squares fit over the rounds of
/// a run on a machine that others used, at 269 to 2,072 I/O a second.
constexpr double kTimerTick = 7500;
constexpr double kContextSwitch = 3400;
constexpr double kInterrupt = 1090;
constexpr double kInterruptInDriver = 77;
/// Context switches of a request at depth 1, and of one at depth 32. fio sleeps unless the request ends at once. A busy
/// machine explains differences up to the swing; the rest counts.
constexpr double kSwitchesAlone = 1.7;
constexpr double kSwitchesMany = 0.1;
constexpr double kSwitchesSwing = 0.6;
/// At a greater depth, doorbells of several queues meet on the cable, and split a command or wait for each other: so
/// many transactions of a request.
constexpr double kMeetings = 0.25;
/// Other disks' requests, as a part of all.
constexpr double kOtherDisks = 0.1;
/// Heartbeats, which pass with time: more messages than that for a request count.
constexpr double kMessages = 0.1;

/// Requests to the drive, from the same reading of the counters as all else. Both drivers map each request's data once,
/// and no other disk maps any. So maps tell them from other disks' requests, unless a driver maps more or fewer.
double requests(const Tally& tally) {
  const double maps = tally[Count::dma_maps];
  const double all = tally[Count::requests];
  return std::abs(maps - all) < kOtherDisks * all ? maps : all;
}

Tally of_request(const Measured& one) {
  const auto found = one.hosts.find(one.scenario.host);
  if (found == one.hosts.end() || requests(found->second) <= 0) return {};
  return found->second * (1 / requests(found->second));
}

/// Interrupts that a request lacks since another's served it.
double shared_interrupt(double interrupts) { return 1 - std::min(interrupts, 1.0); }

/// Of a request on the host where fio runs, as if it had an interrupt and its context switches of its own, and no
/// timer.
double instructions(const Measured& one) {
  const Tally tally = of_request(one);
  const double switches = one.job.depth == 1 ? kSwitchesAlone : kSwitchesMany;
  return tally[Count::instructions] - kTimerTick * tally[Count::timer_ticks] +
         kContextSwitch * std::clamp(switches - tally[Count::context_switches], -kSwitchesSwing, kSwitchesSwing) +
         kInterrupt * shared_interrupt(tally[Count::device_interrupts]);
}

/// In smartio_nvme, as if each request had an interrupt of its own.
double driver_instructions(const Measured& one) {
  const auto host = one.hosts.find(kBorrower);
  const auto functions = one.functions.find(kBorrower);
  if (host == one.hosts.end() || functions == one.functions.end()) return 0;
  double sum = 0;
  for (const auto& [name, count] : functions->second) {
    if (name.ends_with(" [smartio_nvme]")) sum += count;
  }
  return sum / requests(host->second) +
         kInterruptInDriver * shared_interrupt(of_request(one)[Count::device_interrupts]);
}

/// For each completion, as if each had an interrupt of its own.
double transactions(const Measured& one) {
  auto of = [&](const char* kind) {
    const auto found = one.ledger.find(kind);
    return found == one.ledger.end() ? 0 : found->second.transactions;
  };
  const double completions = of("posted completion");
  double sum = 0;
  for (const auto& [kind, count] : one.ledger) sum += count.transactions;
  sum -= std::min(of("posted message"), kMessages * completions);
  if (one.job.depth > 1) {
    for (const char* kind : {"posted command", "posted doorbell"})
      sum -= std::clamp(of(kind) - completions, 0.0, kMeetings * completions);
  }
  return sum / completions + shared_interrupt(of("posted interrupt") / completions);
}

/// Of the least, the middle and the greatest: a machine that others use only adds to what an I/O takes.
bench::Spread operator/(const bench::Spread& one, const bench::Spread& other) {
  return {.min = one.min / other.min,
          .median = one.median / other.median,
          .p99 = one.p99 / other.p99,
          .max = one.max / other.max};
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
      const bool noisy = std::abs(spread.median - spread.min) > kNoise * spread.min;
      aim.seen = fmt::format("{:.4f} (median {:.4f}){}", spread.min, spread.median,
                             noisy ? ", too noisy: too much else runs on the machine" : "");
      aim.reached = !noisy && spread.min <= most;
    }
    all.push_back(std::move(aim));
  }
}

std::map<std::string, double> least(const std::map<std::string, bench::Spread>& spreads) {
  std::map<std::string, double> all;
  for (const auto& [job, spread] : spreads) all[job] = spread.min;
  return all;
}

}  // namespace

std::vector<std::string> gate_scenarios() { return {find_scenario(kScenario)->stock, kScenario}; }

std::vector<std::string> gate_jobs() { return {"read-4k-qd1", "read-4k-qd32", "write-4k-qd1", "write-4k-qd32"}; }

Result<Seen> seen_costs(const Figures& figures) {
  Seen seen;
  for (const std::string& job : gate_jobs()) {
    const Cell cell(figures, *find_scenario(kScenario), *find_job(job));
    const Cell stock = cell.same_job(*find_scenario(cell.scenario().stock));
    if (cell.empty() || stock.empty()) return fail(fmt::format("{} was not measured", job));
    seen.instructions[job] = cell.spread(instructions) / stock.spread(instructions);
    seen.driver_instructions[job] = cell.spread(driver_instructions);
    seen.transactions[job] = cell.spread(transactions);
  }
  return seen;
}

Limits limits_of(const Seen& seen) {
  return {.instructions = least(seen.instructions),
          .driver_instructions = least(seen.driver_instructions),
          .transactions = least(seen.transactions)};
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
