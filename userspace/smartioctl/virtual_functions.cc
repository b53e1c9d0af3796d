// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/virtual_functions.h"

#include <fmt/format.h>

#include "base/numbers.h"
#include "smartioctl/text.h"

namespace smartio::ctl {

std::string VirtualFunctions::at(std::string_view attribute) const {
  return fmt::format("{}/{}", device_path(physical_), attribute);
}

unsigned VirtualFunctions::number(std::string_view attribute) const {
  return static_cast<unsigned>(parse_number(sysfs_.text(at(attribute))).value_or(0));
}

std::vector<std::string> VirtualFunctions::addresses() const {
  std::vector<std::string> all;
  for (unsigned n = 0; n < count(); ++n) {
    if (std::string pci = sysfs_.link(at(fmt::format("virtfn{}", n))); !pci.empty()) all.push_back(std::move(pci));
  }
  return all;
}

Outcome<void> VirtualFunctions::write(std::string_view attribute, std::string_view value, std::string_view what) {
  const std::error_code error = sysfs_.write(at(attribute), value);
  if (error) return refuse(fmt::format("{}: can't {}: {}", physical_, what, reason(error)));
  return {};
}

Outcome<void> VirtualFunctions::make(unsigned count) {
  const std::string probes = sysfs_.text(at("sriov_drivers_autoprobe"));
  if (auto done = write("sriov_drivers_autoprobe", "0", "keep drivers from its virtual functions"); !done) return done;
  auto made = write("sriov_numvfs", fmt::format("{}", count), "make " + plural(count, "virtual function"));
  static_cast<void>(sysfs_.write(at("sriov_drivers_autoprobe"), probes));
  return made;
}

Outcome<void> VirtualFunctions::remove() { return write("sriov_numvfs", "0", "remove its virtual functions"); }

void VirtualFunctions::allow_reset(bool allowed) {
  // A function that nothing resets has no such file.
  if (!sysfs_.exists(at("reset_method")) || kept_from_reset() != allowed) return;
  static_cast<void>(sysfs_.write(at("reset_method"), allowed ? "default" : "\n"));
}

bool VirtualFunctions::kept_from_reset() const {
  return total() != 0 && sysfs_.exists(at("reset_method")) && sysfs_.text(at("reset_method")).empty();
}

}  // namespace smartio::ctl
