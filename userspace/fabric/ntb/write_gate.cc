// SPDX-License-Identifier: GPL-2.0
#include "fabric/ntb/write_gate.h"

#include <thread>

namespace smartio::ntb {

namespace {

using Clock = std::chrono::steady_clock;

thread_local unsigned passes_of_this_thread = 0;

bool drained(const std::atomic<std::uint64_t>& count, Clock::time_point deadline) {
  for (unsigned turn = 0; count.load() != 0; turn++) {
    if (turn < 64) {
      std::this_thread::yield();
    } else {
      if (Clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }
  return true;
}

}  // namespace

WriteGate::Pass::Pass(WriteGate& gate) : count_(gate.counters_[gate.epoch_.load() & 1].writes) {
  count_.fetch_add(1);  // sequentially consistent: before the loads that look whether the window is open
  passes_of_this_thread++;
}

WriteGate::Pass::~Pass() {
  passes_of_this_thread--;
  count_.fetch_sub(1);
}

bool WriteGate::synchronize(std::chrono::milliseconds limit) {
  if (passes_of_this_thread > 0) return true;
  const std::scoped_lock lock(turn_);
  const auto deadline = Clock::now() + limit;
  // A write that read the epoch before the last turn may still have come into the counter that is not in use.
  const unsigned now = epoch_.load();
  if (!drained(counters_[(now + 1) & 1].writes, deadline)) return false;
  epoch_.store(now + 1);
  return drained(counters_[now & 1].writes, deadline);
}

}  // namespace smartio::ntb
