// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/function.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

#include "base/numbers.h"
#include "smartioctl/pci.h"
#include "smartioctl/text.h"
#include "smartioctl/view.h"

namespace smartio::ctl {

namespace {

/// A USB disk is eight folders below its controller.
constexpr unsigned kDeepest = 12;
constexpr std::uint64_t kInterfaceUp = 1;  // IFF_UP
/// A borrower reaches whole pages of a function's registers.
constexpr std::uint64_t kPage = 4096;
constexpr std::string_view kStub = "smartio_pci_stub";

void look_below(const Sysfs& sysfs, const std::string& folder, unsigned depth, Children& found) {
  if (depth == 0) return;
  for (const std::string& name : sysfs.list(folder)) {
    const std::string below = folder + "/" + name;
    std::error_code error;
    const auto kind = std::filesystem::symlink_status(sysfs.path(below), error).type();
    if (error || kind != std::filesystem::file_type::directory) continue;
    if (name == "block") {
      for (const std::string& disk : sysfs.list(below)) found.disks.push_back(disk);
    } else if (name == "net") {
      for (const std::string& interface : sysfs.list(below)) found.interfaces.push_back(interface);
    } else {
      look_below(sysfs, below, depth - 1, found);
    }
  }
}

/// The files that a vfio program has open for its function: the group's file, and the function's own for iommufd.
std::vector<std::string> vfio_files(const Sysfs& sysfs, const std::string& device) {
  std::vector<std::string> files;
  if (sysfs.link(device + "/driver") != "vfio-pci") return files;
  if (const std::string group = sysfs.link(device + "/iommu_group"); !group.empty())
    files.push_back("/dev/vfio/" + group);
  for (const std::string& name : sysfs.list(device + "/vfio-dev")) files.push_back("/dev/vfio/devices/" + name);
  return files;
}

/// Why no link leads to a function's registers. Nothing if one does, or if a link has not reported its reach.
std::optional<Refusal> why_not_reached(const Sysfs& sysfs, const std::string& pci, const std::vector<Bar>& bars) {
  if (bars.empty()) return std::nullopt;
  const Bar& largest = *std::ranges::max_element(bars, {}, &Bar::size);
  const std::uint64_t first = std::ranges::min(bars, {}, &Bar::start).start;
  std::uint64_t end = 0;
  for (const Bar& bar : bars) end = std::max(end, bar.start + bar.size);
  std::optional<Refusal> why;
  std::uint64_t most = 0;
  for (const std::string& link : sysfs.devices("class/smartio_link")) {
    const auto reach = parse_reach(sysfs.text(fmt::format("class/smartio_link/{}/registers", link)));
    if (!reach || (reach->span ? end - first : largest.size) <= reach->max) return std::nullopt;
    if (why && reach->max <= most) continue;
    most = reach->max;
    why = Refusal{reach->span
                      ? fmt::format("{}: its BARs span {}; the largest window maps {}. With an IOMMU on this host "
                                    "only each BAR has to fit",
                                    pci, format_size(end - first), format_size(most))
                      : fmt::format("{}: its BAR {} has {}; the largest window maps {}", pci, largest.number,
                                    format_size(largest.size), format_size(most))};
  }
  return why;
}

/// Why a borrower of a function would have registers of others, too.
std::optional<Refusal> why_not_alone(const Sysfs& sysfs, const std::string& pci, const std::vector<Bar>& bars) {
  for (const Bar& bar : bars) {
    if ((bar.start | bar.size) % kPage == 0) continue;
    return Refusal{
        fmt::format("{}: its BAR {} has {} at 0x{:x}, and shares a page with registers of others; the kernel's "
                    "parameter pci=resource_alignment={} gives it a page of its own",
                    pci, bar.number, format_size(bar.size), bar.start, pci)};
  }
  const std::string device = fmt::format("bus/pci/devices/{}", pci);
  if (const auto vfs = parse_number(sysfs.text(device + "/sriov_numvfs")); vfs.value_or(0) > 0) {
    return Refusal{
        fmt::format("{} has {} virtual functions, which its resets would reset, too; 'lend --vfs' lends those, "
                    "and its own driver keeps it",
                    pci, *vfs)};
  }
  if (sysfs.link(device + "/physfn/driver") == kStub) {
    return Refusal{fmt::format("{} is a virtual function of one that is lent as a whole", pci)};
  }
  return std::nullopt;
}

}  // namespace

Children children_of(const Sysfs& sysfs, const std::string& device) {
  Children found;
  look_below(sysfs, device, kDeepest, found);
  for (std::string& disk : disks_of(sysfs, device)) found.disks.push_back(std::move(disk));
  return found;
}

std::vector<std::string> uses_of(const Sysfs& sysfs, const DiskUse& use, const std::string& device) {
  const Children below = children_of(sysfs, device);
  std::vector<std::string> all;
  for (const std::string& disk : below.disks) std::ranges::copy(use.of(disk), std::back_inserter(all));
  for (const std::string& interface : below.interfaces) {
    const auto flags = parse_number(sysfs.text(fmt::format("class/net/{}/flags", interface)));
    if ((flags.value_or(0) & kInterfaceUp) != 0) all.push_back(fmt::format("{} is up", interface));
  }
  for (const std::string& file : vfio_files(sysfs, device))
    std::ranges::copy(use.openers(file), std::back_inserter(all));
  return all;
}

std::optional<Refusal> why_not_lent(const Sysfs& sysfs, const std::string& pci, const Permissions& permissions) {
  const Pci functions(sysfs);
  const std::string kind = functions.text(pci, "class");
  if (kind.starts_with(kOtherBridgeClass)) {
    return Refusal{
        fmt::format("{} is an NTB or a bridge of its kind (class {}): the links themselves need it", pci, kind)};
  }
  const Config config = functions.config(pci);
  if (kind.starts_with(kBridgeClass) || config.is_bridge()) {
    return Refusal{fmt::format("{} is a bridge (class {}); only devices behind it can be lent", pci, kind)};
  }
  if (config.readable(false) && !config.has_msi()) {
    return Refusal{
        fmt::format("{} has neither MSI nor MSI-X: its interrupts can't cross a link, so it can't be lent", pci)};
  }
  if (auto why = why_not_alone(sysfs, pci, functions.bars(pci))) return why;
  if (auto why = why_not_reached(sysfs, pci, functions.bars(pci))) return why;
  const std::string group = functions.group(pci);
  // With iommu=pt there are groups, but nothing is kept from a device.
  if (group.empty() || functions.group_type(pci) == "identity") {
    if (permissions.trust_borrowers) return std::nullopt;
    return Refusal{
        fmt::format("{}: this host's IOMMU is off, so a host that borrows it can have it read and write all memory of "
                    "this host; --trust-borrowers lends it all the same",
                    pci)};
  }
  const auto members = functions.group_neighbours(pci);
  if (members.empty() || permissions.shared_group) return std::nullopt;
  return Refusal{
      fmt::format("{} shares its IOMMU group {} with {}: a host that borrows it reaches all memory that they reach; "
                  "--shared-group lends it all the same",
                  pci, group, fmt::join(members, ", "))};
}

}  // namespace smartio::ctl
