// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench_share/meter.h"

namespace smartio::bench_share {

/// Instructions of the host of a measurement for each I/O, against the same case in the setup it is compared to.
std::optional<double> ratio(const Measured& one, const std::vector<Measured>& all);

/// What was aimed at, and whether this run reached it.
struct Aim {
  std::string what;
  std::string seen;
  bool reached = false;
};
std::vector<Aim> aims(const std::vector<Measured>& all);

/// Tables for a person.
std::string table(const std::vector<Measured>& all);
std::string ledger_table(const std::vector<Measured>& all);
std::string aims_table(const std::vector<Measured>& all);
/// Where the instructions of one I/O go, function by function, beside the setup it is compared to; the largest
/// differences first, `count` of them.
std::string functions_table(const Measured& one, const std::vector<Measured>& all, std::size_t count);

nlohmann::ordered_json to_json(const std::vector<Measured>& all);

}  // namespace smartio::bench_share
