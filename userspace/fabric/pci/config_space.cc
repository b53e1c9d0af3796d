// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/config_space.h"

#include <algorithm>
#include <cstring>

namespace smartio::pci {
namespace {

// PCI Express Base 4.0, 7.5.1: the header.
constexpr std::size_t kCommand = 0x04;
constexpr std::uint32_t kCommandMemory = 1U << 1;
constexpr std::uint32_t kCommandBusMaster = 1U << 2;
constexpr std::uint32_t kCommandWritable = 0x0546;  // memory, bus master, parity, SERR#, interrupt disable
constexpr std::size_t kStatus = 0x06;
constexpr std::uint32_t kStatusCapabilities = 1U << 4;
constexpr std::size_t kCacheLineSize = 0x0c;
constexpr std::size_t kBar0 = 0x10;
constexpr std::size_t kBarEnd = 0x28;
constexpr std::size_t kSubsystem = 0x2c;
constexpr std::size_t kCapabilities = 0x34;
constexpr std::size_t kInterruptLine = 0x3c;
// 0x30, the expansion ROM BAR, stays 0 and read-only, or the guest sees a ROM.

// In the PCI Express capability, 7.5.3.
constexpr std::size_t kDeviceControlInExpress = 0x08;
constexpr std::uint32_t kInitiateReset = 1U << 15;
constexpr std::size_t kSerial = 0x100;

bool touches(std::size_t begin, std::size_t end, std::size_t offset, std::size_t size) {
  return offset < end && begin < offset + size;
}

}  // namespace

ConfigSpace::ConfigSpace(const FunctionDescription& description) : description_(description) { lay_out(); }

void ConfigSpace::put(std::size_t offset, std::uint32_t value, unsigned bytes) {
  std::memcpy(&values_[offset], &value, bytes);
}

void ConfigSpace::allow(std::size_t offset, std::uint32_t mask, unsigned bytes) {
  std::memcpy(&writable_[offset], &mask, bytes);
}

std::uint32_t ConfigSpace::get32(std::size_t offset) const {
  std::uint32_t value;
  std::memcpy(&value, &values_[offset], sizeof(value));
  return value;
}

void ConfigSpace::lay_out() {
  const FunctionDescription& d = description_;
  values_.fill(std::byte{0});
  writable_.fill(std::byte{0});
  put(0x00, d.vendor, 2);
  put(0x02, d.device, 2);
  allow(kCommand, kCommandWritable, 2);
  put(kStatus, kStatusCapabilities, 2);
  put(0x08, d.revision | d.class_code << 8, 4);
  allow(kCacheLineSize, 0xff, 1);
  put(kSubsystem, d.subsystem_vendor, 2);
  put(kSubsystem + 2, d.subsystem, 2);
  allow(kInterruptLine, 0xff, 1);

  for (unsigned bar = 0; bar < 6; ++bar) {
    const BarDescription& b = d.bars[bar];
    if (b.size == 0) continue;
    const std::size_t at = kBar0 + bar * 4;
    const std::uint64_t mask = ~(std::max<std::uint64_t>(b.size, 16) - 1);
    put(at, (b.is64 ? 4U : 0U) | (b.prefetchable ? 8U : 0U), 4);
    allow(at, static_cast<std::uint32_t>(mask) & ~0xfU, 4);
    if (b.is64 && bar < 5) {
      allow(at + 4, static_cast<std::uint32_t>(mask >> 32), 4);
      ++bar;
    }
  }

  const auto [power, msix, express] = d.capabilities;
  // 7.5.2: power management, version 3; keeps its state from D3hot to D0 (No_Soft_Reset), signals no PME.
  put(kCapabilities, power, 1);
  put(power, 0x01, 1);
  put(power + 2, 3, 2);
  put(power + 4, 1U << 3, 2);
  allow(power + 4, 3, 2);
  std::size_t link = power + 1;

  if (d.msix_vectors > 0) {
    put(link, msix, 1);
    link = msix + 1;
    put(msix, 0x11, 1);
    put(msix + 2, d.msix_vectors - 1U, 2);
    allow(msix + 2, 0xc000, 2);  // enable, function mask
    put(msix + 4, d.msix_table_offset | d.msix_bar, 4);
    put(msix + 8, d.msix_pba_offset | d.msix_bar, 4);
  }

  put(link, express, 1);
  put(express, 0x10, 1);
  put(express + 0x02, 2, 2);                          // version 2, endpoint
  put(express + 0x04, 1U | 1U << 15 | 1U << 28, 4);   // payload up to 256, role-based errors, FLR
  put(express + kDeviceControlInExpress, 0x2810, 2);  // relaxed ordering, no snoop, reads up to 512
  allow(express + kDeviceControlInExpress, 0xffff & ~kInitiateReset, 2);
  const std::uint32_t speed_and_width = d.link_speed | static_cast<std::uint32_t>(d.link_width) << 4;
  put(express + 0x0c, speed_and_width, 4);                  // Link Capabilities
  allow(express + 0x10, 0x00cb, 2);                         // Link Control: ASPM, RCB, common clock, extended sync
  put(express + 0x12, speed_and_width, 2);                  // Link Status
  put(express + 0x2c, ((1U << d.link_speed) - 1) << 1, 4);  // Link Capabilities 2: supported speeds
  put(express + 0x30, d.link_speed, 2);                     // Link Control 2: target speed
  allow(express + 0x30, 0xf, 2);

  for (const auto& [offset, value] : d.config_bytes) put(offset, value, 1);

  if (d.serial != 0) {  // 7.9.3
    put(kSerial, 0x0003 | 1U << 16, 4);
    put(kSerial + 4, static_cast<std::uint32_t>(d.serial), 4);
    put(kSerial + 8, static_cast<std::uint32_t>(d.serial >> 32), 4);
  }
}

void ConfigSpace::read(std::uint64_t offset, std::span<std::byte> data) const {
  std::ranges::fill(data, std::byte{0xff});
  if (offset >= kSize) return;
  const std::size_t size = std::min<std::size_t>(data.size(), kSize - offset);
  std::memcpy(data.data(), &values_[offset], size);
}

ConfigSpace::Change ConfigSpace::write(std::uint64_t offset, std::span<const std::byte> data) {
  if (offset >= kSize) return {};
  const std::size_t size = std::min<std::size_t>(data.size(), kSize - offset);
  const bool memory_before = memory_enabled();
  for (std::size_t i = 0; i < size; ++i) {
    std::byte& value = values_[offset + i];
    const std::byte mask = writable_[offset + i];
    value = (value & ~mask) | (data[i] & mask);
  }
  Change change;
  change.decoding = memory_enabled() != memory_before || touches(kBar0, kBarEnd, offset, size);
  // The byte that Initiate FLR is in.
  const std::size_t high = description_.capabilities.express + kDeviceControlInExpress + 1;
  change.function_level_reset =
      touches(high, high + 1, offset, size) && std::to_integer<unsigned>(data[high - offset]) & kInitiateReset >> 8;
  return change;
}

void ConfigSpace::reset() { lay_out(); }

void ConfigSpace::reset_function() {
  std::array<std::byte, kBarEnd - kBar0> bars;
  std::memcpy(bars.data(), &values_[kBar0], bars.size());
  lay_out();
  std::memcpy(&values_[kBar0], bars.data(), bars.size());
}

bool ConfigSpace::memory_enabled() const { return (get32(kCommand) & kCommandMemory) != 0; }

bool ConfigSpace::bus_master() const { return (get32(kCommand) & kCommandBusMaster) != 0; }

BusAddress ConfigSpace::bar_address(unsigned bar) const {
  const BarDescription& b = description_.bars[bar];
  if (b.size == 0) return {0};
  const std::size_t at = kBar0 + bar * 4;
  std::uint64_t address = get32(at) & ~0xfU;
  if (b.is64 && bar < 5) address |= std::uint64_t{get32(at + 4)} << 32;
  return {address};
}

std::vector<ConfigSpace::DecodedBar> ConfigSpace::decoded() const {
  std::vector<DecodedBar> result;
  if (!memory_enabled()) return result;
  for (unsigned bar = 0; bar < 6; ++bar) {
    const BarDescription& b = description_.bars[bar];
    const BusAddress address = bar_address(bar);
    // While it is being sized a BAR holds its mask: an address that wraps means no BAR.
    if (address.value != 0 && address.value + (b.size - 1) > address.value) result.push_back({bar, address, b.size});
  }
  return result;
}

}  // namespace smartio::pci
