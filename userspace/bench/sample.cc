// SPDX-License-Identifier: GPL-2.0
#include "bench/sample.h"

#include <fmt/format.h>

#include <algorithm>

namespace smartio::bench {

using nlohmann::json;

Instructions instructions_from(const json& mode) {
  Instructions sum;
  for (const json& count : mode.at("user")) sum.user += count.get<double>();
  for (const json& count : mode.at("kernel")) sum.kernel += count.get<double>();
  return sum;
}

Ledger ledger_from(const json& ledger) {
  Ledger sums;
  for (const json& link : ledger.at("links")) {
    for (const char* direction : {"from_primary", "from_secondary"}) {
      for (const auto& [key, name] : {std::pair("posted", "posted "), std::pair("non_posted", "non-posted ")}) {
        for (const auto& [kind, cell] : link.at(direction).at(key).items()) {
          Traffic& sum = sums[name + kind];
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
    const Traffic before = found == from.end() ? Traffic{} : found->second;
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

Rates rates(const Sample& from, const Sample& to) {
  Rates result;
  const double seconds = to.seconds - from.seconds;
  for (const auto& [host, after] : to.hosts) {
    const Instructions& before = from.hosts.at(host);
    result[host] = {.user = (after.user - before.user) / seconds, .kernel = (after.kernel - before.kernel) / seconds};
  }
  return result;
}

PerIo per_io(const std::vector<Sample>& samples, const Rates& idle) {
  std::map<std::string, std::vector<double>> all;
  std::map<std::string, std::vector<double>> kernel;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const double seconds = samples[i].seconds - samples[i - 1].seconds;
    const double ios = samples[i].ios - samples[i - 1].ios;
    if (ios <= 0) continue;
    for (const auto& [host, rate] : rates(samples[i - 1], samples[i])) {
      const auto at_rest = idle.find(host);
      const Instructions rest = at_rest == idle.end() ? Instructions{} : at_rest->second;
      all[host].push_back((rate.all() - rest.all()) * seconds / ios);
      kernel[host].push_back((rate.kernel - rest.kernel) * seconds / ios);
    }
  }
  PerIo result;
  for (auto& [host, values] : all) result.hosts[host] = spread_of(std::move(values));
  for (auto& [host, values] : kernel) result.kernel[host] = spread_of(std::move(values));
  if (samples.size() < 2) return result;
  result.ledger =
      ledger_per_io(samples.front().ledger, samples.back().ledger, samples.back().ios - samples.front().ios);
  return result;
}

}  // namespace smartio::bench
