// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/function.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smartioctl/fake_sysfs.h"

namespace smartio::ctl {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr const char* kNic = "0000:03:00.0";

class FunctionTest : public testing::Test {
 protected:
  FunctionTest() { sysfs.add_nic(kNic, "eth1"); }
  void put(const std::string& name, std::string_view text) const {
    sysfs.put(std::string("bus/pci/devices/") + kNic + "/" + name, text);
  }
  std::string refusal(Permissions permissions = {}) const {
    const auto why = why_not_lent(sysfs, kNic, permissions);
    return why ? why->message : "";
  }
  ScratchFolder root;
  FakeSysfs sysfs{root};
};

TEST_F(FunctionTest, ANicMayBeLent) { EXPECT_EQ(refusal(), ""); }

TEST_F(FunctionTest, NoBridge) {
  put("class", "0x060400\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("is a bridge"), HasSubstr("behind it")));
  put("class", "0x020000\n");
  put("config", FakeSysfs::config({0x11}, 1));
  EXPECT_THAT(refusal(), HasSubstr("is a bridge")) << "whatever its class";
  put("config", FakeSysfs::config({0x11}, '\x80'));
  EXPECT_EQ(refusal(), "") << "of several functions";
}

TEST_F(FunctionTest, NoNtb) {
  put("class", "0x068000\n");
  EXPECT_THAT(refusal({.trust_borrowers = true, .shared_group = true}), HasSubstr("NTB"));
}

TEST_F(FunctionTest, OneOfMsiAndMsix) {
  put("config", FakeSysfs::config({0x01, 0x05}));
  EXPECT_EQ(refusal(), "");
  put("config", FakeSysfs::config({0x01, 0x10}));
  EXPECT_THAT(refusal(), HasSubstr("neither MSI nor MSI-X"));
  put("config", FakeSysfs::config({}));
  EXPECT_THAT(refusal(), HasSubstr("neither MSI nor MSI-X"));
  put("config", FakeSysfs::config({}).substr(0, 64));
  EXPECT_EQ(refusal(), "") << "an ordinary user sees 64 bytes";
  std::string loop = FakeSysfs::config({0x01, 0x10});
  loop[0x49] = 0x40;
  put("config", loop);
  EXPECT_THAT(refusal(), HasSubstr("neither MSI nor MSI-X")) << "capabilities that lead to each other";
}

TEST_F(FunctionTest, BarsFitIntoAWindow) {
  put("resource",
      "0x0000000000001000 0x000000000000101f 0x0000000000040101\n"
      "0x00000000f0000000 0x00000000f7ffffff 0x0000000000040200\n");
  EXPECT_EQ(refusal(), "") << "no link has said how much of registers it reaches";
  sysfs.put("class/smartio_link/ntb0/registers", "max=0x4000000 span=0\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("BAR 1 has 128M"), HasSubstr("64M")));
  sysfs.put("class/smartio_link/ntb1/registers", "max=0x8000000 span=0\n");
  EXPECT_EQ(refusal(), "") << "one link is enough";
  std::filesystem::remove_all(sysfs.path("class/smartio_link/ntb0"));
  sysfs.put("class/smartio_link/ntb1/registers", "max=0x8000000 span=1\n");
  EXPECT_EQ(refusal(), "") << "the I/O ports are none of it";
  put("resource",
      "0x00000000e8000000 0x00000000e8003fff 0x0000000000040200\n"
      "0x00000000f0000000 0x00000000f7ffffff 0x0000000000040200\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("its BARs span 256M"), HasSubstr("128M"), HasSubstr("IOMMU")));
  sysfs.put("class/smartio_link/ntb1/registers", "max=0x8000000 span=0\n");
  EXPECT_EQ(refusal(), "") << "each by itself";
}

TEST_F(FunctionTest, BarsHaveTheirPagesForThemselves) {
  put("resource", "0x00000000f0000000 0x00000000f00000ff 0x0000000000040200\n");
  EXPECT_THAT(refusal({.trust_borrowers = true}),
              AllOf(HasSubstr("BAR 0 has 256"), HasSubstr("resource_alignment=0000:03:00.0")));
  put("resource", "0x00000000f0000800 0x00000000f00017ff 0x0000000000040200\n");
  EXPECT_THAT(refusal(), HasSubstr("at 0xf0000800"));
  put("resource", "0x00000000f0001000 0x00000000f0001fff 0x0000000000040200\n");
  EXPECT_EQ(refusal(), "");
}

TEST_F(FunctionTest, VirtualFunctionsAreLentInPlaceOfIt) {
  put("sriov_numvfs", "0\n");
  EXPECT_EQ(refusal(), "");
  put("sriov_numvfs", "2\n");
  EXPECT_THAT(refusal({.trust_borrowers = true, .shared_group = true}),
              AllOf(HasSubstr("has 2 virtual functions"), HasSubstr("--vfs")));
}

TEST_F(FunctionTest, AGroupOfItsOwn) {
  const std::string port = "0000:00:1c.0";
  sysfs.put("bus/pci/devices/" + port + "/class", "0x060400\n");
  sysfs.put("kernel/iommu_groups/7/devices/" + port, "");
  EXPECT_EQ(refusal(), "") << "a port makes no requests";
  sysfs.put("bus/pci/devices/0000:03:00.1/class", "0x020000\n");
  sysfs.put("kernel/iommu_groups/7/devices/0000:03:00.1", "");
  EXPECT_THAT(refusal({.trust_borrowers = true}),
              AllOf(HasSubstr("group 7 with 0000:03:00.1:"), HasSubstr("--shared-group")));
  EXPECT_EQ(refusal({.shared_group = true}), "");
}

TEST_F(FunctionTest, AnIommuOrTrust) {
  std::filesystem::remove(sysfs.path(std::string("bus/pci/devices/") + kNic + "/iommu_group"));
  EXPECT_THAT(refusal({.shared_group = true}), AllOf(HasSubstr("IOMMU is off"), HasSubstr("--trust-borrowers")));
  EXPECT_EQ(refusal({.trust_borrowers = true}), "");
}

TEST_F(FunctionTest, AnIommuThatHoldsNothingBack) {
  sysfs.put("kernel/iommu_groups/7/type", "identity\n");
  EXPECT_THAT(refusal(), HasSubstr("IOMMU is off"));
  sysfs.put("kernel/iommu_groups/7/type", "DMA-FQ\n");
  EXPECT_EQ(refusal(), "");
}

TEST_F(FunctionTest, WhatUsesIt) {
  const ScratchFolder proc;
  const FakeDiskUse use(sysfs, proc.path(), "/nowhere");
  const std::string device = std::string("bus/pci/devices/") + kNic;
  put("ata1/host0/target0:0:0/0:0:0:0/block/sda/size", "8\n");
  sysfs.put("class/block/sda/sda1/partition", "1\n");
  sysfs.put("class/net/eth1/flags", "0x1003\n");
  proc.put("self/mountinfo", "22 1 8:1 / /data rw - ext4 /dev/sda1 rw\n");
  // Links lead out of the device.
  std::filesystem::create_directories(sysfs.path("elsewhere/block/sdz"));
  std::filesystem::create_directory_symlink("../../../../elsewhere", sysfs.path(device + "/subsystem"));
  const Children below = children_of(sysfs, device);
  EXPECT_THAT(below.disks, ElementsAre("sda"));
  EXPECT_THAT(below.interfaces, ElementsAre("eth1"));
  sysfs.put("class/net/eth1/flags", "0x1002\n");
  EXPECT_THAT(uses_of(sysfs, use, device), testing::Contains(HasSubstr("is mounted on /data")));
  sysfs.put("class/net/eth1/flags", "0x1003\n");
  EXPECT_THAT(uses_of(sysfs, use, device), testing::Contains("eth1 is up"));
  EXPECT_THAT(uses_of(sysfs, use, "bus/pci/devices/0000:09:00.0"), IsEmpty());
}

}  // namespace
}  // namespace smartio::ctl
