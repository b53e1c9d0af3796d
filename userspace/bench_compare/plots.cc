// SPDX-License-Identifier: GPL-2.0
#include "bench_compare/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace smartio::bench_compare {

using nlohmann::ordered_json;

namespace {

// Boxes from the first to the third quartile; the line is the median, whiskers reach from the smallest to the 99th
// percentile, the dot is the 99.9th. Small strokes are the medians of the rounds.
constexpr const char* kBoxes = R"json({
  "width": 900, "height": 300, "padding": 5,
  "data": [{"name": "boxes", "values": []}, {"name": "rounds", "values": []}],
  "scales": [
    {"name": "x", "type": "band", "domain": {"data": "boxes", "field": "scenario"}, "range": "width", "padding": 0.35},
    {"name": "y", "type": "log", "range": "height", "nice": true,
     "domain": {"fields": [{"data": "boxes", "field": "min"}, {"data": "boxes", "field": "p999"}]}}
  ],
  "axes": [
    {"orient": "left", "scale": "y", "title": "latency, us (log)", "grid": true, "tickCount": 6, "format": "~s"},
    {"orient": "bottom", "scale": "x", "labelAngle": -20, "labelAlign": "right", "labelLimit": 300}
  ],
  "marks": [
    {"type": "rule", "from": {"data": "boxes"}, "encode": {"enter": {
      "x": {"scale": "x", "field": "scenario", "band": 0.5},
      "y": {"scale": "y", "field": "min"}, "y2": {"scale": "y", "field": "p99"}, "stroke": {"value": "#555"}}}},
    {"type": "rect", "from": {"data": "boxes"}, "encode": {"enter": {
      "x": {"scale": "x", "field": "scenario"}, "width": {"scale": "x", "band": 1},
      "y": {"scale": "y", "field": "p75"}, "y2": {"scale": "y", "field": "p25"},
      "fill": {"value": "#9ecae1"}, "stroke": {"value": "#555"}, "tooltip": {"signal": "datum"}}}},
    {"type": "rule", "from": {"data": "boxes"}, "encode": {"enter": {
      "x": {"scale": "x", "field": "scenario"}, "x2": {"scale": "x", "field": "scenario", "band": 1},
      "y": {"scale": "y", "field": "median"}, "stroke": {"value": "#08306b"}, "strokeWidth": {"value": 2}}}},
    {"type": "symbol", "from": {"data": "boxes"}, "encode": {"enter": {
      "x": {"scale": "x", "field": "scenario", "band": 0.5}, "y": {"scale": "y", "field": "p999"},
      "size": {"value": 30}, "fill": {"value": "#555"}}}},
    {"type": "symbol", "from": {"data": "rounds"}, "encode": {"enter": {
      "shape": {"value": "stroke"}, "size": {"value": 60}, "stroke": {"value": "#d94801"},
      "x": {"scale": "x", "field": "scenario", "band": 1, "offset": 8}, "y": {"scale": "y", "field": "median"}}}}
  ]
})json";

// Stacked: a bar for each "bar", its parts by "part".
constexpr const char* kBars = R"json({
  "width": 900, "height": 300, "padding": 5,
  "data": [{"name": "table", "values": [],
    "transform": [{"type": "stack", "groupby": ["bar"], "sort": {"field": "part"}, "field": "value"}]}],
  "scales": [
    {"name": "x", "type": "band", "domain": {"data": "table", "field": "bar"}, "range": "width", "padding": 0.3},
    {"name": "y", "type": "linear", "domain": {"data": "table", "field": "y1"}, "range": "height", "nice": true, "zero": true},
    {"name": "color", "type": "ordinal", "domain": {"data": "table", "field": "part", "sort": true}, "range": {"scheme": "tableau10"}}
  ],
  "axes": [
    {"orient": "left", "scale": "y", "title": "", "grid": true, "format": "~s"},
    {"orient": "bottom", "scale": "x", "labelAngle": -20, "labelAlign": "right", "labelLimit": 300}
  ],
  "legends": [{"fill": "color"}],
  "marks": [{"type": "rect", "from": {"data": "table"}, "encode": {"enter": {
    "x": {"scale": "x", "field": "bar"}, "width": {"scale": "x", "band": 1},
    "y": {"scale": "y", "field": "y0"}, "y2": {"scale": "y", "field": "y1"},
    "fill": {"scale": "color", "field": "part"}, "tooltip": {"signal": "datum"}}}}]
})json";

Plot bars(std::string title, const char* axis, ordered_json values) {
  auto spec = ordered_json::parse(kBars);
  spec["data"][0]["values"] = std::move(values);
  spec["axes"][0]["title"] = axis;
  return {.title = std::move(title), .spec = std::move(spec)};
}

Plot boxes(const std::vector<Cell>& cells, const Job& job) {
  auto values = ordered_json::array();
  auto rounds = ordered_json::array();
  for (const Cell& cell : cells) {
    if (cell.job().name != job.name) continue;
    auto of = [&](double bench::FioResult::* which) {
      return cell.spread([which](const Measured& one) { return one.fio.*which; });
    };
    values.push_back({{"scenario", cell.scenario().title},
                      {"min", of(&bench::FioResult::min_us).min},
                      {"p25", of(&bench::FioResult::p25_us).median},
                      {"median", of(&bench::FioResult::median_us).median},
                      {"p75", of(&bench::FioResult::p75_us).median},
                      {"p99", of(&bench::FioResult::p99_us).median},
                      {"p999", of(&bench::FioResult::p999_us).median}});
    for (const Measured* round : cell.rounds())
      rounds.push_back({{"scenario", cell.scenario().title}, {"median", round->fio.median_us}});
  }
  auto spec = ordered_json::parse(kBoxes);
  spec["data"][0]["values"] = std::move(values);
  spec["data"][1]["values"] = std::move(rounds);
  return {.title = fmt::format(
              "Latency, {}: quartiles and median; whiskers to the smallest and the 99th percentile, dot: 99.9th; "
              "strokes: the rounds' medians",
              job.name),
          .spec = std::move(spec)};
}

Plot instructions(const std::vector<Cell>& cells, const Job& job) {
  auto values = ordered_json::array();
  for (const Cell& cell : cells) {
    if (cell.job().name != job.name) continue;
    for (const char* host : {kBorrower, kLender}) {
      // Below nothing there is only what an idle host does more or less by chance.
      values.push_back({{"bar", cell.scenario().title},
                        {"part", host},
                        {"value", std::max(0.0, cell.on(host, Count::instructions))}});
    }
  }
  return bars(fmt::format("Instructions for each I/O, {}", job.name), "instructions", std::move(values));
}

Plot transactions(const std::vector<Cell>& cells, const Job& job) {
  auto values = ordered_json::array();
  for (const Cell& cell : cells) {
    if (cell.job().name != job.name || cell.scenario().driver != Driver::smartio || cell.scenario().host == kLender)
      continue;
    for (const auto& [kind, traffic] : cell.ledger())
      values.push_back({{"bar", cell.scenario().title}, {"part", kind}, {"value", traffic.transactions}});
  }
  return bars(fmt::format("Transactions on the cable for each I/O, {}", job.name), "TLPs", std::move(values));
}

Plot sharing(const Figures& figures) {
  auto values = ordered_json::array();
  std::set<std::size_t> counts;
  for (const Shared& one : figures.shared) counts.insert(one.iops.size());
  for (const std::size_t count : counts) {
    std::map<std::string, std::vector<double>> rates;
    for (const Shared& one : figures.shared) {
      if (one.iops.size() != count) continue;
      for (const auto& [host, rate] : one.iops) rates[host].push_back(rate);
    }
    for (const auto& [host, each] : rates) {
      values.push_back({{"bar", fmt::format("{} host{}", count, count == 1 ? "" : "s")},
                        {"part", host},
                        {"value", bench::spread_of(each).median}});
    }
  }
  return bars("IOPS of hosts that share one drive", "IOPS", std::move(values));
}

}  // namespace

std::vector<Plot> all_plots(const Figures& figures) {
  std::vector<Plot> all;
  const auto measured = cells(figures);
  for (const Job& job : all_jobs()) {
    if (std::ranges::any_of(measured, [&](const Cell& cell) { return cell.job().name == job.name; }))
      all.push_back(boxes(measured, job));
  }
  for (const char* name : {"read-4k-qd1", "write-4k-qd1", "read-4k-qd32", "read-128k-qd8"}) {
    const Job& job = *find_job(name);
    if (std::ranges::any_of(measured, [&](const Cell& cell) { return cell.job().name == job.name; }))
      all.push_back(instructions(measured, job));
  }
  for (const char* name : {"read-4k-qd1", "write-4k-qd1"}) {
    Plot plot = transactions(measured, *find_job(name));
    if (!plot.spec["data"][0]["values"].empty()) all.push_back(std::move(plot));
  }
  if (!figures.shared.empty()) all.push_back(sharing(figures));
  return all;
}

}  // namespace smartio::bench_compare
