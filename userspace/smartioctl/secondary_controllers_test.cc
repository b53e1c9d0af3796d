// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/secondary_controllers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smartioctl/fake_nvme.h"

namespace smartio::ctl {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SecondaryControllersTest : public testing::Test {
 protected:
  SecondaryControllersTest() {
    for (unsigned n = 1; n <= 4; ++n) nvme.secondary.push_back({.id = 10 + n, .function = n});
  }
  std::string refusal(unsigned count) const {
    const auto done = secondary.bring_online(count);
    return done ? "" : done.error().message;
  }

  FakeNvme nvme;
  SecondaryControllers secondary{nvme, "nvme0"};
};

TEST_F(SecondaryControllersTest, EachHasItsShare) {
  ASSERT_TRUE(secondary.bring_online(3));
  for (unsigned n = 0; n < 3; ++n) {
    EXPECT_TRUE(nvme.secondary[n].online);
    EXPECT_EQ(nvme.secondary[n].queues, 5U);
    EXPECT_EQ(nvme.secondary[n].interrupts, 5U);
  }
  EXPECT_FALSE(nvme.secondary[3].online) << "its virtual function is not enabled";
  nvme.commands.clear();
  ASSERT_TRUE(secondary.bring_online(3));
  EXPECT_THAT(nvme.commands, IsEmpty());
}

TEST_F(SecondaryControllersTest, NoMoreThanOneCanHaveInWholeSteps) {
  nvme.queues = {.total = 64, .primary = 9, .most = 30, .step = 4};
  nvme.interrupts = {.total = 64, .most = 7};
  ASSERT_TRUE(secondary.bring_online(2));
  EXPECT_EQ(nvme.secondary[0].queues, 24U) << "a half of 55";
  EXPECT_EQ(nvme.secondary[1].queues, 24U);
  EXPECT_EQ(nvme.secondary[1].interrupts, 7U);
}

TEST_F(SecondaryControllersTest, OneThatIsOnlineKeepsWhatItHas) {
  nvme.secondary[0] = {.id = 11, .function = 1, .queues = 8, .interrupts = 8, .online = true};
  nvme.secondary[1] = {.id = 12, .function = 2, .queues = 1};
  nvme.secondary[2] = {.id = 13, .function = 3, .queues = 7, .interrupts = 6};
  ASSERT_TRUE(secondary.bring_online(3));
  EXPECT_EQ(nvme.secondary[0].queues, 8U);
  for (unsigned n = 1; n < 3; ++n) {
    EXPECT_TRUE(nvme.secondary[n].online);
    EXPECT_EQ(nvme.secondary[n].queues, 4U);
    EXPECT_EQ(nvme.secondary[n].interrupts, 4U);
  }
}

TEST_F(SecondaryControllersTest, NotMoreThanThereIs) {
  nvme.queues = {.total = 16, .primary = 9};
  EXPECT_THAT(refusal(4),
              AllOf(HasSubstr("nvme0: too few flexible queues: 16 in total, 9 primary"), HasSubstr("for 4 functions")));
  EXPECT_THAT(nvme.commands, IsEmpty());
  EXPECT_EQ(refusal(3), "");
  nvme.interrupts.primary = 20;
  EXPECT_THAT(refusal(4), HasSubstr("flexible"));
}

TEST_F(SecondaryControllersTest, WhatIsTheirOwnIsNotAssigned) {
  nvme.types = 0;
  nvme.secondary[0].queues = 5;
  ASSERT_TRUE(secondary.bring_online(1));
  EXPECT_THAT(nvme.commands, ElementsAre("online 11"));
}

TEST_F(SecondaryControllersTest, TheDrivesErrorsAreSaid) {
  nvme.error = 0x4002;
  EXPECT_EQ(refusal(1), "nvme0: can't read its secondary controllers: NVMe status 0x4002");
  nvme.error = -EACCES;
  EXPECT_THAT(refusal(1), HasSubstr("Permission denied"));
  nvme.error = 0;
  nvme.refused = 0x4120;
  EXPECT_EQ(refusal(1), "nvme0: can't assign 8 queues to secondary controller 11: NVMe status 0x4120");
  nvme.types = 0;
  EXPECT_EQ(refusal(1), "nvme0: can't bring online secondary controller 11: NVMe status 0x4120");
}

}  // namespace
}  // namespace smartio::ctl
