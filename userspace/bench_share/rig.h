// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string>

#include "bench/counters.h"
#include "bench/guests.h"
#include "bench_share/setups.h"
#include "cluster/cluster.h"
#include "common/result.h"

namespace smartio::bench_share {

/// The cluster that is measured on: its hosts' drivers and its counters.
class Rig {
 public:
  explicit Rig(cluster::Cluster& cluster) : cluster_(cluster), guests_(cluster), counters_(cluster) {}

  /// A setup's driver on its host and drive, whatever was there before. The path of its disk there.
  Result<std::string> enter(const Setup& setup);
  /// Programs on the hosts.
  [[nodiscard]] bench::Guests& guests() { return guests_; }

  [[nodiscard]] bench::Counters& counters() { return counters_; }

 private:
  Result<void> leave(const std::string& host);
  Result<void> lend();

  cluster::Cluster& cluster_;
  bench::Guests guests_;
  bench::Counters counters_;
  bool lent_ = false;
};

}  // namespace smartio::bench_share
