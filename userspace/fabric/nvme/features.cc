// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/features.h"

namespace smartio::nvme {

// Values of section 5.21.1. "allowed" has the bits that this controller understands. A bit for something that it does
// not have (DULBE of Error Recovery, events it never sends) is refused, not silently kept.
const std::array<Features::Row, Features::kRows> Features::kTable{{
    {FeatureId::arbitration, true, 0x07, 0xFFFFFF07, 0xFFFFFFFF},
    {FeatureId::power_management, false, 0, 0xFF, 0},  // one power state, so PS 0 and no workload hint
    {FeatureId::error_recovery, false, 0, 0xFFFF, 0xFFFF},
    {FeatureId::volatile_write_cache, true, 1, 1, 1},
    {FeatureId::write_atomicity, false, 0, 1, 1},
    {FeatureId::async_event_configuration, false, 0, 0x1FF, 0x1FF},
    {FeatureId::software_progress_marker, true, 0, 0xFF, 0xFF},
}};

const Features::Row* Features::row(std::uint8_t id) const {
  for (const Row& row : kTable) {
    if (static_cast<std::uint8_t>(row.id) != id) continue;
    return row.id == FeatureId::volatile_write_cache && !volatile_cache_ ? nullptr : &row;
  }
  return nullptr;
}

bool Features::saveable(std::uint8_t id) const {
  const Row* found = row(id);
  return found != nullptr && found->saveable;
}

std::expected<std::uint32_t, Status> Features::get(std::uint8_t id, FeatureSelect select) const {
  const Row* found = row(id);
  if (found == nullptr) return std::unexpected(status::kInvalidField);
  const Value& value = values_[index(*found)];
  const std::uint32_t saved = value.saved.value_or(found->initial);
  switch (select) {
    case FeatureSelect::current:
      return value.current.value_or(saved);
    case FeatureSelect::initial:
      return found->initial;
    case FeatureSelect::saved:
      return saved;
    case FeatureSelect::capabilities:
      return (found->saveable ? 1U : 0U) | 1U << 2U;  // changeable, and not namespace specific
  }
  return std::unexpected(status::kInvalidField);
}

Status Features::set(std::uint8_t id, std::uint32_t value, bool save) {
  const Row* found = row(id);
  if (found == nullptr) return status::kInvalidField;
  if (save && !found->saveable) return status::kFeatureNotSaveable;
  if ((value & ~found->allowed) != 0 || value > found->maximum) return status::kInvalidField;
  values_[index(*found)].current = value;
  if (save) values_[index(*found)].saved = value;
  return status::kSuccess;
}

void Features::reset() {
  for (Value& value : values_) value.current.reset();
}

std::uint32_t Features::current(FeatureId id) const {
  return get(static_cast<std::uint8_t>(id), FeatureSelect::current).value_or(0);
}

void Features::set_timestamp(std::uint64_t milliseconds) {
  timestamp_base_ = milliseconds & 0xFFFFFFFFFFFF;
  timestamp_set_ = true;
  timestamp_at_ = std::chrono::steady_clock::now();
}

std::uint64_t Features::timestamp() const {
  const auto since =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - timestamp_at_);
  const std::uint64_t now = (timestamp_base_ + static_cast<std::uint64_t>(since.count())) & 0xFFFFFFFFFFFF;
  return now | (timestamp_set_ ? 1ULL << 49U : 0);
}

}  // namespace smartio::nvme
