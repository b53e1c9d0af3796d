// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/sample.h"

#include <utility>

namespace smartio::bench {

using nlohmann::json;

Ledger ledger_from(const json& ledger) {
  Ledger sums;
  for (const json& link : ledger.at("links")) {
    for (const char* direction : {"from_primary", "from_secondary"}) {
      for (const auto& [key, name] : {std::pair("posted", "posted "), std::pair("non_posted", "non-posted ")}) {
        for (const auto& [kind, cell] : link.at(direction).at(key).items()) {
          LedgerCell& sum = sums[name + kind];
          sum.transactions += cell.at("transactions").get<double>();
          sum.bytes += cell.at("bytes").get<double>();
        }
      }
    }
  }
  return sums;
}

Ledger ledger_per_io(const Ledger& from, const Ledger& to, double ios) {
  Ledger result;
  if (ios <= 0) return result;
  for (const auto& [kind, now] : to) {
    const auto found = from.find(kind);
    const LedgerCell before = found == from.end() ? LedgerCell{} : found->second;
    if (now.transactions > before.transactions) {
      result[kind] = {.transactions = (now.transactions - before.transactions) / ios,
                      .bytes = (now.bytes - before.bytes) / ios};
    }
  }
  return result;
}

DriveWork drive_work_from(const json& counters) {
  DriveWork work{.commands = 0,
                 .bytes = counters.at("bytes_read").get<double>() + counters.at("bytes_written").get<double>()};
  for (const auto& [name, count] : counters.at("commands").items()) work.commands += count.get<double>();
  return work;
}

}  // namespace smartio::bench
