// SPDX-License-Identifier: GPL-2.0
// For tests only: a guest agent that listens on a socket and runs the commands it is given on this machine's terms,
// that is, by asking the test. It serves one client at a time, as QEMU's socket does.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace smartio::cluster {

class FakeAgent {
 public:
  /// One command's life: the status that guest-exec-status returns at each look, the last one for ever.
  using Statuses = std::vector<nlohmann::json>;
  /// Decides on a guest-exec; an object with "error" is the agent's own error.
  using Decide = std::function<Statuses(const nlohmann::json& arguments)>;

  FakeAgent(const std::filesystem::path& socket, Decide decide);
  ~FakeAgent();

  /// Sent to the next client before anything else, as a leftover of an earlier one.
  void leave_behind(std::string bytes);
  /// The next `count` clients get no answer to their synchronisation and must connect again.
  void ignore_clients(int count);
  /// From now on the agent has forgotten every command: the host was started again.
  void forget_commands();
  /// The arguments of every guest-exec so far.
  std::vector<nlohmann::json> commands();

 private:
  void serve(const std::stop_token& stop);
  void serve_client(const std::stop_token& stop, int fd);
  nlohmann::json answer(const nlohmann::json& request);

  Decide decide_;
  UniqueFd listener_;
  std::mutex mutex_;  // protects the members below
  std::string leftover_;
  int ignored_ = 0;
  std::int64_t next_pid_ = 100;
  std::map<std::int64_t, Statuses> running_;
  std::vector<nlohmann::json> commands_;
  std::jthread thread_;
};

}  // namespace smartio::cluster
