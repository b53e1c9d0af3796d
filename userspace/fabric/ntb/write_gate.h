// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace smartio::ntb {

/// Makes a thread that shuts a window wait until the writes that saw it open have landed. Writes take no lock: each
/// holds a Pass while it translates and lands. A write takes its Pass first and looks at the window then. The thread
/// that shuts the window changes it first and calls synchronize() then. New writes don't starve it, since they count in
/// the other of two counters.
class WriteGate {
 public:
  /// A write in flight. Cheap: one atomic add and one subtract.
  class Pass {
   public:
    explicit Pass(WriteGate& gate);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    std::atomic<std::uint64_t>& count_;
  };

  /// Returns when every write that began before the call has ended. On a thread that is itself inside a Pass of any
  /// gate it returns at once, since two such threads could wait for each other: a store that comes through a window
  /// and shuts a window has no order with other stores anyway. False if
  /// `limit` passed first; others that wait at the same time come before, with limits of their own.
  bool synchronize(std::chrono::milliseconds limit);

 private:
  struct alignas(64) Counter {
    std::atomic<std::uint64_t> writes{0};
  };
  std::atomic<unsigned> epoch_{0};
  std::array<Counter, 2> counters_;
  std::mutex turn_;  ///< one waiter at a time moves the epoch
};

}  // namespace smartio::ntb
