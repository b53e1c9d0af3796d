// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"

namespace smartio::bench {

/// Sleeps. ^C ends it, and it throws then.
void sleep_for(std::chrono::duration<double> time);
/// Asks every `pause` until `holds()`. Throws with the text of `late()` after `patience`, and after ^C.
void wait_for(std::chrono::milliseconds pause, std::chrono::seconds patience, const std::function<bool()>& holds,
              const std::function<std::string()>& late);

/// Programs on the hosts of a cluster.
class Guests {
 public:
  explicit Guests(cluster::Cluster& cluster) : cluster_(cluster) {}

  /// A piece of bash on a host, with `arguments` as $1 and so on: its output. Its failure is an error.
  std::string shell(const std::string& host, std::string_view text, std::vector<std::string> arguments = {},
                    std::chrono::seconds patience = std::chrono::seconds(60));
  /// Starts a program that runs by itself. No command asks after it, so as not to disturb the measurement. One a host.
  void start(const std::string& host, const std::vector<std::string>& command);
  /// The output so far of the program that start() started.
  std::string output(const std::string& host) { return shell(host, "cat /run/bench.out"); }
  /// Waits for its end: its output. Its failure is an error.
  std::string finish(const std::string& host, std::chrono::seconds patience);
  /// I/Os that a disk has completed, given its path.
  double completed(const std::string& host, const std::string& disk);
  /// The number that a piece of bash prints.
  double number(const std::string& host, std::string_view text, std::vector<std::string> arguments = {});
  /// The content of a file of a host, which may be large.
  std::string file(const std::string& host, std::string_view path);

 private:
  cluster::Cluster& cluster_;
};

}  // namespace smartio::bench
