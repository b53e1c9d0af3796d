// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/compare/tally.h"
#include "bench/guests/counters.h"
#include "bench/guests/guests.h"
#include "bench/guests/symbols.h"

namespace smartio::bench_compare {
/// A host whose instructions are counted by function.
struct MeteredHost {
  bench::Symbols symbols;
  Tallier tallier;
  Tally idle;  ///< a second
};
using MeteredHosts = std::map<std::string, MeteredHost>;

/// Learns the functions of a host, in its kernel and its programs.
inline void add_host(MeteredHosts& hosts, bench::Guests& guests, const std::string& host) {
  bench::Symbols symbols = bench::symbols_of(guests, host);
  Tallier tallier(symbols);
  hosts.emplace(host, MeteredHost{.symbols = std::move(symbols), .tallier = std::move(tallier), .idle = {}});
}

/// Counts the hosts' instructions in `seconds` without work: the median of five intervals. `moments()` returns for each
/// host its counters, `blocks`, and when they were read, `seconds`.
template <typename Moments>
void count_idle(MeteredHosts& hosts, double seconds, const Moments& moments) {
  constexpr unsigned kIntervals = 5;
  std::map<std::string, std::vector<Tally>> rates;
  auto before = moments();
  for (unsigned i = 0; i < kIntervals; ++i) {
    bench::sleep_for(std::chrono::duration<double>(seconds / kIntervals));
    auto now = moments();
    for (auto& [host, state] : hosts) {
      const auto& from = before.at(host);
      const auto& to = now.at(host);
      rates[host].push_back((state.tallier(to.blocks) - state.tallier(from.blocks)) *
                            (1 / (to.seconds - from.seconds)));
    }
    before = std::move(now);
  }
  for (auto& [host, state] : hosts) state.idle = median(rates.at(host));
}

}  // namespace smartio::bench_compare
