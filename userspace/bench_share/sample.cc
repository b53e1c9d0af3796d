// SPDX-License-Identifier: GPL-2.0
#include "bench_share/sample.h"

#include <fmt/format.h>

#include <algorithm>

namespace smartio::bench_share {

using nlohmann::json;

Instructions instructions_from(const json& mode) {
  Instructions sum;
  for (const json& count : mode.at("user")) sum.user += count.get<double>();
  for (const json& count : mode.at("kernel")) sum.kernel += count.get<double>();
  return sum;
}

std::map<std::string, double> ledger_from(const json& ledger) {
  std::map<std::string, double> sums;
  for (const json& link : ledger.at("links")) {
    for (const char* direction : {"from_primary", "from_secondary"}) {
      for (const auto& [kind, cell] : link.at(direction).at("posted").items()) {
        sums["posted " + kind] += cell.at("transactions").get<double>();
      }
      for (const auto& [kind, cell] : link.at(direction).at("non_posted").items()) {
        sums["non-posted " + kind] += cell.at("transactions").get<double>();
      }
    }
  }
  return sums;
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
  const double ios = samples.back().ios - samples.front().ios;
  for (const auto& [kind, count] : samples.back().ledger) {
    const auto before = samples.front().ledger.find(kind);
    const double passed = count - (before == samples.front().ledger.end() ? 0 : before->second);
    if (passed > 0 && ios > 0) result.ledger[kind] = passed / ios;
  }
  return result;
}

}  // namespace smartio::bench_share
