// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "fabric/nvme/spec.h"

namespace smartio::nvme {

/// The last kEntries admin commands that the controller fetched, oldest first. Any thread.
class AdminLog {
 public:
  static constexpr std::size_t kEntries = 1024;

  struct Entry {
    std::uint64_t number = 0;  ///< 1 for the first admin command since the drive was made
    SubmissionEntry command{};
  };

  void add(const SubmissionEntry& command) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() == kEntries) entries_.pop_front();
    entries_.push_back({++count_, command});
  }
  [[nodiscard]] std::vector<Entry> entries() const {
    const std::lock_guard lock(mutex_);
    return {entries_.begin(), entries_.end()};
  }

 private:
  mutable std::mutex mutex_;  // guards the members below
  std::uint64_t count_ = 0;
  std::deque<Entry> entries_;
};

}  // namespace smartio::nvme
