// SPDX-License-Identifier: GPL-2.0
#include "fabric/control/values.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>

namespace smartio::control {

namespace {

std::string quoted(std::string_view word) {
  std::string out;
  for (const char c : word.substr(0, 40)) out += c >= ' ' && c < 0x7f ? c : '?';
  return "'" + out + "'";
}

std::optional<std::uint64_t> whole(std::string_view digits) {
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

}  // namespace

Result<std::uint64_t> parse_number(std::string_view word, std::uint64_t most) {
  const auto value = whole(word);
  if (!value || *value > most) {
    if (most == UINT64_MAX) return fail(fmt::format("{} is not a whole number such as 42 or 0x2a", quoted(word)));
    return fail(fmt::format("{} is not a whole number from 0 to {}", quoted(word), most));
  }
  return *value;
}

Result<std::uint64_t> parse_size(std::string_view word) {
  constexpr std::array<Unit, 4> kUnits{{{"K", 1ULL << 10}, {"M", 1ULL << 20}, {"G", 1ULL << 30}, {"T", 1ULL << 40}}};
  auto digits = word;
  std::uint64_t factor = 1;
  for (const auto& unit : kUnits) {
    if (digits.ends_with(unit.name)) {
      digits.remove_suffix(unit.name.size());
      factor = unit.factor;
      break;
    }
  }
  const auto value = whole(digits);
  if (!value || *value > UINT64_MAX / factor)
    return fail(fmt::format("{} is not a size such as 4096, 64K or 2G", quoted(word)));
  return *value * factor;
}

Result<std::chrono::nanoseconds> parse_duration(std::string_view word) {
  // "s" last: the others end with it too.
  constexpr std::array<Unit, 4> kUnits{{{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}};
  constexpr std::uint64_t kDay = 86'400ULL * 1'000'000'000;
  for (const auto& unit : kUnits) {
    if (!word.ends_with(unit.name)) continue;
    const auto value = whole(word.substr(0, word.size() - unit.name.size()));
    if (!value || *value > kDay / unit.factor) break;
    return std::chrono::nanoseconds(*value * unit.factor);
  }
  return fail(fmt::format("{} is not a time such as 500us, 5ms or 2s, up to a day", quoted(word)));
}

}  // namespace smartio::control
