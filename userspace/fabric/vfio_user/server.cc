// SPDX-License-Identifier: GPL-2.0
#include "fabric/vfio_user/server.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/unix_socket.h"
#include "fabric/vfio_user/connection.h"

namespace smartio::vfio_user {

Result<std::unique_ptr<Server>> Server::start(pci::Endpoint& endpoint, const std::filesystem::path& path,
                                              Options options) {
  auto listener = listen_unix(path);
  if (!listener) return std::unexpected(listener.error());
  return std::unique_ptr<Server>(new Server(endpoint, path, std::move(*listener), options));
}

Server::Server(pci::Endpoint& endpoint, std::filesystem::path path, UniqueFd listener, Options options)
    : endpoint_(endpoint),
      path_(std::move(path)),
      listener_(std::move(listener)),
      options_(options),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Server::~Server() {
  thread_.request_stop();
  thread_.join();
  ::unlink(path_.c_str());
}

void Server::run(const std::stop_token& stop) {
  const std::stop_callback wake_up(stop, [this] { wake_->signal(); });
  std::optional<Connection> connection;
  while (!stop.stop_requested()) {
    std::array<pollfd, 3> polled = {{{wake_->fd(), POLLIN, 0}, {listener_.get(), POLLIN, 0}, {-1, 0, 0}}};
    if (connection) {
      polled[2].fd = connection->socket();
      if (connection->wants_input()) polled[2].events |= POLLIN;
      if (connection->wants_output()) polled[2].events |= POLLOUT;
    }
    if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) {
      spdlog::error("{}: poll: {}", endpoint_.full_name(), std::strerror(errno));
      return;
    }
    if ((polled[0].revents & POLLIN) != 0) wake_->clear();
    if (connection && polled[2].revents != 0) {
      bool alive = (polled[2].revents & POLLNVAL) == 0;
      if (alive && (polled[2].revents & POLLOUT) != 0) alive = connection->send();
      if (alive && (polled[2].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
        const auto received = connection->receive();
        if (!received) {
          spdlog::warn("{}: connection ended: {}", endpoint_.full_name(), received.error().message);
          alive = false;
        } else {
          // A client that hung up and left our replies lying will never make room for more.
          alive = *received && ((polled[2].revents & POLLHUP) == 0 || connection->wants_input());
        }
      }
      if (!alive) {
        connection.reset();
        spdlog::info("{}: guest disconnected", endpoint_.full_name());
      }
    }
    // A newcomer waits while the old client is about to be found dead.
    if ((polled[1].revents & POLLIN) != 0 && (polled[2].revents & POLLHUP) == 0) {
      UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!client) continue;
      if (connection) {
        spdlog::warn("{}: a second client is refused: one guest at a time", endpoint_.full_name());
        continue;
      }
      spdlog::info("{}: guest connected", endpoint_.full_name());
      connection.emplace(endpoint_, std::move(client), wake_, options_.read_deadline);
    }
  }
}

}  // namespace smartio::vfio_user
