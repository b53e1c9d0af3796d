// SPDX-License-Identifier: GPL-2.0
#include "fabric/vfio_user/outbox.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "fabric/vfio_user/descriptors.h"

namespace smartio::vfio_user {
namespace {

constexpr std::size_t kSmall = 512;      // messages up to here are put together on the stack
constexpr std::size_t kBatch = 8 << 10;  // small enough for one socket buffer, which is taken whole or not at all

}  // namespace

Outbox::Sent Outbox::send_bytes(std::span<const std::byte> bytes, std::size_t& sent, std::span<const int> fds) {
  while (sent < bytes.size()) {
    const ssize_t written = send_with_fds(socket_.get(), bytes.subspan(sent), sent == 0 ? fds : std::span<const int>());
    if (written < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Sent::some : Sent::dead;
    sent += static_cast<std::size_t>(written);
  }
  return Sent::all;
}

bool Outbox::send(const Header& header, std::span<const std::byte> part, std::span<const std::byte> data, Kind kind,
                  std::span<const int> fds) {
  const std::size_t size = sizeof(header) + part.size() + data.size();
  if (fds.size() > kMaxFds || size != header.size) return false;
  std::array<std::byte, kSmall> small;
  std::vector<std::byte> large;
  std::span<std::byte> bytes;
  if (size <= small.size()) {
    bytes = std::span(small).first(size);
  } else {
    large.resize(size);
    bytes = large;
  }
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (!part.empty()) std::memcpy(bytes.data() + sizeof(header), part.data(), part.size());
  if (!data.empty()) std::memcpy(bytes.data() + sizeof(header) + part.size(), data.data(), data.size());

  const std::scoped_lock lock(mutex_);
  if (dead_) return false;
  if (kind == Kind::posted && queued_posted_ + size > kMaxQueued) return false;
  std::size_t sent = 0;
  if (queue_.empty()) {
    switch (send_bytes(bytes, sent, fds)) {
      case Sent::all:
        return true;
      case Sent::dead:
        dead_ = true;
        return false;
      case Sent::some:
        break;
    }
  }
  Item item{{}, sent, kind, {}};
  if (large.empty()) {
    item.bytes.assign(bytes.begin(), bytes.end());
  } else {
    item.bytes = std::move(large);
  }
  for (const int fd : sent == 0 ? fds : std::span<const int>{}) {
    item.fds.emplace_back(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!item.fds.back()) return false;
  }
  const bool first = queue_.empty();
  (kind == Kind::reply ? queued_replies_ : queued_posted_) += size;
  queue_.push_back(std::move(item));
  if (first) wake_->signal();
  return true;
}

bool Outbox::drain_locked() {
  if (dead_) return false;
  std::vector<std::byte> batch;
  while (!queue_.empty()) {
    Item& front = queue_.front();
    // Many small messages go in one call; it must take them whole, so that no header is cut by a full socket.
    batch.clear();
    std::size_t count = 0;
    if (front.sent == 0) {
      for (const Item& item : queue_) {
        if (!item.fds.empty() || batch.size() + item.bytes.size() > kBatch) break;
        batch.insert(batch.end(), item.bytes.begin(), item.bytes.end());
        ++count;
      }
    }
    if (count > 1) {
      std::size_t sent = 0;
      const Sent result = send_bytes(batch, sent, {});
      if (result == Sent::dead) return dead_ = true, false;
      while (count-- > 0 && sent >= queue_.front().bytes.size()) {
        const Item& done = queue_.front();
        sent -= done.bytes.size();
        (done.kind == Kind::reply ? queued_replies_ : queued_posted_) -= done.bytes.size();
        queue_.pop_front();
      }
      if (result == Sent::all) continue;
      if (!queue_.empty()) queue_.front().sent = sent;
      return true;
    }
    std::array<int, kMaxFds> fds{};
    for (std::size_t i = 0; i < front.fds.size(); ++i) fds[i] = front.fds[i].get();
    switch (send_bytes(front.bytes, front.sent, std::span(fds).first(front.fds.size()))) {
      case Sent::all:
        break;
      case Sent::some:
        return true;
      case Sent::dead:
        return dead_ = true, false;
    }
    (front.kind == Kind::reply ? queued_replies_ : queued_posted_) -= front.bytes.size();
    queue_.pop_front();
  }
  return true;
}

bool Outbox::drain() {
  const std::scoped_lock lock(mutex_);
  return drain_locked();
}

bool Outbox::queued() const {
  const std::scoped_lock lock(mutex_);
  return !queue_.empty();
}

std::size_t Outbox::pending_replies() const {
  const std::scoped_lock lock(mutex_);
  return queued_replies_;
}

void Outbox::close() {
  const std::scoped_lock lock(mutex_);
  dead_ = true;
  ::shutdown(socket_.get(), SHUT_RDWR);
  queue_.clear();
  queued_posted_ = queued_replies_ = 0;
}

}  // namespace smartio::vfio_user
