// SPDX-License-Identifier: GPL-2.0
#include "topology/table_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/numbers.h"
#include "topology/topology.h"

namespace smartio::topology {

namespace {

constexpr std::string_view kRightName = "names are lower-case letters, digits and '-', a letter first, at most 32";
constexpr std::size_t kLongestName = 32;

/// The value as the file has it, short enough for a message.
std::string shown(const toml::node& node) {
  std::string text;
  if (auto s = node.value_exact<std::string>()) {
    text = fmt::format("{:?}", *s);
  } else if (auto i = node.value_exact<std::int64_t>()) {
    text = fmt::format("{}", *i);
  } else if (auto b = node.value_exact<bool>()) {
    text = *b ? "true" : "false";
  } else if (auto f = node.value_exact<double>()) {
    text = fmt::format("{}", *f);
  } else if (node.is_array()) {
    text = "an array";
  } else if (node.is_table()) {
    text = "a table";
  } else {
    text = "a date or time";
  }
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

}  // namespace

bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName || name.front() < 'a' || name.front() > 'z') return false;
  return std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

void Complaints::add(const toml::source_region& where, std::string_view wrong, std::string_view right) {
  if (first_) return;
  first_ = Error{fmt::format("{}:{}: {}; {}", file_, where.begin.line, wrong, right)};
}

const toml::source_region& TableReader::where(std::string_view key) const {
  const toml::node* node = table_.get(key);
  return node != nullptr ? node->source() : table_.source();
}

void TableReader::complain(std::string_view key, std::string_view wrong, std::string_view right) {
  complaints_.add(where(key), fmt::format("{}: {}", what_, wrong), right);
}

const toml::node* TableReader::find(std::string_view key, bool required, std::string_view right) {
  known_.emplace(key);
  const toml::node* node = table_.get(key);
  if (node == nullptr && required) complain(key, fmt::format("{} is missing", key), right);
  return node;
}

std::string TableReader::name(std::string_view key) {
  std::string value = text(key, kRightName);
  if (!complaints_.any() && !is_name(value)) {
    complain(key, fmt::format("{} = {:?} is not a name", key, value), kRightName);
  }
  return value;
}

std::string TableReader::text(std::string_view key, std::string_view right) {
  const toml::node* node = find(key, true, right);
  if (node == nullptr) return {};
  if (auto value = node->value_exact<std::string>()) return *value;
  complain(key, fmt::format("{} = {} is not a string", key, shown(*node)), right);
  return {};
}

std::uint64_t TableReader::number(std::string_view key, std::uint64_t otherwise, Range range) {
  const std::string right = fmt::format("it is a whole number from {} to {}", range.low, range.high);
  const toml::node* node = find(key, false, right);
  if (node == nullptr) return otherwise;
  if (auto value = node->value_exact<std::int64_t>(); value && *value >= 0) {
    auto number = static_cast<std::uint64_t>(*value);
    if (number >= range.low && number <= range.high) return number;
  }
  complain(key, fmt::format("{} = {} is not possible", key, shown(*node)), right);
  return otherwise;
}

std::optional<std::uint64_t> TableReader::size_of(const toml::node& node) {
  if (auto value = node.value_exact<std::int64_t>(); value && *value >= 0) return static_cast<std::uint64_t>(*value);
  if (auto value = node.value_exact<std::string>()) {
    if (auto size = parse_size(*value)) return *size;
  }
  return std::nullopt;
}

std::uint64_t TableReader::size(std::string_view key, std::optional<std::uint64_t> otherwise, std::string_view right) {
  const toml::node* node = find(key, !otherwise, right);
  if (node == nullptr) return otherwise.value_or(0);
  if (auto size = size_of(*node)) return *size;
  complain(key, fmt::format("{} = {} is not a size", key, shown(*node)), right);
  return otherwise.value_or(0);
}

bool TableReader::boolean(std::string_view key, bool otherwise) {
  constexpr std::string_view kRight = "it is true or false, without quotes";
  const toml::node* node = find(key, false, kRight);
  if (node == nullptr) return otherwise;
  if (auto value = node->value_exact<bool>()) return *value;
  complain(key, fmt::format("{} = {} is neither true nor false", key, shown(*node)), kRight);
  return otherwise;
}

std::vector<std::uint64_t> TableReader::sizes(std::string_view key, std::vector<std::uint64_t> otherwise,
                                              std::string_view right) {
  const toml::node* node = find(key, false, right);
  if (node == nullptr) return otherwise;
  const toml::array* array = node->as_array();
  if (array == nullptr || array->size() != otherwise.size()) {
    complain(key, fmt::format("{} = {} does not have {} sizes", key, shown(*node), otherwise.size()), right);
    return otherwise;
  }
  std::vector<std::uint64_t> found;
  for (const toml::node& element : *array) {
    if (auto size = size_of(element)) {
      found.push_back(*size);
    } else {
      complain(key, fmt::format("{}: {} is not a size", key, shown(element)), right);
      return otherwise;
    }
  }
  return found;
}

std::vector<std::string> TableReader::texts(std::string_view key, std::string_view right) {
  const toml::node* node = find(key, true, right);
  if (node == nullptr) return {};
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    complain(key, fmt::format("{} = {} is not an array", key, shown(*node)), right);
    return {};
  }
  std::vector<std::string> found;
  for (const toml::node& element : *array) {
    if (auto value = element.value_exact<std::string>()) {
      found.push_back(*value);
    } else {
      complain(key, fmt::format("{}: {} is not a string", key, shown(element)), right);
      return {};
    }
  }
  return found;
}

std::vector<const toml::table*> TableReader::tables(std::string_view key, std::string_view right) {
  const toml::node* node = find(key, false, right);
  if (node == nullptr) return {};
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    complain(key, fmt::format("{} is not an array of tables", key), right);
    return {};
  }
  std::vector<const toml::table*> found;
  for (const toml::node& element : *array) {
    const toml::table* table = element.as_table();
    if (table == nullptr) {
      complain(key, fmt::format("{}: {} is not a table", key, shown(element)), right);
      return {};
    }
    found.push_back(table);
  }
  return found;
}

const toml::table* TableReader::table(std::string_view key) {
  const toml::node* node = find(key, false, {});
  return node == nullptr ? nullptr : node->as_table();
}

void TableReader::finish() {
  for (const auto& [key, node] : table_) {
    if (known_.contains(key.str())) continue;
    complaints_.add(key.source(), fmt::format("{}: unknown key {:?}", what_, key.str()),
                    fmt::format("the keys here are {}", fmt::join(known_, ", ")));
    return;
  }
}

}  // namespace smartio::topology
