// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/wakeup.h"
#include "fabric/pci/endpoint.h"

namespace smartio::vfio_user {

/// Serves one endpoint on a unix socket, on a thread of its own: one client at a time, and the next one after that has
/// ended for any reason. No guest ever holds up another's server.
class Server {
 public:
  struct Options {
    /// How long a device's read waits for the guest's QEMU.
    std::chrono::milliseconds read_deadline{5000};
  };

  /// Listens on `path` (at most 107 bytes; may be relative), replacing a socket that lies there. The endpoint
  /// outlives the server.
  static Result<std::unique_ptr<Server>> start(pci::Endpoint& endpoint, const std::filesystem::path& path,
                                               Options options);
  static Result<std::unique_ptr<Server>> start(pci::Endpoint& endpoint, const std::filesystem::path& path) {
    return start(endpoint, path, Options{});
  }
  /// Ends the connection, stops the thread, removes the socket.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

 private:
  Server(pci::Endpoint& endpoint, std::filesystem::path path, UniqueFd listener, Options options);
  void run(const std::stop_token& stop);

  pci::Endpoint& endpoint_;
  std::filesystem::path path_;
  UniqueFd listener_;
  const std::shared_ptr<const Wakeup> wake_ = std::make_shared<Wakeup>();  // something to send, or to stop
  Options options_;
  std::jthread thread_;
};

}  // namespace smartio::vfio_user
