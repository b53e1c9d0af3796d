// SPDX-License-Identifier: GPL-2.0
// Numbers and sizes as people and the kernel write them. Nothing may stand before or behind one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smartio {

/// A whole number, "12" or "0x1f".
std::optional<std::uint64_t> parse_number(std::string_view text);
/// A size in bytes: digits, then nothing, K, M, G or T (powers of 1024).
std::optional<std::uint64_t> parse_size(std::string_view text);
/// The shortest spelling that parse_size() reads back as `bytes`: "64M".
std::string format_size(std::uint64_t bytes);

}  // namespace smartio
