// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smartio {

/// The whole of a file, also of /proc.
Result<std::string> read_file(const std::filesystem::path& file);
/// Writes a file so that a reader sees the old or the new one, never a part.
Result<void> write_file(const std::filesystem::path& file, std::string_view text);
/// The same, and returns when the file and its name are on the disk.
Result<void> write_file_durably(const std::filesystem::path& file, std::string_view text);

}  // namespace smartio
