// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>

#include "fabric/nvme/spec.h"

namespace smartio::nvme {

/// Which value Get Features asks for (section 5.13.1).
enum class FeatureSelect : std::uint8_t { current = 0, initial = 1, saved = 2, capabilities = 3 };

/// The controller's features whose value is a dword, and the timestamp. Temperature thresholds are Health's, and those
/// of queues and interrupts the queue engine's. Not thread-safe.
class Features {
 public:
  /// Optional features as the drive has them.
  explicit Features(bool volatile_cache) : volatile_cache_(volatile_cache) {}

  /// Whether this class keeps the feature.
  [[nodiscard]] bool knows(std::uint8_t id) const { return row(id) != nullptr; }
  /// Whether values can be saved, as bit 0 of Get Features' capabilities says.
  [[nodiscard]] bool saveable(std::uint8_t id) const;

  /// Invalid Field in Command for a feature that is not known.
  [[nodiscard]] std::expected<std::uint32_t, Status> get(std::uint8_t id, FeatureSelect select) const;
  /// Checks and takes a value, for good if `save`. Statuses as Set Features gives them.
  Status set(std::uint8_t id, std::uint32_t value, bool save);
  /// Controller reset: current values fall back to saved ones, or to the defaults.
  void reset();

  [[nodiscard]] std::uint32_t current(FeatureId id) const;

  /// Milliseconds since 1970 as the host set them, or since the controller was made; 48 bits, then origin and flags
  /// (section 5.21.1.14).
  void set_timestamp(std::uint64_t milliseconds);
  [[nodiscard]] std::uint64_t timestamp() const;

 private:
  static constexpr std::size_t kRows = 7;
  struct Row {
    FeatureId id;
    bool saveable;
    std::uint32_t initial;
    std::uint32_t allowed;  ///< bits that may be set
    std::uint32_t maximum;
  };
  static const std::array<Row, kRows> kTable;
  struct Value {
    std::optional<std::uint32_t> current;
    std::optional<std::uint32_t> saved;
  };

  [[nodiscard]] const Row* row(std::uint8_t id) const;
  [[nodiscard]] static std::size_t index(const Row& row) { return static_cast<std::size_t>(&row - kTable.data()); }

  bool volatile_cache_;
  std::array<Value, kRows> values_{};
  std::uint64_t timestamp_base_ = 0;
  bool timestamp_set_ = false;
  std::chrono::steady_clock::time_point timestamp_at_ = std::chrono::steady_clock::now();
};

}  // namespace smartio::nvme
