// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/failover/report.h"
#include "bench/failover/rig.h"

namespace smartio::bench_failover {

/// Called after each sample.
using Progress = std::function<void(unsigned done)>;

/// One I/O at a time, reads and writes of 4 KiB, while the cable that carries them is lost `samples` times and put
/// back. The moments are random within the period of the heartbeats or keep-alives. After an error the result has the
/// samples before it, and the error.
Blackout measure_blackouts(Rig& rig, Transport transport, const std::string& disk, Loss how, unsigned samples,
                           const Progress& progress);
/// With one path, with all, with one cable pulled, and when it is back; `seconds` each.
std::vector<Throughput> measure_throughput(Rig& rig, const std::string& disk, unsigned seconds);

}  // namespace smartio::bench_failover
