// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <thread>

namespace smartio {

/// For tests: looks again and again until the condition holds; false if it does not within `time`.
template <typename Condition>
bool eventually(Condition condition, std::chrono::seconds time = std::chrono::seconds(30)) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace smartio
