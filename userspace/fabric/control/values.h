// SPDX-License-Identifier: GPL-2.0
// The values that commands take, from their words. Errors name the accepted values.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace smartio::control {

/// A whole number, decimal or 0x…, at most `most`.
Result<std::uint64_t> number_of(std::string_view word, std::uint64_t most = UINT64_MAX);

/// Bytes: a number with K, M, G or T (powers of 1024), or without.
Result<std::uint64_t> size_of(std::string_view word);

/// A time: a number with ns, us, ms or s; one day at most.
Result<std::chrono::nanoseconds> duration_of(std::string_view word);

}  // namespace smartio::control
