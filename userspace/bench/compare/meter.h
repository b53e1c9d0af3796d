// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/compare/figures.h"
#include "bench/compare/metered_host.h"
#include "bench/compare/rig.h"

namespace smartio::bench_compare {

/// Measures in one scenario, whose drivers are there.
class Meter {
 public:
  /// Learns the functions of both hosts, waits until they are quiet, and counts their idle work for `idle_seconds`.
  Meter(Rig& rig, const Scenario& scenario, std::string disk, double idle_seconds);

  /// Runs fio for `seconds`. The counters are read while it runs; its start and its end are not in them.
  Measured measure(const Job& job, unsigned round, unsigned seconds);

 private:
  /// A host's counters at one moment, which is between those of the drive's two.
  struct Moment {
    double seconds = 0;
    bench::DriveWork drive;
    nlohmann::json blocks;
  };

  /// The ledger at one moment, and the drive's work until then.
  struct LedgerMoment {
    bench::DriveWork drive;
    bench::Ledger ledger;
  };
  Moment moment(const std::string& host);
  LedgerMoment ledger_moment();
  std::map<std::string, Moment> moments();
  /// fio, and waits until it does I/O, and a twentieth of its time more.
  void start(const Job& job, unsigned seconds);

  Rig& rig_;
  Scenario scenario_;
  std::string disk_;
  MeteredHosts hosts_;
};

/// `rounds` rounds of 1, 2, … hosts at once, borrowers first: 4 KiB random reads at depth 8, each for `seconds`.
std::vector<Shared> measure_sharing(Rig& rig, unsigned rounds, unsigned seconds,
                                    const std::function<void(const Shared&)>& progress);

}  // namespace smartio::bench_compare
