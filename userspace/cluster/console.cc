// SPDX-License-Identifier: GPL-2.0
#include "cluster/console.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "cluster/interrupt.h"

namespace smartio::cluster {

namespace {

constexpr char kLeave = '\x1d';  // Ctrl-]

/// The terminal passes every key on, ^C too, until the object ends.
class RawTerminal {
 public:
  RawTerminal() : active_(::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!active_) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  }
  ~RawTerminal() {
    if (active_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  [[nodiscard]] bool active() const { return active_; }

 private:
  termios before_{};
  bool active_;
};

}  // namespace

Result<void> join_console(const Stream& console) {
  const RawTerminal terminal;
  std::array<char, 4096> buffer{};
  std::array<pollfd, 2> ready{pollfd{.fd = console.fd(), .events = POLLIN, .revents = 0},
                              pollfd{.fd = terminal.active() ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}};
  while (interrupted() == 0) {
    if (::poll(ready.data(), ready.size(), 1000) < 0 && errno != EINTR) break;
    if (ready[0].revents != 0) {
      const ssize_t got = ::read(console.fd(), buffer.data(), buffer.size());
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return fail("the console ended");
      if (got > 0 && !write_all(STDOUT_FILENO, {buffer.data(), static_cast<std::size_t>(got)})) break;
    }
    if (ready[1].revents != 0) {
      const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
      if (got <= 0) break;
      const std::string_view keys(buffer.data(), static_cast<std::size_t>(got));
      const std::size_t leave = keys.find(kLeave);
      if (!write_all(console.fd(), keys.substr(0, leave)) || leave != std::string_view::npos) break;
    }
  }
  return {};
}

}  // namespace smartio::cluster
