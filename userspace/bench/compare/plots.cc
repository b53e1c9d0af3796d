// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/compare/published.h"

namespace smartio::bench_compare {

using nlohmann::ordered_json;

namespace {

// Boxes from the first to the third quartile. The line is the median, whiskers reach from the smallest to the 99th
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

// For each "scenario" a line of the part of its reads that took at most a given time, in nines of it. A band reaches
// from the low to the high end of the computed range.
constexpr const char* kDistribution = R"json({
  "width": 900, "height": 360, "padding": 5,
  "data": [{"name": "points", "values": []}],
  "scales": [
    {"name": "x", "type": "log", "range": "width", "domainMin": 7,
     "domain": {"fields": [{"data": "points", "field": "low"}, {"data": "points", "field": "high"}]}},
    {"name": "y", "type": "linear", "range": "height", "domain": [0, 5]},
    {"name": "color", "type": "ordinal", "domain": {"data": "points", "field": "scenario"}, "range": {"scheme": "tableau10"}}
  ],
  "axes": [
    {"orient": "bottom", "scale": "x", "title": "latency, us (log), computed", "grid": true,
     "values": [7, 8, 9, 10, 12, 15, 20, 30, 40, 50], "format": "d"},
    {"orient": "left", "scale": "y", "title": "part of the reads", "grid": true, "values": [0, 1, 2, 3, 4, 5],
     "encode": {"labels": {"update": {"text": {"signal": "format(100 - 100 * pow(10, -datum.value), '.5~f') + ' %'"}}}}}
  ],
  "legends": [{"fill": "color", "labelLimit": 400}],
  "marks": [{"type": "group", "from": {"facet": {"name": "one", "data": "points", "groupby": "scenario"}}, "marks": [
    {"type": "area", "from": {"data": "one"}, "encode": {"enter": {
      "orient": {"value": "horizontal"}, "y": {"scale": "y", "field": "nines"},
      "x": {"scale": "x", "field": "low"}, "x2": {"scale": "x", "field": "high"},
      "fill": {"scale": "color", "field": "scenario"}, "fillOpacity": {"value": 0.3}}}},
    {"type": "line", "from": {"data": "one"}, "encode": {"enter": {
      "x": {"scale": "x", "field": "middle"}, "y": {"scale": "y", "field": "nines"},
      "stroke": {"scale": "color", "field": "scenario"}, "strokeWidth": {"value": 1.5}}}}
  ]}]
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
    if (cell.job().name != job.name || !cell.scenario().latency_comparable()) continue;
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
  return {.title = fmt::format("Latency as emulated here, {}, to be compared within this run only: quartiles and "
                               "median; whiskers to the smallest "
                               "and the 99th percentile, dot: 99.9th; strokes: the rounds' medians",
                               job.name),
          .spec = std::move(spec)};
}

Plot instructions(const std::vector<Cell>& cells, const Job& job) {
  auto values = ordered_json::array();
  for (const Cell& cell : cells) {
    if (cell.job().name != job.name) continue;
    for (const char* host : {kBorrower, kLender}) {
      // A value below zero is noise of the idle host's work.
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
    if (cell.job().name != job.name || !cell.scenario().over_cable()) continue;
    for (const auto& [kind, count] : cell.ledger())
      values.push_back({{"bar", cell.scenario().title}, {"part", kind}, {"value", count.transactions}});
  }
  return bars(fmt::format("Transactions on the cable for each I/O, {}", job.name), "TLPs", std::move(values));
}

Plot sharing(const Figures& figures) {
  auto values = ordered_json::array();
  std::set<std::size_t> counts;
  for (const Shared& one : figures.shared) counts.insert(one.iops.size());
  for (const std::size_t count : counts) {
    std::map<std::string, std::vector<double>> shares;
    for (const Shared& one : figures.shared) {
      if (one.iops.size() != count) continue;
      for (const auto& [host, share] : one.shares()) shares[host].push_back(share);
    }
    for (const auto& [host, each] : shares) {
      values.push_back({{"bar", fmt::format("{} host{}", count, count == 1 ? "" : "s")},
                        {"part", host},
                        {"value", bench::spread_of(each).median}});
    }
  }
  return bars("Shares of hosts that use one drive at once", "part of all I/O", std::move(values));
}

Plot distribution(const std::vector<Predicted>& predicted) {
  auto values = ordered_json::array();
  auto draw = [&](const std::string& scenario, const Range& added) {
    constexpr int kSteps = 20;
    for (int i = 0; i <= kSteps; ++i) {
      const double nines = published_drive().back().nines * i / kSteps;
      const double local = drive_latency(nines);
      values.push_back({{"scenario", scenario},
                        {"nines", nines},
                        {"low", local + added.low},
                        {"middle", local + (added.low + added.high) / 2},
                        {"high", local + added.high}});
    }
  };
  for (const Predicted& one : predicted) {
    if (one.write) continue;
    if (values.empty()) draw("local drive, published", {});
    if (one.added_us) draw(one.scenario.title, *one.added_us);
    // The smallest difference to a local drive. Delays by an adapter or a target in the tail are not in it.
    if (!one.added_us && one.published_us)
      draw(fmt::format("{}: published {:.1f} us added", one.scenario.title, *one.published_us),
           {.low = *one.published_us, .high = *one.published_us});
  }
  auto spec = ordered_json::parse(kDistribution);
  spec["data"][0]["values"] = std::move(values);
  return {
      .title =
          "Computed: latency of 4 KiB random reads at depth 1 on real machines: the published distribution of a local "
          "P4800X, and what the path adds by the model (bands: its range)",
      .spec = std::move(spec)};
}

}  // namespace

std::vector<Plot> all_plots(const Figures& figures, const Assumptions& assumptions) {
  std::vector<Plot> all;
  if (Plot plot = distribution(predict(figures, assumptions)); !plot.spec["data"][0]["values"].empty())
    all.push_back(std::move(plot));
  const auto measured = cells(figures);
  for (const Job& job : all_jobs()) {
    if (Plot plot = boxes(measured, job); !plot.spec["data"][0]["values"].empty()) all.push_back(std::move(plot));
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
