// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace smartio::tcg_count {

/// Which counter a block of guest code adds to. Code of the kernel (the upper half of the address space) has a counter
/// for every 16 bytes: x86 Linux aligns functions so, hence no counter belongs to two of them. All code of processes
/// shares one, as their addresses mean nothing without the process. For any thread.
class BlockTable {
 public:
  static constexpr std::size_t kUser = 0;      ///< the counter of all code of processes
  static constexpr std::size_t kOverflow = 1;  ///< that of kernel code which came when all others were taken
  static constexpr std::uint64_t kGranule = 16;

  /// `counters`: how many there are, more than 2.
  explicit BlockTable(std::size_t counters) : counters_(counters) {}

  /// The counter of a block that begins at this virtual address.
  std::size_t counter_of(std::uint64_t address);
  /// Counters given out so far: all are below.
  [[nodiscard]] std::size_t used() const;
  /// Every counter of kernel code with the address it stands for (0 for kOverflow), in order of the counters.
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::size_t>> kernel() const;

 private:
  std::size_t counters_;
  mutable std::mutex mutex_;  // protects the two below
  std::unordered_map<std::uint64_t, std::size_t> by_granule_;
  std::vector<std::uint64_t> addresses_{0, 0};  // of each counter
};

}  // namespace smartio::tcg_count
