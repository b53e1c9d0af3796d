// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/spread.h"

namespace smartio::bench_share {

/// Instructions that a host's vCPUs have run together.
struct Instructions {
  double user = 0;
  double kernel = 0;

  [[nodiscard]] double all() const { return user + kernel; }
};

/// What all counters say at one moment.
struct Sample {
  double seconds = 0;  ///< since any fixed moment
  double ios = 0;      ///< I/O commands that the drive has taken
  std::map<std::string, Instructions> hosts;
  std::map<std::string, double> ledger;  ///< transactions on all links together, by "posted KIND" or "non-posted KIND"
};

/// Sums of a plugin's answer to "mode".
Instructions instructions_from(const nlohmann::json& mode);
/// Transactions of `fabric ledger`, both directions of all links together.
std::map<std::string, double> ledger_from(const nlohmann::json& ledger);

/// Instructions a second, of each host.
using Rates = std::map<std::string, Instructions>;
Rates rates(const Sample& from, const Sample& to);

using bench::Spread;
using bench::spread_of;

/// What one I/O took, over the intervals between samples.
struct PerIo {
  std::map<std::string, Spread> hosts;   ///< instructions, less those the host runs when idle
  std::map<std::string, Spread> kernel;  ///< of them those in the kernel
  std::map<std::string, double> ledger;  ///< transactions, over the whole time
};
PerIo per_io(const std::vector<Sample>& samples, const Rates& idle);

}  // namespace smartio::bench_share
