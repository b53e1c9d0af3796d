// SPDX-License-Identifier: GPL-2.0
// The parts of configuration space that a borrower sees, and those that it may write.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "tests/drivers/smartio_pci/driver.h"

namespace {

using Config = std::array<u8, SPCI_CONFIG_SIZE>;
using Bars = std::array<spci_bar, SPCI_BARS>;

void put(Config& config, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) config.at(at + i) = static_cast<u8>(value >> 8 * i);
}
std::uint32_t get(const Config& config, std::size_t at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= static_cast<std::uint32_t>(config.at(at + i)) << 8 * i;
  return value;
}

constexpr std::size_t kPm = 0x40;
constexpr std::size_t kMsi = 0x50;
constexpr std::size_t kExp = 0x70;
constexpr std::size_t kMsix = 0xB0;

Bars bars() {
  Bars bars{};
  bars[0] = {.bus = 0x38'0000'4000, .size = 0x4000, .flags = SPCI_BAR_64, .rsvd = 0};
  bars[3] = {.bus = 0xFEBC0000, .size = 0x1000, .flags = 0, .rsvd = 0};
  return bars;
}

// Power management, MSI, PCI Express, MSI-X; AER, a serial number, SR-IOV.
Config function() {
  Config config{};
  put(config, PCI_VENDOR_ID, 0x10D38086, 4);
  put(config, PCI_COMMAND, 0x0507, 2);
  put(config, PCI_STATUS, 0x8810, 2);
  put(config, PCI_CLASS_REVISION, 0x02000003, 4);
  config[PCI_HEADER_TYPE] = 0x80;
  put(config, PCI_BASE_ADDRESS_2, 0xC001, 4);  // I/O ports
  put(config, PCI_SUBSYSTEM_VENDOR_ID, 0x11001AF4, 4);
  put(config, PCI_ROM_ADDRESS, 0xFEB80001, 4);
  config[PCI_CAPABILITY_LIST] = kPm;
  config[PCI_INTERRUPT_PIN] = 1;
  put(config, kPm, 0x5001, 2);
  put(config, kPm + 4, 0xFFFF, 2);
  put(config, kMsi, 0x7005, 2);
  put(config, kMsi + PCI_MSI_FLAGS, PCI_MSI_FLAGS_64BIT | PCI_MSI_FLAGS_ENABLE | 0x20 | 0x4, 2);
  put(config, kMsi + PCI_MSI_ADDRESS_LO, 0xFEE01000, 4);
  put(config, kExp, 0xB010, 2);
  put(config, kExp + PCI_EXP_FLAGS, 2, 2);
  put(config, kMsix, 0x0011, 2);
  put(config, kMsix + PCI_MSIX_FLAGS, 0xC004, 2);
  put(config, kMsix + PCI_MSIX_TABLE, 3, 4);
  put(config, 0x100, 0x14010001, 4);
  put(config, 0x140, 0x16010003, 4);
  put(config, 0x144, 0x12345678, 4);
  put(config, 0x160, 0x00010010, 4);
  put(config, 0x164, 0xFFFFFFFF, 4);
  return config;
}

Config shown(const Config& real, unsigned size = SPCI_CONFIG_SIZE) {
  Config config{};
  spci_config_show(real.data(), size, bars().data(), config.data());
  return config;
}
Config masks(const Config& seen) {
  Config writable{};
  spci_config_masks(seen.data(), bars().data(), writable.data());
  return writable;
}

TEST(ConfigTable, WhatItIsIsSeen) {
  const Config seen = shown(function());
  EXPECT_EQ(get(seen, PCI_VENDOR_ID, 4), 0x10D38086U);
  EXPECT_EQ(get(seen, PCI_CLASS_REVISION, 4), 0x02000003U);
  EXPECT_EQ(get(seen, PCI_SUBSYSTEM_VENDOR_ID, 4), 0x11001AF4U);
  EXPECT_EQ(get(seen, PCI_BASE_ADDRESS_0, 4), 0x4004U);
  EXPECT_EQ(get(seen, PCI_BASE_ADDRESS_1, 4), 0x38U);
  EXPECT_EQ(get(seen, PCI_BASE_ADDRESS_3, 4), 0xFEBC0000U);
}

TEST(ConfigTable, TheLendersIsHidden) {
  const Config seen = shown(function());
  EXPECT_EQ(get(seen, PCI_COMMAND, 2), PCI_COMMAND_MEMORY);
  EXPECT_EQ(get(seen, PCI_STATUS, 2), PCI_STATUS_CAP_LIST);
  EXPECT_EQ(seen[PCI_HEADER_TYPE], 0);
  EXPECT_EQ(get(seen, PCI_BASE_ADDRESS_2, 4), 0U);
  EXPECT_EQ(get(seen, PCI_ROM_ADDRESS, 4), 0U);
  EXPECT_EQ(seen[PCI_INTERRUPT_PIN], 0);
  EXPECT_EQ(get(seen, kPm, 4), 0U);
  EXPECT_EQ(get(seen, kPm + 4, 4), 0U);
}

TEST(ConfigTable, OnlyCapabilitiesOfTheTableAreLinked) {
  const Config seen = shown(function());
  EXPECT_EQ(seen[PCI_CAPABILITY_LIST], kMsi);
  EXPECT_EQ(seen[kMsi + 1], kExp);
  EXPECT_EQ(seen[kExp + 1], kMsix);
  EXPECT_EQ(seen[kMsix + 1], 0);
  EXPECT_EQ(spci_config_find(seen.data(), PCI_CAP_ID_MSIX), kMsix);
  EXPECT_EQ(spci_config_find(seen.data(), PCI_CAP_ID_PM), 0U);
}

TEST(ConfigTable, InterruptsAreOff) {
  const Config seen = shown(function());
  EXPECT_EQ(get(seen, kMsi + PCI_MSI_FLAGS, 2), PCI_MSI_FLAGS_64BIT | 0x4U);
  EXPECT_EQ(get(seen, kMsi + PCI_MSI_ADDRESS_LO, 4), 0U);
  EXPECT_EQ(get(seen, kMsix + PCI_MSIX_FLAGS, 2), 4U);
  EXPECT_EQ(get(seen, kMsix + PCI_MSIX_TABLE, 4), 3U);
}

TEST(ConfigTable, OfTheExtendedOnesTheSerialNumberIsSeen) {
  const Config seen = shown(function());
  EXPECT_EQ(get(seen, 0x100, 4), 0x00010003U);
  EXPECT_EQ(get(seen, 0x104, 4), 0x12345678U);
  for (std::size_t at = 0x10C; at < seen.size(); ++at) EXPECT_EQ(seen[at], 0) << at;
  EXPECT_EQ(get(shown(function(), 256), 0x100, 4), 0U);
}

TEST(ConfigTable, ListsThatLeadInACircleOrOutsideEnd) {
  Config real = function();
  real[kMsix + 1] = kPm;
  EXPECT_EQ(shown(real)[kMsix + 1], 0);
  real[kPm + 1] = 0xFC;
  real[0xFC] = PCI_CAP_ID_MSIX;
  EXPECT_EQ(shown(real)[PCI_CAPABILITY_LIST], 0);
  put(real, 0x140, 0x10010002, 4);
  EXPECT_EQ(get(shown(real), 0x100, 4), 0U);
  put(real, 0x100, 0xFF810001, 4);
  put(real, 0xFF8, 0x00010003, 4);
  EXPECT_EQ(get(shown(real), 0x100, 4), 0U);
  put(real, 0x100, 0xFF010001, 4);
  put(real, 0xFF0, 0x00010003, 4);
  EXPECT_EQ(get(shown(real), 0x100, 4), 0x00010003U);
}

TEST(ConfigTable, OnlyWhatTheTableSaysIsWritten) {
  const Config seen = shown(function());
  const Config writable = masks(seen);
  EXPECT_EQ(get(writable, PCI_VENDOR_ID, 4), 0U);
  EXPECT_EQ(get(writable, PCI_CLASS_REVISION, 4), 0U);
  EXPECT_TRUE(get(writable, PCI_COMMAND, 2) & PCI_COMMAND_MASTER);
  EXPECT_FALSE(get(writable, PCI_COMMAND, 2) & PCI_COMMAND_IO);
  EXPECT_EQ(get(writable, PCI_BASE_ADDRESS_0, 4), 0xFFFFC000U);
  EXPECT_EQ(get(writable, PCI_BASE_ADDRESS_1, 4), 0xFFFFFFFFU);
  EXPECT_EQ(get(writable, PCI_BASE_ADDRESS_2, 4), 0U);
  EXPECT_EQ(get(writable, PCI_BASE_ADDRESS_3, 4), 0xFFFFF000U);
  EXPECT_EQ(get(writable, PCI_ROM_ADDRESS, 4), 0U);
  EXPECT_EQ(get(writable, kPm + 4, 2), 0U);
  EXPECT_EQ(get(writable, kMsi + PCI_MSI_FLAGS, 2), PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE);
  EXPECT_EQ(get(writable, kMsix + PCI_MSIX_FLAGS, 2), PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
  EXPECT_EQ(get(writable, kMsix + PCI_MSIX_TABLE, 4), 0U);
  EXPECT_EQ(get(writable, 0x104, 4), 0U);
}

}  // namespace
