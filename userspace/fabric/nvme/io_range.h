// SPDX-License-Identifier: GPL-2.0
// The read-like and write-like commands have this in common: dwords 10 to 12 name blocks (section 6.9, figure 370).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/nvme/drive_state.h"

namespace smartio::nvme {

/// The blocks of a command, checked against its namespace.
struct IoRange {
  Namespace* ns = nullptr;
  std::uint64_t lba = 0;
  std::uint64_t blocks = 0;  ///< 1 to 65536

  [[nodiscard]] std::uint64_t bytes() const { return blocks * ns->store.block_size(); }
};

/// Bits of dword 12.
inline constexpr std::uint32_t kForceUnitAccess = 1U << 30U;
inline constexpr std::uint32_t kDeallocate = 1U << 25U;  ///< Write Zeroes

/// Namespace and range of the command. `transfers`: its data is moved, so MDTS limits it.
inline Status range_of(ActiveCommand& x, bool transfers, IoRange& range) {
  range.ns = x.find_namespace();
  if (range.ns == nullptr) return x.failure();
  const SubmissionEntry& e = x.entry;
  range.lba = std::uint64_t{e.cdw11} << 32U | e.cdw10;
  range.blocks = (e.cdw12 & 0xFFFFU) + 1U;
  // No protection information in any format: PRINFO asks for checks that are not there, and is ignored (section 8.3).
  if (transfers && range.bytes() > x.drive.config.max_transfer()) return x.refuse(status::kInvalidField, at::kDword12);
  if (!range.ns->store.in_range(range.lba, range.blocks)) return x.refuse(status::kLbaOutOfRange, at::kDword10);
  return status::kSuccess;
}

inline Durability durability_of(const ActiveCommand& x) {
  return (x.entry.cdw12 & kForceUnitAccess) != 0 || !x.drive.cache_enabled() ? Durability::durable : Durability::cached;
}

/// The first `bytes` of a buffer of the drive. It grows as needed, to MDTS at most.
inline std::span<std::byte> buffer(std::vector<std::byte>& storage, std::uint64_t bytes) {
  if (storage.size() < bytes) storage.resize(bytes);
  return std::span(storage).first(bytes);
}

}  // namespace smartio::nvme
