// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace smartio::nvme {

/// The path from threads that store to a drive's registers to its one worker. It has doorbell values, a bitmap of the
/// doorbells written since the worker last looked, and a bell that wakes a sleeping worker. A store costs two atomic
/// operations, and makes a system call only if the worker sleeps. The worker's look costs one load for every 64
/// doorbells.
class Doorbells {
 public:
  /// Doorbell 2n is the tail of SQ n, 2n + 1 the head of CQ n (NVMe 1.4, 3.1.24 with DSTRD 0).
  explicit Doorbells(unsigned count)
      : count_(count),
        words_((count + 63) / 64),
        values_(std::make_unique<std::atomic<std::uint32_t>[]>(count)),
        ready_(std::make_unique<std::atomic<std::uint64_t>[]>(words_)) {}

  [[nodiscard]] unsigned count() const { return count_; }

  /// Any thread. `index` < count().
  void ring(unsigned index, std::uint32_t value) {
    values_[index].store(value, std::memory_order_relaxed);
    ready_[index / 64].fetch_or(std::uint64_t{1} << index % 64);
    wake();
  }

  /// Any thread: has the worker look again, for a reason other than a doorbell.
  void wake_for_work() {
    work_.store(true);
    wake();
  }

  /// Worker only: calls `visit(index, value)` for each doorbell written since the last call. True if any was.
  template <typename Visit>
  bool take(Visit visit) {
    bool any = false;
    for (unsigned word = 0; word < words_; ++word) {
      if (ready_[word].load(std::memory_order_relaxed) == 0) continue;
      std::uint64_t bits = ready_[word].exchange(0);
      any = true;
      while (bits != 0) {
        const unsigned index = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
        bits &= bits - 1;
        visit(index, values_[index].load(std::memory_order_relaxed));
      }
    }
    return any;
  }

  /// Whether any doorbell waits to be taken.
  [[nodiscard]] bool rung() const {
    for (unsigned word = 0; word < words_; ++word) {
      if (ready_[word].load(std::memory_order_relaxed) != 0) return true;
    }
    return false;
  }

  /// Worker only: forgets a doorbell (its queue was just made), or all of them (a reset).
  void clear(unsigned index) {
    ready_[index / 64].fetch_and(~(std::uint64_t{1} << index % 64));
    values_[index].store(0, std::memory_order_relaxed);
  }
  void clear_all() {
    for (unsigned index = 0; index < count_; ++index) values_[index].store(0, std::memory_order_relaxed);
    for (unsigned word = 0; word < words_; ++word) ready_[word].store(0);
  }

  /// Worker only: sleeps until a doorbell is written, wake_for_work() is called, or `deadline`. May return early.
  void sleep(std::optional<std::chrono::steady_clock::time_point> deadline) {
    std::unique_lock lock(mutex_);
    sleeping_.store(true);
    // A thread that rang before it could see `sleeping_` is seen here. One that rings later takes the mutex to wake us.
    const auto woken = [this] { return !sleeping_.load(); };
    if (!anything()) {
      if (deadline) {
        wake_.wait_until(lock, *deadline, woken);
      } else {
        wake_.wait(lock, woken);
      }
    }
    sleeping_.store(false);
    work_.exchange(false);
  }

 private:
  [[nodiscard]] bool anything() const {
    if (work_.load()) return true;
    for (unsigned word = 0; word < words_; ++word) {
      if (ready_[word].load() != 0) return true;
    }
    return false;
  }

  void wake() {
    if (!sleeping_.load()) return;
    {
      const std::lock_guard lock(mutex_);
      sleeping_.store(false);
    }
    wake_.notify_one();
  }

  const unsigned count_;
  const unsigned words_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> values_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> ready_;
  std::atomic<bool> work_{false};
  std::atomic<bool> sleeping_{false};
  std::mutex mutex_;  // the bell's; guards nothing else
  std::condition_variable wake_;
};

}  // namespace smartio::nvme
