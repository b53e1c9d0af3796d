// SPDX-License-Identifier: GPL-2.0
// Functions that can fail in normal use return Result<T>. Exceptions are for set-up, and for bench/, where any error
// ends the run.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace smartio {

/// Why an operation failed, as one sentence for a person: the operation, its object, and the remedy.
struct Error {
  std::string message;
};

template <typename T>
using Result = std::expected<T, Error>;

/// `return fail(fmt::format(...));` in a function that returns a Result.
inline std::unexpected<Error> fail(std::string message) { return std::unexpected(Error{std::move(message)}); }

}  // namespace smartio
