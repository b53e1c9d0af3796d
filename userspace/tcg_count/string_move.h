// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace smartio::tcg_count {

/// The bytes that each step of an x86-64 string move (MOVS, with or without a repeat prefix) copies: 1, 2, 4 or 8; 0 if
/// the instruction is another one. With FSRM, which the emulated CPU has, Linux copies memory and users' data so.
std::size_t string_move_bytes(std::span<const std::uint8_t> instruction);

}  // namespace smartio::tcg_count
