// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/unique_fd.h"

namespace smartio::guest_agent {

/// The part of the "QEMU Guest Agent Protocol Reference" that the cluster tool uses: guest-sync-delimited, guest-sync,
/// guest-exec and guest-exec-status. It starts commands by posix_spawn(3), which costs the emulated CPU of a host a
/// fraction of a fork of qemu-ga. It differs from qemu-ga:
/// - `setsid PROGRAM…` is done without that program;
/// - the answer to a guest-exec-status waits for the end of the command for up to kHold, so that a short command is
///   asked for once;
/// - a script begins with #!, and its file system answers: the agent waits until a program is loaded.
/// A client that does not read its answer stops the agent until the next one, as it does qemu-ga.
/// Not for several threads.
class GuestAgent {
 public:
  /// `port` is read and written; it stays the caller's. Of each of a command's outputs `most_output` bytes are kept;
  /// the rest is read and dropped. Throws std::system_error.
  explicit GuestAgent(int port, std::size_t most_output = kMostOutput);
  GuestAgent(const GuestAgent&) = delete;
  GuestAgent& operator=(const GuestAgent&) = delete;
  ~GuestAgent() = default;

  /// Answers until the port has no client: its read(2) gives 0 bytes. May be called again; commands continue meanwhile.
  /// Throws std::system_error.
  void serve();

  /// qemu-ga's GUEST_EXEC_MAX_OUTPUT.
  static constexpr std::size_t kMostOutput = 16ULL << 20;
  /// A longer request is dropped: kMostOutput as input, in base64, with room for the rest.
  static constexpr std::size_t kLongestRequest = 48ULL << 20;
  static constexpr std::chrono::milliseconds kHold{25};
  /// The most results that wait for a client to ask for them; the oldest are forgotten.
  static constexpr std::size_t kMostEnded = 64;

 private:
  struct Output {
    UniqueFd pipe;  // until it ends
    std::string bytes;
    bool cut = false;
  };
  struct Command {
    std::int64_t id = 0;  // its process, or a negative number if it could not be started
    bool kept = false;    // its status will be asked for
    UniqueFd process;     // a pidfd until it is reaped
    int status = 0;       // as of waitpid(2)
    UniqueFd input_pipe;  // until all of the input is written
    std::string input;
    std::size_t written = 0;
    Output output;
    Output errors;

    // As qemu-ga has it: processes that a command left running may still write.
    [[nodiscard]] bool ended() const { return !process && !output.pipe && !errors.pipe; }
  };
  /// A guest-exec-status that is not answered yet.
  struct Held {
    std::int64_t id;
    Deadline until;
  };

  void wait_for_events();
  void forget_commands();
  static void write_input(Command& command);
  void read_output(Output& output) const;
  void receive();
  void answer_lines();
  void answer_line(std::string_view line);
  void answer_held();
  std::optional<nlohmann::json> answer(const nlohmann::json& request);
  nlohmann::json start(const nlohmann::json& arguments);
  void keep(Command command);
  static nlohmann::json status_of(const Command& command);
  void send(std::string_view bytes) const;

  const int port_;
  const std::size_t most_output_;
  bool has_client_ = true;
  std::string received_;
  std::size_t searched_ = 0;  // so much of received_ has no end of a line
  std::list<Command> commands_;
  std::optional<Held> held_;
  std::int64_t last_failed_ = 0;
};

}  // namespace smartio::guest_agent
