// SPDX-License-Identifier: GPL-2.0
#include "fabric/vfio_user/dma_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace smartio::vfio_user {
namespace {

// Reads and writes have ids of their own: a late reply to one is never taken for the other's.
constexpr std::uint16_t kWriteIds = 0x8000;
// And so do writes that ask for a reply.
constexpr std::uint16_t kAskedIds = 0x4000;
constexpr std::size_t kSmall = 64;
// Reads through QEMU never read memory. QEMU loads eight bytes at a time, each a round trip to the device that they
// belong to. The guest's CPUs stand still meanwhile, and a heartbeat must fit in between.
constexpr std::size_t kReadPiece = 512;

Header request(std::uint16_t id, Command command, std::size_t body, std::uint32_t flags) {
  return {id, static_cast<std::uint16_t>(command), static_cast<std::uint32_t>(sizeof(Header) + body), flags, 0};
}

}  // namespace

bool DmaRequests::post_write(pci::BusAddress address, std::span<const std::byte> data) {
  const std::size_t most = max_transfer_.load(std::memory_order_relaxed);
  while (!data.empty()) {
    const auto piece = data.first(std::min(data.size(), most));
    const DmaAccess access{address.value, piece.size()};
    const bool ask = !pci::is_interrupt(address);
    const auto number =
        static_cast<std::uint16_t>(next_write_.fetch_add(1, std::memory_order_relaxed) & (kAskedIds - 1));
    const auto id = static_cast<std::uint16_t>(kWriteIds | (ask ? kAskedIds : 0) | number);
    if (ask) {  // before the answer can come
      const std::scoped_lock lock(mutex_);
      ++asked_;
      if (piece.size() <= kSmall) last_small_ = asked_;
    }
    if (!outbox_->send(request(id, Command::dma_write, sizeof(access) + piece.size(), ask ? 0 : kFlagNoReply),
                       std::as_bytes(std::span(&access, 1)), piece, Outbox::Kind::posted)) {
      if (ask) write_answered();
      return false;
    }
    address = address + piece.size();
    data = data.subspan(piece.size());
  }
  return true;
}

bool DmaRequests::after_writes(std::function<void()> then) {
  {
    const std::scoped_lock lock(mutex_);
    if (closed_) return false;
    if (asked_ != answered_writes_) {
      after_.emplace_back(asked_, std::move(then));
      return true;
    }
  }
  then();
  return true;
}

void DmaRequests::write_answered() {
  std::deque<std::pair<std::uint64_t, std::function<void()>>> ready;
  {
    const std::scoped_lock lock(mutex_);
    ++answered_writes_;
    while (!after_.empty() && after_.front().first <= answered_writes_) {
      ready.push_back(std::move(after_.front()));
      after_.pop_front();
    }
  }
  answered_.notify_all();
  for (const auto& [number, then] : ready) then();
}

bool DmaRequests::answered(std::unique_lock<std::mutex>& lock, std::uint64_t writes,
                           std::chrono::steady_clock::time_point until) {
  return answered_.wait_until(lock, until, [&] { return answered_writes_ >= writes || closed_; }) && !closed_;
}

bool DmaRequests::settle() {
  if (std::this_thread::get_id() == thread_.load()) return false;  // no thread would receive the replies
  std::unique_lock lock(mutex_);
  return answered(lock, asked_, std::chrono::steady_clock::now() + deadline_);
}

bool DmaRequests::read(pci::BusAddress address, std::span<std::byte> data,
                       std::optional<std::chrono::steady_clock::time_point> until) {
  if (std::this_thread::get_id() == thread_.load()) return false;  // no thread would receive the reply
  const auto end = until.value_or(std::chrono::steady_clock::now() + deadline_);
  {
    std::unique_lock lock(mutex_);
    if (!answered(lock, last_small_, end)) return false;
  }
  const std::size_t most = std::min<std::size_t>(max_transfer_.load(std::memory_order_relaxed), kReadPiece);
  while (!data.empty()) {
    const auto piece = data.first(std::min(data.size(), most));
    if (!read_piece(address, piece, end)) return false;
    address = address + piece.size();
    data = data.subspan(piece.size());
  }
  return true;
}

bool DmaRequests::read_piece(pci::BusAddress address, std::span<std::byte> data,
                             std::chrono::steady_clock::time_point until) {
  Waiter waiter{address.value, data};
  std::unique_lock lock(mutex_);
  if (closed_ || waiters_.size() >= kWriteIds / 2) return false;
  do {
    next_read_ = (next_read_ + 1) & (kWriteIds - 1);
  } while (waiters_.contains(next_read_));
  const std::uint16_t id = next_read_;
  waiters_.emplace(id, &waiter);
  lock.unlock();  // the reply can only be taken in with the lock, but need not wait for the send

  const DmaAccess access{address.value, data.size()};
  const bool sent = outbox_->send(request(id, Command::dma_read, sizeof(access), 0),
                                  std::as_bytes(std::span(&access, 1)), {}, Outbox::Kind::posted);
  lock.lock();
  if (sent) answered_.wait_until(lock, until, [&] { return waiter.done || closed_; });
  waiters_.erase(id);
  return waiter.done && waiter.ok;
}

Result<void> DmaRequests::reply(const Message& message) {
  const auto command = static_cast<Command>(message.header.command);
  const bool error = (message.header.flags & kFlagError) != 0;
  if (command == Command::dma_write) {
    if ((message.header.id & kWriteIds) == 0) return {};
    if (error) refused_();
    if ((message.header.id & kAskedIds) != 0) write_answered();
    return {};
  }
  if (command != Command::dma_read) return fail(fmt::format("a reply to a {}, which was never asked", name(command)));
  const std::scoped_lock lock(mutex_);
  const auto at = waiters_.find(message.header.id);
  if (at == waiters_.end()) return {};  // its caller has given up
  Waiter& waiter = *at->second;
  if (!error) {
    if (message.body.size() < sizeof(DmaAccess)) return fail("a reply to DMA_READ without its header");
    const auto access = peek<DmaAccess>(message.body);
    const auto data = message.body.subspan(sizeof(DmaAccess));
    if (access.address != waiter.address || access.count != data.size() || data.size() > waiter.data.size()) {
      return fail(fmt::format("a reply to DMA_READ of {:#x} +{:#x} with {} bytes of {:#x} +{:#x}", waiter.address,
                              waiter.data.size(), data.size(), std::uint64_t{access.address},
                              std::uint64_t{access.count}));
    }
    // A short read is a refused one.
    waiter.ok = data.size() == waiter.data.size();
    if (waiter.ok) std::memcpy(waiter.data.data(), data.data(), data.size());
  }
  waiter.done = true;
  answered_.notify_all();
  return {};
}

void DmaRequests::close() {
  outbox_->close();
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  after_.clear();
  answered_.notify_all();
}

}  // namespace smartio::vfio_user
