// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/line_reader.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "base/wakeup.h"

namespace smartio {

/// Answers lines on a unix socket, with one line for each and any number of lines for each client. It runs on one
/// thread of its own, which takes no signal of the process. The server stops reading from a client that does not read
/// its answers. Other clients do not wait for that one.
class LineServer {
 public:
  /// Called by the server's thread; neither the line nor the answer has its '\n'.
  using Answer = std::function<std::string(std::string_view line)>;

  /// Listens at `path` and starts to serve. `too_long` is the answer to a line of more than LineReader::kMaxLine bytes.
  static Result<std::unique_ptr<LineServer>> start(const std::filesystem::path& path, Answer answer,
                                                   std::string too_long);
  /// Stops, closes every connection, and removes the socket.
  ~LineServer();
  LineServer(const LineServer&) = delete;
  LineServer& operator=(const LineServer&) = delete;

  static constexpr std::size_t kMaxClients = 64;

 private:
  struct Client {
    UniqueFd fd;
    LineReader reader;
    std::string out;
    bool ended = false;  ///< no more requests will come; closed when its answers are out
    bool gone = false;
  };

  LineServer(std::filesystem::path path, UniqueFd listener, Answer answer, std::string too_long);
  void serve(const std::stop_token& stop);
  void accept_clients();
  void receive(Client& client);
  void flush(Client& client);

  const std::filesystem::path path_;
  const UniqueFd listener_;
  const Answer answer_;
  const std::string too_long_;
  const Wakeup wake_;
  std::list<Client> clients_;
  std::jthread thread_;
};

}  // namespace smartio
