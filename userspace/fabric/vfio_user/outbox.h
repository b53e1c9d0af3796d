// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "base/wakeup.h"
#include "fabric/vfio_user/protocol.h"

namespace smartio::vfio_user {

/// The output of one connection. send() never blocks. Bytes that the socket does not take are queued, up to a limit,
/// and the connection's thread sends them when poll says so. QEMU ends a connection on which it finds a part of a
/// header. So the socket gets messages such that their headers never come apart. Thread-safe.
class Outbox {
 public:
  /// `wake` is signalled when the queue is no longer empty: the connection's thread polls it.
  Outbox(UniqueFd socket, std::shared_ptr<const Wakeup> wake) : socket_(std::move(socket)), wake_(std::move(wake)) {}

  [[nodiscard]] int socket() const { return socket_.get(); }

  /// Posted writes beyond this many queued bytes are refused, so that a guest that reads nothing costs no more.
  static constexpr std::size_t kMaxQueued = 16U << 20;

  enum class Kind : std::uint8_t { reply, posted };
  /// Sends or queues one message of header, `part` and `data`. False: refused, or the connection is dead. Replies
  /// are never refused: their number is bounded by pending_replies(). `fds` go with the first byte.
  bool send(const Header& header, std::span<const std::byte> part, std::span<const std::byte> data, Kind kind,
            std::span<const int> fds = {});

  /// Sends queued bytes, as far as the socket takes them. False: the connection is dead.
  bool drain();
  [[nodiscard]] bool queued() const;
  /// Bytes of replies that wait: above kMaxReplies no more requests should be read.
  [[nodiscard]] std::size_t pending_replies() const;
  static constexpr std::size_t kMaxReplies = 4U << 20;

  /// Sends nothing more and drops the queue. The other side sees the end of the connection.
  void close();

 private:
  struct Item {
    std::vector<std::byte> bytes;
    std::size_t sent = 0;
    Kind kind;
    std::vector<UniqueFd> fds;
  };
  enum class Sent : std::uint8_t { all, some, dead };
  Sent send_bytes(std::span<const std::byte> bytes, std::size_t& sent, std::span<const int> fds);
  bool drain_locked();

  const UniqueFd socket_;
  const std::shared_ptr<const Wakeup> wake_;
  mutable std::mutex mutex_;  // protects all below, and the order on the socket
  std::deque<Item> queue_;
  std::size_t queued_posted_ = 0;
  std::size_t queued_replies_ = 0;
  bool dead_ = false;
};

}  // namespace smartio::vfio_user
