// SPDX-License-Identifier: GPL-2.0
#include "fabric/control/server.h"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "base/unix_listener.h"

namespace smartio::control {

namespace {

/// A client with more than this waiting to be read by it is not asked for more requests.
constexpr std::size_t kEnoughOut = 64 * 1024;

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

std::string line_of(const nlohmann::json& answer) {
  // Handlers may quote bytes from outside: what is no UTF-8 is replaced, never thrown about.
  return answer.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const std::filesystem::path& path, const Commands& commands) {
  auto listener = listen_unix(path);
  if (!listener) return std::unexpected(listener.error());
  UniqueFd wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake) return fail(fmt::format("eventfd: {}", std::strerror(errno)));
  return std::unique_ptr<Server>(new Server(path, std::move(*listener), std::move(wake), commands));
}

Server::Server(std::filesystem::path path, UniqueFd listener, UniqueFd wake, const Commands& commands)
    : path_(std::move(path)), listener_(std::move(listener)), wake_(std::move(wake)), commands_(commands) {
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

Server::~Server() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_.get(), &one, sizeof one));
  thread_.join();
  ::unlink(path_.c_str());
}

void Server::serve(const std::stop_token& stop) {
  std::vector<pollfd> polled;
  while (!stop.stop_requested()) {
    polled.clear();
    polled.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
    const bool room = clients_.size() < kMaxClients;
    polled.push_back({.fd = room ? listener_.get() : -1, .events = POLLIN, .revents = 0});
    for (const auto& client : clients_) {
      short events = 0;
      if (!client.ended && client.out.size() < kEnoughOut) events |= POLLIN;
      if (!client.out.empty()) events |= POLLOUT;
      polled.push_back({.fd = client.fd.get(), .events = events, .revents = 0});
    }
    if (::poll(polled.data(), polled.size(), -1) < 0) {
      if (errno == EINTR) continue;
      spdlog::error("control: poll: {}", std::strerror(errno));
      return;
    }
    std::size_t at = 2;
    for (auto& client : clients_) {
      const short ready = polled[at++].revents;
      if ((ready & POLLIN) != 0) receive(client);
      if ((ready & (POLLERR | POLLNVAL)) != 0 || ((ready & POLLHUP) != 0 && (ready & POLLIN) == 0)) client.gone = true;
      if (!client.gone) flush(client);
      if (client.ended && client.out.empty()) client.gone = true;
    }
    clients_.remove_if([](const Client& client) { return client.gone; });
    if ((polled[1].revents & POLLIN) != 0) accept_clients();
  }
}

void Server::accept_clients() {
  while (clients_.size() < kMaxClients) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return;
    clients_.emplace_back(std::move(fd));
  }
}

void Server::receive(Client& client) {
  std::array<char, 4096> buffer;
  const auto got = ::recv(client.fd.get(), buffer.data(), buffer.size(), 0);
  if (got < 0) {
    if (!would_block(errno)) client.gone = true;
    return;
  }
  if (got == 0) {
    client.ended = true;
    return;
  }
  client.reader.feed(
      std::string_view(buffer.data(), static_cast<std::size_t>(got)),
      [&](std::string_view line) { client.out += line_of(commands_.run(line)); },
      [&] {
        client.out +=
            line_of({{"ok", false}, {"error", fmt::format("a line of more than {} bytes", LineReader::kMaxLine)}});
      });
}

void Server::flush(Client& client) {
  if (client.out.empty()) return;
  const auto sent = ::send(client.fd.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
  if (sent < 0) {
    if (!would_block(errno)) client.gone = true;
    return;
  }
  client.out.erase(0, static_cast<std::size_t>(sent));
}

}  // namespace smartio::control
