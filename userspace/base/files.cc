// SPDX-License-Identifier: GPL-2.0
#include "base/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <format>
#include <fstream>
#include <iterator>
#include <system_error>

namespace smartio {

Result<std::string> read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) return fail(std::format("{} can't be read", file.string()));
  return text;
}

Result<void> write_file(const std::filesystem::path& file, std::string_view text) {
  const std::filesystem::path part = std::format("{}.{}.part", file.string(), ::getpid());
  {
    std::ofstream stream(part, std::ios::binary | std::ios::trunc);
    stream.write(text.data(), static_cast<std::streamsize>(text.size()));
    stream.flush();
    if (!stream) return fail(std::format("{} can't be written: {}", part.string(), std::strerror(errno)));
  }
  std::error_code error;
  std::filesystem::rename(part, file, error);
  if (error) return fail(std::format("{} can't be written: {}", file.string(), error.message()));
  return {};
}

}  // namespace smartio
