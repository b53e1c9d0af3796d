// SPDX-License-Identifier: GPL-2.0
#include "base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <format>
#include <fstream>
#include <iterator>

#include "base/unique_fd.h"

namespace smartio {

Result<std::string> read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream.is_open() || stream.bad()) return fail(std::format("{} can't be read", file.string()));
  return text;
}

namespace {

Result<void> write(const std::filesystem::path& file, std::string_view text, bool durable) {
  const std::filesystem::path part = std::format("{}.{}.part", file.string(), ::getpid());
  const auto failed = [&part](const std::filesystem::path& what) {
    const int error = errno;
    ::unlink(part.c_str());
    return fail(std::format("{} can't be written: {}", what.string(), std::strerror(error)));
  };
  UniqueFd fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) return failed(part);
  while (!text.empty()) {
    const ssize_t written = ::write(fd.get(), text.data(), text.size());
    if (written < 0) return failed(part);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (durable && ::fsync(fd.get()) != 0) return failed(part);
  if (::rename(part.c_str(), file.c_str()) != 0) return failed(file);
  if (!durable) return {};
  const UniqueFd folder(
      ::open(file.has_parent_path() ? file.parent_path().c_str() : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) != 0) return failed(file);
  return {};
}

}  // namespace

Result<void> write_file(const std::filesystem::path& file, std::string_view text) { return write(file, text, false); }
Result<void> write_file_durably(const std::filesystem::path& file, std::string_view text) {
  return write(file, text, true);
}

}  // namespace smartio
