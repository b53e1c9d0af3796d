// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <thread>

#include "base/deadline.h"

namespace smartio {

/// For tests: looks again and again until the condition holds; false if it does not within `time`.
template <typename Condition>
bool eventually(const Condition& condition, std::chrono::milliseconds time = std::chrono::seconds(30)) {
  return wait_until(Deadline::in(time), [] { std::this_thread::yield(); }, condition);
}

}  // namespace smartio
