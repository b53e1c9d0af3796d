// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "bench_share/sample.h"
#include "bench_share/setups.h"
#include "bench_share/symbols.h"
#include "cluster/cluster.h"
#include "common/result.h"

namespace smartio::bench_share {

/// The cluster that is measured on: its hosts' drivers and its counters.
class Rig {
 public:
  explicit Rig(cluster::Cluster& cluster) : cluster_(cluster) {}

  /// A setup's driver on its host and drive, whatever was there before. The path of its disk there.
  Result<std::string> enter(const Setup& setup);
  /// Starts a program on a host that goes on by itself: nothing asks after it, so as not to disturb the counts.
  Result<void> start(const std::string& host, const std::vector<std::string>& command);
  /// Waits for what start() started: its output.
  Result<std::string> finish(const std::string& host, std::chrono::seconds patience);

  /// All counters, I/O commands of `drive`.
  Result<Sample> sample(const std::string& drive);
  Result<nlohmann::json> blocks(const std::string& host) { return cluster_.instructions(host, "blocks"); }
  /// As of now: modules that are loaded later are not in it.
  Result<Symbols> symbols(const std::string& host);

 private:
  Result<std::string> shell(const std::string& host, std::string_view text, std::vector<std::string> arguments = {},
                            std::chrono::seconds patience = std::chrono::seconds(60));
  Result<void> leave(const std::string& host);
  Result<void> lend();

  cluster::Cluster& cluster_;
  bool lent_ = false;
};

}  // namespace smartio::bench_share
