// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <toml++/toml.hpp>

#include "base/text.h"
#include "smartioctl/conf.h"

namespace smartio::ctl {

namespace {

Result<Choice> read_choice(const std::filesystem::path& file) {
  const auto address = conf_address(file);
  if (!address) return std::unexpected(address.error());
  Choice choice;
  choice.pci = *address;
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
  if (choice.as != "nvme" && choice.as != "pci") return fail("as is neither \"nvme\" nor \"pci\"");
  if (choice.vendor.empty() || choice.device.empty()) return fail("it lacks vendor or device");
  return choice;
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
      found.complaints.push_back(fmt::format("{}: {}; fix or remove it", at->path().string(), choice.error().message));
    }
  }
  std::ranges::sort(found.choices, {}, &Choice::pci);
  return found;
}

Result<void> Choices::keep(const Choice& choice) const {
  std::string text = fmt::format(
      "# Lent at every boot; made by smartioctl lend --persist, forgotten by smartioctl unlend --persist.\n"
      "vendor = {}\ndevice = {}\nserial = {}\nmodel = {}\n",
      toml_string(choice.vendor), toml_string(choice.device), toml_string(choice.serial), toml_string(choice.model));
  if (choice.as != "nvme") text += fmt::format("as = {}\n", toml_string(choice.as));
  if (choice.vfs != 0) text += fmt::format("vfs = {}\n", choice.vfs);
  if (choice.permissions.trust_borrowers) text += "trust_borrowers = true\n";
  if (choice.permissions.shared_group) text += "shared_group = true\n";
  return write_conf(file(choice.pci), text);
}

Result<bool> Choices::forget(const std::string& pci) const { return remove_conf(file(pci)); }

}  // namespace smartio::ctl
