// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <toml++/toml.hpp>
#include <vector>

#include "base/result.h"

namespace smartio::topology {

/// The complaints about one file. Only the first is kept: a person mends that one first, and the later ones are often
/// its consequences. Not for several threads.
class Complaints {
 public:
  explicit Complaints(std::string_view file) : file_(file) {}

  /// "FILE:LINE: the fault; the accepted values"
  void add(const toml::source_region& where, std::string_view wrong, std::string_view right);
  [[nodiscard]] bool any() const { return first_.has_value(); }
  [[nodiscard]] const std::optional<Error>& first() const { return first_; }

 private:
  std::string file_;
  std::optional<Error> first_;
};

/// Reads one TOML table key by key, strictly: a wrong type, a value out of range, a missing or unknown key are
/// complaints. After a complaint a getter returns something harmless, and the whole file is refused in the end.
class TableReader {
 public:
  /// `what` names the table in messages: "[[host]]".
  TableReader(const toml::table& table, std::string_view what, Complaints& complaints)
      : table_(table), what_(what), complaints_(complaints) {}

  struct Range {
    std::uint64_t low;
    std::uint64_t high;
  };

  [[nodiscard]] bool has(std::string_view key) const { return table_.contains(key); }
  /// Where the key's value stands, or the table itself.
  [[nodiscard]] const toml::source_region& where(std::string_view key) const;
  [[nodiscard]] const toml::table& table() const { return table_; }

  /// Lower-case letters, digits and '-', a letter first, 1 to 32 characters.
  std::string name(std::string_view key);
  std::string text(std::string_view key, std::string_view right);
  std::uint64_t number(std::string_view key, std::uint64_t otherwise, Range range);
  /// A size in bytes; `right` names the accepted values, as checks beyond the syntax are the caller's.
  std::uint64_t size(std::string_view key, std::optional<std::uint64_t> otherwise, std::string_view right);
  bool boolean(std::string_view key, bool otherwise);
  /// Exactly two elements, each read by size().
  std::vector<std::uint64_t> sizes(std::string_view key, std::vector<std::uint64_t> otherwise, std::string_view right);
  std::vector<std::string> texts(std::string_view key, std::string_view right);
  /// The elements of [[key]]; none where there is no such key.
  std::vector<const toml::table*> tables(std::string_view key, std::string_view right);

  /// The table that `key` is; null where there is no such key, or one that is no table: another getter reads it then.
  const toml::table* table(std::string_view key);

  /// Says that `key` may be there, for one that no getter above was asked for.
  void known(std::string_view key) { known_.emplace(key); }
  void complain(std::string_view key, std::string_view wrong, std::string_view right);
  /// Complains about the first key that no getter asked for.
  void finish();

 private:
  const toml::node* find(std::string_view key, bool required, std::string_view right);
  std::optional<std::uint64_t> size_of(const toml::node& node);

  const toml::table& table_;
  std::string what_;
  Complaints& complaints_;
  std::set<std::string, std::less<>> known_;
};

/// True if `name` may name a host, a cable or a drive.
bool is_name(std::string_view name);

}  // namespace smartio::topology
