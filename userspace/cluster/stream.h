// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace smartio::cluster {

/// A connection to a unix socket or a pair of pipes of the state folder, read by pieces that end with a known byte.
/// Every call has a deadline, and ends early when the tool is interrupted. Not for several threads.
class Stream {
 public:
  /// `socket` may lie deeper than the 108 bytes that a socket's address holds.
  static Result<Stream> connect(const std::filesystem::path& socket);
  /// The pipes BASE.in, which is written to, and BASE.out, which is read (QEMU's "-chardev pipe"). Unread bytes of an
  /// earlier client are dropped: hold a lock. An error if a pipe is not there.
  static Result<Stream> open_pipes(const std::filesystem::path& base);
  /// Takes over a connected socket.
  explicit Stream(UniqueFd fd);

  Result<void> send(std::string_view bytes, Deadline deadline);
  /// The bytes up to `end`, without it; bytes behind it are kept for the next call. An answer longer than `limit` is an
  /// error.
  Result<std::string> read_to(char end, Deadline deadline, std::size_t limit = kLongestAnswer);
  /// The descriptor to read from.
  [[nodiscard]] int fd() const { return fd_.get(); }

  /// 16 MiB of output and of error output, in base64, in one line, with room for the rest.
  static constexpr std::size_t kLongestAnswer = 48ULL << 20;

 private:
  Stream(UniqueFd from, UniqueFd to) : fd_(std::move(from)), pipe_(std::move(to)) {}
  Result<void> wait(short events, Deadline deadline) const;

  UniqueFd fd_;
  UniqueFd pipe_;  // the descriptor to write to, if that is not fd_
  std::string received_;
};

/// Makes the two pipes that open_pipes() opens, unless they are there.
Result<void> make_pipes(const std::filesystem::path& base);

/// Writes all of `bytes` to a descriptor of this program's, however long that takes, unless the tool is interrupted.
Result<void> write_all(int fd, std::string_view bytes);

}  // namespace smartio::cluster
