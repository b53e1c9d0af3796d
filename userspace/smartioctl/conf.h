// SPDX-License-Identifier: GPL-2.0
// The files that this tool keeps below /etc/smartio: one a device, FOLDER/0000:01:00.0.conf, TOML.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smartio::ctl {

/// The PCI address that a file is named after; an error if it has another name or is larger than any of ours.
Result<std::string> conf_address(const std::filesystem::path& file);
/// Writes a file whole or not at all, and its folder; it is on the disk when this returns.
Result<void> write_conf(const std::filesystem::path& file, const std::string& text);
/// True if there was one.
Result<bool> remove_conf(const std::filesystem::path& file);
/// A string as TOML has it, without unprintable characters.
std::string toml_string(std::string_view text);

}  // namespace smartio::ctl
