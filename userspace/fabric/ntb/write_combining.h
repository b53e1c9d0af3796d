// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "fabric/pci/types.h"

namespace smartio::ntb {

/// The write-combining buffers of a host's CPUs, for its stores through one NTB: 64 bytes each, as Intel's SDM (volume
/// 3, "Buffering of Write Combining Memory Locations") describes them. A store stays in a buffer until a fence, until
/// another line needs the buffer, or for kLongest. A buffer is evicted as writes of 8 bytes at most, in any order,
/// mixed with those of other buffers. Stores to the same bytes keep their order. The choices follow `seed` alone: the
/// same stores and fences give the same writes, but for what kLongest evicts. Any thread.
class WriteCombining {
 public:
  /// Takes writes in their order, with a lock of this object held: it must not call back.
  using Sink = std::function<void(unsigned window, std::span<const pci::Store> writes)>;

  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kBuffers = 10;
  static constexpr std::chrono::milliseconds kLongest{1};

  /// What happened so far.
  struct Counts {
    std::uint64_t stores = 0;
    std::uint64_t fences = 0;   ///< that found something to evict
    std::uint64_t evicted = 0;  ///< lines
    std::uint64_t torn = 0;     ///< of them those that became several writes
    std::uint64_t late = 0;     ///< of them those that no fence, nor another line, evicted
  };

  WriteCombining(Sink sink, std::uint64_t seed);
  WriteCombining(const WriteCombining&) = delete;
  WriteCombining& operator=(const WriteCombining&) = delete;

  void store(unsigned window, pci::Store store);
  /// A fence, or an access that drains as one does. All stores before it have been written when it returns.
  void fence();
  /// The host was reset, or its QEMU has ended: the content of the buffers is lost.
  void forget();

  [[nodiscard]] Counts counts() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Line {
    unsigned window;
    std::uint64_t begin;  ///< offset in the window
    std::array<std::byte, kLine> bytes;
    std::uint64_t valid;  ///< a bit for each byte
    Clock::time_point since;
  };
  /// Writes that stay together.
  struct Group {
    unsigned window;
    std::vector<pci::Store> writes;
  };

  // With mutex_ held:
  void put(unsigned window, const pci::Store& store);
  [[nodiscard]] bool one_in(unsigned of);
  [[nodiscard]] std::size_t below(std::size_t count);
  void split(const Line& line, std::vector<Group>& groups);
  void evict(const std::vector<Line>& lines);
  void evict_one();

  void run(const std::stop_token& stop);

  const Sink sink_;
  mutable std::mutex mutex_;  ///< all below; held while writes land, so that they keep their order
  std::minstd_rand random_;
  std::vector<Line> lines_;
  Counts counts_;
  std::condition_variable_any wake_;
  std::jthread clock_;  ///< evicts stores that were held for kLongest
};

}  // namespace smartio::ntb
