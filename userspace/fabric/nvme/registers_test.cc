// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/registers.h"

#include <gtest/gtest.h>

#include <array>

namespace smartio::nvme {
namespace {

template <typename T>
T load(const Registers& registers, std::uint64_t offset) {
  T value{};
  registers.read(offset, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

template <typename T>
std::uint32_t store(Registers& registers, std::uint64_t offset, T value) {
  return registers.write(offset, std::as_bytes(std::span(&value, 1)));
}

TEST(Registers, CapabilitiesAreAsModelled) {
  const Registers registers(0, 2);
  const auto cap = load<std::uint64_t>(registers, reg::kCap);
  EXPECT_EQ(cap & 0xFFFF, kMaxQueueEntries - 1) << "MQES";
  EXPECT_EQ(cap >> 16 & 1, 1U) << "CQR";
  EXPECT_EQ(cap >> 24 & 0xFF, kReadyTimeout) << "TO";
  EXPECT_EQ(cap >> 32 & 0xF, 0U) << "DSTRD";
  EXPECT_EQ(cap >> 37 & 0xFF, 1U) << "CSS";
  EXPECT_EQ(cap >> 48 & 0xF, 0U) << "MPSMIN";
  EXPECT_EQ(cap >> 52 & 0xF, kMaxMps) << "MPSMAX";
  EXPECT_EQ(cap >> 57 & 1, 0U) << "CMBS";
  EXPECT_EQ(load<std::uint32_t>(registers, reg::kVs), 0x00010400U);
}

TEST(Registers, AnySizeAndAlignmentReads) {
  const Registers registers(0, 2);
  const auto cap = load<std::uint64_t>(registers, reg::kCap);
  EXPECT_EQ(load<std::uint32_t>(registers, 4), cap >> 32);
  EXPECT_EQ(load<std::uint16_t>(registers, 2), cap >> 16 & 0xFFFF);
  EXPECT_EQ(load<std::uint8_t>(registers, 7), cap >> 56);
  std::array<std::byte, 64> page{};
  registers.read(4, page);
  EXPECT_EQ(page[4], std::byte{0x00});
  EXPECT_EQ(page[5], std::byte{0x04}) << "VS, second byte";
}

TEST(Registers, WritesByByteLanes) {
  Registers registers(0, 2);
  store<std::uint32_t>(registers, reg::kAsq, 0x12345678);
  store<std::uint32_t>(registers, reg::kAsq + 4, 0x9ABCDEF0);
  EXPECT_EQ(load<std::uint64_t>(registers, reg::kAsq), 0x9ABCDEF012345000U) << "the page offset is reserved";
  store<std::uint8_t>(registers, reg::kAsq + 2, 0xAA);
  EXPECT_EQ(load<std::uint64_t>(registers, reg::kAsq), 0x9ABCDEF012AA5000U);
  store<std::uint64_t>(registers, reg::kAcq, 0x1111222233334444);
  EXPECT_EQ(load<std::uint64_t>(registers, reg::kAcq), 0x1111222233334000U);
  store<std::uint32_t>(registers, reg::kAqa, 0xFFFFFFFF);
  EXPECT_EQ(load<std::uint32_t>(registers, reg::kAqa), 0x0FFF0FFFU);
  // One store over two registers.
  store<std::uint64_t>(registers, reg::kAsq + 4, 0x5555666677778888);
  EXPECT_EQ(load<std::uint64_t>(registers, reg::kAsq), 0x7777888812AA5000U);
  EXPECT_EQ(load<std::uint64_t>(registers, reg::kAcq), 0x1111222255556000U);
}

TEST(Registers, ReadOnlyRegistersStayAsTheyAre) {
  Registers registers(0, 2);
  for (std::uint64_t offset = 0; offset < reg::kDoorbells; offset += 8) {
    if (offset == reg::kAsq || offset == reg::kAcq) continue;
    store<std::uint64_t>(registers, offset, ~std::uint64_t{0});
  }
  EXPECT_EQ(load<std::uint64_t>(registers, reg::kCap), load<std::uint64_t>(Registers(0, 2), reg::kCap));
  EXPECT_EQ(load<std::uint32_t>(registers, reg::kVs), 0x00010400U);
  EXPECT_EQ(load<std::uint32_t>(registers, reg::kCc), 0x00FFFFF1U);
  EXPECT_EQ(load<std::uint64_t>(registers, reg::kCmbmsc), 0U) << "there is no CMB";
}

TEST(Registers, TellsWhatAWriteAsksFor) {
  Registers registers(4096, 2);
  EXPECT_EQ(store<std::uint32_t>(registers, reg::kCc, 1), Registers::kControl);
  EXPECT_EQ(store<std::uint32_t>(registers, reg::kCc, 1), Registers::kNothing) << "no change";
  EXPECT_EQ(store<std::uint8_t>(registers, reg::kCc, 0), Registers::kControl | Registers::kDisable);
  EXPECT_EQ(store<std::uint32_t>(registers, reg::kNssr, kSubsystemResetKey), Registers::kSubsystemReset);
  EXPECT_EQ(store<std::uint16_t>(registers, reg::kNssr, 0x4D65), Registers::kNothing) << "half a key";
  EXPECT_EQ(store<std::uint64_t>(registers, reg::kCmbmsc, 3), Registers::kCmbSpace);
}

TEST(Registers, InterruptMaskIsSetAndCleared) {
  Registers registers(0, 2);
  store<std::uint32_t>(registers, reg::kIntms, 0xF0);
  store<std::uint32_t>(registers, reg::kIntmc, 0x30);
  EXPECT_EQ(load<std::uint32_t>(registers, reg::kIntms), 0xC0U);
  EXPECT_EQ(load<std::uint32_t>(registers, reg::kIntmc), 0xC0U);
}

TEST(Registers, ResetsKeepWhatTheyShall) {
  Registers registers(4096, 2);
  store<std::uint32_t>(registers, reg::kCc, 1);
  store<std::uint64_t>(registers, reg::kAsq, 0x1000);
  store<std::uint64_t>(registers, reg::kCmbmsc, 0x2003);
  registers.set_status(0, csts::kReady | csts::kFatal);
  registers.controller_reset(true);
  EXPECT_EQ(load<std::uint32_t>(registers, reg::kCc), 1U);
  EXPECT_EQ(registers.status(), 0U);
  EXPECT_EQ(load<std::uint64_t>(registers, reg::kAsq), 0x1000U);
  EXPECT_EQ(registers.cmb_space(), 0x2003U);
  registers.controller_reset(false);
  EXPECT_EQ(load<std::uint32_t>(registers, reg::kCc), 0U);
  registers.power_on(true);
  EXPECT_EQ(load<std::uint64_t>(registers, reg::kAsq), 0U);
  EXPECT_EQ(registers.cmb_space(), 0U);
  EXPECT_EQ(registers.status(), csts::kSubsystemReset);
  store<std::uint32_t>(registers, reg::kCsts, csts::kSubsystemReset);
  EXPECT_EQ(registers.status(), 0U);
}

}  // namespace
}  // namespace smartio::nvme
