// SPDX-License-Identifier: GPL-2.0
// The checks that user space can make of a PCI function before it is lent as a whole, or taken away.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "smartioctl/disk_use.h"
#include "smartioctl/outcome.h"
#include "smartioctl/sysfs.h"

namespace smartio::ctl {

/// The risks that the administrator accepts.
struct Permissions {
  bool trust_borrowers = false;  ///< the device may reach all memory of this host
  bool shared_group = false;     ///< other devices are in its IOMMU group
};

/// The disks and network interfaces below a device of sysfs ("bus/pci/devices/0000:01:00.0").
struct Children {
  std::vector<std::string> disks;
  std::vector<std::string> interfaces;
};
Children children_of(const Sysfs& sysfs, const std::string& device);

/// Their uses, each a phrase: "nvme0n1 is mounted on /data", "eth1 is up".
std::vector<std::string> uses_of(const Sysfs& sysfs, const DiskUse& use, const std::string& device);

/// Why the function can't be lent as a whole, with the remedy; none if its driver may be asked. Looks at its kind, its
/// interrupts, its BARs and its IOMMU group, not at its uses.
std::optional<Refusal> why_not_lent(const Sysfs& sysfs, const std::string& pci, const Permissions& permissions);

}  // namespace smartio::ctl
