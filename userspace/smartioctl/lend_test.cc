// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/lend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smartioctl/fake_nvme.h"
#include "smartioctl/fake_sysfs.h"

namespace smartio::ctl {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kFirst = "0000:01:00.0";
constexpr const char* kSecond = "0000:02:00.0";

class LendTest : public testing::Test {
 protected:
  LendTest() {
    sysfs.add_drive(kFirst, "S1", "nvme");
    options.patience = std::chrono::milliseconds(20);
  }
  std::string driver(const std::string& pci) const { return sysfs.link("bus/pci/devices/" + pci + "/driver"); }
  std::string override_of(const std::string& pci) const {
    return sysfs.text("bus/pci/devices/" + pci + "/driver_override");
  }
  bool lent(const std::string& pci) const { return sysfs.exists("class/smartio_export/" + pci); }
  /// A session of another host.
  void borrow(const std::string& pci) {
    sysfs.put("class/smartio_export/" + pci + "/borrowers", "session=0x1 host=u-2 name=borrower link=ntb0\n");
  }
  /// The stock driver's disk is mounted.
  void mount() { proc.put("self/mountinfo", "22 1 259:1 / /data rw - ext4 /dev/nvme0n1 rw\n"); }

  ScratchFolder root;
  ScratchFolder proc;
  ScratchFolder etc;
  FakeSysfs sysfs{root};
  FakeKernel kernel;
  FakeNvme nvme;
  FakeDiskUse use{sysfs, proc.path(), "/nowhere"};
  Choices choices{etc.path()};
  std::vector<std::string> reports;
  Rules rules{etc.path() / "allow.d"};
  Lender lender{sysfs, kernel, nvme, use, choices, rules, [this](const std::string& line) { reports.push_back(line); }};
  Lender::Options options;
};

TEST_F(LendTest, TakesTheDriveFromTheStockDriver) {
  ASSERT_TRUE(lender.lend("01:00.0", options));
  EXPECT_EQ(driver(kFirst), "smartio_nvme_mgr");
  EXPECT_EQ(override_of(kFirst), "smartio_nvme_mgr");
  EXPECT_TRUE(lent(kFirst));
  EXPECT_THAT(kernel.loaded, testing::ElementsAre("ntb_smartio", "smartio_nvme_mgr"));
  EXPECT_THAT(choices.read().choices, IsEmpty());
}

TEST_F(LendTest, ADriveWithoutDriver) {
  sysfs.add_drive(kSecond, "S2", "");
  ASSERT_TRUE(lender.lend(kSecond, options));
  EXPECT_TRUE(lent(kSecond));
}

TEST_F(LendTest, TwiceIsNoFailure) {
  ASSERT_TRUE(lender.lend(kFirst, options));
  sysfs.writes.clear();
  ASSERT_TRUE(lender.lend(kFirst, options));
  EXPECT_THAT(reports, Contains(HasSubstr("lent already")));
  EXPECT_THAT(sysfs.writes, IsEmpty());
}

TEST_F(LendTest, WrongAddresses) {
  const auto nonsense = lender.lend("nvme0", options);
  ASSERT_FALSE(nonsense);
  EXPECT_EQ(nonsense.error().status, Exit::kUsage);
  const auto absent = lender.lend("05:00.0", options);
  ASSERT_FALSE(absent);
  EXPECT_THAT(absent.error().message, AllOf(HasSubstr("0000:05:00.0"), HasSubstr(kFirst)));
}

TEST_F(LendTest, NotAMountedDisk) {
  mount();
  const auto done = lender.lend(kFirst, options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kInUse);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("nvme0n1 is mounted on /data"), HasSubstr("--force")));
  EXPECT_EQ(driver(kFirst), "nvme");
  EXPECT_THAT(sysfs.writes, IsEmpty());
  options.force = true;
  ASSERT_TRUE(lender.lend(kFirst, options));
  EXPECT_TRUE(lent(kFirst));
}

TEST_F(LendTest, NotWhatAVirtualMachineHas) {
  sysfs.add_drive(kSecond, "S2", "vfio-pci");
  const auto done = lender.lend(kSecond, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("vfio-pci"));
  EXPECT_THAT(sysfs.writes, IsEmpty());
}

TEST_F(LendTest, ModuleThatIsNotInstalled) {
  kernel.missing.insert("smartio_nvme_mgr");
  const auto done = lender.lend(kFirst, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("smartio_nvme_mgr"), HasSubstr("smartio-dkms")));
  EXPECT_EQ(driver(kFirst), "nvme");
}

TEST_F(LendTest, OrdinaryUser) {
  sysfs.refuse_writes = true;
  const auto done = lender.lend(kFirst, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("as root"));
}

TEST_F(LendTest, WhatTheManagerRefusesGoesBack) {
  sysfs.probe_error = EIO;
  const auto done = lender.lend(kFirst, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("Input/output error"), HasSubstr("now has the driver nvme"),
                                          HasSubstr("kernel: 0000:01:00.0: it said this"), HasSubstr("dmesg")));
  EXPECT_EQ(driver(kFirst), "nvme");
  EXPECT_EQ(override_of(kFirst), "(null)");
}

TEST_F(LendTest, WhatTheManagerDoesNotLendInTimeGoesBack) {
  sysfs.manager_lends = false;
  const auto done = lender.lend(kFirst, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("did not export it within"));
  EXPECT_EQ(driver(kFirst), "nvme");
  EXPECT_EQ(override_of(kFirst), "(null)");
}

TEST_F(LendTest, ASharedGroupIsAllowedForThisDriveOnly) {
  ASSERT_TRUE(lender.lend(kFirst, options));
  EXPECT_EQ(sysfs.permitted, "00");
  EXPECT_FALSE(sysfs.exists("module/smartio/parameters/shared_group"));
  sysfs.add_drive(kSecond, "S2", "nvme");
  options.permissions.shared_group = true;
  ASSERT_TRUE(lender.lend(kSecond, options));
  EXPECT_EQ(sysfs.permitted, "01") << "trust_borrowers, shared_group";
}

TEST_F(LendTest, PersistKeepsAddressIdsAndSerial) {
  options.persist = true;
  ASSERT_TRUE(lender.lend(kFirst, options));
  const auto kept = choices.read().choices;
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].pci, kFirst);
  EXPECT_EQ(kept[0].serial, "S1");
  EXPECT_EQ(kept[0].vendor, "0x1b36");
  EXPECT_TRUE(kernel.enabled);
}

TEST_F(LendTest, UnlendGivesItBack) {
  ASSERT_TRUE(lender.lend(kFirst, options));
  ASSERT_TRUE(lender.unlend("01:00.0", options));
  EXPECT_EQ(driver(kFirst), "nvme");
  EXPECT_EQ(override_of(kFirst), "(null)");
  EXPECT_FALSE(lent(kFirst));
}

TEST_F(LendTest, UnlendOfWhatIsNotLent) {
  const auto done = lender.unlend(kFirst, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("is not lent"));
}

TEST_F(LendTest, NotFromUnderABorrower) {
  ASSERT_TRUE(lender.lend(kFirst, options));
  borrow(kFirst);
  const auto done = lender.unlend(kFirst, options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kInUse);
  EXPECT_THAT(done.error().message, HasSubstr("borrower uses it over ntb0"));
  EXPECT_TRUE(lent(kFirst));
  options.force = true;
  EXPECT_TRUE(lender.unlend(kFirst, options));
}

TEST_F(LendTest, NotFromUnderAMountOfTheLendersOwn) {
  ASSERT_TRUE(lender.lend(kFirst, options));
  sysfs.put("bus/smartio/devices/x-local/link", "local\n");
  sysfs.put("bus/smartio/devices/x-local/pci", std::string(kFirst) + "\n");
  sysfs.put("bus/smartio/devices/x-local/nvme/nvme7/state", "live\n");
  sysfs.put("bus/smartio/devices/x-local/nvme/nvme7/nvme0c7n1/size", "8\n");
  mount();
  const auto done = lender.unlend(kFirst, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("nvme0n1 is mounted on /data"));
}

TEST_F(LendTest, UnlendPersistForgetsAndPlainUnlendSaysThatItDoesNot) {
  options.persist = true;
  ASSERT_TRUE(lender.lend(kFirst, options));
  options.persist = false;
  ASSERT_TRUE(lender.unlend(kFirst, options));
  EXPECT_THAT(reports, Contains(HasSubstr("lent again at the next boot")));
  options.persist = true;
  ASSERT_TRUE(lender.unlend(kFirst, options));
  EXPECT_THAT(choices.read().choices, IsEmpty());
}

TEST_F(LendTest, UnlendPersistOfADriveThatIsGone) {
  ASSERT_TRUE(choices.keep({.pci = kSecond, .vendor = "1", .device = "2", .serial = "", .model = ""}));
  options.persist = true;
  ASSERT_TRUE(lender.unlend(kSecond, options));
  EXPECT_THAT(choices.read().choices, IsEmpty());
}

TEST_F(LendTest, TheInitramfsGetsEachChangeOfTheChoices) {
  std::vector<std::size_t> copies;  // choices when it was rebuilt
  kernel.initramfs_tools = true;
  kernel.in_initramfs = [&] { copies.push_back(choices.read().choices.size()); };
  options.initramfs = true;
  ASSERT_TRUE(lender.lend(kFirst, options));
  ASSERT_TRUE(lender.unlend(kFirst, options));
  EXPECT_THAT(copies, IsEmpty()) << "without --persist no choice changes";
  options.persist = true;
  ASSERT_TRUE(lender.lend(kFirst, options));
  ASSERT_TRUE(lender.unlend(kFirst, options));
  EXPECT_THAT(copies, testing::ElementsAre(1, 0));
  EXPECT_THAT(reports, Contains(HasSubstr("update-initramfs -u")));
  sysfs.add_drive(kSecond, "S2", "");
  ASSERT_TRUE(lender.unlend(kSecond, options));
  EXPECT_THAT(copies, testing::ElementsAre(1, 0)) << "that drive was not chosen";
}

TEST_F(LendTest, AnInitramfsThatCantBeRebuiltIsAWarning) {
  kernel.initramfs_tools = true;
  kernel.initramfs_fails = true;
  options.initramfs = true;
  options.persist = true;
  ASSERT_TRUE(lender.lend(kFirst, options));
  EXPECT_THAT(reports, Contains(AllOf(HasSubstr("warning: update-initramfs"), HasSubstr("no space left"))));
  reports.clear();
  ASSERT_TRUE(lender.unlend(kFirst, options));
  EXPECT_THAT(reports, Contains(HasSubstr("warning: update-initramfs")));
  EXPECT_EQ(driver(kFirst), "nvme");
}

TEST_F(LendTest, AnInitramfsWithoutTheChoicesIsLeftAlone) {
  bool rebuilt = false;
  kernel.in_initramfs = [&] { rebuilt = true; };
  options.persist = true;
  options.initramfs = true;
  ASSERT_TRUE(lender.lend(kFirst, options)) << "no initramfs-tools";
  kernel.initramfs_tools = true;
  options.initramfs = false;
  ASSERT_TRUE(lender.unlend(kFirst, options)) << "another folder of choices";
  EXPECT_FALSE(rebuilt);
  EXPECT_THAT(reports, testing::Not(Contains(HasSubstr("initramfs"))));
}

TEST_F(LendTest, UnlendFreesWhatOnlyTheOverrideKeeps) {
  sysfs.add_drive(kSecond, "S2", "");
  sysfs.put(std::string("bus/pci/devices/") + kSecond + "/driver_override", "smartio_nvme_mgr\n");
  ASSERT_TRUE(lender.unlend(kSecond, options));
  EXPECT_EQ(driver(kSecond), "nvme");
}

TEST_F(LendTest, AllThatWasChosen) {
  sysfs.add_drive(kSecond, "S2", "");  // as the udev rule leaves it
  options.persist = true;
  ASSERT_TRUE(choices.keep({.pci = kFirst, .vendor = "0x1b36", .device = "0x0010", .serial = "S1", .model = ""}));
  ASSERT_TRUE(choices.keep({.pci = kSecond, .vendor = "0x1b36", .device = "0x0010", .serial = "S2", .model = ""}));
  ASSERT_TRUE(lender.lend_all(options));
  EXPECT_TRUE(lent(kFirst));
  EXPECT_TRUE(lent(kSecond));
}

TEST_F(LendTest, AllGoesOnAfterAFailure) {
  sysfs.add_drive(kSecond, "S2", "");
  ASSERT_TRUE(choices.keep({.pci = "0000:00:1f.0", .vendor = "1", .device = "2", .serial = "", .model = ""}));
  ASSERT_TRUE(choices.keep({.pci = kSecond, .vendor = "0x1b36", .device = "0x0010", .serial = "", .model = ""}));
  const auto done = lender.lend_all(options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("0000:00:1f.0"));
  EXPECT_TRUE(lent(kSecond));
}

TEST_F(LendTest, OneOfThoseThatWereChosen) {
  sysfs.add_drive(kSecond, "S2", "");
  ASSERT_TRUE(choices.keep({.pci = kSecond, .vendor = "0x1b36", .device = "0x0010", .serial = "S2", .model = ""}));
  const auto refused = lender.lend_chosen(kFirst, options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("was not chosen"));
  EXPECT_EQ(driver(kFirst), "nvme");

  ASSERT_TRUE(choices.keep({.pci = kFirst, .vendor = "0x8086", .device = "0x0010", .serial = "", .model = ""}));
  EXPECT_FALSE(lender.lend_chosen(kFirst, options));
  EXPECT_EQ(driver(kFirst), "nvme");
  ASSERT_TRUE(lender.lend_chosen(kSecond, options));
  EXPECT_TRUE(lent(kSecond));
  EXPECT_FALSE(lent(kFirst));
}

TEST_F(LendTest, AMovedDriveIsFollowed) {
  sysfs.add_drive(kSecond, "S2", "nvme");
  ASSERT_TRUE(choices.keep({.pci = kFirst, .vendor = "0x1b36", .device = "0x0010", .serial = "S2", .model = ""}));
  ASSERT_TRUE(lender.lend_all(options));
  EXPECT_TRUE(lent(kSecond));
  EXPECT_FALSE(lent(kFirst));
  const auto kept = choices.read().choices;
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].pci, kSecond);
  EXPECT_EQ(kept[0].serial, "S2");
  EXPECT_THAT(reports, testing::Not(Contains(HasSubstr("initramfs")))) << "this host has none with the choices";
}

TEST_F(LendTest, AMovedDriveLeavesTheInitramfsWithItsOldAddress) {
  bool rebuilt = false;
  kernel.initramfs_tools = true;
  kernel.in_initramfs = [&] { rebuilt = true; };
  options.initramfs = true;
  sysfs.add_drive(kSecond, "S2", "nvme");
  ASSERT_TRUE(choices.keep({.pci = kFirst, .vendor = "0x1b36", .device = "0x0010", .serial = "S2", .model = ""}));
  ASSERT_TRUE(lender.lend_all(options));
  EXPECT_THAT(reports, Contains(HasSubstr("run update-initramfs -u")));
  EXPECT_FALSE(rebuilt) << "/boot may not be mounted yet";
  reports.clear();
  ASSERT_TRUE(lender.lend_all(options));
  EXPECT_THAT(reports, testing::Not(Contains(HasSubstr("initramfs")))) << "it moved once";
}

TEST_F(LendTest, AMovedDriveIsNotLentWithoutItsRule) {
  sysfs.add_drive(kSecond, "S2", "nvme");
  ASSERT_TRUE(choices.keep({.pci = kFirst, .vendor = "0x1b36", .device = "0x0010", .serial = "S2", .model = ""}));
  ASSERT_TRUE(rules.keep({.pci = kFirst, .hosts = {}, .names = {}}));
  const auto done = lender.lend_all(options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message,
              AllOf(HasSubstr("the drive moved to 0000:02:00.0"), HasSubstr("smartioctl allow any 0000:01:00.0")));
  EXPECT_FALSE(lent(kSecond));
  ASSERT_TRUE(rules.keep({.pci = kSecond, .hosts = {}, .names = {}}));
  EXPECT_TRUE(lender.lend_all(options));
  EXPECT_TRUE(lent(kSecond));
}

TEST_F(LendTest, AnotherDriveInTheChosenSlotIsNotLent) {
  ASSERT_TRUE(choices.keep({.pci = kFirst, .vendor = "0x1b36", .device = "0x0010", .serial = "S9", .model = ""}));
  auto done = lender.lend_all(options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("another drive"));
  EXPECT_EQ(driver(kFirst), "nvme");

  // The udev rule kept the stock driver off it, so its serial is known only when it is lent.
  sysfs.add_drive(kSecond, "S2", "");
  ASSERT_TRUE(choices.forget(kFirst));
  ASSERT_TRUE(choices.keep({.pci = kSecond, .vendor = "0x1b36", .device = "0x0010", .serial = "S9", .model = ""}));
  done = lender.lend_all(options);
  ASSERT_FALSE(done);
  EXPECT_FALSE(lent(kSecond));
  EXPECT_EQ(driver(kSecond), "nvme");

  ASSERT_TRUE(choices.keep({.pci = kSecond, .vendor = "0x8086", .device = "0x0010", .serial = "", .model = ""}));
  done = lender.lend_all(options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("another device"));
}

TEST_F(LendTest, TwoChosenDrivesThatChangedPlaces) {
  sysfs.add_drive(kSecond, "S2", "");
  sysfs.write("bus/pci/drivers/nvme/unbind", kFirst);
  ASSERT_TRUE(choices.keep({.pci = kFirst, .vendor = "0x1b36", .device = "0x0010", .serial = "S2", .model = ""}));
  ASSERT_TRUE(choices.keep({.pci = kSecond, .vendor = "0x1b36", .device = "0x0010", .serial = "S1", .model = ""}));
  ASSERT_TRUE(lender.lend_all(options));
  const auto kept = choices.read().choices;
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].serial, "S1");
  EXPECT_EQ(kept[1].serial, "S2");
}

/// As at boot: the udev rule has each lent by itself, and the service looks at all of them then.
TEST_F(LendTest, TwoChosenDrivesThatChangedPlacesOneByOne) {
  sysfs.add_drive(kSecond, "S2", "");
  sysfs.write("bus/pci/drivers/nvme/unbind", kFirst);
  ASSERT_TRUE(choices.keep({.pci = kFirst, .vendor = "0x1b36", .device = "0x0010", .serial = "S2", .model = ""}));
  ASSERT_TRUE(choices.keep({.pci = kSecond, .vendor = "0x1b36", .device = "0x0010", .serial = "S1", .model = ""}));
  ASSERT_TRUE(lender.lend_chosen(kFirst, options));
  ASSERT_TRUE(lender.lend_chosen(kSecond, options));
  EXPECT_TRUE(lent(kFirst));
  EXPECT_TRUE(lent(kSecond));
  ASSERT_EQ(choices.read().choices.size(), 2U);
  ASSERT_TRUE(lender.lend_all(options));
  const auto kept = choices.read().choices;
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].serial, "S1");
  EXPECT_EQ(kept[1].serial, "S2");
}

// ---- functions that are lent as a whole ----

constexpr const char* kNic = "0000:03:00.0";

class LendFunctionTest : public LendTest {
 protected:
  LendFunctionTest() { sysfs.add_nic(kNic, "eth1"); }
};

TEST_F(LendFunctionTest, IsTheDefaultForAllButDrives) {
  ASSERT_TRUE(lender.lend("03:00.0", options));
  EXPECT_EQ(driver(kNic), "smartio_pci_stub");
  EXPECT_EQ(override_of(kNic), "smartio_pci_stub");
  EXPECT_TRUE(lent(kNic));
  EXPECT_THAT(kernel.loaded, testing::ElementsAre("ntb_smartio", "smartio_pci_stub"));
  EXPECT_EQ(sysfs.permitted, "00");
  ASSERT_TRUE(lender.unlend(kNic, options));
  EXPECT_EQ(driver(kNic), "e1000e");
  EXPECT_EQ(override_of(kNic), "(null)");
  EXPECT_THAT(reports, Contains(HasSubstr("back with the driver e1000e")));
}

TEST_F(LendFunctionTest, IsResetByItsBusRatherThanByItsPowerState) {
  const std::string methods = std::string("bus/pci/devices/") + kNic + "/reset_method";
  for (const auto& [before, meanwhile, after] :
       {std::tuple{"pm bus", "bus pm", "default"},
        {"flr pm bus", "flr pm bus", "flr pm bus"},
        {"device_specific pm bus", "device_specific pm bus", "device_specific pm bus"},
        {"pm", "pm", "pm"},
        {"bus", "bus", "bus"}}) {
    sysfs.put(methods, std::string(before) + "\n");
    ASSERT_TRUE(lender.lend(kNic, options));
    EXPECT_EQ(sysfs.text(methods), meanwhile);
    ASSERT_TRUE(lender.unlend(kNic, options));
    EXPECT_EQ(sysfs.text(methods), after);
  }
  // As at boot: the driver takes what udev has kept for it while its module is loaded.
  sysfs.put(methods, "pm bus\n");
  sysfs.put(std::string("bus/pci/devices/") + kNic + "/driver_override", "smartio_pci_stub\n");
  sysfs.write("bus/pci/drivers/e1000e/unbind", kNic);
  std::filesystem::remove_all(sysfs.path("module/smartio_pci_stub"));
  std::string at_probe;
  std::string permitted;
  kernel.loading = [&](const std::string& name) {
    if (name != "smartio_pci_stub") return;
    at_probe = sysfs.text(methods);
    permitted = sysfs.text("module/smartio/parameters/trust_borrowers");
  };
  options.permissions.trust_borrowers = true;
  ASSERT_TRUE(lender.lend(kNic, options));
  EXPECT_EQ(at_probe, "bus pm");
  EXPECT_EQ(permitted, kNic);
  EXPECT_EQ(sysfs.text("module/smartio/parameters/trust_borrowers"), std::string("-") + kNic);
  // One that was lent without smartioctl.
  sysfs.put(methods, "pm bus\n");
  ASSERT_TRUE(lender.lend(kNic, options));
  EXPECT_EQ(sysfs.text(methods), "bus pm");
  // A drive that all hosts share is reset by its manager.
  const std::string of_drive = std::string("bus/pci/devices/") + kFirst + "/reset_method";
  sysfs.put(of_drive, "pm bus\n");
  ASSERT_TRUE(lender.lend(kFirst, options));
  EXPECT_EQ(sysfs.text(of_drive), "pm bus");
}

TEST_F(LendFunctionTest, ADriveAsAWhole) {
  sysfs.put(std::string("bus/pci/devices/") + kFirst + "/config", FakeSysfs::config({0x11}));
  sysfs.add_to_group(kFirst, "4");
  options.as = "pci";
  ASSERT_TRUE(lender.lend(kFirst, options));
  EXPECT_EQ(driver(kFirst), "smartio_pci_stub");
  options.as = "nvme";
  const auto done = lender.lend(kFirst, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("is lent as pci"));
  options.as = "";
  options.persist = true;
  ASSERT_TRUE(lender.lend(kFirst, options));
  EXPECT_EQ(choices.read().choices.at(0).as, "pci") << "as it is lent now";
}

TEST_F(LendFunctionTest, ANicIsNoDrive) {
  options.as = "nvme";
  const auto done = lender.lend(kNic, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("0x020000"), HasSubstr("--as pci"), HasSubstr(kFirst)));
}

TEST_F(LendFunctionTest, PermissionsAreHandedOn) {
  std::filesystem::remove(sysfs.path(std::string("bus/pci/devices/") + kNic + "/iommu_group"));
  ASSERT_FALSE(lender.lend(kNic, options));
  EXPECT_THAT(sysfs.writes, IsEmpty());
  options.permissions = {.trust_borrowers = true, .shared_group = true};
  ASSERT_TRUE(lender.lend(kNic, options));
  EXPECT_EQ(sysfs.permitted, "11");
  EXPECT_EQ(sysfs.text("module/smartio/parameters/trust_borrowers"), std::string("-") + kNic) << "for this one time";
}

TEST_F(LendFunctionTest, NotAnInterfaceThatIsUp) {
  sysfs.put("class/net/eth1/flags", "0x1003\n");
  const auto done = lender.lend(kNic, options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kInUse);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("eth1 is up"), HasSubstr("--force")));
  EXPECT_EQ(driver(kNic), "e1000e");
  options.force = true;
  EXPECT_TRUE(lender.lend(kNic, options));
}

TEST_F(LendFunctionTest, WhatTheDriverRefusesGoesBack) {
  sysfs.probe_error = EOPNOTSUPP;
  const auto done = lender.lend(kNic, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message,
              AllOf(HasSubstr("smartio_pci_stub did not bind 0000:03:00.0"), HasSubstr("now has the driver e1000e")));
  EXPECT_EQ(driver(kNic), "e1000e");
}

TEST_F(LendFunctionTest, PersistKeepsWhatWasPermitted) {
  options.persist = true;
  options.permissions.shared_group = true;
  ASSERT_TRUE(lender.lend(kNic, options));
  const auto kept = choices.read().choices;
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].as, "pci");
  EXPECT_TRUE(kept[0].permissions.shared_group);
  EXPECT_FALSE(kept[0].permissions.trust_borrowers);
  sysfs.write("bus/pci/drivers/smartio_pci_stub/unbind", kNic);
  options = {.patience = std::chrono::milliseconds(20)};
  ASSERT_TRUE(lender.lend_all(options));
  EXPECT_EQ(driver(kNic), "smartio_pci_stub");
  EXPECT_EQ(sysfs.permitted, "01");
}

TEST_F(LendFunctionTest, ABorrowerIsAskedToReturnItFirst) {
  ASSERT_TRUE(lender.lend(kNic, options));
  borrow(kNic);
  const auto done = lender.unlend(kNic, options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kInUse);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("borrower uses it over ntb0"), HasSubstr("smartioctl return")));
}

// ---- virtual functions ----

constexpr const char* kPhysical = "0000:05:00.0";
constexpr const char* kFirstVirtual = "0000:05:10.0";
constexpr const char* kSecondVirtual = "0000:05:10.2";

class LendVirtualTest : public LendTest {
 protected:
  LendVirtualTest() {
    sysfs.add_sriov_nic(kPhysical, 7);
    options.vfs = 2;
  }
  std::string physical(const std::string& attribute) const {
    return sysfs.text(std::string("bus/pci/devices/") + kPhysical + "/" + attribute);
  }
};

TEST_F(LendVirtualTest, AreMadeAndLentWhileThePhysicalOneKeepsItsDriver) {
  ASSERT_TRUE(lender.lend("05:00.0", options));
  EXPECT_TRUE(lent(kFirstVirtual));
  EXPECT_TRUE(lent(kSecondVirtual));
  EXPECT_FALSE(lent(kPhysical));
  EXPECT_EQ(driver(kPhysical), "e1000e");
  EXPECT_EQ(physical("sriov_numvfs"), "2");
  EXPECT_EQ(physical("sriov_drivers_autoprobe"), "1") << "as it was";
  EXPECT_EQ(physical("reset_method"), "") << "nobody resets it under them";
  EXPECT_THAT(sysfs.writes, testing::Not(Contains(testing::Pair("bus/pci/drivers/e1000e/unbind", kFirstVirtual))))
      << "no driver had one before";
  ASSERT_TRUE(lender.lend("05:00.0", options)) << "once more is no failure";
  ASSERT_TRUE(lender.unlend(kPhysical, options));
  EXPECT_EQ(physical("sriov_numvfs"), "0");
  EXPECT_EQ(physical("reset_method"), "default");
  EXPECT_FALSE(lent(kFirstVirtual));
}

TEST_F(LendVirtualTest, AreRefusedWhereTheyCantBe) {
  options.vfs = 8;
  auto done = lender.lend(kPhysical, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("can have 7 virtual functions"));
  options.vfs = 1;
  done = lender.lend(kFirst, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("no SR-IOV"));
  options.as = "nvme";
  done = lender.lend(kPhysical, options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kUsage);
  options.as = "";
  sysfs.numvfs_error = ENOENT;
  done = lender.lend(kPhysical, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("can't make 1 virtual function: "));
  EXPECT_EQ(physical("sriov_drivers_autoprobe"), "1");
  sysfs.write("bus/pci/drivers/e1000e/unbind", kPhysical);
  done = lender.lend(kPhysical, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("only its own driver"));
}

TEST_F(LendVirtualTest, AreRefusedOfADeviceThatIsLentItself) {
  options.vfs = 0;
  ASSERT_TRUE(lender.lend(kPhysical, options));
  options.vfs = 2;
  const auto done = lender.lend(kPhysical, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("is lent itself"));
}

TEST_F(LendVirtualTest, AreNotMadeAnewUnderThoseThatThereAre) {
  ASSERT_TRUE(lender.lend(kPhysical, options));
  options.vfs = 3;
  const auto done = lender.lend(kPhysical, options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kInUse);
  EXPECT_THAT(done.error().message, HasSubstr("has 2 virtual functions already"));
  EXPECT_TRUE(lent(kFirstVirtual));
}

TEST_F(LendVirtualTest, AreGoneAgainIfOneCantBeLent) {
  sysfs.probe_error = EPERM;
  sysfs.probe_error_of = kSecondVirtual;
  ASSERT_FALSE(lender.lend(kPhysical, options));
  EXPECT_EQ(physical("sriov_numvfs"), "0");
  EXPECT_EQ(physical("reset_method"), "default");
  EXPECT_FALSE(lent(kFirstVirtual));
}

TEST_F(LendVirtualTest, StayWhileOneIsInUse) {
  ASSERT_TRUE(lender.lend(kPhysical, options));
  borrow(kSecondVirtual);
  auto done = lender.unlend(kPhysical, options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Exit::kInUse);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr(kSecondVirtual), HasSubstr("borrower uses it over ntb0")));
  EXPECT_TRUE(lent(kFirstVirtual));
  ASSERT_TRUE(lender.unlend(kFirstVirtual, options)) << "one by itself, for this host";
  sysfs.write("bus/pci/drivers/e1000e/unbind", kFirstVirtual);
  sysfs.write("bus/pci/drivers/vfio-pci/bind", kFirstVirtual);
  done = lender.unlend(kPhysical, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr(std::string("vfio-pci has ") + kFirstVirtual));
  options.force = true;
  EXPECT_TRUE(lender.unlend(kPhysical, options));
  EXPECT_EQ(physical("sriov_numvfs"), "0");
}

TEST_F(LendVirtualTest, AreGoneAfterThePhysicalOnesDriverWent) {
  ASSERT_TRUE(lender.lend(kPhysical, options));
  for (const char* pci : {kFirstVirtual, kSecondVirtual}) sysfs.write("bus/pci/drivers/smartio_pci_stub/unbind", pci);
  ASSERT_TRUE(lender.unlend(kPhysical, options));
  EXPECT_EQ(physical("sriov_numvfs"), "0");
}

TEST_F(LendVirtualTest, AreGoneAfterEachWasTakenBackByItself) {
  ASSERT_TRUE(lender.lend(kPhysical, options));
  for (const char* pci : {kFirstVirtual, kSecondVirtual}) ASSERT_TRUE(lender.unlend(pci, options));
  ASSERT_TRUE(lender.unlend(kPhysical, options));
  EXPECT_EQ(physical("sriov_numvfs"), "0");
  EXPECT_EQ(physical("reset_method"), "default");
  EXPECT_FALSE(lender.unlend(kPhysical, options)) << "nothing of it is lent any more";
}

TEST_F(LendVirtualTest, ThatItsDriverRemovedLeaveTheDeviceToBeReset) {
  ASSERT_TRUE(lender.lend(kPhysical, options));
  sysfs.write(std::string("bus/pci/devices/") + kPhysical + "/sriov_numvfs", "0");
  ASSERT_TRUE(lender.unlend(kPhysical, options));
  EXPECT_EQ(physical("reset_method"), "default");
}

TEST_F(LendVirtualTest, OfSomebodyElseAreLeftAlone) {
  sysfs.write(std::string("bus/pci/devices/") + kPhysical + "/sriov_numvfs", "2");
  EXPECT_FALSE(lender.unlend(kPhysical, options));
  EXPECT_EQ(physical("sriov_numvfs"), "2");
  sysfs.probe_error = EPERM;
  ASSERT_FALSE(lender.lend(kPhysical, options));
  EXPECT_EQ(physical("sriov_numvfs"), "2");
  EXPECT_EQ(physical("reset_method"), "default") << "none is lent";
}

TEST_F(LendVirtualTest, AreLentAtEveryBoot) {
  options.persist = true;
  ASSERT_TRUE(lender.lend(kPhysical, options));
  ASSERT_EQ(choices.read().choices.size(), 1U);
  EXPECT_EQ(choices.read().choices[0].pci, kPhysical);
  EXPECT_EQ(choices.read().choices[0].vfs, 2U);
  options = {.patience = std::chrono::milliseconds(20)};
  ASSERT_TRUE(lender.unlend(kPhysical, options));
  EXPECT_THAT(reports, Contains(HasSubstr("lent again at the next boot")));
  ASSERT_TRUE(lender.lend_all(options));
  EXPECT_TRUE(lent(kSecondVirtual));
  EXPECT_EQ(driver(kPhysical), "e1000e");
  ASSERT_TRUE(lender.unlend(kPhysical, {.persist = true, .patience = std::chrono::milliseconds(20)}));
  EXPECT_THAT(choices.read().choices, IsEmpty());
}

TEST_F(LendVirtualTest, OfADriveHaveQueuesAndInterrupts) {
  sysfs.add_sriov(kFirst, 4);
  sysfs.put("class/nvme/nvme0/state", "live\n");
  nvme.secondary = {{.id = 1, .function = 1}, {.id = 2, .function = 2}};
  ASSERT_TRUE(lender.lend(kFirst, options));
  EXPECT_TRUE(nvme.secondary[1].online);
  EXPECT_EQ(driver(kFirst), "nvme");
  nvme.secondary[1].online = false;  // a reset of the primary controller does that
  ASSERT_TRUE(lender.lend(kFirst, options));
  EXPECT_TRUE(nvme.secondary[1].online);
}

TEST_F(LendVirtualTest, OfADriveThatHasNoneLeftAreNotLent) {
  sysfs.add_sriov(kFirst, 4);
  nvme.secondary = {{.id = 1, .function = 1}, {.id = 2, .function = 2}};
  auto done = lender.lend(kFirst, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("its controller does not come up")) << "it is not live";
  sysfs.put("class/nvme/nvme0/state", "live\n");
  nvme.queues.primary = 14;
  done = lender.lend(kFirst, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("flexible queues"));
  EXPECT_EQ(sysfs.text(std::string("bus/pci/devices/") + kFirst + "/sriov_numvfs"), "0");
  EXPECT_EQ(sysfs.text(std::string("bus/pci/devices/") + kFirst + "/reset_method"), "default");
}

// ---- rules ----

TEST_F(LendTest, RulesAreInForceBeforeTheDriverIsLoaded) {
  ASSERT_TRUE(rules.keep({.pci = kFirst, .hosts = {"4c4c4544-0000-2010-8020-80c04f000001"}, .names = {"one"}}));
  ASSERT_TRUE(rules.keep({.pci = kSecond, .hosts = {}, .names = {}}));
  std::vector<std::string> before;
  kernel.loading = [&](const std::string& name) {
    if (name == "smartio_nvme_mgr") before = sysfs.rules();
  };
  ASSERT_TRUE(lender.lend(kFirst, options));
  EXPECT_THAT(before, testing::ElementsAre("0000:01:00.0 4c4c4544-0000-2010-8020-80c04f000001", "0000:02:00.0 none"));
}

TEST_F(LendTest, ARuleThatCantBeReadLetsNobodyBorrow) {
  etc.put("allow.d/0000:01:00.0.conf", "hosts = [\"borrower\"]\n");
  ASSERT_TRUE(lender.lend(kFirst, options));
  EXPECT_THAT(sysfs.rules(), testing::ElementsAre("0000:01:00.0 none"));
  EXPECT_THAT(reports, Contains(AllOf(HasSubstr("'borrower' is no UUID"), HasSubstr("no other host may borrow"))));
}

TEST_F(LendTest, NotLentWithoutItsRule) {
  ASSERT_TRUE(rules.keep({.pci = kFirst, .hosts = {}, .names = {}}));
  sysfs.answer = {ENOSPC, std::generic_category()};
  const auto done = lender.lend(kFirst, options);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("the rule of 0000:01:00.0"));
  EXPECT_FALSE(lent(kFirst));
  EXPECT_EQ(driver(kFirst), "nvme");
  std::filesystem::remove(sysfs.path("class/smartio_export/allow"));  // of an older module
  EXPECT_FALSE(lender.lend(kFirst, options));
}

}  // namespace
}  // namespace smartio::ctl
