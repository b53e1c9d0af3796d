// SPDX-License-Identifier: GPL-2.0
#include "tcg_count/line_server.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/unix_listener.h"

namespace smartio::tcg_count {

namespace {
constexpr int kForEver = -1;
constexpr int kPatienceMs = 2000;
constexpr std::size_t kLongestLine = 256;
}  // namespace

Result<std::unique_ptr<LineServer>> LineServer::start(const std::filesystem::path& socket, Answer answer) {
  auto listener = listen_unix(socket);
  if (!listener) return std::unexpected(listener.error());
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail(std::string("eventfd: ") + std::strerror(errno));
  std::unique_ptr<LineServer> server(new LineServer(socket, std::move(answer), std::move(*listener), std::move(wake)));

  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  server->thread_ = std::jthread([it = server.get()](const std::stop_token& stop) { it->serve(stop); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return server;
}

LineServer::~LineServer() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto told = ::write(wake_.get(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
  std::error_code ignored;
  std::filesystem::remove(socket_, ignored);
}

bool LineServer::wait(int fd, short events, int timeout_ms) const {
  std::array<pollfd, 2> fds{
      {{.fd = fd, .events = events, .revents = 0}, {.fd = wake_.get(), .events = POLLIN, .revents = 0}}};
  const int count = ::poll(fds.data(), fds.size(), timeout_ms);
  return count > 0 && fds[1].revents == 0;
}

void LineServer::serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (!wait(listener_.get(), POLLIN, kForEver)) continue;
    const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client) serve_client(client.get(), stop);
  }
}

void LineServer::serve_client(int client, const std::stop_token& stop) {
  std::string line;
  while (!stop.stop_requested() && wait(client, POLLIN, kPatienceMs)) {
    char c = 0;
    const ssize_t got = ::recv(client, &c, 1, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return;
    if (c != '\n') {
      line += c;
      if (line.size() > kLongestLine) return;
      continue;
    }
    if (!send_all(client, answer_(line) + "\n")) return;
    line.clear();
  }
}

bool LineServer::send_all(int client, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait(client, POLLOUT, kPatienceMs)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace smartio::tcg_count
