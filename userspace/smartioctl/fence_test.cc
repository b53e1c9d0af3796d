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
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

/// This host, "borrower1", borrows from "lender1" and "lender2".
class FenceTest : public testing::Test {
 protected:
  FenceTest() {
    add_host("1111-self", "borrower1", true, "1111-self linked borrower1\naaaa-1 linked lender1\n");
    add_host("aaaa-1", "lender1", false,
             "aaaa-1 linked lender1\n1111-self linked borrower1\nbbbb-2 away borrower2\ncccc-3 fenced borrower3\n");
    add_path("lender1-0000:01:00.0-ntb0", "aaaa-1");
  }
  void add_host(const std::string& uuid, const std::string& name, bool self, const std::string& hosts) {
    const std::string at = "class/smartio_host/" + uuid;
    sysfs.put(at + "/name", name + "\n");
    sysfs.put(at + "/self", self ? "1\n" : "0\n");
    sysfs.put(at + "/fenced", "0\n");
    sysfs.put(at + "/hosts", hosts);
  }
  void add_path(const std::string& path, const std::string& host) {
    sysfs.put("bus/smartio/devices/" + path + "/host", host + "\n");
  }
  ScratchFolder root;
  FakeSysfs sysfs{root};
};

TEST_F(FenceTest, AtTheLenderByNameAndByUuid) {
  EXPECT_THAT(fence(sysfs, "borrower2").value(), ElementsAre("lender1"));
  EXPECT_THAT(unfence(sysfs, "BBBB-2").value(), ElementsAre("lender1"));
  EXPECT_THAT(sysfs.writes, ElementsAre(Pair("class/smartio_host/aaaa-1/fence", "bbbb-2"),
                                        Pair("class/smartio_host/aaaa-1/unfence", "bbbb-2")));
}

TEST_F(FenceTest, ALenderIsFencedAtItself) {
  EXPECT_TRUE(fence(sysfs, "lender1"));
  EXPECT_THAT(sysfs.writes, ElementsAre(Pair("class/smartio_host/aaaa-1/fence", "aaaa-1")));
}

TEST_F(FenceTest, AtAllLendersOrAtOne) {
  add_host("dddd-4", "lender2", false, "dddd-4 linked lender2\nbbbb-2 linked borrower2\n");
  add_path("lender2-0000:01:00.0-ntb1", "dddd-4");
  add_path("lender2-0000:01:00.0-ntb2", "dddd-4");
  EXPECT_THAT(fence(sysfs, "borrower2").value(), UnorderedElementsAre("lender1", "lender2"));
  EXPECT_THAT(sysfs.writes, UnorderedElementsAre(Pair("class/smartio_host/aaaa-1/fence", "bbbb-2"),
                                                 Pair("class/smartio_host/dddd-4/fence", "bbbb-2")));
  sysfs.writes.clear();
  EXPECT_THAT(fence(sysfs, "borrower2", "lender2").value(), ElementsAre("lender2"));
  EXPECT_THAT(sysfs.writes, ElementsAre(Pair("class/smartio_host/dddd-4/fence", "bbbb-2")));
}

TEST_F(FenceTest, OneNameIsNotTwoHosts) {
  add_host("dddd-4", "lender2", false, "dddd-4 linked lender2\neeee-5 linked borrower2\n");
  add_path("lender2-0000:01:00.0-ntb1", "dddd-4");
  const auto done = fence(sysfs, "borrower2");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("no host 'bbbb-2' is known at lender2"));
  EXPECT_THAT(sysfs.writes, ElementsAre(Pair("class/smartio_host/aaaa-1/fence", "bbbb-2")));
}

TEST_F(FenceTest, ALineThatIsCutMeansNobody) {
  add_host("aaaa-1", "lender1", false, "aaaa-1 linked lender1\nbbbb-2 linked borrower");
  EXPECT_FALSE(fence(sysfs, "borrower"));
  EXPECT_THAT(sysfs.writes, IsEmpty());
}

TEST_F(FenceTest, AUuidIsNobodysName) {
  add_host("aaaa-1", "lender1", false, "cccc-3 linked bbbb-2\nbbbb-2 linked borrower2\n");
  EXPECT_TRUE(fence(sysfs, "bbbb-2"));
  EXPECT_THAT(sysfs.writes, ElementsAre(Pair("class/smartio_host/aaaa-1/fence", "bbbb-2")));
}

TEST_F(FenceTest, SeveralLendersByName) {
  add_host("dddd-4", "lender2", false, "dddd-4 linked lender2\nbbbb-2 linked borrower2\n");
  EXPECT_THAT(fence(sysfs, "borrower2", "lender1,dddd-4").value(), ElementsAre("lender1", "lender2"));
  EXPECT_FALSE(fence(sysfs, "borrower2", "lender1,lender9"));
}

TEST_F(FenceTest, OneLenderThatCannotBeAskedIsAFailureAndTheOthersAreAskedAllTheSame) {
  add_host("0000-4", "lender2", false, "");
  add_path("a-lender2-0000:01:00.0-ntb1", "0000-4");
  const auto done = fence(sysfs, "borrower2");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("lender2 can't be asked"));
  EXPECT_THAT(sysfs.writes, ElementsAre(Pair("class/smartio_host/aaaa-1/fence", "bbbb-2")));
}

// It cuts its own link to the other only when nothing has to be asked over that link any more.
TEST_F(FenceTest, ThisHostComesLastAndOnlyIfTheOthersHaveDoneIt) {
  sysfs.put("class/smartio_export/0000:01:00.0/service", "nvme\n");
  sysfs.put("class/smartio_host/1111-self/hosts", "1111-self linked borrower1\naaaa-1 linked lender1\n");
  add_host("aaaa-1", "lender1", false, "");
  EXPECT_FALSE(fence(sysfs, "lender1"));
  EXPECT_THAT(sysfs.writes, IsEmpty());
}

TEST_F(FenceTest, ALenderFencesForItsOwnDevices) {
  sysfs.put("class/smartio_export/0000:01:00.0/service", "nvme\n");
  sysfs.put("class/smartio_host/1111-self/hosts", "1111-self linked borrower1\nbbbb-2 linked borrower2\n");
  EXPECT_THAT(fence(sysfs, "borrower2").value(), ElementsAre("lender1", "borrower1")) << "itself last";
}

TEST_F(FenceTest, NoLenderIsNoSuccess) {
  std::filesystem::remove_all(sysfs.path("bus/smartio/devices"));
  sysfs.put("class/smartio_export/attribute", "");  // of the class: no export
  const auto done = fence(sysfs, "borrower2");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("this host knows no lender"));
}

TEST_F(FenceTest, UnknownHost) {
  const auto done = fence(sysfs, "borrower9");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("borrower9"), HasSubstr("lender1, borrower1, borrower2")));
  EXPECT_THAT(sysfs.writes, IsEmpty());
}

TEST_F(FenceTest, TwoOfOneName) {
  add_host("aaaa-1", "lender1", false, "aaaa-1 linked lender1\nbbbb-2 away borrower2\ncccc-3 linked borrower2\n");
  const auto done = fence(sysfs, "borrower2");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("bbbb-2"), HasSubstr("cccc-3")));
  EXPECT_TRUE(fence(sysfs, "cccc-3"));
}

TEST_F(FenceTest, WhatTheKernelRefusesIsExplained) {
  sysfs.answer = {ETIMEDOUT, std::generic_category()};
  EXPECT_THAT(fence(sysfs, "borrower2").error().message,
              HasSubstr("fence of borrower2 timed out at lender1 and may be incomplete"));
  sysfs.answer = {EPERM, std::generic_category()};
  EXPECT_THAT(fence(sysfs, "borrower2").error().message, HasSubstr(::geteuid() == 0 ? "is fenced itself" : "as root"));
  sysfs.answer = {ENOLINK, std::generic_category()};
  EXPECT_THAT(fence(sysfs, "borrower2").error().message,
              HasSubstr("no link to lender1 is up; borrower2 may still use drives of lender1"));
  sysfs.answer = {EACCES, std::generic_category()};
  EXPECT_THAT(fence(sysfs, "borrower2").error().message, HasSubstr(::geteuid() == 0 ? "remote_fence" : "as root"));
}

TEST_F(FenceTest, ThisHostAsksToBeLetIn) {
  EXPECT_FALSE(fence(sysfs, "borrower1"));
  EXPECT_THAT(sysfs.writes, IsEmpty());
  EXPECT_THAT(unfence(sysfs, "borrower1").value(), IsEmpty());
  EXPECT_THAT(sysfs.writes, ElementsAre(Pair("class/smartio_host/rejoin", "1")));
  sysfs.answer = {EPERM, std::generic_category()};
  EXPECT_THAT(unfence(sysfs, "borrower1").error().message, HasSubstr("not restarted"));
}

TEST_F(FenceTest, WhoIsFenced) {
  EXPECT_FALSE(is_fenced(sysfs, "borrower2").value());
  EXPECT_TRUE(is_fenced(sysfs, "borrower3").value());
  EXPECT_FALSE(is_fenced(sysfs, "borrower1").value());
  sysfs.put("class/smartio_link/ntb0/reason", "this host is fenced\n");
  EXPECT_TRUE(is_fenced(sysfs, "borrower1").value());
  add_host("aaaa-1", "lender1", false, "");
  EXPECT_FALSE(is_fenced(sysfs, "borrower3"));
}

}  // namespace
}  // namespace smartio::ctl
