// SPDX-License-Identifier: GPL-2.0
// The processes of a cluster: started so that they outlive this tool, and ended by their identity, never by a
// number that another process may have got in the meantime.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace smartio::cluster {

/// One process of this boot of the machine: a pid may come back, but not with the same start time.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start = 0;  ///< clock ticks after boot, field 22 of /proc/PID/stat

  bool operator==(const ProcessId&) const = default;
};

/// The identity of the process that has this pid now; none if there is none, or only its zombie.
std::optional<ProcessId> identify(pid_t pid);
/// True while exactly this process runs. A zombie of a child of ours is reaped.
bool alive(const ProcessId& process);
/// Seconds since the process started.
double running_seconds(const ProcessId& process);
/// Memory that is this process's share, in bytes (PSS); none where the machine doesn't tell.
std::optional<std::uint64_t> memory_used(const ProcessId& process);

/// Sends the signal to exactly this process. True if it was there.
bool send_signal(const ProcessId& process, int signal);
/// Waits until the process has ended; false at the deadline.
bool wait_gone(const ProcessId& process, Deadline deadline);
/// SIGTERM, and SIGKILL after `patience`; waits until the process has ended. False if it can't be ended.
bool end_process(const ProcessId& process, std::chrono::milliseconds patience);

/// A program to start, and where.
struct Command {
  std::vector<std::string> argv;  ///< argv[0] is looked up in PATH
  std::filesystem::path folder;   ///< its working directory
  std::filesystem::path output;   ///< file for stdout and stderr, appended; relative to `folder`
};

/// A process that was forked but waits at a gate before it runs its program: so its identity is on disk before
/// it does anything, and if this tool is killed in between, it ends by itself.
class GatedProcess {
 public:
  /// Forks; the child has a session of its own and no terminal.
  static Result<GatedProcess> fork(const Command& command);

  GatedProcess(GatedProcess&&) = default;
  GatedProcess& operator=(GatedProcess&&) = delete;
  /// Without a release() the child ends.
  ~GatedProcess();

  [[nodiscard]] const ProcessId& id() const { return id_; }
  /// Lets the program start. An error if it can't be run.
  Result<void> release();

 private:
  GatedProcess(ProcessId id, std::string program, UniqueFd gate, UniqueFd failure)
      : id_(id), program_(std::move(program)), gate_(std::move(gate)), failure_(std::move(failure)) {}

  ProcessId id_;
  std::string program_;
  UniqueFd gate_;     ///< the child continues when a byte comes, and ends at the end of file
  UniqueFd failure_;  ///< errno of a failed exec, or the end of file
};

}  // namespace smartio::cluster
