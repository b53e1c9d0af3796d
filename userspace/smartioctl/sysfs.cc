// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/sysfs.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "base/unique_fd.h"
#include "smartioctl/text.h"

namespace smartio::ctl {

namespace {
constexpr std::size_t kLargestAttribute = 64 * 1024;
}

bool Sysfs::exists(const std::string& relative) const {
  std::error_code error;
  return std::filesystem::exists(path(relative), error);
}

std::string Sysfs::read(const std::string& relative) const {
  const UniqueFd fd(::open(path(relative).c_str(), O_RDONLY | O_CLOEXEC));
  std::string result;
  if (!fd) return result;
  char buffer[4096];
  while (result.size() < kLargestAttribute) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    result.append(buffer, static_cast<std::size_t>(got));
  }
  return result;
}

std::string Sysfs::text(const std::string& relative) const { return printable(trimmed(read(relative))); }

std::vector<std::string> Sysfs::list(const std::string& relative) const {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(path(relative), error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> Sysfs::devices(const std::string& relative) const {
  std::vector<std::string> names = list(relative);
  std::error_code error;
  std::erase_if(names,
                [&](const std::string& name) { return !std::filesystem::is_directory(path(relative) / name, error); });
  return names;
}

std::string Sysfs::link(const std::string& relative) const {
  std::error_code error;
  return std::filesystem::read_symlink(path(relative), error).filename().string();
}

std::error_code Sysfs::write(const std::string& relative, std::string_view value) {
  const UniqueFd fd(::open(path(relative).c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return {errno, std::generic_category()};
  while (::write(fd.get(), value.data(), value.size()) < 0) {
    if (errno != EINTR) return {errno, std::generic_category()};
  }
  return {};
}

}  // namespace smartio::ctl
