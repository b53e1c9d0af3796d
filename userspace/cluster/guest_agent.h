// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "cluster/file_lock.h"
#include "cluster/state.h"
#include "cluster/stream.h"

namespace smartio::cluster {

/// The agent of one host: ours (guest_agent/), or qemu-ga (QEMU's "QEMU Guest Agent Protocol Reference"). Its pipes
/// serve one client at a time, and bytes that a killed client left behind must be skipped. So each conversation holds a
/// lock of the state folder and begins with guest-sync-delimited. Conversations are short. Later conversations ask
/// after a command that runs long, and others get their turn in between. Not for several threads; make one for each.
///
/// They are pipes, not a socket: QEMU notifies the guest when a socket's client disconnects. After that the agent looks
/// for the next client ten times a second. It finds that client a twentieth of a second late.
class GuestAgent {
 public:
  /// The host's file in the state folder that Stream::open_pipes() takes.
  static constexpr std::string_view kAgentPipes = "qga";

  /// `is_alive` is asked while waiting: the host's QEMU may end.
  GuestAgent(const StateFolder& folder, std::string host, std::function<bool()> is_alive)
      : pipes_(folder.host_file(host, kAgentPipes)),
        lock_(folder.host_file(host, "qga.lock")),
        host_(std::move(host)),
        is_alive_(std::move(is_alive)) {}

  /// One conversation with an agent that has answered.
  class Session {
   public:
    /// The agent's "return" value. After an error, refusal() tells whose it was.
    Result<nlohmann::json> call(std::string_view command, nlohmann::json arguments, Deadline deadline);
    /// The agent's own message for the last call that failed; empty if the connection was at fault.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }

   private:
    friend class GuestAgent;
    Session(FileLock lock, Stream stream, std::string host)
        : lock_(std::move(lock)), stream_(std::move(stream)), host_(std::move(host)) {}
    Result<void> synchronise(Deadline deadline);

    FileLock lock_;
    Stream stream_;
    std::string host_;
    std::string refusal_;
  };

  /// Waits for the agent to answer, which it does only once the host has booted.
  Result<Session> open(Deadline deadline);
  [[nodiscard]] const std::string& host() const { return host_; }

 private:
  std::filesystem::path pipes_;
  std::filesystem::path lock_;
  std::string host_;
  std::function<bool()> is_alive_;
};

}  // namespace smartio::cluster
