// SPDX-License-Identifier: GPL-2.0
// Text from files, sockets and command lines: any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smartio {

/// Words apart by white space. They are views of `text`.
std::vector<std::string_view> words_of(std::string_view text);
/// The lines, without their ends. They are views of `text`.
std::vector<std::string_view> lines_of(std::string_view text);
/// Without white space at both ends.
std::string_view trimmed(std::string_view text);
/// Fit for a terminal and for JSON: printable ASCII as it is, each other byte a '?'; at most `most` bytes.
std::string printable(std::string_view text, std::size_t most = 256);
/// FNV-1a, 64 bits. `basis` begins another series of hashes than the usual one.
constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325;
std::uint64_t fnv1a(std::string_view text, std::uint64_t basis = kFnvBasis);

}  // namespace smartio
