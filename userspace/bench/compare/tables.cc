// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/compare/link.h"
#include "bench/compare/published.h"

namespace smartio::bench_compare {

using bench::Spread;
using nlohmann::ordered_json;

namespace {

using Row = std::vector<std::string>;

std::string with_spread(const std::optional<Spread>& spread, int digits = 2) {
  if (!spread) return "";
  return fmt::format("{:.{}f} ({:.{}f}-{:.{}f})", spread->median, digits, spread->min, digits, spread->max, digits);
}

/// A count for each I/O: as many digits as mean something.
std::string amount(double value) {
  if (std::abs(value) < 0.005) return "0";
  return fmt::format("{:.{}f}", value, std::abs(value) >= 100 ? 0 : 2);
}

const char* other_host(const Scenario& scenario) { return scenario.host == kLender ? kBorrower : kLender; }

bool is_number(std::string_view text) {
  return text.empty() || text[0] == '-' || text[0] == '+' || (text[0] >= '0' && text[0] <= '9');
}

}  // namespace

Table ratio_table(const Figures& figures) {
  Table table{.title =
                  "Instructions of the borrower and the lender for each I/O; latency against the stock driver on the "
                  "same host, "
                  "where both pass the same emulated parts (median of rounds, and their range)",
              .rows = {{"scenario", "job", "borrower", "lender", "borrower's or lender's / stock's", "with copies",
                        "with copies / stock's", "min / stock's", "median", "99%", "99.9%"}}};
  for (const Cell& cell : cells(figures)) {
    auto latency = [&](double bench::FioResult::* which) -> std::string {
      if (!cell.scenario().latency_comparable()) return "";
      return with_spread(cell.ratio([which](const Measured& one) { return one.fio.*which; }));
    };
    table.rows.push_back({cell.scenario().title, cell.job().name,
                          cell.scenario().host == kLender ? "" : amount(cell.on(kBorrower, Count::instructions)),
                          amount(cell.on(kLender, Count::instructions)), with_spread(cell.ratio(own_instructions), 3),
                          amount(cell.spread(own_with_copies).median), with_spread(cell.ratio(own_with_copies), 3),
                          latency(&bench::FioResult::min_us), latency(&bench::FioResult::median_us),
                          latency(&bench::FioResult::p99_us), latency(&bench::FioResult::p999_us)});
  }
  return table;
}

Table cost_table(const Figures& figures) {
  constexpr std::array kShown{Count::spinning, Count::device_interrupts, Count::interrupts,     Count::context_switches,
                              Count::dma_maps, Count::dma_unmaps,        Count::iommu_commands, Count::copied_bytes};
  Table table{.title = "What else an I/O takes: where fio runs, and (behind the stroke) on the other host",
              .rows = {{"scenario", "job"}}};
  for (const Count count : kShown) table.rows[0].emplace_back(name_of(count));
  for (const Cell& cell : cells(figures)) {
    Row row{cell.scenario().title, cell.job().name};
    const bool alone = cell.scenario().driver == Driver::stock;
    for (const Count count : kShown) {
      std::string text = amount(cell.on(cell.scenario().host, count));
      if (!alone) text += " / " + amount(cell.on(other_host(cell.scenario()), count));
      row.push_back(std::move(text));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table ledger_table(const Figures& figures) {
  Table table{.title = "Transactions on the cable for each I/O, from the ledger",
              .rows = {{"scenario", "job", "posted", "bytes", "non-posted", "bytes", "which"}}};
  for (const Cell& cell : cells(figures)) {
    if (!cell.scenario().over_cable()) continue;
    bench::LedgerCell posted;
    bench::LedgerCell fetched;
    std::string which;
    for (const auto& [kind, count] : cell.ledger()) {
      bench::LedgerCell& sum = kind.starts_with("posted") ? posted : fetched;
      sum.transactions += count.transactions;
      sum.bytes += count.bytes;
      if (count.transactions >= 0.005)
        which += fmt::format("{}{} {}", which.empty() ? "" : ", ", kind, amount(count.transactions));
    }
    table.rows.push_back({cell.scenario().title, cell.job().name, amount(posted.transactions), amount(posted.bytes),
                          amount(fetched.transactions), amount(fetched.bytes), which});
  }
  return table;
}

Table model_table(const Figures& figures, const Assumptions& assumptions) {
  Table table{.title = "Computed: what a real PCIe path would add to a local drive's latency, 4 KiB at depth 1",
              .rows = {{"scenario", "", "ways across", "round trips", "bytes copied", "added us", "published us"}}};
  for (const Predicted& one : predict(figures, assumptions)) {
    table.rows.push_back(
        {one.scenario.title, one.write ? "write" : "read", one.added_us ? fmt::format("{}", one.path.one_way) : "",
         one.added_us ? fmt::format("{}", one.path.round_trips) : "", fmt::format("{:.0f}", one.copied_bytes),
         one.added_us ? fmt::format("{:.1f} to {:.1f}", one.added_us->low, one.added_us->high) : "not modelled",
         one.published_us ? fmt::format("{:.1f}", *one.published_us) : ""});
  }
  return table;
}

Table bandwidth_table(const Figures& figures) {
  Table table{
      .title =
          "Computed: payload that a link carries at most, from the ledger's TLPs and their headers, GB/s (low: with "
          "acknowledgements and flow control at the recommended rates)",
      .rows = {{"scenario", "job", "bytes to the borrower", "to the lender"}}};
  constexpr std::array kLinks{kGen4X4, kGen4X8};
  for (const Link& link : kLinks) table.rows[0].emplace_back(link.name);
  for (const Cell& cell : cells(figures)) {
    if (!cell.scenario().over_cable()) continue;
    const auto ledger = cell.ledger();
    const WireBytes wire = wire_bytes(ledger);
    Row row{cell.scenario().title, cell.job().name, amount(wire.to_borrower), amount(wire.to_lender)};
    for (const Link& link : kLinks) {
      const Range most = bandwidth(ledger, cell.job().bytes, link);
      row.push_back(fmt::format("{:.2f} to {:.2f}", most.low, most.high));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table checks_table(const Assumptions& assumptions) {
  Table table{.title = "The model against published figures that chose none of its parameters",
              .rows = {{"what", "computed", "published", "unit", "error of the middle", "source"}}};
  for (const Check& check : checks(assumptions)) {
    table.rows.push_back(
        {check.what, fmt::format("{:.2f} to {:.2f}", check.computed.low, check.computed.high),
         fmt::format("{:.2f}", check.published), check.unit,
         fmt::format("{:+.0f} %{}", 100 * check.error(), check.computed.holds(check.published) ? "" : ", MISSED"),
         check.source});
  }
  return table;
}

Table sources_table() {
  Table table{.title = "Published figures that the model starts from", .rows = {{"figure", "used for", "source"}}};
  for (const Source& source : sources()) table.rows.push_back({source.figure, source.use, source.source});
  return table;
}

Table sharing_table(const Figures& figures) {
  Table table{.title =
                  "Hosts at once on one drive: 4 KiB random reads at depth 8. More hosts have more emulated CPUs, so "
                  "the sum of "
                  "their I/O says nothing and is not here",
              .rows = {{"hosts", "Jain's index", "each host's share (last round)"}}};
  std::set<std::size_t> counts;
  for (const Shared& one : figures.shared) counts.insert(one.iops.size());
  for (const std::size_t count : counts) {
    std::vector<double> indexes;
    std::string each;
    for (const Shared& one : figures.shared) {
      if (one.iops.size() != count) continue;
      indexes.push_back(one.fairness());
      each.clear();
      for (const auto& [host, share] : one.shares())
        each += fmt::format("{}{} {:.0f} %", each.empty() ? "" : ", ", host, 100 * share);
    }
    const Spread index = bench::spread_of(indexes);
    table.rows.push_back(
        {fmt::format("{}", count), fmt::format("{:.3f} ({:.3f}-{:.3f})", index.median, index.min, index.max), each});
  }
  return table;
}

Table module_table(const Figures& figures) {
  Table table{
      .title = "Where instructions run, 4 KiB random reads at depth 1, those of idle hosts included",
      .rows = {{"scenario", "host", "all", "by module (kernel: what is no module; processes: fio and all others)"}}};
  for (const Cell& cell : cells(figures)) {
    if (cell.job().name != "read-4k-qd1") continue;
    for (const char* host : {kBorrower, kLender}) {
      double all = 0;
      std::map<std::string, double> modules;
      for (const auto& [name, instructions] : cell.functions(host)) {
        const auto bracket = name.rfind('[');
        std::string module = "kernel";
        if (name == "(processes)") module = "processes";
        if (bracket != std::string::npos) module = name.substr(bracket + 1, name.size() - bracket - 2);
        modules[module] += instructions;
        all += instructions;
      }
      std::vector<std::pair<std::string, double>> sorted(modules.begin(), modules.end());
      std::ranges::sort(sorted, std::ranges::greater{}, &std::pair<std::string, double>::second);
      std::string which;
      for (const auto& [module, instructions] : sorted) {
        if (instructions >= 10) which += fmt::format("{}{} {:.0f}", which.empty() ? "" : ", ", module, instructions);
      }
      table.rows.push_back({cell.scenario().title, host, fmt::format("{:.0f}", all), which});
    }
  }
  return table;
}

Table aims_table(const Figures& figures) {
  Table table{.title = "Aims", .rows = {{"", "what", "seen"}}};
  for (const Aim& aim : aims(figures)) table.rows.push_back({aim.reached ? "reached" : "MISSED", aim.what, aim.seen});
  return table;
}

Table function_table(const Cell& cell, const std::string& host, std::size_t count) {
  const Scenario* stock = find_scenario(cell.scenario().stock);
  const auto own = cell.functions(host);
  const auto theirs = stock == nullptr ? std::map<std::string, double>() : cell.same_job(*stock).functions(host);
  struct Line {
    std::string name;
    double own = 0;
    double stock = 0;
  };
  std::map<std::string, Line> lines;
  for (const auto& [name, instructions] : own) lines[name] = {.name = name, .own = instructions, .stock = 0};
  for (const auto& [name, instructions] : theirs) {
    lines[name].name = name;
    lines[name].stock = instructions;
  }
  std::vector<Line> sorted;
  for (auto& [name, line] : lines) sorted.push_back(std::move(line));
  std::ranges::sort(sorted, std::ranges::greater{}, [](const Line& line) { return std::abs(line.own - line.stock); });
  if (sorted.size() > count) sorted.resize(count);
  Table table{.title = fmt::format(
                  "{}, {}: instructions on the {} for each I/O by function, those of an idle host included; the "
                  "largest differences to the stock driver",
                  cell.scenario().title, cell.job().name, host),
              .rows = {{"function", "an I/O", "stock", "difference"}}};
  for (const Line& line : sorted) {
    table.rows.push_back({line.name, fmt::format("{:.0f}", line.own), fmt::format("{:.0f}", line.stock),
                          fmt::format("{:+.0f}", line.own - line.stock)});
  }
  return table;
}

namespace {

/// The rounds of one card under one load.
struct PacketCell {
  const Card& card;
  const PacketLoad& load;
  std::vector<const PacketCost*> rounds;

  [[nodiscard]] Spread spread(const std::function<double(const PacketCost&)>& value) const {
    std::vector<double> values;
    for (const PacketCost* one : rounds) values.push_back(value(*one));
    return bench::spread_of(std::move(values));
  }
  [[nodiscard]] double on(const std::string& host, Count count) const {
    return spread([&](const PacketCost& one) { return one.hosts.at(host)[count]; }).median;
  }
};

std::vector<PacketCell> packet_cells(const Figures& figures) {
  std::vector<PacketCell> all;
  for (const Card& card : all_cards()) {
    for (const PacketLoad& load : all_packet_loads()) {
      PacketCell cell{.card = card, .load = load, .rounds = {}};
      for (const PacketCost& one : figures.packets) {
        if (one.card.name == card.name && one.load.name == load.name) cell.rounds.push_back(&one);
      }
      if (!cell.rounds.empty()) all.push_back(std::move(cell));
    }
  }
  return all;
}

/// Of each round's instructions to those of the card that it is compared to, in the same round.
std::optional<Spread> packet_ratio(const Figures& figures, const PacketCell& cell) {
  std::vector<double> values;
  for (const PacketCost* one : cell.rounds) {
    const auto other = std::ranges::find_if(figures.packets, [&](const PacketCost& each) {
      return each.card.name == cell.card.compared_to && each.load.name == cell.load.name && each.round == one->round;
    });
    if (other == figures.packets.end()) continue;
    const double base = other->hosts.at(other->card.host)[Count::instructions];
    if (base > 0) values.push_back(one->hosts.at(cell.card.host)[Count::instructions] / base);
  }
  if (values.empty()) return std::nullopt;
  return bench::spread_of(std::move(values));
}

double in_modules_of_ours(const PacketCost& one) {
  double sum = 0;
  const auto functions = one.functions.find(one.card.host);
  if (functions == one.functions.end()) return sum;
  for (const auto& [name, instructions] : functions->second) {
    if (name.contains("smartio")) sum += instructions;
  }
  return sum;
}

}  // namespace

Table packet_table(const Figures& figures) {
  constexpr double kMillion = 1e6;
  constexpr std::array kShown{Count::device_interrupts, Count::context_switches, Count::dma_maps, Count::iommu_commands,
                              Count::copied_bytes};
  Table table{.title =
                  "e1000e: instructions for each UDP packet on the card's host, how many packets a million of them pay "
                  "for, and what else a packet takes there (median of rounds, and their range)",
              .rows = {{"card", "load", "instructions", "range", "a million pay for", "to the borrower's own",
                        "in smartio's modules", "lender"}}};
  for (const Count count : kShown) table.rows[0].emplace_back(name_of(count));
  for (const PacketCell& cell : packet_cells(figures)) {
    const Spread own =
        cell.spread([&](const PacketCost& one) { return one.hosts.at(cell.card.host)[Count::instructions]; });
    Row row{cell.card.title,
            cell.load.name,
            amount(own.median),
            fmt::format("{:.0f}-{:.0f}", own.min, own.max),
            own.median > 0 ? amount(kMillion / own.median) : "",
            with_spread(packet_ratio(figures, cell), 3),
            amount(cell.spread(in_modules_of_ours).median),
            cell.card.host == kLender ? "" : amount(cell.on(kLender, Count::instructions))};
    for (const Count count : kShown) row.push_back(amount(cell.on(cell.card.host, count)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table packet_ledger_table(const Figures& figures) {
  Table table{.title = "e1000e: transactions on the cable for each packet, from the ledger",
              .rows = {{"card", "load", "posted", "bytes", "non-posted", "bytes", "which"}}};
  for (const PacketCell& cell : packet_cells(figures)) {
    if (!cell.card.lent) continue;
    std::set<std::string> kinds;
    for (const PacketCost* one : cell.rounds) {
      for (const auto& [kind, count] : one->ledger) kinds.insert(kind);
    }
    bench::LedgerCell posted;
    bench::LedgerCell fetched;
    std::string which;
    for (const std::string& kind : kinds) {
      const auto median = [&](double bench::LedgerCell::* part) {
        return cell
            .spread([&](const PacketCost& one) {
              const auto found = one.ledger.find(kind);
              return found == one.ledger.end() ? 0 : found->second.*part;
            })
            .median;
      };
      bench::LedgerCell& sum = kind.starts_with("posted") ? posted : fetched;
      const double transactions = median(&bench::LedgerCell::transactions);
      sum.transactions += transactions;
      sum.bytes += median(&bench::LedgerCell::bytes);
      if (transactions >= 0.005) which += fmt::format("{}{} {}", which.empty() ? "" : ", ", kind, amount(transactions));
    }
    table.rows.push_back({cell.card.title, cell.load.name, amount(posted.transactions), amount(posted.bytes),
                          amount(fetched.transactions), amount(fetched.bytes), which});
  }
  return table;
}

std::vector<Table> all_tables(const Figures& figures, const Assumptions& assumptions) {
  constexpr std::size_t kFunctions = 25;
  std::vector<Table> all{aims_table(figures),         ratio_table(figures),   cost_table(figures),
                         ledger_table(figures),       module_table(figures),  model_table(figures, assumptions),
                         bandwidth_table(figures),    sharing_table(figures), packet_table(figures),
                         packet_ledger_table(figures)};
  const Cell remote(figures, *find_scenario("remote"), *find_job("read-4k-qd1"));
  if (!remote.empty()) all.push_back(function_table(remote, kBorrower, kFunctions));
  // Only beside something that was computed.
  if (!predict(figures, assumptions).empty()) {
    all.push_back(checks_table(assumptions));
    all.push_back(sources_table());
  }
  std::erase_if(all, [](const Table& table) { return table.rows.size() < 2; });
  return all;
}

std::string to_text(const Table& table) {
  std::vector<std::size_t> widths;
  for (const Row& row : table.rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text = table.title + "\n";
  for (const Row& row : table.rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      // A column is one of numbers if its first cell below the head is.
      const bool right = i > 0 && table.rows.size() > 1 && i < table.rows[1].size() && is_number(table.rows[1][i]);
      line += right ? fmt::format("{:>{}}  ", row[i], widths[i]) : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string command_for(const Scenario& scenario) {
  return scenario.stock.empty() ? fmt::format("scripts/bench-compare --scenario {}", scenario.name)
                                : fmt::format("scripts/bench-compare --scenario {},{}", scenario.stock, scenario.name);
}

namespace {

ordered_json to_json(const Tally& tally) {
  auto out = ordered_json::object();
  for (std::size_t i = 0; i < kCounts; ++i) out[name_of(static_cast<Count>(i))] = tally[static_cast<Count>(i)];
  return out;
}

ordered_json to_json(const bench::Ledger& ledger) {
  auto out = ordered_json::object();
  for (const auto& [kind, count] : ledger) out[kind] = {{"transactions", count.transactions}, {"bytes", count.bytes}};
  return out;
}

ordered_json to_json(const std::map<std::string, Tally>& hosts) {
  auto out = ordered_json::object();
  for (const auto& [host, tally] : hosts) out[host] = to_json(tally);
  return out;
}

/// By host and function, those of less than one instruction left out.
ordered_json to_json(const std::map<std::string, std::map<std::string, double>>& functions) {
  auto hosts = ordered_json::object();
  for (const auto& [host, all] : functions) {
    auto& out = hosts[host] = ordered_json::object();
    for (const auto& [name, count] : all) {
      if (count >= 1) out[name] = std::round(count * 10) / 10;
    }
  }
  return hosts;
}

ordered_json to_json(const PacketCost& one) {
  return {{"card", one.card.name},
          {"load", one.load.name},
          {"round", one.round},
          {"packets", one.packets},
          {"per_packet", to_json(one.hosts)},
          {"ledger_per_packet", to_json(one.ledger)},
          {"functions", to_json(one.functions)}};
}

ordered_json to_json(const Measured& one) {
  return {{"scenario", one.scenario.name},
          {"job", one.job.name},
          {"round", one.round},
          {"iops", one.fio.iops},
          {"latency_us",
           {{"min", one.fio.min_us},
            {"p25", one.fio.p25_us},
            {"median", one.fio.median_us},
            {"p75", one.fio.p75_us},
            {"p99", one.fio.p99_us},
            {"p999", one.fio.p999_us}}},
          {"per_io", to_json(one.hosts)},
          {"ledger_per_io", to_json(one.ledger)},
          {"drive_commands_per_io", one.commands},
          {"functions", to_json(one.functions)}};
}

ordered_json to_json(const Table& table) { return {{"title", table.title}, {"rows", table.rows}}; }

}  // namespace

ordered_json to_json(const Figures& figures, const Assumptions& assumptions) {
  ordered_json out = {{"seconds", figures.seconds}, {"rounds", figures.rounds}};
  for (const Fact& fact : figures.facts) out["on"].push_back({{"what", fact.what}, {"value", fact.value}});
  for (const Scenario& scenario : all_scenarios()) {
    out["scenarios"].push_back({{"name", scenario.name},
                                {"title", scenario.title},
                                {"host", scenario.host},
                                {"drive", scenario.drive},
                                {"parameters", scenario.parameters},
                                {"completion", scenario.poll ? "poll" : "interrupt"},
                                {"compared_to", scenario.stock},
                                {"command", command_for(scenario)}});
  }
  out["measured"] = ordered_json::array();
  for (const Measured& one : figures.measured) out["measured"].push_back(to_json(one));
  out["sharing"] = ordered_json::array();
  for (const Shared& one : figures.shared) {
    out["sharing"].push_back(
        {{"round", one.round}, {"iops", one.iops}, {"total_iops", one.total()}, {"jain_index", one.fairness()}});
  }
  out["packets"] = ordered_json::array();
  for (const PacketCost& one : figures.packets) out["packets"].push_back(to_json(one));
  out["assumptions"] = sentences(assumptions);
  for (const Table& table : all_tables(figures, assumptions)) out["tables"].push_back(to_json(table));
  return out;
}

}  // namespace smartio::bench_compare
