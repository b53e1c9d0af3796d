// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/fio.h"
#include "bench_failover/rig.h"

namespace smartio::bench_failover {

/// What happens to the cable that carries the I/O: "down" (pulled, both sides are told) or "silent" (it swallows
/// everything).
struct Blackout {
  Transport transport = Transport::smartio;
  std::string how;
  std::vector<double> ms;  ///< of each sample
};

/// fio over one arrangement of paths.
struct Throughput {
  std::string paths;  ///< which are used
  std::string job;    ///< what fio did
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
