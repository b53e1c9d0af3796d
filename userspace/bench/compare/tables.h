// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/compare/figures.h"
#include "bench/compare/model.h"

namespace smartio::bench_compare {

/// A table as text: the first row is its head. For a terminal and for a page.
struct Table {
  std::string title;
  std::vector<std::vector<std::string>> rows;
};

/// Instructions, and latency as ratios to the stock driver.
Table ratio_table(const Figures& figures);
/// The other costs of an I/O, on both hosts.
Table cost_table(const Figures& figures);
/// Transactions and bytes on the links for an I/O.
Table ledger_table(const Figures& figures);
/// In which modules instructions run.
Table module_table(const Figures& figures);
Table model_table(const Figures& figures, const Assumptions& assumptions);
/// The bandwidth that a link of each width would carry.
Table bandwidth_table(const Figures& figures);
Table checks_table(const Assumptions& assumptions);
Table sources_table();
Table sharing_table(const Figures& figures);
Table aims_table(const Figures& figures);
/// Of network cards: instructions for each packet, and what else it takes.
Table packet_table(const Figures& figures);
/// Transactions and bytes on the cable for each packet.
Table packet_ledger_table(const Figures& figures);
/// By function, the instructions of a case and those of its stock case: the largest differences first.
Table function_table(const Cell& cell, const std::string& host, std::size_t count);
/// Empty tables are left out.
std::vector<Table> all_tables(const Figures& figures, const Assumptions& assumptions);
/// In columns, words to the left and numbers to the right.
std::string to_text(const Table& table);

/// How to measure one scenario again.
std::string command_for(const Scenario& scenario);

nlohmann::ordered_json to_json(const Figures& figures, const Assumptions& assumptions);

}  // namespace smartio::bench_compare
