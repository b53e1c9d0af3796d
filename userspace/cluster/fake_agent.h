// SPDX-License-Identifier: GPL-2.0
// For tests only: a guest agent at its pipes, which runs the commands it is given on this machine's terms, that is, by
// asking the test.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "cluster/state.h"

namespace smartio::cluster {

class FakeAgent {
 public:
  /// One command's life: the status that guest-exec-status returns at each look, the last one for ever. Null: that look
  /// gets no answer.
  using Statuses = std::vector<nlohmann::json>;
  /// Decides on a guest-exec; an object with "error" is the agent's own error.
  using Decide = std::function<Statuses(const nlohmann::json& arguments)>;

  /// At the pipes that GuestAgent opens; makes them unless they are there.
  FakeAgent(const StateFolder& folder, std::string_view host, Decide decide);
  ~FakeAgent();

  /// Comes before the next answer, as a leftover of an earlier client.
  void leave_behind(std::string bytes);
  /// The next `count` synchronisations get no answer.
  void ignore_clients(int count);
  /// From now on the agent has forgotten every command: the host was started again.
  void forget_commands();
  /// The arguments of every guest-exec so far.
  std::vector<nlohmann::json> commands();

 private:
  void serve(const std::stop_token& stop);
  void answer_line(std::string_view line, const std::stop_token& stop);
  nlohmann::json answer(const nlohmann::json& request);

  Decide decide_;
  UniqueFd requests_;
  UniqueFd answers_;
  std::mutex mutex_;  // protects the members below
  std::string leftover_;
  int ignored_ = 0;
  std::int64_t next_pid_ = 100;
  std::map<std::int64_t, Statuses> running_;
  std::vector<nlohmann::json> commands_;
  std::jthread thread_;
};

}  // namespace smartio::cluster
