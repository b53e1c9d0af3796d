// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/spread.h"

namespace smartio::bench {

/// Instructions that a host's vCPUs have run together.
struct Instructions {
  double user = 0;
  double kernel = 0;

  [[nodiscard]] double all() const { return user + kernel; }
};

/// Of one kind on all links together: TLPs, and the bytes in them.
struct Traffic {
  double transactions = 0;
  double bytes = 0;

  bool operator==(const Traffic&) const = default;
};
using Ledger = std::map<std::string, Traffic>;  ///< by "posted KIND" or "non-posted KIND"

/// I/O that a drive has done since it is there.
struct DriveWork {
  double commands = 0;
  double bytes = 0;
};

/// What all counters say at one moment.
struct Sample {
  double seconds = 0;  ///< since any fixed moment
  double ios = 0;      ///< I/O commands that the drive has taken
  std::map<std::string, Instructions> hosts;
  Ledger ledger;
};

/// Sums of a plugin's answer to "mode".
Instructions instructions_from(const nlohmann::json& mode);
/// Of `fabric ledger`, both directions of all links together.
Ledger ledger_from(const nlohmann::json& ledger);
/// What has passed from one moment to another, for each of so many I/Os; what didn't is left out.
Ledger ledger_per_io(const Ledger& from, const Ledger& to, double ios);
/// Of `fabric drive NAME counters`.
DriveWork drive_work_from(const nlohmann::json& counters);

/// Instructions a second, of each host.
using Rates = std::map<std::string, Instructions>;
Rates rates(const Sample& from, const Sample& to);

/// What one I/O took, over the intervals between samples.
struct PerIo {
  std::map<std::string, Spread> hosts;   ///< instructions, less those the host runs when idle
  std::map<std::string, Spread> kernel;  ///< of them those in the kernel
  Ledger ledger;                         ///< over the whole time
};
PerIo per_io(const std::vector<Sample>& samples, const Rates& idle);

}  // namespace smartio::bench
