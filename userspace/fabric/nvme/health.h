// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "fabric/nvme/spec_log.h"

namespace smartio::nvme {

/// The content of the SMART / Health log: the drive's counters and its (settable) condition. Not thread-safe.
class Health {
 public:
  static constexpr std::uint16_t kWarningTemperature = 343;   ///< Kelvin, 70 °C
  static constexpr std::uint16_t kCriticalTemperature = 358;  ///< Kelvin, 85 °C
  static constexpr unsigned kSensors = 1;

  /// One temperature threshold pair; sensor 0 is the composite temperature.
  struct Thresholds {
    std::uint16_t over;
    std::uint16_t under;
  };

  Health() { reset_thresholds(); }

  void count_read(std::uint64_t bytes) {
    ++reads_;
    bytes_read_ += bytes;
  }
  void count_write(std::uint64_t bytes) {
    ++writes_;
    bytes_written_ += bytes;
  }
  void count_media_error() { ++media_errors_; }
  /// The host announced the shutdown: the next power cycle is a safe one.
  void count_shutdown() { announced_ = true; }
  /// The drive is in use again after an announced shutdown.
  void count_start() { announced_ = false; }
  void count_power_cycle() {
    ++power_cycles_;
    if (!announced_) ++unsafe_shutdowns_;
    announced_ = false;
  }

  /// Back to the defaults of a controller reset.
  void reset_thresholds() {
    thresholds_.fill({0xFFFF, 0});
    thresholds_[0] = {kWarningTemperature, 0};
  }
  [[nodiscard]] Thresholds& thresholds(unsigned sensor) { return thresholds_[sensor]; }

  void set_injected_warning(std::uint8_t bits) { injected_ = bits; }
  void set_temperature(std::uint16_t kelvin) { temperature_ = kelvin; }
  void set_wear(std::uint8_t spare, std::uint8_t used) {
    spare_ = spare;
    used_ = used;
  }
  /// Critical Warning as the log shows it: injected warnings, and those by the values themselves.
  [[nodiscard]] std::uint8_t critical_warning() const;
  [[nodiscard]] std::uint64_t media_errors() const { return media_errors_; }
  [[nodiscard]] std::uint64_t power_on_hours() const;

  [[nodiscard]] SmartLog page(std::uint64_t error_log_entries) const;

 private:
  static constexpr std::uint8_t kSpareThreshold = 10;

  std::uint64_t reads_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t media_errors_ = 0;
  std::uint64_t power_cycles_ = 1;
  std::uint64_t unsafe_shutdowns_ = 0;
  bool announced_ = false;
  std::uint8_t injected_ = 0;
  std::uint16_t temperature_ = 310;
  std::uint8_t spare_ = 100;
  std::uint8_t used_ = 0;
  std::array<Thresholds, kSensors + 1> thresholds_{};
  std::chrono::steady_clock::time_point powered_on_ = std::chrono::steady_clock::now();
};

}  // namespace smartio::nvme
