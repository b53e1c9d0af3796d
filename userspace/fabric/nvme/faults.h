// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "fabric/nvme/spec.h"

namespace smartio::nvme {

/// Which commands a fault rule is for. Commands of the admin queue only if `queue` is 0.
struct FaultFilter {
  enum class Opcode : std::uint8_t {
    any,
    read,   ///< Read, Compare, Verify
    write,  ///< Write, Write Zeroes, Write Uncorrectable, Dataset Management, Copy, fused compare and write
    flush,
  };
  Opcode opcode = Opcode::any;
  std::uint32_t nsid = 0;                ///< 0: any
  std::optional<std::uint16_t> queue{};  ///< SQ identifier; none: any I/O queue

  [[nodiscard]] bool matches(std::uint16_t sq, const SubmissionEntry& entry) const;
};

/// One thing that is to go wrong. A command meets the first matching rule that acts before its execution, its
/// completion the first that acts after it.
struct FaultRule {
  enum class Action : std::uint8_t {
    // Before execution:
    delay,        ///< execute it after a random time in [min, max]
    serial,       ///< the same, but the time begins when the last command before it that the rule delays is executed
    hold,         ///< execute it when it is released
    hold_data,    ///< the same, but fetch the first half of a write's data now: a drive in the middle of the transfer
    hold_commit,  ///< the same, but fetch all of it now: a drive that had it in its buffers, and not on its media
    fail,         ///< do not execute it: complete it with `status`
    // After execution:
    delay_completion,
    hold_completion,
    drop_completion,       ///< never post it
    duplicate_completion,  ///< post it twice
  };
  Action action = Action::delay;
  FaultFilter filter;
  std::chrono::microseconds min{0};
  std::chrono::microseconds max{0};
  Status status = status::kInternalError;
  std::uint64_t count = 0;  ///< ends after this number of commands; 0: when it is removed

  [[nodiscard]] bool before_execution() const { return action <= Action::fail; }
};

/// The faults of one drive. The control socket adds rules and releases held commands. The worker asks for the fate of
/// each command. Any thread. A held command is dropped with its queue or by a reset, and never executed after.
class Faults {
 public:
  using RuleId = std::uint64_t;
  using HeldId = std::uint64_t;

  /// A command, or a completion, that a rule keeps back.
  struct Held {
    HeldId id = 0;
    bool completion = false;  ///< executed already; only its completion waits
    bool timed = false;       ///< delayed, not held: continues by itself
    bool released = false;    ///< continues as soon as the worker comes to it
    std::uint16_t queue = 0;
    std::uint16_t cid = 0;
    std::uint8_t opcode = 0;
    std::uint32_t nsid = 0;
    std::uint64_t lba = 0;  ///< dwords 10 and 11: the first block of an I/O command
  };

  // The control socket's.
  RuleId add(FaultRule rule);
  /// False if there is no such rule (any more). Commands that it holds stay held.
  bool remove(RuleId id);
  void clear();
  struct Active {
    RuleId id;
    FaultRule rule;      ///< count: commands left
    std::uint64_t hits;  ///< commands it acted on
  };
  [[nodiscard]] std::vector<Active> rules() const;

  /// In the order they were held.
  [[nodiscard]] std::vector<Held> held() const;
  /// Lets a held command or completion continue, a delayed one too. False if there is no such one (any more).
  bool release(HeldId id);
  /// Returns how many.
  std::size_t release_all();
  /// Makes delays repeatable.
  void seed(std::uint64_t value);

  // The worker's.
  /// Called by any thread after a release, to wake the worker. Set before the worker starts.
  void on_release(std::function<void()> wake) { wake_ = std::move(wake); }
  /// False while there is no rule: the fast path of every command.
  [[nodiscard]] bool armed() const { return armed_.load(std::memory_order_relaxed); }
  struct Verdict {
    RuleId rule;
    FaultRule::Action action;
    std::chrono::microseconds delay;
    Status status;
  };
  [[nodiscard]] std::optional<Verdict> judge(std::uint16_t sq, const SubmissionEntry& entry, bool before_execution);
  /// Records a command or completion that the worker holds, so that it can be listed and released.
  HeldId hold(std::uint16_t sq, const SubmissionEntry& entry, bool completion, bool timed);
  /// The worker does not hold it any more, for any reason.
  void drop_held(HeldId id);
  /// Those released since the last take_released().
  [[nodiscard]] bool any_released() const { return any_released_.load(); }
  [[nodiscard]] std::vector<HeldId> take_released();

 private:
  mutable std::mutex mutex_;  // guards all below that is not atomic
  std::map<RuleId, Active> rules_;
  std::map<HeldId, Held> held_;
  std::vector<HeldId> released_;
  RuleId next_rule_ = 1;
  HeldId next_held_ = 1;
  std::mt19937_64 random_{1};
  std::atomic<bool> armed_{false};
  std::atomic<bool> any_released_{false};
  std::function<void()> wake_;
};

}  // namespace smartio::nvme
