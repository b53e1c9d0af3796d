// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/guests/spread.h"

namespace smartio::bench_compare {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr const char* kScenario = "remote";
constexpr const char* kMultipath = "stock-multipath";
constexpr std::string_view kOfStockText = "instructions of the borrower against the stock driver's";
constexpr std::string_view kOfMultipathText = "instructions of the borrower against the stock driver's with multipath";
constexpr std::string_view kInDriverText = "instructions in smartio_nvme";
constexpr std::string_view kTransactionsText = "transactions on the cable";

/// The costs of events that a busy machine makes more or fewer, in instructions. A least-squares fit over the rounds of
/// a run on a machine that others used, at 269 to 2,072 I/O a second.
constexpr double kTimerTick = 7500;
constexpr double kContextSwitch = 3400;
constexpr double kInterrupt = 1090;
constexpr double kInterruptInDriver = 77;
/// Context switches of an I/O at depth 1, and of one at depth 32. fio sleeps unless the I/O ends at once. A busy
/// machine explains differences up to the swing; the rest counts.
struct Switches {
  double usual;
  double swing;
};
constexpr Switches kAlone{.usual = 1.7, .swing = 0.6};
constexpr Switches kMany{.usual = 0.1, .swing = 0.15};
/// At a greater depth, doorbells of several queues meet on the cable, and split a command or wait for each other. That
/// explains up to this many further transactions of an I/O, of commands and of doorbells each.
constexpr double kMeetings = 0.25;
/// Heartbeats, which pass with time: more messages than that for an I/O count.
constexpr double kMessages = 0.1;
/// Two readings of counters, a host's or the cable's and the drive's, differ by this part of the I/O between them.
constexpr double kSkew = 0.03;

/// How much I/O was done between two readings, for each one that the drive has seen, by what happens once for each:
/// what differs by more than two readings can is no I/O.
double ios(double happened) { return std::abs(happened - 1) <= kSkew ? happened : 1; }

/// Of an I/O, on the host where fio runs. Both drivers map the data of each once, and no other disk maps any.
Tally of_io(const Measured& one) {
  const Tally& tally = one.hosts.at(one.scenario.host);
  return tally * (1 / ios(tally[Count::dma_maps]));
}

/// Interrupts that an I/O lacks since another's served it.
double shared_interrupt(double interrupts) { return 1 - std::min(interrupts, 1.0); }

/// Of an I/O on the host where fio runs, with an interrupt and context switches of its own, and without timer ticks.
double instructions(const Measured& one) {
  const Tally tally = of_io(one);
  const Switches& switches = one.job.depth == 1 ? kAlone : kMany;
  return tally[Count::instructions] - kTimerTick * tally[Count::timer_ticks] +
         kContextSwitch * std::clamp(switches.usual - tally[Count::context_switches], -switches.swing, switches.swing) +
         kInterrupt * shared_interrupt(tally[Count::device_interrupts]);
}

double counted_in_driver(const Measured& one) {
  const auto functions = one.functions.find(kBorrower);
  if (functions == one.functions.end()) return 0;
  double sum = 0;
  for (const auto& [name, count] : functions->second) {
    if (name.ends_with(" [smartio_nvme]")) sum += count;
  }
  return sum;
}

/// In smartio_nvme, as if each I/O had an interrupt of its own.
double driver_instructions(const Measured& one) {
  return counted_in_driver(one) / ios(one.hosts.at(kBorrower)[Count::dma_maps]) +
         kInterruptInDriver * shared_interrupt(of_io(one)[Count::device_interrupts]);
}

double transactions_of(const Measured& one, const char* kind) {
  const auto found = one.ledger.find(kind);
  return found == one.ledger.end() ? 0 : found->second.transactions;
}

/// Of an I/O, as if each had an interrupt of its own.
double transactions(const Measured& one) {
  const double done = ios(transactions_of(one, "posted completion"));
  double sum = 0;
  for (const auto& [kind, count] : one.ledger) sum += count.transactions;
  sum -= std::min(transactions_of(one, "posted message"), kMessages * done);
  if (one.job.depth > 1) {
    for (const char* kind : {"posted command", "posted doorbell"})
      sum -= std::clamp(transactions_of(one, kind) - done, 0.0, kMeetings * done);
  }
  return sum / done + shared_interrupt(transactions_of(one, "posted interrupt") / done);
}

/// Fails if a part of the figures was not counted: a kernel may name a function otherwise.
Result<void> counted(const Cell& cell) {
  for (const Measured* one : cell.rounds()) {
    const auto host = one->hosts.find(one->scenario.host);
    for (const Count count : {Count::instructions, Count::dma_maps, Count::device_interrupts, Count::timer_ticks}) {
      if (host == one->hosts.end() || host->second[count] <= 0)
        return fail(fmt::format("{}, {}: no {} were counted", one->scenario.name, one->job.name, name_of(count)));
    }
    if (one->scenario.name != kScenario) continue;
    if (counted_in_driver(*one) <= 0)
      return fail(fmt::format("{}: no function of smartio_nvme was counted", one->job.name));
    if (transactions_of(*one, "posted completion") <= 0)
      return fail(fmt::format("{}: no completion was counted on the cable", one->job.name));
  }
  return {};
}

/// The least: other users of the machine only add to the cost of an I/O.
Cost cost_of(const bench::Spread& spread) {
  return {.least = spread.min, .noise = (spread.median - spread.min) / spread.min};
}

std::string seen_text(const Cost& cost) {
  return fmt::format("{:.4f} (median {:.1f} % more){}", cost.least, cost.noise * 100,
                     cost.noisy() ? ", too noisy: too much else runs on the machine" : "");
}

/// Least against least, with the noise of the noisier one.
Cost ratio_of(const Cost& own, const Cost& base) {
  return {.least = own.least / base.least, .noise = std::max(own.noise, base.noise)};
}

/// `what` says the limit, too.
Aim aim_for(const std::map<std::string, Cost>& seen, const std::string& job, double most, std::string_view what) {
  Aim aim{.what = fmt::format("{}, {}", job, what), .seen = "not measured", .reached = false};
  if (const auto found = seen.find(job); found != seen.end()) {
    const Cost& cost = found->second;
    aim.seen = seen_text(cost);
    aim.reached = !cost.noisy() && cost.least <= most;
  }
  return aim;
}

void judge_each(std::string_view what, const std::map<std::string, Cost>& seen,
                const std::map<std::string, double>& limits, std::vector<Aim>& all) {
  for (const auto& [job, limit] : limits) {
    const double most = limit * (1 + kWorse);
    all.push_back(aim_for(seen, job, most, fmt::format("{} at most {:.4f}, 1 % above {:.4f}", what, most, limit)));
  }
}

void judge_reads(std::string_view what, const std::map<std::string, Cost>& seen, double most, std::vector<Aim>& all) {
  for (const std::string& job : gate_jobs()) {
    if (job.starts_with("read-")) all.push_back(aim_for(seen, job, most, fmt::format("{} at most {:.2f}", what, most)));
  }
}

std::map<std::string, double> least(const std::map<std::string, Cost>& costs) {
  std::map<std::string, double> all;
  for (const auto& [job, cost] : costs) all[job] = cost.least;
  return all;
}

}  // namespace

std::vector<std::string> gate_scenarios() { return {find_scenario(kScenario)->stock, kMultipath, kScenario}; }

std::vector<std::string> gate_jobs() { return {"read-4k-qd1", "read-4k-qd32", "write-4k-qd1", "write-4k-qd32"}; }

Result<Seen> seen_costs(const Figures& figures) {
  Seen seen;
  for (const std::string& job : gate_jobs()) {
    const Cell cell(figures, *find_scenario(kScenario), *find_job(job));
    const Cell stock = cell.same_job(*find_scenario(cell.scenario().stock));
    const Cell multipath = cell.same_job(*find_scenario(kMultipath));
    for (const Cell& each : {cell, stock, multipath}) {
      if (each.empty()) return fail(fmt::format("{}, {}: not measured", each.scenario().name, job));
      if (auto all = counted(each); !all) return fail(all.error().message);
    }
    const Cost own = cost_of(cell.spread(instructions));
    seen.instructions[job] = ratio_of(own, cost_of(stock.spread(instructions)));
    seen.multipath[job] = ratio_of(own, cost_of(multipath.spread(instructions)));
    seen.driver_instructions[job] = cost_of(cell.spread(driver_instructions));
    seen.transactions[job] = cost_of(cell.spread(transactions));
  }
  return seen;
}

bool noisy(const Seen& seen) {
  for (const auto* each : {&seen.instructions, &seen.multipath, &seen.driver_instructions, &seen.transactions}) {
    if (std::ranges::any_of(*each, [](const auto& one) { return one.second.noisy(); })) return true;
  }
  return false;
}

Limits limits_of(const Seen& seen) {
  return {.instructions = least(seen.instructions),
          .driver_instructions = least(seen.driver_instructions),
          .transactions = least(seen.transactions)};
}

ordered_json to_json(const Limits& limits) {
  return {{"renewed by", "make bench-gate-renew"},
          {kOfStockText, limits.instructions},
          {kInDriverText, limits.driver_instructions},
          {kTransactionsText, limits.transactions}};
}

Result<Limits> limits_from(std::string_view text) {
  try {
    const json file = json::parse(text);
    Limits limits;
    file.at(kOfStockText).get_to(limits.instructions);
    file.at(kInDriverText).get_to(limits.driver_instructions);
    file.at(kTransactionsText).get_to(limits.transactions);
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
  judge_each(kOfStockText, seen.instructions, limits.instructions, all);
  judge_each(kInDriverText, seen.driver_instructions, limits.driver_instructions, all);
  judge_each(kTransactionsText, seen.transactions, limits.transactions, all);
  judge_reads(kOfStockText, seen.instructions, kMostOfStock, all);
  judge_reads(kOfMultipathText, seen.multipath, kMostOfMultipath, all);
  return all;
}

std::vector<Aim> judge_lent(const Figures& figures) {
  std::vector<Aim> all;
  for (const Cell& cell : cells(figures)) {
    if (cell.scenario().driver != Driver::lent) continue;
    const Cell own = cell.same_job(*find_scenario(cell.scenario().stock));
    if (own.empty()) continue;
    const Cost cost = ratio_of(cost_of(cell.spread(instructions)), cost_of(own.spread(instructions)));
    all.push_back({.what = fmt::format("{}, instructions on a lent drive at most {:.2f} of the own one's",
                                       cell.job().name, kMostLent),
                   .seen = seen_text(cost),
                   .reached = !cost.noisy() && cost.least <= kMostLent});
  }
  return all;
}

}  // namespace smartio::bench_compare
