// SPDX-License-Identifier: GPL-2.0
#include "bench_share/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace smartio::bench_share {

using nlohmann::ordered_json;

namespace {

constexpr double kMostInstructions = 1.1;  // times the stock driver's
constexpr std::string_view kLender = "lender";

const Measured* find(const std::vector<Measured>& all, std::string_view setup, const Case& what) {
  const std::string wanted = name_of(what);
  const auto found = std::ranges::find_if(
      all, [&](const Measured& one) { return one.setup.name == setup && name_of(one.what) == wanted; });
  return found == all.end() ? nullptr : &*found;
}

Spread of_host(const std::map<std::string, Spread>& hosts, std::string_view host) {
  const auto found = hosts.find(std::string(host));
  return found == hosts.end() ? Spread{} : found->second;
}

double own(const Measured& one) { return of_host(one.io.hosts, one.setup.host).median; }

ordered_json spread_json(const std::map<std::string, Spread>& hosts) {
  auto out = ordered_json::object();
  for (const auto& [host, spread] : hosts) {
    out[host] = {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
  }
  return out;
}

}  // namespace

std::optional<double> ratio(const Measured& one, const std::vector<Measured>& all) {
  const Measured* other = find(all, one.setup.compare, one.what);
  if (other == nullptr || own(*other) <= 0) return std::nullopt;
  return own(one) / own(*other);
}

std::vector<Aim> aims(const std::vector<Measured>& all) {
  std::vector<Aim> result;
  for (const Measured& one : all) {
    if (one.setup.name != "smartio-borrower") continue;
    if (!one.what.write && !one.what.poll) {
      if (const auto times = ratio(one, all)) {
        result.push_back({.what = fmt::format("{}: instructions of the borrower at most {} times the stock driver's",
                                              name_of(one.what), kMostInstructions),
                          .seen = fmt::format("{:.3f}", *times),
                          .reached = *times <= kMostInstructions});
      }
    }
    // The lender runs what an idle one runs, or less.
    const Spread idle = of_host(one.idle.spread, kLender);
    const Spread busy = of_host(one.rates, kLender);
    result.push_back(
        {.what = fmt::format("{}: the lender runs no instruction for it", name_of(one.what)),
         .seen = fmt::format("{:.1f} an I/O; {:.2f} M/s, idle {:.2f} to {:.2f}", of_host(one.io.hosts, kLender).median,
                             busy.median / 1e6, idle.min / 1e6, idle.max / 1e6),
         .reached = busy.median <= 1.1 * idle.max});
    if (one.what.poll) {
      const Measured* interrupt =
          find(all, one.setup.name, {.poll = false, .write = one.what.write, .depth = one.what.depth});
      if (interrupt != nullptr && one.what.depth == 1) {
        result.push_back({.what = fmt::format("{}: median latency below that by interrupt", name_of(one.what)),
                          .seen = fmt::format("{:.1f} us, {:.1f} us", one.fio.median_us, interrupt->fio.median_us),
                          .reached = one.fio.median_us < interrupt->fio.median_us});
      }
    }
  }
  return result;
}

std::string table(const std::vector<Measured>& all) {
  std::string text =
      fmt::format("{:<29} {:<15} {:>8} {:>8} {:>8} {:>8} | {:>9} {:>19} {:>6} | {:>9}\n", "setup", "case", "IOPS",
                  "min us", "med us", "p99 us", "insn/IO", "(min to max)", "ratio", "lender");
  for (const Measured& one : all) {
    const Spread spread = of_host(one.io.hosts, one.setup.host);
    const auto times = ratio(one, all);
    text += fmt::format("{:<29} {:<15} {:>8.0f} {:>8.1f} {:>8.1f} {:>8.1f} | {:>9.0f} {:>19} {:>6} | {:>9}\n",
                        one.setup.name, name_of(one.what), one.fio.iops, one.fio.min_us, one.fio.median_us,
                        one.fio.p99_us, spread.median, fmt::format("({:.0f} to {:.0f})", spread.min, spread.max),
                        times ? fmt::format("{:.3f}", *times) : "",
                        one.setup.host == kLender ? "" : fmt::format("{:.1f}", of_host(one.io.hosts, kLender).median));
  }
  return text;
}

std::string ledger_table(const std::vector<Measured>& all) {
  std::string text;
  for (const Measured& one : all) {
    if (one.setup.stock || one.setup.host == kLender) continue;
    text += fmt::format("{:<29} {:<15}", one.setup.name, name_of(one.what));
    std::string cells;
    for (const auto& [kind, traffic] : one.io.ledger) {
      if (traffic.transactions < 0.005) continue;
      cells += fmt::format("{} {} {:.2f}", cells.empty() ? "" : ",", kind, traffic.transactions);
    }
    text += cells + "\n";
  }
  return text;
}

std::string aims_table(const std::vector<Measured>& all) {
  std::string text;
  for (const Aim& aim : aims(all)) {
    text += fmt::format("{:<8} {:<68} {}\n", aim.reached ? "reached" : "MISSED", aim.what, aim.seen);
  }
  return text;
}

std::string functions_table(const Measured& one, const std::vector<Measured>& all, std::size_t count) {
  const Measured* other = find(all, one.setup.compare, one.what);
  struct Row {
    std::string name;
    double ours;
    double theirs;
  };
  std::vector<Row> rows;
  for (const auto& [name, mine] : one.functions) rows.push_back({name, mine, 0});
  if (other != nullptr) {
    for (const auto& [name, theirs] : other->functions) {
      const auto known = std::ranges::find(rows, name, &Row::name);
      if (known == rows.end()) {
        rows.push_back({name, 0, theirs});
      } else {
        known->theirs = theirs;
      }
    }
  }
  std::ranges::sort(rows, std::ranges::greater{}, [](const Row& row) { return std::abs(row.ours - row.theirs); });
  if (rows.size() > count) rows.resize(count);
  std::string text = fmt::format("{:<58} {:>9} {:>9} {:>10}\n", fmt::format("{} {}", one.setup.name, name_of(one.what)),
                                 "insn/IO", other == nullptr ? "" : "stock", "difference");
  for (const Row& row : rows) {
    text += fmt::format("{:<58} {:>9.1f} {:>9.1f} {:>+10.1f}\n", row.name, row.ours, row.theirs, row.ours - row.theirs);
  }
  return text;
}

ordered_json to_json(const std::vector<Measured>& all) {
  auto measured = ordered_json::array();
  for (const Measured& one : all) {
    auto functions = ordered_json::object();
    for (const auto& [name, count] : one.functions) {
      if (count >= 0.5) functions[name] = std::round(count * 10) / 10;
    }
    auto ledger = ordered_json::object();
    for (const auto& [kind, traffic] : one.io.ledger) ledger[kind] = traffic.transactions;
    const auto times = ratio(one, all);
    measured.push_back(
        {{"setup", one.setup.name},
         {"host", one.setup.host},
         {"driver", one.setup.stock ? "nvme" : "smartio_nvme"},
         {"parameters", one.setup.parameters},
         {"completion", one.what.poll ? "poll" : "interrupt"},
         {"rw", one.what.write ? "write" : "read"},
         {"depth", one.what.depth},
         {"iops", one.fio.iops},
         {"latency_us", {{"min", one.fio.min_us}, {"median", one.fio.median_us}, {"p99", one.fio.p99_us}}},
         {"instructions_per_io", spread_json(one.io.hosts)},
         {"kernel_instructions_per_io", spread_json(one.io.kernel)},
         {"compared_to", one.setup.compare},
         {"ratio", times ? ordered_json(*times) : ordered_json()},
         {"instructions_per_second", spread_json(one.rates)},
         {"idle_instructions_per_second", spread_json(one.idle.spread)},
         {"ledger_per_io", ledger},
         {"functions", functions}});
  }
  auto reached = ordered_json::array();
  for (const Aim& aim : aims(all)) {
    reached.push_back({{"aim", aim.what}, {"seen", aim.seen}, {"reached", aim.reached}});
  }
  return {{"measured", measured}, {"aims", reached}};
}

}  // namespace smartio::bench_share
