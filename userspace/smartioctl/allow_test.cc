// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/allow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smartioctl/fake_sysfs.h"

namespace smartio::ctl {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kDevice = "0000:03:00.0";
constexpr const char* kOne = "4c4c4544-0000-2010-8020-80c04f000001";
constexpr const char* kTwo = "4c4c4544-0000-2010-8020-80c04f000002";
constexpr const char* kUnseen = "4c4c4544-0000-2010-8020-80c04f0000ff";

class AllowTest : public testing::Test {
 protected:
  AllowTest() {
    sysfs.put("bus/pci/devices/0000:03:00.0/class", "0x020000\n");
    add_host(kOne, "one");
    add_host(kTwo, "two");
  }
  void add_host(const std::string& uuid, const std::string& name) const {
    sysfs.put("class/smartio_host/" + uuid + "/name", name + "\n");
    sysfs.put("class/smartio_host/" + uuid + "/self", "0\n");
  }
  /// A session of a host.
  void borrow(const std::string& uuid, const std::string& name, const std::string& link) const {
    sysfs.put("class/smartio_export/0000:03:00.0/borrowers",
              "session=0x1 host=" + uuid + " name=" + name + " link=" + link + "\n");
  }
  Outcome<void> run(const std::vector<std::string>& hosts, const std::string& device = kDevice, bool force = false) {
    return allow(sysfs, rules, hosts, device, force, [this](const std::string& line) { reports.push_back(line); });
  }
  Outcome<void> run_all() {
    return enforce(sysfs, rules, [this](const std::string& line) { reports.push_back(line); });
  }

  ScratchFolder root;
  ScratchFolder etc;
  FakeSysfs sysfs{root};
  Rules rules{etc.path() / "allow.d"};
  std::vector<std::string> reports;
};

TEST_F(AllowTest, HostsByNameAndByUuid) {
  ASSERT_TRUE(run({"one", "4C4C4544-0000-2010-8020-80C04F0000FF", kOne}, "03:00.0"));
  const std::string both = std::string(kOne) + "," + kUnseen;
  EXPECT_THAT(sysfs.rules(), ElementsAre("0000:03:00.0 " + both));
  const auto found = rules.read();
  ASSERT_EQ(found.rules.size(), 1U);
  EXPECT_THAT(found.broken, IsEmpty());
  EXPECT_EQ(found.rules[0].pci, kDevice);
  EXPECT_THAT(found.rules[0].hosts, ElementsAre(kOne, kUnseen));
  EXPECT_THAT(reports, ElementsAre(AllOf(HasSubstr(std::string("only one, ") + kUnseen), HasSubstr(kDevice))));
}

TEST_F(AllowTest, ARuleTakesThePlaceOfTheOneBefore) {
  ASSERT_TRUE(run({"one"}));
  ASSERT_TRUE(run({"two"}));
  EXPECT_THAT(rules.read().rules.at(0).hosts, ElementsAre(kTwo));
  ASSERT_TRUE(run({"none"}));
  EXPECT_TRUE(rules.has(kDevice));
  EXPECT_THAT(rules.read().rules.at(0).hosts, IsEmpty());
  ASSERT_TRUE(run({"any"}));
  EXPECT_FALSE(rules.has(kDevice));
  EXPECT_THAT(sysfs.rules(), ElementsAre(std::string("0000:03:00.0 ") + kOne, std::string("0000:03:00.0 ") + kTwo,
                                         "0000:03:00.0 none", "0000:03:00.0 any"));
}

TEST_F(AllowTest, WrongUse) {
  for (const auto& hosts : {std::vector<std::string>{}, {"any", "one"}, {"one", "none"}}) {
    const auto done = run(hosts);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().status, Exit::kUsage) << done.error().message;
  }
  EXPECT_EQ(run({"0000:03:00.0"}, "one").error().status, Exit::kUsage);
  const auto unknown = run({"three"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, AllOf(HasSubstr("'three'"), HasSubstr("one, two"), HasSubstr("UUID")));
  add_host(kUnseen, "one");
  const auto doubled = run({"one"});
  ASSERT_FALSE(doubled);
  EXPECT_EQ(doubled.error().status, Exit::kUsage);
  EXPECT_THAT(sysfs.rules(), IsEmpty());
  EXPECT_THAT(rules.read().rules, IsEmpty());
}

TEST_F(AllowTest, NotUnderABorrower) {
  borrow(kOne, "one", "ntb0");
  const auto done = run({"two"});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kInUse);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("one over ntb0"), HasSubstr("--force")));
  EXPECT_THAT(sysfs.rules(), IsEmpty());
  EXPECT_FALSE(rules.has(kDevice));
  EXPECT_FALSE(run({"none"}));
  EXPECT_TRUE(run({"two", "one"}));
  EXPECT_TRUE(run({"any"}));
  EXPECT_TRUE(run({"two"}, kDevice, true));
  borrow(kOne, "one", "local");
  EXPECT_TRUE(run({"none"}));
}

TEST_F(AllowTest, WhatTheCoreRefusesIsNotKept) {
  sysfs.answer = {ENOSPC, std::generic_category()};
  const auto done = run({"one"});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("64 hosts"));
  EXPECT_FALSE(rules.has(kDevice));
}

TEST_F(AllowTest, WithoutTheModuleItIsKept) {
  std::filesystem::remove_all(sysfs.path("class/smartio_export"));
  ASSERT_TRUE(run({kUnseen}, "0000:09:00.0"));
  EXPECT_THAT(sysfs.rules(), IsEmpty());
  EXPECT_TRUE(rules.has("0000:09:00.0"));
  EXPECT_THAT(reports, Contains(HasSubstr("no device 0000:09:00.0")));
  EXPECT_FALSE(run_all());
}

TEST_F(AllowTest, AllRulesOfTheFiles) {
  EXPECT_TRUE(run_all());
  EXPECT_THAT(sysfs.rules(), IsEmpty());
  etc.put("allow.d/0000:01:00.0.conf", "hosts = []\n");
  etc.put("allow.d/0000:02:00.0.conf", std::string("hosts = [\"") + kOne + "\", \"" + kTwo + "\"]  # by hand\n");
  etc.put("allow.d/0000:03:00.0.conf", "hosts = \"any\"\n");
  etc.put("allow.d/0000:04:00.0.conf", "hosts = [");
  etc.put("allow.d/mine.conf", "hosts = []\n");
  etc.put("allow.d/README", "not one of ours\n");
  EXPECT_TRUE(run_all());
  EXPECT_THAT(sysfs.rules(),
              testing::UnorderedElementsAre("0000:01:00.0 none", std::string("0000:02:00.0 ") + kOne + "," + kTwo,
                                            "0000:03:00.0 none", "0000:04:00.0 none"));
  EXPECT_THAT(reports, testing::UnorderedElementsAre(HasSubstr("lacks hosts"), HasSubstr("line 1"),
                                                     HasSubstr("not a PCI address")));
}

TEST_F(AllowTest, NamesInTheFileAreForPeople) {
  add_host(kUnseen, "a\nhosts = []");
  ASSERT_TRUE(run({kUnseen}));
  EXPECT_THAT(rules.read().rules.at(0).hosts, ElementsAre(kUnseen));
}

TEST(Uuid, AsTheKernelReadsIt) {
  EXPECT_TRUE(is_uuid(kOne));
  EXPECT_TRUE(is_uuid("4C4C4544-0000-2010-8020-80C04F000001"));
  EXPECT_FALSE(is_uuid(""));
  EXPECT_FALSE(is_uuid(std::string(kOne) + "0"));
  EXPECT_FALSE(is_uuid("4c4c4544-0000-2010-8020-80c04f00000g"));
  EXPECT_FALSE(is_uuid("4c4c45440000-0000-2010-8020-80c04f00000"));
}

}  // namespace
}  // namespace smartio::ctl
