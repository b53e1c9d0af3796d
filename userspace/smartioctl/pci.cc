// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/pci.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numbers.h"
#include "base/text.h"
#include "smartioctl/text.h"

namespace smartio::ctl {

namespace {

constexpr unsigned kBars = 6;
// include/linux/ioport.h
constexpr std::uint64_t kResourceMemory = 0x200;
constexpr std::uint64_t kResourceUnset = 0x20000000;

constexpr std::size_t kStatus = 0x06;
constexpr std::uint32_t kStatusCapabilities = 0x10;
constexpr std::size_t kFirstCapability = 0x34;
constexpr std::size_t kFirstExtended = 0x100;
constexpr unsigned kAcs = 0x0d;
constexpr std::size_t kAcsControl = 6;
constexpr std::uint32_t kAcsRequestRedirect = 1U << 2U;
constexpr std::size_t kMostCapabilities = 64;

}  // namespace

std::uint32_t Config::word(std::size_t offset, unsigned size) const {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < size && offset + i < bytes_.size(); ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes_[offset + i])) << (8 * i);
  }
  return value;
}

std::optional<std::size_t> Config::capability(unsigned id) const {
  if ((word(kStatus, 2) & kStatusCapabilities) == 0) return {};
  std::size_t offset = word(kFirstCapability, 1) & ~3U;
  for (std::size_t n = 0; offset != 0 && n < kMostCapabilities; ++n) {
    if (word(offset, 1) == id) return offset;
    offset = word(offset + 1, 1) & ~3U;
  }
  return {};
}

std::optional<std::size_t> Config::extended_capability(unsigned id) const {
  std::size_t offset = kFirstExtended;
  for (std::size_t n = 0; offset >= kFirstExtended && n < kMostCapabilities; ++n) {
    const std::uint32_t header = word(offset, 4);
    if ((header & 0xffffU) == id) return offset;
    offset = header >> 20U & ~3U;
  }
  return {};
}

std::optional<unsigned> Config::msix_entries() const {
  const auto offset = capability(kMsix);
  if (!offset) return {};
  return (word(*offset + 2, 2) & 0x7ffU) + 1;
}

std::optional<Acs> Config::acs() const {
  const auto offset = extended_capability(kAcs);
  if (!offset) return {};
  return Acs{.redirects = (word(*offset + kAcsControl, 2) & kAcsRequestRedirect) != 0};
}

std::string Pci::text(const std::string& pci, std::string_view attribute) const {
  return sysfs_.text(fmt::format("{}/{}", device_path(pci), attribute));
}

std::string Pci::driver(const std::string& pci) const { return sysfs_.link(device_path(pci) + "/driver"); }

/// The parts of its path below /sys/devices that are root buses and functions, itself excepted.
std::vector<std::string> Pci::parts(const std::string& pci) const {
  std::error_code error;
  const auto real = std::filesystem::canonical(sysfs_.path(device_path(pci)), error);
  std::vector<std::string> found;
  if (error) return found;
  for (const auto& part : real.parent_path()) {
    const std::string name = part.string();
    if (name.starts_with("pci") && name.find(':') != std::string::npos) {
      found.assign(1, name);
    } else if (!found.empty() && parse_pci_address(name)) {
      found.push_back(name);
    }
  }
  return found;
}

std::vector<std::string> Pci::bridges(const std::string& pci) const {
  std::vector<std::string> found = parts(pci);
  if (!found.empty()) found.erase(found.begin());
  return found;
}

std::string Pci::root(const std::string& pci) const {
  const auto found = parts(pci);
  return found.empty() ? std::string() : found.front();
}

std::vector<Bar> Pci::bars(const std::string& pci) const {
  std::vector<Bar> found;
  const std::string all = sysfs_.read(device_path(pci) + "/resource");
  const auto lines = lines_of(all);
  for (unsigned number = 0; number < kBars && number < lines.size(); ++number) {
    const auto words = words_of(lines[number]);
    if (words.size() != 3) continue;
    const auto first = parse_number(words[0]);
    const auto last = parse_number(words[1]);
    const auto flags = parse_number(words[2]);
    if (!first || !last || !flags || (*flags & kResourceMemory) == 0 || *last < *first) continue;
    found.push_back(
        {.number = number, .start = *first, .size = *last - *first + 1, .placed = (*flags & kResourceUnset) == 0});
  }
  return found;
}

Config Pci::config(const std::string& pci) const { return Config(sysfs_.read(device_path(pci) + "/config")); }

std::string Pci::group(const std::string& pci) const { return sysfs_.link(device_path(pci) + "/iommu_group"); }

std::string Pci::group_type(const std::string& pci) const {
  return sysfs_.text(device_path(pci) + "/iommu_group/type");
}

std::vector<std::string> Pci::group_neighbours(const std::string& pci) const {
  std::vector<std::string> found = sysfs_.list(device_path(pci) + "/iommu_group/devices");
  std::erase_if(found, [&](const std::string& other) {
    return other == pci || text(other, "class").starts_with(kPciBridgeClass);
  });
  return found;
}

}  // namespace smartio::ctl
