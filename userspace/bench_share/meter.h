// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <map>
#include <string>

#include "bench/fio.h"
#include "bench/sample.h"
#include "bench/spread.h"
#include "bench/symbols.h"
#include "bench_share/rig.h"
#include "bench_share/setups.h"
#include "common/result.h"

namespace smartio::bench_share {

using bench::PerIo;
using bench::Rates;
using bench::Spread;

/// What an idle host does, measured over several intervals.
struct Idle {
  Rates rates;                           ///< over the whole time
  std::map<std::string, Spread> spread;  ///< instructions a second of each interval, by host
};

/// A case in a setup.
struct Measured {
  Setup setup;
  Case what;
  bench::FioResult fio;
  PerIo io;
  std::map<std::string, Spread> rates;      ///< instructions a second meanwhile, by host, idle ones included
  std::map<std::string, double> functions;  ///< instructions for each I/O on the host of the setup, by function
  Idle idle;                                ///< of the setup, when nobody does anything
};

/// No I/O for so long.
Result<Idle> measure_idle(Rig& rig, const std::string& drive, double seconds);
/// fio for so long. The counters are read while it runs, several times: its start and its end are not in them.
Result<Measured> measure(Rig& rig, const Setup& setup, const Case& what, const std::string& disk, unsigned seconds,
                         const Idle& idle, const bench::Symbols& symbols);

}  // namespace smartio::bench_share
