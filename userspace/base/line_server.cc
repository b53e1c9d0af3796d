// SPDX-License-Identifier: GPL-2.0
#include "base/line_server.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <vector>

#include "base/unix_socket.h"

namespace smartio {

namespace {

/// A client with more than this waiting to be read by it is not asked for more requests.
constexpr std::size_t kEnoughOut = 64 * 1024;

}  // namespace

Result<std::unique_ptr<LineServer>> LineServer::start(const std::filesystem::path& path, Answer answer,
                                                      std::string too_long) {
  auto listener = listen_unix(path);
  if (!listener) return std::unexpected(listener.error());
  return std::unique_ptr<LineServer>(
      new LineServer(path, std::move(*listener), std::move(answer), std::move(too_long)));
}

LineServer::LineServer(std::filesystem::path path, UniqueFd listener, Answer answer, std::string too_long)
    : path_(std::move(path)),
      listener_(std::move(listener)),
      answer_(std::move(answer)),
      too_long_(std::move(too_long)) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LineServer::~LineServer() {
  thread_.request_stop();
  wake_.signal();
  thread_.join();
  ::unlink(path_.c_str());
}

void LineServer::serve(const std::stop_token& stop) {
  std::vector<pollfd> polled;
  while (!stop.stop_requested()) {
    polled.clear();
    polled.push_back({.fd = wake_.fd(), .events = POLLIN, .revents = 0});
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
      std::perror("poll of a socket of lines");
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

void LineServer::accept_clients() {
  while (clients_.size() < kMaxClients) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return;
    clients_.emplace_back(std::move(fd));
  }
}

void LineServer::receive(Client& client) {
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
      [&](std::string_view line) { client.out += answer_(line) + "\n"; }, [&] { client.out += too_long_ + "\n"; });
}

void LineServer::flush(Client& client) {
  if (client.out.empty()) return;
  const auto sent = ::send(client.fd.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
  if (sent < 0) {
    if (!would_block(errno)) client.gone = true;
    return;
  }
  client.out.erase(0, static_cast<std::size_t>(sent));
}

}  // namespace smartio
