// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/failover/rig.h"
#include "bench/guests/fio.h"

namespace smartio::bench_failover {

/// The loss of the cable that carries the I/O.
enum class Loss {
  none,    ///< nothing: how long an I/O takes in as much time
  down,    ///< it is pulled, and both sides are notified
  silent,  ///< it drops everything and notifies no side; a network is always lost so
};
std::string_view name_of(Loss loss);

struct Blackout {
  Transport transport = Transport::smartio;
  Loss how = Loss::none;
  std::vector<double> ms;  ///< of each sample
  std::string stopped;     ///< why there are fewer samples than were asked for; empty: there are not
};

/// fio over one arrangement of paths.
struct Throughput {
  std::string paths;  ///< which are used
  std::string job;    ///< fio's load
  bench::FioResult fio;
};

/// Everything that a run has measured.
struct Figures {
  std::vector<Blackout> blackouts;
  std::vector<Throughput> throughput;
};

/// Tables for a person.
std::string report(const Figures& figures);
nlohmann::ordered_json to_json(const Figures& figures);

}  // namespace smartio::bench_failover
