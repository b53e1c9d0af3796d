// SPDX-License-Identifier: GPL-2.0
#include <string_view>

#include "tests/drivers/smartio/core.h"

namespace {

class Group : public Core {
 protected:
  Group() { lender.pdev.dev.iommu_group = &group; }
  ~Group() override { EXPECT_EQ(group.users, 0); }
  static int allow(std::string_view name, group_allowed allowed = GROUP_ALLOWED_SHARED) {
    return group_allow(name.data(), name.size(), allowed);
  }

  iommu_group group = translated_group(7);
  device ntb{};
};

TEST_F(Group, ADeviceInALinksGroupIsNotLent) {
  FakeLink a{"ntb0"};
  ntb.iommu_group = &group;
  a.dma = &ntb;
  ASSERT_EQ(a.join(host('a')), 0);
  EXPECT_EQ(PTR_ERR(lender.lend()), -EOPNOTSUPP);
  lender.device = nullptr;
  EXPECT_EQ(export_after(0), nullptr);
  EXPECT_TRUE(a.sent_of(WIRE_DEVICE).empty());
}

TEST_F(Group, UnlessItIsAllowedForOnce) {
  FakeLink a{"ntb0"};
  ntb.iommu_group = &group;
  a.dma = &ntb;
  EXPECT_EQ(allow("0000:01:00.1\n"), 0);
  EXPECT_EQ(PTR_ERR(lender.lend()), -EOPNOTSUPP);
  EXPECT_EQ(allow("0000:01:00.0\n"), 0);
  EXPECT_FALSE(IS_ERR(lender.lend()));
  EXPECT_EQ(a.join(host('a')), 0);
  lender.take_back();
  EXPECT_EQ(PTR_ERR(lender.lend()), -EOPNOTSUPP);
  lender.device = nullptr;
}

TEST_F(Group, ALinkThatComesLaterDoesNotJoin) {
  ASSERT_FALSE(IS_ERR(lender.lend()));
  FakeLink a{"ntb0"};
  ntb.iommu_group = &group;
  a.dma = &ntb;
  EXPECT_EQ(a.join(host('a')), -EOPNOTSUPP);
  lender.take_back();
  EXPECT_EQ(a.join(host('a')), 0);
}

TEST_F(Group, OtherGroupsAndUntranslatedOnesAreFine) {
  iommu_group other = translated_group(8);
  FakeLink a{"ntb0"};
  ntb.iommu_group = &other;
  a.dma = &ntb;
  ASSERT_EQ(a.join(host('a')), 0);
  EXPECT_FALSE(IS_ERR(lender.lend()));
  lender.take_back();
  ntb.iommu_group = nullptr;
  EXPECT_FALSE(IS_ERR(lender.lend()));
  lender.take_back();
  group.domain.type = 0;
  ntb.iommu_group = &group;
  EXPECT_FALSE(IS_ERR(lender.lend()));
}

TEST_F(Group, AWholeDeviceNeedsItsGroupForItself) {
  pci_dev other{};
  group.devices[0] = &lender.pdev.dev;
  group.devices[1] = &other.dev;
  EXPECT_EQ(PTR_ERR(lender.lend(true)), -EPERM);
  EXPECT_EQ(allow("0000:01:00.0", GROUP_ALLOWED_TRUST), 0);
  EXPECT_EQ(PTR_ERR(lender.lend(true)), -EPERM) << "another thing is allowed";
  lender.device = nullptr;
  EXPECT_FALSE(IS_ERR(lender.lend())) << "one that is shared has a driver on this host";
  lender.take_back();
  EXPECT_EQ(allow("0000:01:00.0\n"), 0);
  EXPECT_FALSE(IS_ERR(lender.lend(true)));
  lender.take_back();
  other.bridge = 1;
  EXPECT_FALSE(IS_ERR(lender.lend(true)));
}

TEST_F(Group, ADeviceThatJoinsTheGroupLaterKeepsBorrowersOut) {
  FakeLink a{"ntb0"};
  a.dma = &ntb;
  ASSERT_EQ(a.join(host('a')), 0);
  pci_dev other{};
  group.devices[0] = &lender.pdev.dev;
  smartio_export* device = lender.lend(true);
  ASSERT_FALSE(IS_ERR(device));
  group.devices[1] = &other.dev;
  open(a, device, -EPERM);
  group.devices[1] = nullptr;
  EXPECT_NE(open(a, device), 0U);
}

TEST_F(Group, AWholeDeviceNeedsAnIommu) {
  group.domain.type = 0;
  EXPECT_EQ(allow("0000:01:00.0", GROUP_ALLOWED_SHARED), 0);
  EXPECT_EQ(PTR_ERR(lender.lend(true)), -EPERM);
  lender.pdev.dev.iommu_group = nullptr;
  EXPECT_EQ(PTR_ERR(lender.lend(true)), -EPERM);
  EXPECT_EQ(allow("0000:01:00.0", GROUP_ALLOWED_TRUST), 0);
  EXPECT_FALSE(IS_ERR(lender.lend(true)));
  lender.take_back();
  EXPECT_EQ(PTR_ERR(lender.lend(true)), -EPERM) << "for once";
  lender.device = nullptr;
}

TEST_F(Group, WhatIsAllowedCanBeTakenBack) {
  EXPECT_EQ(allow("0000:01:00.0", GROUP_ALLOWED_TRUST), 0);
  EXPECT_EQ(allow("-0000:01:00.0", GROUP_ALLOWED_SHARED), 0);
  EXPECT_TRUE(group_allowance_take("0000:01:00.0", GROUP_ALLOWED_TRUST));
  EXPECT_EQ(allow("0000:01:00.0", GROUP_ALLOWED_TRUST), 0);
  EXPECT_EQ(allow("-0000:01:00.0\n", GROUP_ALLOWED_TRUST), 0);
  EXPECT_FALSE(group_allowance_take("0000:01:00.0", GROUP_ALLOWED_TRUST));
}

TEST_F(Group, NoNameIsTakenForAnother) {
  EXPECT_EQ(allow(""), -EINVAL);
  EXPECT_EQ(allow("\n"), -EINVAL);
  EXPECT_EQ(allow(std::string(32, '0')), -EINVAL);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(allow("0000:01:00.0"), 0);
  EXPECT_EQ(allow("0000:01:00.0"), -ENOSPC);
  EXPECT_TRUE(group_allowance_take("0000:01:00.0", GROUP_ALLOWED_SHARED));
  EXPECT_FALSE(group_allowance_take("0000:01:00.0", GROUP_ALLOWED_SHARED));
  EXPECT_EQ(allow("0000:01:00.0"), 0);
}

}  // namespace
