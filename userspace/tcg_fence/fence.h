// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstdint>
#include <span>

namespace smartio::tcg_fence {

/// Whether a machine instruction of x86 is SFENCE or MFENCE, which evict write-combining buffers. `instruction` has
/// the bytes of one instruction.
constexpr bool is_fence(std::span<const std::uint8_t> instruction) {
  return instruction.size() == 3 && instruction[0] == 0x0F && instruction[1] == 0xAE && instruction[2] >= 0xF0;
}

}  // namespace smartio::tcg_fence
