// SPDX-License-Identifier: GPL-2.0
#include "fabric/control/values.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "base/numbers.h"
#include "base/text.h"

namespace smartio::control {

namespace {

std::string shown(std::string_view word) { return "'" + printable(word, 40) + "'"; }

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

}  // namespace

Result<std::uint64_t> number_of(std::string_view word, std::uint64_t most) {
  const auto value = parse_number(word);
  if (!value || *value > most) {
    if (most == UINT64_MAX) return fail(fmt::format("{} is not a whole number such as 42 or 0x2a", shown(word)));
    return fail(fmt::format("{} is not a whole number from 0 to {}", shown(word), most));
  }
  return *value;
}

Result<std::uint64_t> size_of(std::string_view word) {
  if (const auto value = parse_size(word)) return *value;
  return fail(fmt::format("{} is not a size such as 4096, 64K or 2G", shown(word)));
}

Result<std::chrono::nanoseconds> duration_of(std::string_view word) {
  // "s" last: the others end with it too.
  constexpr std::array<Unit, 4> kUnits{{{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}};
  constexpr std::uint64_t kDay = 86'400ULL * 1'000'000'000;
  for (const auto& unit : kUnits) {
    if (!word.ends_with(unit.name)) continue;
    const auto value = parse_number(word.substr(0, word.size() - unit.name.size()));
    if (!value || *value > kDay / unit.factor) break;
    return std::chrono::nanoseconds(*value * unit.factor);
  }
  return fail(fmt::format("{} is not a time such as 500us, 5ms or 2s, up to a day", shown(word)));
}

}  // namespace smartio::control
