// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/conf.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/text.h"
#include "base/unique_fd.h"
#include "smartioctl/text.h"

namespace smartio::ctl {

namespace {

/// A file of ours is some hundred bytes; one with the most hosts, four thousand.
constexpr std::uintmax_t kLargestFile = 16 * 1024;

}  // namespace

Result<std::string> conf_address(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error) return fail(error.message());
  if (size > kLargestFile) return fail(fmt::format("it is larger than {} KiB", kLargestFile / 1024));
  const auto address = parse_pci_address(file.stem().string());
  if (!address || *address != file.stem()) return fail("its name is not a PCI address such as 0000:01:00.0.conf");
  return *address;
}

Result<void> write_conf(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path folder = file.parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(fmt::format("{}: {}", folder.string(), error.message()));
  const std::string part = file.string() + ".part";
  UniqueFd fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  const bool written = fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd.get()) == 0 && ::rename(part.c_str(), file.c_str()) == 0;
  if (!written) return fail(fmt::format("{}: {}", file.string(), std::strerror(errno)));
  const UniqueFd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) ::fsync(directory.get());
  return {};
}

Result<bool> remove_conf(const std::filesystem::path& file) {
  std::error_code error;
  const bool was = std::filesystem::remove(file, error);
  if (error) return fail(fmt::format("{}: {}", file.string(), error.message()));
  return was;
}

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

}  // namespace smartio::ctl
