// SPDX-License-Identifier: GPL-2.0
// Pages that stay with a link for the owner that had them.
#include <gtest/gtest.h>

#include "tests/drivers/kernel_shim/shim.h"

extern "C" {
#include <linux/device.h>
#include <linux/jiffies.h>
#include <linux/mm.h>

#include "kept.h"
}

namespace {

constexpr u32 kDrive = 1;
constexpr u32 kOther = 2;
constexpr size_t kQueue = 64 << 10;
constexpr size_t kData = 1 << 20;

/// With an IOMMU and without one.
class Kept : public testing::TestWithParam<bool> {
 protected:
  Kept() { link_kept_init(&kept, &ntb, GetParam()); }
  ~Kept() override {
    shim::allocations = -1;
    link_kept_exit(&kept);
    EXPECT_TRUE(list_empty(&kept.owners));
    EXPECT_EQ(kept.bytes, 0U);
    EXPECT_EQ(shim::locks(), 0);
  }

  /// The first page of a piece, or null.
  page* get(u32 owner, size_t size) {
    link_piece* piece = link_piece_get(&kept, owner, size);
    return piece ? piece->page : nullptr;
  }
  void put(page* pages) { link_piece_put(&kept, pages); }

  device ntb{};
  link_kept kept{};
};

TEST_P(Kept, TheNextOfItsOwnerGetsThem) {
  page* queue = get(kDrive, kQueue);
  page* data = get(kDrive, kData);
  put(queue);
  put(data);
  EXPECT_EQ(kept.bytes, kQueue + kData);
  shim::allocations = 0;
  EXPECT_EQ(get(kDrive, kData), data);
  EXPECT_EQ(get(kDrive, kQueue), queue);
  EXPECT_EQ(kept.bytes, 0U);
  EXPECT_EQ(kept.made, 2U);
  put(queue);
  put(data);
}

TEST_P(Kept, AnotherOwnerWithTheSameSizesDoesNot) {
  page* drive = get(kDrive, kQueue);
  put(drive);
  page* other = get(kOther, kQueue);
  EXPECT_NE(other, drive);
  shim::allocations = 0;
  EXPECT_EQ(get(kOther, kQueue), nullptr);
  EXPECT_EQ(get(kDrive, kQueue), drive);
  put(drive);
  put(other);
}

TEST_P(Kept, AnotherOwnerWithOtherSizesFreesNone) {
  page* drive = get(kDrive, kQueue);
  put(drive);
  page* other = get(kOther, kData);
  put(other);
  put(get(kOther, 2 * kData));  // frees the one that it had before
  EXPECT_EQ(kept.bytes, kQueue + 2 * kData);
  shim::allocations = 0;
  EXPECT_EQ(get(kDrive, kQueue), drive);
  put(drive);
}

TEST_P(Kept, AnOwnerKeepsNoMoreThanItHadAtMost) {
  page* queue = get(kDrive, kQueue);
  page* data = get(kDrive, kData);
  put(queue);
  put(data);
  page* half = get(kDrive, kData / 2);
  EXPECT_LE(kept.bytes + kData / 2, kQueue + kData);
  put(half);
  EXPECT_LE(kept.bytes, kQueue + kData);
}

TEST_P(Kept, ADeviceTakenBackKeepsNone) {
  page* used = get(kDrive, kQueue);
  put(get(kDrive, kData));
  page* other = get(kOther, kData);
  put(other);
  link_kept_forget(&kept, kDrive);
  EXPECT_EQ(kept.bytes, kData);
  put(used);  // held for its borrower until then
  EXPECT_EQ(kept.bytes, kData);
  EXPECT_EQ(get(kOther, kData), other);
  put(other);
}

TEST_P(Kept, TheyGoAfterTenMinutes) {
  page* drive = get(kDrive, kQueue);
  put(drive);
  shim_pause(599 * HZ);
  EXPECT_EQ(kept.bytes, kQueue);
  shim_pause(HZ);
  EXPECT_EQ(kept.bytes, 0U);
}

TEST_P(Kept, OneThatCannotBeHadIsNoMatterOfAnother) {
  page* drive = get(kDrive, kQueue);
  shim::allocations = 0;
  EXPECT_EQ(get(kDrive, kQueue), nullptr);
  EXPECT_EQ(get(kOther, kQueue), nullptr);
  shim::allocations = -1;
  page* other = get(kOther, kQueue);
  EXPECT_NE(other, nullptr);
  put(other);
  put(drive);
}

INSTANTIATE_TEST_SUITE_P(Iommu, Kept, testing::Bool(), [](const auto& one) { return one.param ? "With" : "Without"; });

}  // namespace
