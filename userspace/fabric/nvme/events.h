// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "fabric/nvme/spec.h"

namespace smartio::nvme {

/// Asynchronous events for the host (NVMe 1.4, section 5.2): raised by any thread, reported one for each Asynchronous
/// Event Request. Once reported, an event of that sort waits until the host has read its log page.
class AsyncEvents {
 public:
  /// Any thread. The same event is kept only once.
  void raise(AsyncEvent event) {
    const std::lock_guard lock(mutex_);
    for (const AsyncEvent& other : waiting_) {
      if (other == event) return;
    }
    waiting_.push_back(event);
    pending_ = true;
  }

  /// The next event that may be reported, if any; masks its sort.
  std::optional<AsyncEvent> next() {
    if (!pending_.load()) return std::nullopt;
    const std::lock_guard lock(mutex_);
    for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
      if (masked(*it)) continue;
      const AsyncEvent event = *it;
      waiting_.erase(it);
      pending_ = !waiting_.empty();
      reported_.push_back(event);
      return event;
    }
    return std::nullopt;
  }

  /// The host read `log` without Retain Asynchronous Event: events that name it may be reported again.
  void log_read(LogId log) {
    const std::lock_guard lock(mutex_);
    std::erase_if(reported_, [log](const AsyncEvent& event) { return event.log == log; });
    pending_ = !waiting_.empty();
  }

  /// A controller reset forgets them all.
  void clear() {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
    reported_.clear();
    pending_ = false;
  }

 private:
  // Errors and SMART events are masked by type, all others each for itself.
  [[nodiscard]] bool masked(const AsyncEvent& event) const {
    for (const AsyncEvent& other : reported_) {
      if (other.type != event.type) continue;
      if (event.type == AsyncEventType::error || event.type == AsyncEventType::smart_health) return true;
      if (other == event) return true;
    }
    return false;
  }

  std::mutex mutex_;  // guards both lists; they are as long as there are different events, a dozen
  std::vector<AsyncEvent> waiting_;
  std::vector<AsyncEvent> reported_;
  std::atomic<bool> pending_{false};
};

}  // namespace smartio::nvme
