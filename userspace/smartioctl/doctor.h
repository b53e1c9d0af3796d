// SPDX-License-Identifier: GPL-2.0
// The effects of a machine's hardware and its settings on lending and borrowing, in plain words.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "smartioctl/machine.h"

namespace smartio::ctl {

/// From harmless to harmful.
enum class Level {
  works,
  unknown,  ///< it could not be seen
  slow,
  risk,  ///< it works, and another host gets at more than it should
  fails,
};

/// The role that a finding counts for.
enum class Role { lend, borrow, both };

struct Finding {
  Level level = Level::works;
  Role role = Role::both;
  std::string id;       ///< a word for programs: "window-size"
  std::string subject;  ///< the PCI address that it is about; empty: the machine
  std::string text;
  std::string advice;  ///< the setting to change; empty: none
};

struct Diagnosis {
  std::vector<Finding> findings;
  std::optional<Level> lend;    ///< none: there is no drive
  std::optional<Level> borrow;  ///< none: there is no NTB
  /// Whether something does not work.
  [[nodiscard]] bool fails() const;
};

Diagnosis diagnose(const Machine& machine);
std::string doctor_text(const Machine& machine, const Diagnosis& diagnosis);
nlohmann::json doctor_json(const Machine& machine, const Diagnosis& diagnosis);

}  // namespace smartio::ctl
