// SPDX-License-Identifier: GPL-2.0
// PCI functions as sysfs shows them: where they sit, their BARs, capabilities and IOMMU groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smartioctl/sysfs.h"

namespace smartio::ctl {

// PCI class codes, from the base class on.
inline constexpr std::string_view kNvmeClass = "0x010802";  ///< NVM Express I/O controller
inline constexpr std::string_view kBridgeClass = "0x06";
inline constexpr std::string_view kPciBridgeClass = "0x0604";
inline constexpr std::string_view kOtherBridgeClass = "0x0680";  ///< bridges of no other kind, which NTBs are

/// A memory BAR.
struct Bar {
  unsigned number = 0;
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  bool placed = false;  ///< it has an address
};

/// A port's handling of requests between its devices (PCIe 6.0, 7.7.11).
struct Acs {
  bool redirects = false;  ///< requests go up to the root complex
};

/// The configuration space of a function. The kernel shows all of it to root only, to others 64 bytes.
class Config {
 public:
  explicit Config(std::string bytes) : bytes_(std::move(bytes)) {}

  /// Whether the capabilities can be read. `extended` ones lie behind the first 256 bytes.
  [[nodiscard]] bool readable(bool extended) const { return bytes_.size() >= (extended ? 4096U : 256U); }
  /// Whether the header is not that of a device.
  [[nodiscard]] bool is_bridge() const { return (word(kHeaderType, 1) & 0x7fU) != 0; }
  /// Whether it has MSI or MSI-X.
  [[nodiscard]] bool has_msi() const { return capability(kMsi) || capability(kMsix); }
  /// Entries of the MSI-X table; none without that capability.
  [[nodiscard]] std::optional<unsigned> msix_entries() const;
  /// Access Control Services; none without that capability.
  [[nodiscard]] std::optional<Acs> acs() const;

 private:
  static constexpr std::size_t kHeaderType = 0x0e;
  static constexpr unsigned kMsi = 0x05;
  static constexpr unsigned kMsix = 0x11;

  [[nodiscard]] std::uint32_t word(std::size_t offset, unsigned size) const;
  [[nodiscard]] std::optional<std::size_t> capability(unsigned id) const;
  [[nodiscard]] std::optional<std::size_t> extended_capability(unsigned id) const;

  std::string bytes_;
};

class Pci {
 public:
  explicit Pci(const Sysfs& sysfs) : sysfs_(sysfs) {}

  /// Addresses of all functions.
  [[nodiscard]] std::vector<std::string> functions() const { return sysfs_.list("bus/pci/devices"); }
  /// An attribute of a function, as one word or phrase.
  [[nodiscard]] std::string text(const std::string& pci, std::string_view attribute) const;
  [[nodiscard]] std::string driver(const std::string& pci) const;
  /// The bridges above it, from the root port down; none of a function of the root complex.
  [[nodiscard]] std::vector<std::string> bridges(const std::string& pci) const;
  /// The root bus: "pci0000:00".
  [[nodiscard]] std::string root(const std::string& pci) const;
  [[nodiscard]] std::vector<Bar> bars(const std::string& pci) const;
  [[nodiscard]] Config config(const std::string& pci) const;

  /// The number of its IOMMU group; empty without an IOMMU.
  [[nodiscard]] std::string group(const std::string& pci) const;
  /// "DMA", "DMA-FQ", "identity"; empty without an IOMMU.
  [[nodiscard]] std::string group_type(const std::string& pci) const;
  /// The group's functions, bridges excepted, and this one.
  [[nodiscard]] std::vector<std::string> group_neighbours(const std::string& pci) const;

 private:
  [[nodiscard]] std::vector<std::string> parts(const std::string& pci) const;

  const Sysfs& sysfs_;
};

}  // namespace smartio::ctl
