// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/config_space.h"

#include <gtest/gtest.h>

#include "fabric/pci/fake_function.h"
#include "fabric/pci/test_memory.h"

namespace smartio::pci {
namespace {

class Config : public testing::Test {
 protected:
  template <typename T = std::uint32_t>
  T get(std::uint64_t offset) const {
    T value{};
    space_.read(offset, writable_bytes_of(value));
    return value;
  }
  template <typename T>
  ConfigSpace::Change put(std::uint64_t offset, T value) {
    return space_.write(offset, bytes_of(value));
  }
  std::size_t capability(std::uint8_t id) const {
    for (std::size_t at = get<std::uint8_t>(0x34); at != 0; at = get<std::uint8_t>(at + 1)) {
      if (get<std::uint8_t>(at) == id) return at;
    }
    return 0;
  }
  FakeFunction function_;
  ConfigSpace space_{function_.description()};
};

TEST_F(Config, SaysWhoItIs) {
  EXPECT_EQ(get(0x00), 0xcafe1234U);
  EXPECT_EQ(get(0x08), 0x08800107U);
  EXPECT_EQ(get(0x2c), 0x11001af4U);
  EXPECT_EQ(get<std::uint8_t>(0x0e), 0U) << "type 0";
  EXPECT_EQ(get<std::uint16_t>(0x06) & 0x10, 0x10) << "has capabilities";
  put<std::uint32_t>(0, 0x12345678);
  EXPECT_EQ(get(0x00), 0xcafe1234U) << "read-only";
}

TEST_F(Config, BarsCanBeSized) {
  put<std::uint32_t>(0x10, ~0U);
  EXPECT_EQ(get(0x10), ~0U & ~0x3fffU);
  put<std::uint32_t>(0x18, ~0U);
  put<std::uint32_t>(0x1c, ~0U);
  EXPECT_EQ(get(0x18), 0xcU) << "4 GiB: nothing of the low half is writable; 64 bits, prefetchable";
  EXPECT_EQ(get(0x1c), ~0U);
  put<std::uint32_t>(0x14, ~0U);
  EXPECT_EQ(get(0x14), 0U) << "no such BAR";
  put<std::uint32_t>(0x20, ~0U);
  EXPECT_EQ(get(0x20), 0U);
}

TEST_F(Config, AnExpansionRomIsNeverSeen) {
  put<std::uint32_t>(0x30, ~0U);
  EXPECT_EQ(get(0x30), 0U);
}

TEST_F(Config, BarsAnswerOnlyWhenPlacedAndEnabled) {
  EXPECT_TRUE(put<std::uint32_t>(0x10, 0xfe000000).decoding);
  EXPECT_TRUE(space_.decoded().empty());
  EXPECT_TRUE(put<std::uint16_t>(0x04, 2).decoding);
  EXPECT_FALSE(put<std::uint16_t>(0x04, 6).decoding);
  ASSERT_EQ(space_.decoded().size(), 1U) << "BAR2 is not placed";
  put<std::uint32_t>(0x1c, 0xfe);
  const auto bars = space_.decoded();
  ASSERT_EQ(bars.size(), 2U);
  EXPECT_EQ(bars[0].bar, 0U);
  EXPECT_EQ(bars[0].address.value, 0xfe000000U);
  EXPECT_EQ(bars[0].size, FakeFunction::kRegisters);
  EXPECT_EQ(bars[1].bar, 2U);
  EXPECT_EQ(bars[1].address.value, 0xfe00000000U);
  put<std::uint32_t>(0x1c, ~0U);
  EXPECT_EQ(space_.decoded().size(), 2U) << "the last 4 GiB are a place";
}

TEST_F(Config, BytesOfABarCanBeWrittenOneByOne) {
  put<std::uint8_t>(0x13, 0xfe);
  put<std::uint8_t>(0x12, 0x12);
  put<std::uint8_t>(0x11, 0xff);
  put<std::uint8_t>(0x10, 0xff);
  EXPECT_EQ(get(0x10), 0xfe12c000U);
}

TEST_F(Config, CommandRegister) {
  EXPECT_FALSE(space_.bus_master());
  put<std::uint16_t>(0x04, 0xffff);
  EXPECT_EQ(get<std::uint16_t>(0x04), 0x0546);
  EXPECT_TRUE(space_.bus_master());
  EXPECT_TRUE(space_.memory_enabled());
}

TEST_F(Config, CapabilitiesFormAChain) {
  EXPECT_NE(capability(0x01), 0U);
  EXPECT_NE(capability(0x10), 0U);
  const std::size_t msix = capability(0x11);
  ASSERT_NE(msix, 0U);
  EXPECT_EQ(get<std::uint16_t>(msix + 2), 63U);
  EXPECT_EQ(get(msix + 4), 0x2000U);
  EXPECT_EQ(get(msix + 8), 0x3000U);
  put<std::uint16_t>(msix + 2, 0xffff);
  EXPECT_EQ(get<std::uint16_t>(msix + 2), 0xc03f);
}

TEST_F(Config, NoMsixCapabilityWithoutVectors) {
  const FakeFunction quiet(0);
  space_ = ConfigSpace(quiet.description());
  EXPECT_EQ(capability(0x11), 0U);
  EXPECT_NE(capability(0x10), 0U);
}

TEST_F(Config, PciExpressEndpointWithItsLink) {
  const std::size_t express = capability(0x10);
  ASSERT_NE(express, 0U);
  EXPECT_EQ(get<std::uint16_t>(express + 2), 2U) << "version 2, endpoint";
  EXPECT_NE(get(express + 4) & 1U << 28, 0U) << "can be reset";
  EXPECT_EQ(get(express + 0x0c) & 0x3ff, 0x43U);
  EXPECT_EQ(get<std::uint16_t>(express + 0x12), 0x43U);
  EXPECT_EQ(get(express + 0x2c), 0xeU) << "2.5, 5 and 8 GT/s";
}

TEST_F(Config, SerialNumber) {
  EXPECT_EQ(get(0x100), 0x00010003U);
  EXPECT_EQ(get<std::uint64_t>(0x104), 0x1122334455667788U);
}

TEST_F(Config, FunctionLevelResetIsNoticedAndLeavesNoBit) {
  const std::size_t control = capability(0x10) + 8;
  EXPECT_FALSE(put<std::uint16_t>(control, 0x2810).function_level_reset);
  EXPECT_TRUE(put<std::uint16_t>(control, 0xa810).function_level_reset);
  EXPECT_TRUE(put<std::uint8_t>(control + 1, 0x80).function_level_reset);
  EXPECT_FALSE(put<std::uint8_t>(control, 0x80).function_level_reset);
  EXPECT_EQ(get<std::uint16_t>(control) & 0x8000, 0U);
}

TEST_F(Config, ResetKeepsBarsOnlyWhenAFunctionIsReset) {
  put<std::uint32_t>(0x10, 0xfe000000);
  put<std::uint16_t>(0x04, 6);
  space_.reset_function();
  EXPECT_EQ(get(0x10), 0xfe000000U);
  EXPECT_EQ(get<std::uint16_t>(0x04), 0U);
  space_.reset();
  EXPECT_EQ(get(0x10), 0U);
}

TEST_F(Config, BeyondTheEndThereIsNothing) {
  EXPECT_EQ(get(4096), ~0U);
  EXPECT_EQ(get<std::uint64_t>(4092), 0xffffffff00000000U);
  put<std::uint64_t>(4092, ~0ULL);
  put<std::uint32_t>(~0ULL - 1, ~0U);
  EXPECT_EQ(get(4092), 0U);
}

}  // namespace
}  // namespace smartio::pci
