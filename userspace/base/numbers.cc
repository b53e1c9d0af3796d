// SPDX-License-Identifier: GPL-2.0
#include "base/numbers.h"

#include <charconv>

namespace smartio {

namespace {

constexpr std::string_view kUnits = "KMGT";

std::optional<std::uint64_t> parse_digits(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::uint64_t> parse_number(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) return parse_digits(text.substr(2), 16);
  return parse_digits(text, 10);
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::size_t shift = 0;
  if (const auto unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
      unit != std::string_view::npos) {
    shift = (unit + 1) * 10;
    text.remove_suffix(1);
  }
  const auto value = parse_digits(text, 10);
  if (!value || *value > UINT64_MAX >> shift) return std::nullopt;
  return *value << shift;
}

std::string format_size(std::uint64_t bytes) {
  std::size_t unit = 0;
  while (unit < kUnits.size() && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + std::string(kUnits.substr(0, unit).substr(unit == 0 ? 0 : unit - 1));
}

}  // namespace smartio
