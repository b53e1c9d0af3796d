// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/compare/scenario.h"
#include "bench/guests/counters.h"
#include "bench/guests/guests.h"
#include "bench/guests/symbols.h"
#include "cluster/cluster.h"

namespace smartio::bench_compare {

/// The cluster that is measured on: its hosts' drivers.
class Rig {
 public:
  /// `mtu`: of the hosts' network, in bytes, for NVMe-oF.
  Rig(cluster::Cluster& cluster, unsigned mtu) : cluster_(cluster), guests_(cluster), counters_(cluster), mtu_(mtu) {}

  /// Loads a scenario's drivers in place of any others. The path of its disk on its host.
  std::string enter(const Scenario& scenario);
  /// One drive for all hosts of any cluster, the lender too. The path of its disk on each.
  std::map<std::string, std::string> enter_sharing();
  /// No driver is left anywhere.
  void leave();
  /// How long functions took that were lent whole, in seconds: to come, and to go back.
  [[nodiscard]] const std::vector<double>& borrow_seconds() const { return borrow_seconds_; }
  [[nodiscard]] const std::vector<double>& return_seconds() const { return return_seconds_; }

  [[nodiscard]] bench::Guests& guests() { return guests_; }
  [[nodiscard]] bench::Counters& counters() { return counters_; }
  [[nodiscard]] std::vector<std::string> hosts() const { return checked(cluster_.running_hosts()); }

 private:
  void enter_fabrics(const std::string& transport);

  cluster::Cluster& cluster_;
  bench::Guests guests_;
  bench::Counters counters_;
  unsigned mtu_;
  bool exported_ = false;
  std::vector<double> borrow_seconds_;
  std::vector<double> return_seconds_;
};

}  // namespace smartio::bench_compare
