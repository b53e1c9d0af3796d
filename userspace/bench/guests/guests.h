// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"

namespace smartio::bench {

/// Programs on the hosts of a cluster.
class Guests {
 public:
  explicit Guests(cluster::Cluster& cluster) : cluster_(cluster) {}

  /// A piece of bash on a host, with `arguments` as $1 and so on: what it printed. Its failure is an error.
  Result<std::string> shell(const std::string& host, std::string_view text, std::vector<std::string> arguments = {},
                            std::chrono::seconds patience = std::chrono::seconds(60));
  /// Starts a program that goes on by itself: nothing asks after it, so as not to disturb what is measured. One a host.
  Result<void> start(const std::string& host, const std::vector<std::string>& command);
  /// Waits for what start() started: its output.
  Result<std::string> finish(const std::string& host, std::chrono::seconds patience);
  /// What is in a file of a host, which may be large.
  Result<std::string> file(const std::string& host, std::string_view path);

 private:
  cluster::Cluster& cluster_;
};

}  // namespace smartio::bench
