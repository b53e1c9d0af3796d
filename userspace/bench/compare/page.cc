// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/page.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "bench/compare/plots.h"
#include "bench/compare/tables.h"

namespace smartio::bench_compare {

using nlohmann::ordered_json;

namespace {

constexpr std::string_view kStyle = R"css(
body { font: 15px/1.45 sans-serif; color: #222; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 12.5px; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .55rem; border-bottom: 1px solid #e5e5e5; text-align: left; white-space: nowrap; }
td:last-child { white-space: normal; }
th { background: #f5f5f5; }
code { background: #f5f5f5; }
)css";

constexpr std::string_view kRun = R"js(
for (const plot of JSON.parse(document.getElementById('plots').textContent))
  new vega.View(vega.parse(plot.spec), {renderer: 'svg', container: '#' + plot.id, hover: true}).runAsync();
)js";

std::string html(const Table& table) {
  std::string text = fmt::format("<h2>{}</h2>\n<div class=\"wide\"><table>\n", html_escaped(table.title));
  const char* cell = "th";
  for (const auto& row : table.rows) {
    text += "<tr>";
    for (const std::string& value : row) text += fmt::format("<{0}>{1}</{0}>", cell, html_escaped(value));
    text += "</tr>\n";
    cell = "td";
  }
  return text + "</table></div>\n";
}

std::string list(const std::vector<std::string>& items) {
  std::string text = "<ul>\n";
  for (const std::string& item : items) text += fmt::format("<li>{}</li>\n", html_escaped(item));
  return text + "</ul>\n";
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string script_escaped(const ordered_json& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', true, ordered_json::error_handler_t::replace)) {
    if (c == '<') {
      out += "\\u003c";  // which JSON takes for the same
    } else {
      out += c;
    }
  }
  return out;
}

Result<std::string> page_of(const Figures& figures, const Assumptions& assumptions,
                            const std::filesystem::path& library) {
  const std::string code = read_file(library).value_or("");
  if (code.empty()) return fail(fmt::format("the plotting library '{}' can't be read", library.string()));
  if (code.find("</script") != std::string::npos) return fail("the plotting library would end its script element");

  std::string body = "<h1>What an I/O costs: this driver, the stock driver, NVMe-oF</h1>\n";
  body += fmt::format(
      "<p>Emulated hosts: microseconds and IOPS say how fast this machine emulates, and mean something only against "
      "each other in this run, where both pass the same emulated parts. Instructions, transactions and calls do not "
      "depend on "
      "that. Polling spends instructions on waiting, at small depths most of them. What is computed says so. "
      "docs/performance.md says how to read it. {} rounds, {} s for each measurement in all.</p>\n",
      figures.rounds, figures.seconds);
  Table facts{.title = "Measured on", .rows = {{"what", ""}}};
  for (const Fact& fact : figures.facts) facts.rows.push_back({fact.what, fact.value});
  body += html(facts);

  auto plots = ordered_json::array();
  for (const Plot& plot : all_plots(figures, assumptions)) {
    const std::string id = fmt::format("plot{}", plots.size());
    body += fmt::format("<h2>{}</h2>\n<div class=\"wide\" id=\"{}\"></div>\n", html_escaped(plot.title), id);
    plots.push_back({{"id", id}, {"spec", plot.spec}});
  }
  for (const Table& table : all_tables(figures, assumptions)) body += html(table);
  body += "<h2>What the computed latencies assume</h2>\n" + list(sentences(assumptions));
  Table commands{.title = "To repeat each", .rows = {{"scenario", "command"}}};
  for (const Scenario& scenario : all_scenarios()) {
    commands.rows.push_back({scenario.title, fmt::format("BENCH_S={} {}", figures.seconds, command_for(scenario))});
  }
  body += html(commands);
  body += "<p>Plots: Vega, BSD-3-Clause, copyright UW Interactive Data Lab.</p>\n";

  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>What an I/O costs</title>\n"
      "<style>{}</style>\n<script>{}</script>\n</head>\n<body>\n{}"
      "<script type=\"application/json\" id=\"plots\">{}</script>\n<script>{}</script>\n</body>\n</html>\n",
      kStyle, code, body, script_escaped(plots), kRun);
}

}  // namespace smartio::bench_compare
