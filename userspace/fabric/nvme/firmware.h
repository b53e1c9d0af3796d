// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/nvme/spec.h"
#include "fabric/nvme/spec_log.h"

namespace smartio::nvme {

/// Firmware slots of the drive. An image is anything that starts with kMagic and an eight character revision; only the
/// revision has an effect. Slot 1 holds the drive's first firmware and is read only. Not thread-safe.
class Firmware {
 public:
  static constexpr unsigned kSlots = 3;
  static constexpr std::string_view kMagic = "SMARTIO FIRMWARE";
  static constexpr std::string_view kFactoryRevision = "1.0";
  static constexpr std::size_t kMaxImage = 1 << 20;

  Firmware() { slots_[0] = kFactoryRevision; }

  /// A piece of an image, at `offset` bytes. Overlapping pieces: Overlapping Range; too large: Invalid Field.
  Status download(std::uint64_t offset, std::span<const std::byte> piece);
  /// Firmware Commit (section 5.12): `action` and `slot` as in its dword 10.
  Status commit(unsigned action, unsigned slot);
  /// Controller reset: a committed image is activated, and a half downloaded one is dropped.
  void reset();

  [[nodiscard]] const std::string& revision() const { return *slots_[active_ - 1]; }
  [[nodiscard]] FirmwareSlotLog page() const;

 private:
  struct Piece {
    std::uint64_t begin;
    std::uint64_t end;
  };

  std::array<std::optional<std::string>, kSlots> slots_;
  unsigned active_ = 1;
  unsigned next_ = 0;  ///< slot after the next reset, 0: the same
  std::vector<std::byte> image_;
  std::vector<Piece> pieces_;
};

}  // namespace smartio::nvme
