// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smartioctl/fake_sysfs.h"

namespace smartio::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ChoicesTest : public testing::Test {
 protected:
  ScratchFolder scratch;
  Choices choices{scratch.path() / "smartio/lend.d"};
};

TEST_F(ChoicesTest, NoFolderIsNoChoice) {
  EXPECT_TRUE(choices.read().choices.empty());
  EXPECT_TRUE(choices.read().complaints.empty());
  EXPECT_FALSE(choices.forget("0000:01:00.0").value());
}

TEST_F(ChoicesTest, KeptAndForgotten) {
  const Choice choice{.pci = "0000:01:00.0", .vendor = "0x1b36", .device = "0x0010", .serial = "a\"\\b", .model = "m"};
  ASSERT_TRUE(choices.keep(choice));
  const auto found = choices.read();
  ASSERT_EQ(found.choices.size(), 1U);
  EXPECT_EQ(found.choices[0].pci, choice.pci);
  EXPECT_EQ(found.choices[0].vendor, choice.vendor);
  EXPECT_EQ(found.choices[0].serial, choice.serial);
  EXPECT_TRUE(choices.forget("0000:01:00.0").value());
  EXPECT_TRUE(choices.read().choices.empty());
}

TEST_F(ChoicesTest, AFileThatIsNoneIsNamed) {
  scratch.put("smartio/lend.d/0000:01:00.0.conf", "vendor = \"0x1\ndevice");
  scratch.put("smartio/lend.d/mine.conf", "vendor = \"0x1\"\ndevice = \"0x2\"\n");
  scratch.put("smartio/lend.d/0000:02:00.0.conf", std::string(20000, '#'));
  scratch.put("smartio/lend.d/0000:03:00.0.conf", "vendor = 7\n");
  scratch.put("smartio/lend.d/README", "not one of ours\n");
  const auto found = choices.read();
  EXPECT_TRUE(found.choices.empty());
  EXPECT_THAT(found.complaints, testing::UnorderedElementsAre(HasSubstr("line 1"), HasSubstr("not a PCI address"),
                                                              HasSubstr("larger"), HasSubstr("lacks vendor")));
}

}  // namespace
}  // namespace smartio::ctl
