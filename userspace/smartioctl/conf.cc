// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/conf.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
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
  return write_file_durably(file, text);
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
