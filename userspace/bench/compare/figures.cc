// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/compare/fairness.h"

namespace smartio::bench_compare {

using bench::Spread;
using bench::spread_of;

namespace {

double on_host(const Measured& one, const std::string& host, Count count) {
  const auto found = one.hosts.find(host);
  return found == one.hosts.end() ? 0 : found->second[count];
}

double of_both(const Measured& one) {
  return on_host(one, kBorrower, Count::instructions) + on_host(one, kLender, Count::instructions);
}

Cell cell(const Figures& figures, std::string_view scenario, std::string_view job) {
  return {figures, *find_scenario(scenario), *find_job(job)};
}

Aim at_most(std::string what, double seen, double most) {
  return {.what = fmt::format("{} at most {:.3f}", what, most),
          .seen = fmt::format("{:.3f}", seen),
          .reached = seen <= most};
}

}  // namespace

double Shared::total() const {
  double sum = 0;
  for (const auto& [host, rate] : iops) sum += rate;
  return sum;
}

std::map<std::string, double> Shared::shares() const {
  std::map<std::string, double> parts;
  for (const auto& [host, rate] : iops) parts[host] = rate / total();
  return parts;
}

double Shared::fairness() const {
  std::vector<double> shares;
  for (const auto& [host, rate] : iops) shares.push_back(rate);
  return jain_index(shares);
}

Cell::Cell(const Figures& figures, const Scenario& scenario, const Job& job)
    : figures_(figures), scenario_(scenario), job_(job) {
  for (const Measured& one : figures.measured) {
    if (one.scenario.name == scenario.name && one.job.name == job.name) rounds_.push_back(&one);
  }
}

Spread Cell::spread(const Value& value) const {
  std::vector<double> values;
  for (const Measured* one : rounds_) values.push_back(value(*one));
  return spread_of(std::move(values));
}

std::optional<Spread> Cell::ratio(const Value& value) const { return ratio(value, scenario_.stock); }

std::optional<Spread> Cell::ratio(const Value& value, std::string_view scenario) const {
  const Scenario* base_scenario = find_scenario(scenario);
  if (base_scenario == nullptr) return std::nullopt;
  const Cell other(figures_, *base_scenario, job_);
  std::vector<double> values;
  for (const Measured* one : rounds_) {
    const auto same = std::ranges::find(other.rounds_, one->round, &Measured::round);
    if (same == other.rounds_.end()) continue;
    if (const double base = value(**same); base > 0) values.push_back(value(*one) / base);
  }
  if (values.empty()) return std::nullopt;
  return spread_of(std::move(values));
}

double Cell::on(const std::string& host, Count count) const {
  return spread([&](const Measured& one) { return on_host(one, host, count); }).median;
}

std::map<std::string, double> Cell::functions(const std::string& host) const {
  std::map<std::string, double> sums;
  for (const Measured* one : rounds_) {
    const auto found = one->functions.find(host);
    if (found == one->functions.end()) continue;
    for (const auto& [name, instructions] : found->second)
      sums[name] += instructions / static_cast<double>(rounds_.size());
  }
  return sums;
}

bench::Ledger Cell::ledger() const {
  bench::Ledger result;
  for (const Measured* round : rounds_) {
    for (const auto& [kind, count] : round->ledger) result[kind];
  }
  for (auto& [kind, count] : result) {
    auto median = [&, &name = kind](double bench::LedgerCell::* part) {
      return spread([&](const Measured& one) {
               const auto found = one.ledger.find(name);
               return found == one.ledger.end() ? 0 : found->second.*part;
             })
          .median;
    };
    count = {.transactions = median(&bench::LedgerCell::transactions), .bytes = median(&bench::LedgerCell::bytes)};
  }
  return result;
}

std::vector<Cell> cells(const Figures& figures) {
  std::vector<Cell> all;
  for (const Scenario& scenario : all_scenarios()) {
    for (const Job& job : all_jobs()) {
      if (Cell one(figures, scenario, job); !one.empty()) all.push_back(std::move(one));
    }
  }
  return all;
}

double own_instructions(const Measured& one) { return on_host(one, one.scenario.host, Count::instructions); }

double own_with_copies(const Measured& one) { return on_host(one, one.scenario.host, Count::with_copies); }

std::vector<Predicted> predict(const Figures& figures, const Assumptions& assumptions) {
  std::vector<Predicted> all;
  for (const Scenario& scenario : all_scenarios()) {
    if (scenario.driver == Driver::stock) continue;
    for (const char* rw : {"read", "write"}) {
      const Job& job = *find_job(fmt::format("{}-4k-qd1", rw));
      const Cell own(figures, scenario, job);
      if (own.empty()) continue;
      Predicted one{.scenario = scenario,
                    .write = job.write(),
                    .path = {},
                    .copied_bytes = own.on(scenario.host, Count::copied_bytes),
                    .added_us = std::nullopt,
                    .published_us = std::nullopt};
      if (const Cell stock(figures, *find_scenario(scenario.stock), job); !stock.empty()) {
        one.copied_bytes -= stock.on(scenario.host, Count::copied_bytes);
      }
      one.copied_bytes = std::max(0.0, one.copied_bytes);
      if (scenario.driver == Driver::smartio || scenario.driver == Driver::lent) {
        one.path = critical_path(own.ledger());
        one.added_us = added_latency(one.path, one.copied_bytes, assumptions);
      }
      if (scenario.name == "remote-bounce-poll") {
        one.published_us = one.write ? published_remote().write_us : published_remote().read_us;
      }
      if (scenario.name == "nvmeof-rdma") {
        one.published_us = one.write ? published_rdma().write_us : published_rdma().read_us;
      }
      all.push_back(std::move(one));
    }
  }
  return all;
}

std::vector<Aim> aims(const Figures& figures) {
  constexpr double kOfStock = 1.05;
  constexpr double kOfTcp = 1.0 / 5;
  // An idle host's own doings, which are subtracted, vary by some thousand instructions in a thousandth of a second.
  constexpr double kNoise = 0.02;
  std::vector<Aim> all;
  const Cell remote = cell(figures, "remote", "read-4k-qd1");
  if (remote.empty()) return all;
  const double own = remote.spread(own_instructions).median;
  if (const auto ratio = remote.ratio(own_instructions)) {
    all.push_back(
        at_most("a remote 4 KiB read at depth 1: instructions of the borrower, against the stock local driver",
                ratio->median, kOfStock));
  }
  if (const auto ratio = remote.ratio(own_instructions, "stock-multipath")) {
    all.push_back(at_most("the same, against the stock local driver where it has nvme-core's multipath, too",
                          ratio->median, kOfStock));
  }
  // None against NVMe-oF/RDMA: here it is soft-RoCE, whose instructions a real adapter does itself.
  if (const Cell tcp = cell(figures, "nvmeof-tcp", "read-4k-qd1"); !tcp.empty()) {
    all.push_back(at_most("the same, against NVMe-oF/TCP on the borrower alone",
                          own / tcp.spread(own_instructions).median, kOfTcp));
    all.push_back(at_most("the same, of both hosts, against NVMe-oF/TCP on both",
                          remote.spread(of_both).median / tcp.spread(of_both).median, kOfTcp));
  }
  const double lender = remote.on(kLender, Count::instructions);
  all.push_back({.what = "the lender runs no instruction for it (as far as an idle host is quiet)",
                 .seen = fmt::format("{:.0f}", lender),
                 .reached = lender <= kNoise * own});
  return all;
}

}  // namespace smartio::bench_compare
