// SPDX-License-Identifier: GPL-2.0
#include "tcg_count/string_move.h"

namespace smartio::tcg_count {

std::size_t string_move_bytes(std::span<const std::uint8_t> instruction) {
  constexpr std::uint8_t kRexW = 0x08;
  bool half = false;
  bool wide = false;
  for (const std::uint8_t byte : instruction) {
    switch (byte) {
      case 0x66:
        half = true;
        break;
      case 0x26:
      case 0x2E:
      case 0x36:
      case 0x3E:
      case 0x64:
      case 0x65:
      case 0x67:
      case 0xF2:
      case 0xF3:
        break;
      case 0xA4:
        return 1;
      case 0xA5:
        if (wide) return 8;
        return half ? 2 : 4;
      default:
        if ((byte & 0xF0U) != 0x40) return 0;
        wide = (byte & kRexW) != 0;
        continue;  // a REX prefix holds only for the opcode right behind it
    }
    wide = false;
  }
  return 0;
}

}  // namespace smartio::tcg_count
