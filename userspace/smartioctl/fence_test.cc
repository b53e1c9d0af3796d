// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/fence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smartioctl/fake_sysfs.h"

namespace smartio::ctl {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class FenceTest : public testing::Test {
 protected:
  FenceTest() {
    for (const auto& [uuid, name] : {std::pair{"aaaa-1", "borrower1"}, {"bbbb-2", "borrower2"}}) {
      sysfs.put(std::string("class/smartio_host/") + uuid + "/name", name);
      sysfs.put(std::string("class/smartio_host/") + uuid + "/fenced", "0\n");
    }
  }
  Scratch root;
  FakeSysfs sysfs{root};
};

TEST_F(FenceTest, ByNameAndByUuid) {
  EXPECT_EQ(fence(sysfs, "borrower2").value(), "borrower2");
  EXPECT_EQ(unfence(sysfs, "BBBB-2").value(), "borrower2");
  EXPECT_THAT(sysfs.writes,
              ElementsAre(Pair("class/smartio_host/fence", "bbbb-2"), Pair("class/smartio_host/unfence", "bbbb-2")));
}

TEST_F(FenceTest, UnknownHost) {
  const auto done = fence(sysfs, "borrower3");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("borrower3"), HasSubstr("borrower1, borrower2")));
  EXPECT_TRUE(sysfs.writes.empty());
}

TEST_F(FenceTest, TwoOfOneName) {
  sysfs.put("class/smartio_host/cccc-3/name", "borrower2");
  sysfs.put("class/smartio_host/cccc-3/fenced", "0\n");
  const auto done = fence(sysfs, "borrower2");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("bbbb-2"), HasSubstr("cccc-3")));
  EXPECT_TRUE(fence(sysfs, "cccc-3"));
}

TEST_F(FenceTest, WhatTheKernelRefusesIsExplained) {
  sysfs.answer = {ETIMEDOUT, std::generic_category()};
  EXPECT_THAT(fence(sysfs, "borrower1").error().message, HasSubstr("may not be complete"));
  sysfs.answer = {EPERM, std::generic_category()};
  EXPECT_THAT(fence(sysfs, "borrower1").error().message, HasSubstr("as root"));
}

}  // namespace
}  // namespace smartio::ctl
