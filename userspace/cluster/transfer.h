// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/guest_agent.h"
#include "cluster/state.h"

namespace smartio::cluster {

/// The next `size` bytes; fewer only at the end.
using Source = std::function<Result<std::string>(std::size_t size)>;
/// Takes the next bytes.
using Sink = std::function<Result<void>(std::string_view bytes)>;

/// Copies files into and out of one host. The bytes go through a virtio-serial port of their own, raw; a command in the
/// host, run by the agent, is at its other end. The port serves one copy at a time: a lock keeps others waiting. The
/// next copy ends a command that a killed copy left running.
class Transfer {
 public:
  Transfer(const StateFolder& folder, GuestAgent& agent)
      : socket_(folder.host_file(agent.host(), "data.sock")),
        lock_(folder.host_file(agent.host(), "data.lock")),
        agent_(agent) {}

  /// As cp(1) would: `path` may name a folder, then the file gets `name` in it. `mode` are its permissions.
  Result<void> push(const Source& source, const std::string& name, const std::string& path, unsigned mode);
  /// A file of the host, of any kind.
  Result<void> pull(const std::string& path, const Sink& sink);

 private:
  Result<void> push_piece(std::string_view piece, bool first, const std::string& name, const std::string& path,
                          unsigned mode);
  Result<std::string> pull_piece(const std::string& path, std::size_t index);

  std::filesystem::path socket_;
  std::filesystem::path lock_;
  GuestAgent& agent_;
};

}  // namespace smartio::cluster
