// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <algorithm>
#include <chrono>

namespace smartio {

/// The moment by which an operation must be done. Every wait for another process or host takes one.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline in(Clock::duration time) { return Deadline(Clock::now() + time); }
  static Deadline never() { return Deadline(Clock::time_point::max()); }

  [[nodiscard]] bool passed() const { return at_ != Clock::time_point::max() && Clock::now() >= at_; }
  /// For poll(2): milliseconds left, rounded up, 0 when passed, at most a second, so that callers look around
  /// (is the process there, was ^C pressed) at least that often.
  [[nodiscard]] int poll_ms() const {
    using std::chrono::milliseconds;
    if (at_ == Clock::time_point::max()) return 1000;
    const auto left = std::chrono::ceil<milliseconds>(at_ - Clock::now());
    return static_cast<int>(std::clamp(left, milliseconds(0), milliseconds(1000)).count());
  }
  /// The earlier of the two.
  [[nodiscard]] Deadline or_earlier(Deadline other) const { return Deadline(std::min(at_, other.at_)); }

 private:
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

/// Checks `condition`, with calls of `pause` between, until it holds. False if it does not hold by `deadline`. The
/// first check takes place even where the deadline has passed.
template <typename Pause, typename Condition>
bool wait_until(const Deadline& deadline, const Pause& pause, const Condition& condition) {
  while (!condition()) {
    if (deadline.passed()) return false;
    pause();
  }
  return true;
}

}  // namespace smartio
