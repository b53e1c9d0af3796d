// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartio::ctl {

/// Which hosts may borrow a device of this host. Without a rule any host may.
struct Rule {
  std::string pci;                 ///< "0000:01:00.0", which is the file's name too
  std::vector<std::string> hosts;  ///< UUIDs; none: no other host may
  std::vector<std::string> names;  ///< of each, for people; empty if it is not known
};

/// The rules, one file each in a folder: /etc/smartio/allow.d/0000:01:00.0.conf, TOML.
class Rules {
 public:
  struct Broken {
    std::string pci;  ///< empty if the file's name is no address
    std::string complaint;
  };
  struct Found {
    std::vector<Rule> rules;     ///< by address
    std::vector<Broken> broken;  ///< files that can't be read as one, and why
  };

  explicit Rules(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] Found read() const;
  /// Whether there is a file for that device.
  [[nodiscard]] bool has(const std::string& pci) const;
  /// Writes the file whole or not at all; it is on the disk when this returns.
  [[nodiscard]] Result<void> keep(const Rule& rule) const;
  /// True if there was one.
  [[nodiscard]] Result<bool> forget(const std::string& pci) const;
  [[nodiscard]] std::filesystem::path file(const std::string& pci) const { return folder_ / (pci + ".conf"); }

 private:
  std::filesystem::path folder_;
};

/// Whether that is a UUID as the kernel reads it.
bool is_uuid(std::string_view text);

}  // namespace smartio::ctl
