// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/choices.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <toml++/toml.hpp>

#include "base/text.h"
#include "base/unique_fd.h"
#include "smartioctl/text.h"

namespace smartio::ctl {

namespace {

/// A file of ours is some hundred bytes.
constexpr std::uintmax_t kLargestFile = 16 * 1024;

Result<Choice> read_choice(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error) return fail(error.message());
  if (size > kLargestFile) return fail(fmt::format("it is larger than {} KiB", kLargestFile / 1024));
  Choice choice;
  try {
    const toml::table table = toml::parse_file(file.string());
    choice.vendor = printable(table["vendor"].value_or(std::string()));
    choice.device = printable(table["device"].value_or(std::string()));
    choice.serial = printable(table["serial"].value_or(std::string()));
    choice.model = printable(table["model"].value_or(std::string()));
    choice.as = printable(table["as"].value_or(std::string("nvme")));
    choice.vfs = table["vfs"].value_or(0U);
    choice.permissions = {.trust_borrowers = table["trust_borrowers"].value_or(false),
                          .shared_group = table["shared_group"].value_or(false)};
  } catch (const toml::parse_error& bad) {
    return fail(fmt::format("line {}: {}", bad.source().begin.line, bad.description()));
  }
  const auto address = parse_pci_address(file.stem().string());
  if (!address || *address != file.stem()) return fail("its name is not a PCI address such as 0000:01:00.0.conf");
  choice.pci = *address;
  if (choice.as != "nvme" && choice.as != "pci") return fail("as is neither \"nvme\" nor \"pci\"");
  if (choice.vendor.empty() || choice.device.empty()) return fail("it lacks vendor or device");
  return choice;
}

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

}  // namespace

Choices::Found Choices::read() const {
  Found found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() != ".conf") continue;
    if (auto choice = read_choice(at->path())) {
      found.choices.push_back(std::move(*choice));
    } else {
      found.complaints.push_back(fmt::format("{}: {}; mend or remove it", at->path().string(), choice.error().message));
    }
  }
  std::ranges::sort(found.choices, {}, &Choice::pci);
  return found;
}

Result<void> Choices::keep(const Choice& choice) const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return fail(fmt::format("{}: {}", folder_.string(), error.message()));
  std::string text = fmt::format(
      "# Lent at every boot; made by smartioctl lend --persist, forgotten by smartioctl unlend --persist.\n"
      "vendor = {}\ndevice = {}\nserial = {}\nmodel = {}\n",
      toml_string(choice.vendor), toml_string(choice.device), toml_string(choice.serial), toml_string(choice.model));
  if (choice.as != "nvme") text += fmt::format("as = {}\n", toml_string(choice.as));
  if (choice.vfs != 0) text += fmt::format("vfs = {}\n", choice.vfs);
  if (choice.permissions.trust_borrowers) text += "trust_borrowers = true\n";
  if (choice.permissions.shared_group) text += "shared_group = true\n";
  const std::string name = file(choice.pci).string();
  const std::string part = name + ".part";
  UniqueFd fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  const bool written = fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd.get()) == 0 && ::rename(part.c_str(), name.c_str()) == 0;
  if (!written) return fail(fmt::format("{}: {}", name, std::strerror(errno)));
  const UniqueFd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder) ::fsync(folder.get());
  return {};
}

Result<bool> Choices::forget(const std::string& pci) const {
  std::error_code error;
  const bool was = std::filesystem::remove(file(pci), error);
  if (error) return fail(fmt::format("{}: {}", file(pci).string(), error.message()));
  return was;
}

}  // namespace smartio::ctl
