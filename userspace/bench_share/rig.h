// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string>
#include <string_view>

#include "bench/guests.h"
#include "bench_share/sample.h"
#include "bench_share/setups.h"
#include "bench_share/symbols.h"
#include "cluster/cluster.h"
#include "common/result.h"

namespace smartio::bench_share {

/// The cluster that is measured on: its hosts' drivers and its counters.
class Rig {
 public:
  explicit Rig(cluster::Cluster& cluster) : cluster_(cluster), guests_(cluster) {}

  /// A setup's driver on its host and drive, whatever was there before. The path of its disk there.
  Result<std::string> enter(const Setup& setup);
  /// Programs on the hosts.
  [[nodiscard]] bench::Guests& guests() { return guests_; }

  /// All counters, I/O commands of `drive`.
  Result<Sample> sample(const std::string& drive);
  Result<nlohmann::json> blocks(const std::string& host) { return cluster_.instructions(host, "blocks"); }
  /// As of now: modules that are loaded later are not in it.
  Result<Symbols> symbols(const std::string& host);

 private:
  Result<void> leave(const std::string& host);
  Result<void> lend();

  cluster::Cluster& cluster_;
  bench::Guests guests_;
  bool lent_ = false;
};

}  // namespace smartio::bench_share
