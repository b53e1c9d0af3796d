// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"

namespace smartio::tcg_count {

/// A thread that answers lines on a unix socket, one line for each. It serves one connection at a time, and ends one
/// that asks nothing for two seconds: whoever comes next must not wait for it. It takes no signal of the process.
class LineServer {
 public:
  /// Called by the server's thread; neither the line nor the answer has its '\n'.
  using Answer = std::function<std::string(std::string_view line)>;

  static Result<std::unique_ptr<LineServer>> start(const std::filesystem::path& socket, Answer answer);

  LineServer(const LineServer&) = delete;
  LineServer& operator=(const LineServer&) = delete;
  /// Ends the thread and removes the socket.
  ~LineServer();

 private:
  LineServer(std::filesystem::path socket, Answer answer, UniqueFd listener, UniqueFd wake)
      : socket_(std::move(socket)),
        answer_(std::move(answer)),
        listener_(std::move(listener)),
        wake_(std::move(wake)) {}
  void serve(const std::stop_token& stop);
  void serve_client(int client, const std::stop_token& stop);
  bool send_all(int client, std::string_view bytes);
  /// False at the deadline, when the server ends, or if the connection is gone.
  bool wait(int fd, short events, int timeout_ms) const;

  std::filesystem::path socket_;
  Answer answer_;
  UniqueFd listener_;
  UniqueFd wake_;  ///< an eventfd, readable once the thread is to end
  std::jthread thread_;
};

}  // namespace smartio::tcg_count
