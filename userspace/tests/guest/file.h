// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/unique_fd.h"

namespace smartio {

/// Opens a file, 0644 if it is made, closed by exec. `flags`: as for open(2). Throws std::system_error.
inline UniqueFd open_file(const std::filesystem::path& path, int flags) {
  UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC, 0644));
  if (file.get() < 0) throw std::system_error(errno, std::generic_category(), "open " + path.string());
  return file;
}

}  // namespace smartio
