// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <ranges>
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
    std::uint64_t ended_before = 0;  ///< admin commands that had ended when it was fetched
    std::uint64_t ended = 0;         ///< 1 for the first that ended; 0: it has not (yet)
  };

  void add(const SubmissionEntry& command) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() == kEntries) entries_.pop_front();
    entries_.push_back({++count_, command, ended_, 0});
  }
  /// The last command with this identifier has ended.
  void end(std::uint16_t cid) {
    const std::lock_guard lock(mutex_);
    ++ended_;
    for (Entry& entry : entries_ | std::views::reverse) {
      if (entry.command.cid != cid) continue;
      entry.ended = ended_;
      return;
    }
  }
  [[nodiscard]] std::vector<Entry> entries() const {
    const std::lock_guard lock(mutex_);
    return {entries_.begin(), entries_.end()};
  }

 private:
  mutable std::mutex mutex_;  // guards the members below
  std::uint64_t count_ = 0;
  std::uint64_t ended_ = 0;
  std::deque<Entry> entries_;
};

}  // namespace smartio::nvme
