// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/pci/function.h"

namespace smartio::pci {

/// The 4 KiB configuration space of a type 0 function (PCI Express Base 4.0, section 7.5): BARs that can be sized,
/// the command register, power management, MSI-X and PCI Express capabilities, and a Device Serial Number. Not
/// thread-safe: its endpoint locks it.
class ConfigSpace {
 public:
  static constexpr std::size_t kSize = 4096;

  explicit ConfigSpace(const FunctionDescription& description);

  /// Fills `data`; bytes beyond the 4 KiB read as all ones.
  void read(std::uint64_t offset, std::span<std::byte> data) const;

  /// The effects of a write, for the endpoint to act upon.
  struct Change {
    bool decoding = false;              ///< a BAR or memory-space enable: the decoded addresses
    bool function_level_reset = false;  ///< Initiate FLR was written
  };
  /// Read-only bits keep their value; bytes beyond the 4 KiB are dropped.
  Change write(std::uint64_t offset, std::span<const std::byte> data);

  /// Back to the values after power-on.
  void reset();
  /// The same, but BARs stay. QEMU keeps a device's BARs over a function level reset, and so a guest that reads
  /// them back sees nothing to restore: forgetting ours would end peer-to-peer routing.
  void reset_function();

  [[nodiscard]] bool memory_enabled() const;
  [[nodiscard]] bool bus_master() const;

  /// The address in a BAR, whether it is decoded or not.
  [[nodiscard]] BusAddress bar_address(unsigned bar) const;

  /// A BAR that answers to addresses now.
  struct DecodedBar {
    unsigned bar;
    BusAddress address;
    std::uint64_t size;
  };
  /// Empty while memory space is disabled. BARs at address 0 are not placed yet and left out.
  [[nodiscard]] std::vector<DecodedBar> decoded() const;

 private:
  void put(std::size_t offset, std::uint32_t value, unsigned bytes);
  void allow(std::size_t offset, std::uint32_t mask, unsigned bytes);
  [[nodiscard]] std::uint32_t get32(std::size_t offset) const;
  void lay_out();

  FunctionDescription description_;
  std::array<std::byte, kSize> values_{};
  std::array<std::byte, kSize> writable_{};
};

}  // namespace smartio::pci
