// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace smartio::bench {

/// Of one kind on all links together: TLPs, and the bytes in them.
struct LedgerCell {
  double transactions = 0;
  double bytes = 0;

  bool operator==(const LedgerCell&) const = default;
};
using Ledger = std::map<std::string, LedgerCell>;  ///< by "posted KIND" or "non-posted KIND"

/// I/O that a drive has done since it is there.
struct DriveWork {
  double commands = 0;
  double bytes = 0;
};

/// Of `fabric ledger`, both directions of all links together.
Ledger ledger_from(const nlohmann::json& ledger);
/// The transactions between two moments, for each of `ios` I/Os; kinds without any are left out.
Ledger ledger_per_io(const Ledger& from, const Ledger& to, double ios);
/// Of `fabric drive NAME counters`.
DriveWork drive_work_from(const nlohmann::json& counters);

}  // namespace smartio::bench
