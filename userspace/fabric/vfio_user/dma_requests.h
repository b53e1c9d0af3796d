// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "fabric/pci/guest_link.h"
#include "fabric/vfio_user/message_reader.h"
#include "fabric/vfio_user/outbox.h"

namespace smartio::vfio_user {

/// The device's requests to one guest's QEMU: DMA_WRITE is posted, the calling thread waits for DMA_READ. Writes, but
/// interrupts, ask for a reply. QEMU takes all requests in order, so the reply says when an interrupt, or a write that
/// does not pass QEMU, may follow them. A read is sent after the replies to the earlier small writes, such as those of
/// registers. QEMU's event loop
/// may run inside a register write, which waits for a disk there. QEMU would take the read in there and refuse it,
/// since it does not enter a device of its own twice. Thread-safe. May outlive its connection, and then refuses
/// everything.
class DmaRequests final : public pci::GuestLink {
 public:
  /// `deadline` is that of reads that name no other. `refused` is called, on the connection's thread, for each posted
  /// write that QEMU answers with an error.
  DmaRequests(std::shared_ptr<Outbox> outbox, std::chrono::milliseconds deadline, std::function<void()> refused)
      : outbox_(std::move(outbox)), deadline_(deadline), refused_(std::move(refused)) {}

  bool post_write(pci::BusAddress address, std::span<const std::byte> data) override;
  bool after_writes(std::function<void()> then) override;
  bool settle() override;
  bool read(pci::BusAddress address, std::span<std::byte> data,
            std::optional<std::chrono::steady_clock::time_point> until) override;

  /// For the connection: the thread that receives replies, and the client's limit for one message.
  void set_thread(std::thread::id thread) { thread_ = thread; }
  void set_max_transfer(std::uint32_t bytes) { max_transfer_.store(bytes, std::memory_order_relaxed); }
  /// For the connection: a reply came in. An error describes the fault of a malformed reply.
  Result<void> reply(const Message& message);
  /// For the connection: it is over. Every read that waits fails now.
  void close();

 private:
  struct Waiter {
    std::uint64_t address;
    std::span<std::byte> data;
    bool done = false;
    bool ok = false;
  };
  void write_answered();
  /// Waits for the answers to the first `writes`. False if they did not come in time. With the lock.
  bool answered(std::unique_lock<std::mutex>& lock, std::uint64_t writes, std::chrono::steady_clock::time_point until);
  bool read_piece(pci::BusAddress address, std::span<std::byte> data, std::chrono::steady_clock::time_point until);

  std::shared_ptr<Outbox> outbox_;
  const std::chrono::milliseconds deadline_;
  const std::function<void()> refused_;
  std::atomic<std::thread::id> thread_{};
  std::atomic<std::uint32_t> max_transfer_{kMaxTransfer};
  std::atomic<std::uint16_t> next_write_{0};

  std::mutex mutex_;  // protects all below
  std::condition_variable answered_;
  std::map<std::uint16_t, Waiter*> waiters_;  // by message id
  std::uint16_t next_read_ = 0;
  bool closed_ = false;
  std::uint64_t asked_ = 0;                                            // writes posted, but interrupts
  std::uint64_t last_small_ = 0;                                       // the number of the last small one of these
  std::uint64_t answered_writes_ = 0;                                  // answers, and writes that could not be sent
  std::deque<std::pair<std::uint64_t, std::function<void()>>> after_;  // callbacks, by the count of answers
};

}  // namespace smartio::vfio_user
