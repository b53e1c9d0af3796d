// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/faults.h"

#include <algorithm>
#include <utility>

namespace smartio::nvme {
namespace {

using Class = FaultFilter::Opcode;

Class class_of(std::uint8_t opcode) {
  switch (static_cast<IoOpcode>(opcode)) {
    case IoOpcode::flush:
      return Class::flush;
    case IoOpcode::read:
    case IoOpcode::compare:
    case IoOpcode::verify:
      return Class::read;
    case IoOpcode::write:
    case IoOpcode::write_uncorrectable:
    case IoOpcode::write_zeroes:
    case IoOpcode::dataset_management:
    case IoOpcode::copy:
      return Class::write;
  }
  return Class::any;  // an opcode that is in no class: only a rule for any matches it
}

}  // namespace

bool FaultFilter::matches(std::uint16_t sq, const SubmissionEntry& entry) const {
  if (queue ? *queue != sq : sq == 0) return false;
  if (nsid != 0 && nsid != entry.nsid) return false;
  if (opcode == Opcode::any) return true;
  return sq != 0 && class_of(entry.opcode) == opcode;
}

Faults::RuleId Faults::add(FaultRule rule) {
  const std::lock_guard lock(mutex_);
  rule.max = std::max(rule.min, rule.max);
  const RuleId id = next_rule_++;
  rules_.emplace(id, Active{id, rule, 0});
  armed_ = true;
  return id;
}

bool Faults::remove(RuleId id) {
  const std::lock_guard lock(mutex_);
  const bool found = rules_.erase(id) != 0;
  armed_ = !rules_.empty();
  return found;
}

void Faults::clear() {
  const std::lock_guard lock(mutex_);
  rules_.clear();
  armed_ = false;
}

std::vector<Faults::Active> Faults::rules() const {
  const std::lock_guard lock(mutex_);
  std::vector<Active> all;
  for (const auto& [id, active] : rules_) all.push_back(active);
  return all;
}

std::vector<Faults::Held> Faults::held() const {
  const std::lock_guard lock(mutex_);
  std::vector<Held> all;
  for (const auto& [id, held] : held_) all.push_back(held);
  return all;
}

bool Faults::release(HeldId id) {
  {
    const std::lock_guard lock(mutex_);
    const auto it = held_.find(id);
    if (it == held_.end()) return false;
    it->second.released = true;
    released_.push_back(id);
    any_released_ = true;
  }
  if (wake_) wake_();
  return true;
}

std::size_t Faults::release_all() {
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, held] : held_) {
      held.released = true;
      released_.push_back(id);
    }
    count = held_.size();
    any_released_ = count != 0 || any_released_;
  }
  if (count != 0 && wake_) wake_();
  return count;
}

void Faults::seed(std::uint64_t value) {
  const std::lock_guard lock(mutex_);
  random_.seed(value);
}

std::optional<Faults::Verdict> Faults::judge(std::uint16_t sq, const SubmissionEntry& entry, bool before_execution) {
  const std::lock_guard lock(mutex_);
  for (auto it = rules_.begin(); it != rules_.end(); ++it) {
    Active& active = it->second;
    if (active.rule.before_execution() != before_execution || !active.rule.filter.matches(sq, entry)) continue;
    ++active.hits;
    std::uniform_int_distribution<std::int64_t> spread(active.rule.min.count(), active.rule.max.count());
    const Verdict verdict{it->first, active.rule.action, std::chrono::microseconds(spread(random_)),
                          active.rule.status};
    if (active.rule.count != 0 && --active.rule.count == 0) {
      rules_.erase(it);
      armed_ = !rules_.empty();
    }
    return verdict;
  }
  return std::nullopt;
}

Faults::HeldId Faults::hold(std::uint16_t sq, const SubmissionEntry& entry, bool completion, bool timed) {
  const std::lock_guard lock(mutex_);
  const HeldId id = next_held_++;
  held_.emplace(id, Held{.id = id,
                         .completion = completion,
                         .timed = timed,
                         .queue = sq,
                         .cid = entry.cid,
                         .opcode = entry.opcode,
                         .nsid = entry.nsid,
                         .lba = entry.cdw10 | std::uint64_t{entry.cdw11} << 32});
  return id;
}

void Faults::drop_held(HeldId id) {
  const std::lock_guard lock(mutex_);
  held_.erase(id);
}

std::vector<Faults::HeldId> Faults::take_released() {
  const std::lock_guard lock(mutex_);
  any_released_ = false;
  return std::exchange(released_, {});
}

}  // namespace smartio::nvme
