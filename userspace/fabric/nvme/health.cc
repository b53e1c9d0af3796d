// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/health.h"

namespace smartio::nvme {
namespace {

// Data units are thousands of 512 bytes, rounded up (figure 195).
std::uint64_t data_units(std::uint64_t bytes) { return bytes / 512000 + (bytes % 512000 != 0 ? 1 : 0); }

}  // namespace

std::uint8_t Health::critical_warning() const {
  std::uint8_t bits = injected_;
  // All sensors show the composite temperature: the drive has one.
  for (const Thresholds& t : thresholds_) {
    if (temperature_ >= t.over || temperature_ <= t.under) bits |= critical::kTemperature;
  }
  if (spare_ < kSpareThreshold) bits |= critical::kSpare;
  return bits;
}

std::uint64_t Health::power_on_hours() const {
  const auto on = std::chrono::steady_clock::now() - powered_on_;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::hours>(on).count());
}

SmartLog Health::page(std::uint64_t error_log_entries) const {
  SmartLog log{};
  log.critical_warning = critical_warning();
  log.temperature = temperature_;
  log.available_spare = spare_;
  log.spare_threshold = kSpareThreshold;
  log.percentage_used = used_;
  log.data_units_read[0] = data_units(bytes_read_);
  log.data_units_written[0] = data_units(bytes_written_);
  log.host_read_commands[0] = reads_;
  log.host_write_commands[0] = writes_;
  log.power_cycles[0] = power_cycles_;
  log.power_on_hours[0] = power_on_hours();
  log.unsafe_shutdowns[0] = unsafe_shutdowns_;
  log.media_errors[0] = media_errors_;
  log.error_log_entries[0] = error_log_entries;
  log.sensors[0] = temperature_;
  return log;
}

}  // namespace smartio::nvme
