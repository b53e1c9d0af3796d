// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/guest_agent.h"

namespace smartio::cluster {

/// A command to run in a host.
struct Request {
  std::vector<std::string> command;  ///< program, looked up in the host's PATH, and its arguments
  std::string input;                 ///< its standard input
  std::optional<std::chrono::milliseconds> timeout;
  std::chrono::milliseconds agent_patience{30'000};  ///< with its agent, for each answer
};

/// How it went.
struct Outcome {
  int status = 0;             ///< exit status
  std::optional<int> signal;  ///< or the signal that ended it
  bool timed_out = false;     ///< ended by us, with all its children
  bool interrupted = false;   ///< the same, as this tool was interrupted
  bool output_cut = false;    ///< more output than the agent keeps, 16 MiB each
  std::string output;
  std::string errors;

  /// As a shell would say it: 128 + signal, 124 for a timeout.
  [[nodiscard]] int exit_status() const;
};

constexpr std::size_t kLargestInput = 16ULL << 20;

/// Runs a command in a host and waits for its end. Several may run in a host at a time. An error means that the
/// host did not do its part: it is not running, its agent doesn't answer in time, or it was reset.
Result<Outcome> execute(GuestAgent& agent, const Request& request);

}  // namespace smartio::cluster
