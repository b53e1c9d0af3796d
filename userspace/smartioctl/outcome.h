// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <expected>
#include <string>
#include <system_error>
#include <utility>

namespace smartio::ctl {

/// Exit statuses; the manual page explains them.
enum class Exit { kDone = 0, kFailed = 1, kUsage = 2, kProblems = 3, kInUse = 4 };

/// Why something was not done, and with which status to end.
struct Refusal {
  std::string message;
  Exit status = Exit::kFailed;
};
template <typename T>
using Outcome = std::expected<T, Refusal>;
inline std::unexpected<Refusal> refuse(std::string message, Exit status = Exit::kFailed) {
  return std::unexpected(Refusal{std::move(message), status});
}

/// The kernel's answer to a write, for a person.
inline std::string reason(std::error_code error) {
  if (error.value() == EACCES || error.value() == EPERM) return "not permitted: run it as root";
  return error.message();
}

}  // namespace smartio::ctl
