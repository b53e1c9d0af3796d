// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"
#include "fabric/control/commands.h"
#include "fabric/control/line_reader.h"

namespace smartio::control {

/// Serves the control socket: a line of words in, a line of JSON out, as many as a client likes, on one thread of
/// its own. A client that does not read its answers is not read from either; nobody else waits for it.
class Server {
 public:
  /// Listens at `path` and starts to serve. `commands` outlives the server; commands may be added at any time.
  static Result<std::unique_ptr<Server>> start(const std::filesystem::path& path, const Commands& commands);
  /// Stops, closes every connection, and removes the socket.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  static constexpr std::size_t kMaxClients = 64;

 private:
  struct Client {
    UniqueFd fd;
    LineReader reader;
    std::string out;
    bool ended = false;  ///< no more requests will come; closed when its answers are out
    bool gone = false;
  };

  Server(std::filesystem::path path, UniqueFd listener, UniqueFd wake, const Commands& commands);
  void serve(const std::stop_token& stop);
  void accept_clients();
  void receive(Client& client);
  void flush(Client& client);

  const std::filesystem::path path_;
  const UniqueFd listener_;
  const UniqueFd wake_;
  const Commands& commands_;
  std::list<Client> clients_;
  std::jthread thread_;
};

}  // namespace smartio::control
