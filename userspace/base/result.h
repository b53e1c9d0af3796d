// SPDX-License-Identifier: GPL-2.0
// Functions that can fail in normal use return Result<T>. Exceptions are for set-up, and for bench/, where any error
// ends the run.
#pragma once

#include <expected>
#include <stdexcept>
#include <string>
#include <type_traits>
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

/// For set-up and bench/, where any error ends the run: throws it as std::runtime_error.
template <typename T>
T checked(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace smartio
