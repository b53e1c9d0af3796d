// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/symbols.h"

#include <charconv>
#include <unordered_map>

#include "base/text.h"

namespace smartio::bench {

using nlohmann::json;

Symbols::Symbols(std::string_view kallsyms) {
  for (const std::string_view line : lines_of(kallsyms)) {
    std::uint64_t address = 0;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), address, 16);
    const auto at = static_cast<std::size_t>(rest - line.data());
    // "ADDRESS T name" or "ADDRESS t name\t[module]"
    if (error != std::errc() || line.size() < at + 4 || address == 0) continue;
    if (const char type = line[at + 1]; type != 'T' && type != 't' && type != 'W' && type != 'w') continue;
    std::string name(line.substr(at + 3));
    if (const auto tab = name.find('\t'); tab != std::string::npos) name[tab] = ' ';
    // Of several names the first will do, but not those of the linker.
    if (name.starts_with("__pfx_") || name.starts_with("_stext") || name.starts_with("_text")) continue;
    by_address_.try_emplace(address, std::move(name));
  }
}

std::string_view Symbols::name(std::uint64_t address, std::uint64_t granule) const {
  const auto after = by_address_.upper_bound(address + granule - 1);
  if (after == by_address_.begin()) return "?";
  return std::prev(after)->second;
}

std::map<std::string, double> by_function(const json& from, const json& to, const Symbols& symbols) {
  std::unordered_map<std::uint64_t, double> before;
  for (const json& block : from.at("kernel")) before[block.at(0)] = block.at(1);
  std::map<std::string, double> sums;
  for (const json& block : to.at("kernel")) {
    const std::uint64_t address = block.at(0);
    const auto found = before.find(address);
    const double passed = block.at(1).get<double>() - (found == before.end() ? 0 : found->second);
    if (passed > 0) sums[std::string(symbols.name(address))] += passed;
  }
  sums["(processes)"] = to.at("user").get<double>() - from.at("user").get<double>();
  return sums;
}

}  // namespace smartio::bench
