// SPDX-License-Identifier: GPL-2.0
#include "tcg_fence/fence.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace smartio::tcg_fence {
namespace {

bool fence(const std::vector<std::uint8_t>& bytes) { return is_fence(bytes); }

TEST(Fence, StoreAndMemoryFencesAreOnes) {
  EXPECT_TRUE(fence({0x0F, 0xAE, 0xF8}));
  EXPECT_TRUE(fence({0x0F, 0xAE, 0xF0}));
}

TEST(Fence, LoadFencesAndCacheLineFlushesAreNone) {
  EXPECT_FALSE(fence({0x0F, 0xAE, 0xE8}));
  EXPECT_FALSE(fence({0x0F, 0xAE, 0x38}));
  EXPECT_FALSE(fence({0x0F, 0xAE, 0xF8, 0x00}));
  EXPECT_FALSE(fence({0x0F, 0xA2}));
  EXPECT_FALSE(fence({}));
}

}  // namespace
}  // namespace smartio::tcg_fence
