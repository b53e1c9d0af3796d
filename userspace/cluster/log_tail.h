// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace smartio::cluster {

/// The last lines of a log, without control characters and carriage returns; empty if there is none.
std::string last_lines(const std::filesystem::path& file, std::size_t count);
/// The same of a text.
std::string last_lines_of(std::string_view text, std::size_t count);
/// The stage of a boot, by its console's output: "before its console said anything".
std::string_view boot_stage(std::string_view console);

}  // namespace smartio::cluster
