// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/guest_copy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace smartio::pci {
namespace {

class GuestCopy : public testing::Test {
 protected:
  alignas(64) std::array<std::byte, 512> guest_{};
  std::vector<std::byte> pattern(std::size_t size) {
    std::vector<std::byte> data(size);
    for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(i * 7 + 1);
    return data;
  }
};

TEST_F(GuestCopy, EveryAlignmentAndSizeArrivesWholeAndTouchesNothingElse) {
  for (std::size_t offset = 0; offset < 16; ++offset) {
    for (std::size_t size = 0; size < 200; ++size) {
      guest_.fill(std::byte{0xee});
      const auto data = pattern(size);
      copy_to_guest(guest_.data() + 16 + offset, data);
      for (std::size_t i = 0; i < guest_.size(); ++i) {
        const bool inside = i >= 16 + offset && i < 16 + offset + size;
        ASSERT_EQ(guest_[i], inside ? data[i - 16 - offset] : std::byte{0xee})
            << "offset " << offset << " size " << size << " byte " << i;
      }
      std::vector<std::byte> back(size);
      copy_from_guest(back, guest_.data() + 16 + offset);
      ASSERT_EQ(back, data);
    }
  }
}

TEST_F(GuestCopy, StoreWritesOnlyItsBytes) {
  for (std::size_t offset = 0; offset < 8; ++offset) {
    for (std::uint32_t size = 1; size <= 8; ++size) {
      guest_.fill(std::byte{0});
      store_to_guest(guest_.data() + 8 + offset, 0x8877665544332211, size);
      for (std::size_t i = 0; i < 32; ++i) {
        const bool inside = i >= 8 + offset && i < 8 + offset + size;
        const auto expected = inside ? static_cast<std::byte>(0x11 * (i - 8 - offset + 1)) : std::byte{0};
        ASSERT_EQ(guest_[i], expected) << "offset " << offset << " size " << size << " byte " << i;
      }
    }
  }
}

}  // namespace
}  // namespace smartio::pci
