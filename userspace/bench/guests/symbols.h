// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace smartio::bench {

/// The functions of one running kernel and its modules, by address.
class Symbols {
 public:
  /// The lines of /proc/kallsyms as root sees them; those that are no code are left out.
  explicit Symbols(std::string_view kallsyms);

  /// "function" or "function [module]"; "?" below the first one. The address stands for `granule` bytes from there, and
  /// a function that begins among them counts.
  [[nodiscard]] std::string_view name(std::uint64_t address, std::uint64_t granule = 16) const;
  /// All of them, by the address they begin at.
  [[nodiscard]] const std::map<std::uint64_t, std::string>& functions() const { return by_address_; }
  [[nodiscard]] bool empty() const { return by_address_.empty(); }

 private:
  std::map<std::uint64_t, std::string> by_address_;
};

/// Instructions by function, of two answers of the plugin to "blocks" the later less the earlier. Code of processes is
/// "(processes)".
std::map<std::string, double> by_function(const nlohmann::json& from, const nlohmann::json& to, const Symbols& symbols);

}  // namespace smartio::bench
