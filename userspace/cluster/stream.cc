// SPDX-License-Identifier: GPL-2.0
#include "cluster/stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/unix_socket.h"
#include "cluster/interrupt.h"

namespace smartio::cluster {

namespace {

std::filesystem::path pipe_file(const std::filesystem::path& base, std::string_view end) {
  return base.string() + std::string(end);
}

Result<UniqueFd> open_pipe(const std::filesystem::path& file, int mode) {
  UniqueFd fd(::open(file.c_str(), mode | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return fail(fmt::format("{}: {}", file.string(), std::strerror(errno)));
  std::array<char, 4096> dropped{};
  while (::read(fd.get(), dropped.data(), dropped.size()) > 0) {
  }
  return fd;
}

}  // namespace

Stream::Stream(UniqueFd fd) : fd_(std::move(fd)) {
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
}

Result<Stream> Stream::connect(const std::filesystem::path& socket) {
  const std::filesystem::path folder = socket.parent_path();
  const UniqueFd directory(::open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return fail(fmt::format("{}: {}", folder.string(), std::strerror(errno)));
  const std::string name = fmt::format("/proc/self/fd/{}/{}", directory.get(), socket.filename().string());
  return connect_unix(name).transform([](UniqueFd fd) { return Stream(std::move(fd)); });
}

Result<Stream> Stream::open_pipes(const std::filesystem::path& base) {
  // For reading, too: unread bytes are dropped, and the end of QEMU raises no SIGPIPE. The other pipe shows that end,
  // since QEMU alone writes to it.
  auto to = open_pipe(pipe_file(base, ".in"), O_RDWR);
  if (!to) return std::unexpected(to.error());
  auto from = open_pipe(pipe_file(base, ".out"), O_RDONLY);
  if (!from) return std::unexpected(from.error());
  return Stream(std::move(*from), std::move(*to));
}

Result<void> Stream::wait(short events, Deadline deadline) const {
  for (;;) {
    pollfd ready{.fd = events == POLLOUT && pipe_ ? pipe_.get() : fd_.get(), .events = events, .revents = 0};
    const int count = ::poll(&ready, 1, deadline.poll_ms());
    if (count > 0) return {};
    if (interrupted() != 0) return fail("interrupted");
    if (deadline.passed()) return fail("no answer in time");
    if (count < 0 && errno != EINTR) return fail(fmt::format("poll: {}", std::strerror(errno)));
  }
}

Result<void> Stream::send(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = pipe_ ? ::write(pipe_.get(), bytes.data(), bytes.size())
                               : ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (auto ready = wait(POLLOUT, deadline); !ready) return ready;
    } else if (errno != EINTR) {
      return fail(fmt::format("the connection ended: {}", std::strerror(errno)));
    }
  }
  return {};
}

Result<std::string> Stream::read_to(char end, Deadline deadline, std::size_t limit) {
  constexpr std::size_t kPiece = 256ULL << 10;
  std::size_t searched = 0;
  for (;;) {
    if (const std::size_t at = received_.find(end, searched); at != std::string::npos) {
      std::string piece = received_.substr(0, at);
      received_.erase(0, at + 1);
      return piece;
    }
    searched = received_.size();
    if (searched > limit) return fail(fmt::format("the answer is longer than {} bytes", limit));
    ssize_t got = 0;
    received_.resize_and_overwrite(searched + kPiece, [&](char* data, std::size_t) {
      got = ::read(fd_.get(), data + searched, kPiece);
      return searched + static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    });
    if (got == 0) return fail("the connection ended");
    if (got < 0 && errno == EAGAIN) {
      if (auto ready = wait(POLLIN, deadline); !ready) return std::unexpected(ready.error());
    } else if (got < 0 && errno != EINTR) {
      return fail(fmt::format("the connection ended: {}", std::strerror(errno)));
    }
  }
}

Result<void> make_pipes(const std::filesystem::path& base) {
  for (const std::string_view end : {".in", ".out"}) {
    const std::filesystem::path file = pipe_file(base, end);
    if (::mkfifo(file.c_str(), 0600) != 0 && errno != EEXIST) {
      return fail(fmt::format("{}: {}", file.string(), std::strerror(errno)));
    }
  }
  return {};
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, 1000);
    } else if (errno != EINTR) {
      return fail(fmt::format("the output can't be written: {}", std::strerror(errno)));
    }
    if (!bytes.empty() && interrupted() != 0) return fail("interrupted");
  }
  return {};
}

}  // namespace smartio::cluster
