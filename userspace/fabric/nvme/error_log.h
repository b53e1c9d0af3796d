// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fabric/nvme/spec_log.h"

namespace smartio::nvme {

/// The Error Information log: the last kEntries failures, newest first. Not thread-safe.
class ErrorLog {
 public:
  static constexpr std::size_t kEntries = 64;

  /// Takes all of `entry` but its count, which is set here.
  void add(ErrorLogEntry entry) {
    entry.error_count = ++count_;
    ring_[(count_ - 1) % kEntries] = entry;
  }
  /// Failures since the drive was made.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// The log page; entries never used are zero.
  [[nodiscard]] std::array<ErrorLogEntry, kEntries> page() const {
    std::array<ErrorLogEntry, kEntries> page{};
    for (std::size_t i = 0; i < kEntries && i < count_; ++i) page[i] = ring_[(count_ - 1 - i) % kEntries];
    return page;
  }

 private:
  std::array<ErrorLogEntry, kEntries> ring_{};
  std::uint64_t count_ = 0;
};

}  // namespace smartio::nvme
