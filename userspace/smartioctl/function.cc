// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/function.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

#include "base/numbers.h"
#include "base/text.h"
#include "smartioctl/text.h"
#include "smartioctl/view.h"

namespace smartio::ctl {

namespace {

// PCI class codes, base class and subclass.
constexpr std::string_view kBridgeClass = "0x06";
constexpr std::string_view kNtbClass = "0x0680";
constexpr std::string_view kPciBridgeClass = "0x0604";
/// A USB disk is eight folders below its controller.
constexpr unsigned kDeepest = 12;
constexpr std::uint64_t kFlagMemory = 0x200;  // IORESOURCE_MEM
constexpr std::uint64_t kInterfaceUp = 1;     // IFF_UP
constexpr std::size_t kBars = 6;

std::string at(const std::string& pci) { return "bus/pci/devices/" + pci; }

void look_below(const Sysfs& sysfs, const std::string& folder, unsigned depth, Offspring& found) {
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

/// The first 256 bytes of configuration space; only root gets more than 64 of them.
class ConfigSpace {
 public:
  explicit ConfigSpace(std::string bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] bool whole() const { return bytes_.size() >= 256; }
  [[nodiscard]] bool is_bridge() const { return (byte(0x0e) & 0x7fU) != 0; }
  [[nodiscard]] bool has_capability(unsigned id) const {
    constexpr unsigned kListBit = 0x10;  // of Status
    if ((byte(0x06) & kListBit) == 0) return false;
    std::size_t next = byte(0x34) & 0xfcU;
    for (int i = 0; i < 48 && next != 0; ++i) {
      if (byte(next) == id) return true;
      next = byte(next + 1) & 0xfcU;
    }
    return false;
  }

 private:
  [[nodiscard]] unsigned byte(std::size_t offset) const {
    return offset < bytes_.size() ? static_cast<unsigned char>(bytes_[offset]) : 0U;
  }
  std::string bytes_;
};

/// The size of the largest memory BAR, and which it is.
std::pair<std::uint64_t, std::size_t> largest_bar(std::string_view resource) {
  std::pair<std::uint64_t, std::size_t> largest{0, 0};
  const auto words = words_of(resource);  // three a BAR: begin, end, flags
  for (std::size_t bar = 0; bar < kBars && 3 * bar + 2 < words.size(); ++bar) {
    const std::uint64_t begin = parse_number(words[3 * bar]).value_or(0);
    const std::uint64_t end = parse_number(words[3 * bar + 1]).value_or(0);
    const std::uint64_t flags = parse_number(words[3 * bar + 2]).value_or(0);
    if ((flags & kFlagMemory) != 0 && end > begin && end - begin + 1 > largest.first) largest = {end - begin + 1, bar};
  }
  return largest;
}

/// The largest window by which other hosts reach this one's devices; none if no link has said yet.
std::uint64_t largest_window(const Sysfs& sysfs) {
  std::uint64_t largest = 0;
  for (const std::string& link : sysfs.list("class/smartio_link")) {
    const auto windows = parse_windows(sysfs.read(fmt::format("class/smartio_link/{}/windows", link))).items;
    for (const Window& window : windows) {
      if (window.inbound) largest = std::max(largest, window.size);
    }
  }
  return largest;
}

/// The other functions of its IOMMU group. Bridges are no requesters.
std::vector<std::string> group_members(const Sysfs& sysfs, const std::string& pci, const std::string& group) {
  std::vector<std::string> members = sysfs.list(fmt::format("kernel/iommu_groups/{}/devices", group));
  std::erase_if(members, [&](const std::string& member) {
    return member == pci || sysfs.text(at(member) + "/class").starts_with(kPciBridgeClass);
  });
  return members;
}

}  // namespace

Offspring offspring_of(const Sysfs& sysfs, const std::string& device) {
  Offspring found;
  look_below(sysfs, device, kDeepest, found);
  for (std::string& disk : disks_of(sysfs, device)) found.disks.push_back(std::move(disk));
  return found;
}

std::vector<std::string> uses_of(const Sysfs& sysfs, const DiskUse& use, const std::string& device) {
  const Offspring below = offspring_of(sysfs, device);
  std::vector<std::string> all;
  for (const std::string& disk : below.disks) std::ranges::copy(use.of(disk), std::back_inserter(all));
  for (const std::string& interface : below.interfaces) {
    const auto flags = parse_number(sysfs.text(fmt::format("class/net/{}/flags", interface)));
    if ((flags.value_or(0) & kInterfaceUp) != 0) all.push_back(fmt::format("{} is up", interface));
  }
  return all;
}

std::optional<Refusal> why_not_lent(const Sysfs& sysfs, const std::string& pci, const Permissions& permissions) {
  const std::string kind = sysfs.text(at(pci) + "/class");
  if (kind.starts_with(kNtbClass)) {
    return Refusal{
        fmt::format("{} is an NTB or a bridge of its kind (class {}): the links themselves need it", pci, kind)};
  }
  const ConfigSpace config(sysfs.read(at(pci) + "/config"));
  if (kind.starts_with(kBridgeClass) || config.is_bridge()) {
    return Refusal{fmt::format("{} is a bridge (class {}); only what is behind it can be lent", pci, kind)};
  }
  constexpr unsigned kMsi = 0x05;
  constexpr unsigned kMsix = 0x11;
  if (config.whole() && !config.has_capability(kMsi) && !config.has_capability(kMsix)) {
    return Refusal{
        fmt::format("{} has neither MSI nor MSI-X: its interrupts can't cross a link, so it can't be lent", pci)};
  }
  const auto [size, bar] = largest_bar(sysfs.read(at(pci) + "/resource"));
  const std::uint64_t window = largest_window(sysfs);
  if (window != 0 && size > window) {
    return Refusal{fmt::format("{}: its BAR {} has {}, and no window of this host's links more than {}", pci, bar,
                               format_size(size), format_size(window))};
  }
  const std::string group = sysfs.link(at(pci) + "/iommu_group");
  // With iommu=pt there are groups, but nothing is kept from a device.
  if (group.empty() || sysfs.text(fmt::format("kernel/iommu_groups/{}/type", group)) == "identity") {
    if (permissions.trust_borrowers) return std::nullopt;
    return Refusal{
        fmt::format("{}: this host's IOMMU is off, so a host that borrows it can have it read and write all memory of "
                    "this host; --trust-borrowers lends it all the same",
                    pci)};
  }
  const auto members = group_members(sysfs, pci, group);
  if (members.empty() || permissions.shared_group) return std::nullopt;
  return Refusal{
      fmt::format("{} shares its IOMMU group {} with {}: a host that borrows it reaches what they may reach; "
                  "--shared-group lends it all the same",
                  pci, group, fmt::join(members, ", "))};
}

}  // namespace smartio::ctl
