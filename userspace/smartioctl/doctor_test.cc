// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smartioctl/fake_machine.h"

namespace smartio::ctl {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kNtb = "0000:01:00.0";
constexpr const char* kDrive = "0000:02:00.0";

class DoctorTest : public testing::Test {
 protected:
  [[nodiscard]] Machine read() const {
    const Sysfs sysfs(machine.root() / "sys");
    return read_machine(sysfs, machine.root(), query);
  }
  [[nodiscard]] Diagnosis diagnosis() const { return diagnose(read()); }
  [[nodiscard]] std::vector<Finding> findings() const { return diagnosis().findings; }
  static auto found(const char* id, Level level) {
    return Contains(AllOf(Field(&Finding::id, id), Field(&Finding::level, level)));
  }
  static auto found(const char* id) { return Contains(Field(&Finding::id, id)); }

  FakeMachine machine;
  FakeQuery query;
};

TEST_F(DoctorTest, ReadsTheMachine) {
  const Machine seen = read();
  EXPECT_EQ(seen.kernel, "6.12.1");
  EXPECT_EQ(seen.cpus, 2U);
  EXPECT_EQ(seen.cpu_vendor, "AuthenticAMD");
  EXPECT_EQ(seen.iommu, "");
  EXPECT_EQ(seen.remapping, false);
  EXPECT_EQ(seen.modules.at("ntb_hw_amd"), ModuleState::installed);
  ASSERT_EQ(seen.ntbs.size(), 1U);
  EXPECT_EQ(seen.ntbs[0].pci, kNtb);
  ASSERT_EQ(seen.ntbs[0].windows.size(), 2U);
  EXPECT_EQ(seen.ntbs[0].windows[0].size, 4ULL << 30U);
  EXPECT_THAT(seen.ntbs[0].unplaced, IsEmpty());
  ASSERT_EQ(seen.drives.size(), 1U);
  EXPECT_EQ(seen.drives[0].msix, 33U);
  EXPECT_EQ(seen.drives[0].queue_pairs, 8U);
  ASSERT_EQ(seen.drives[0].routes.size(), 1U);
  EXPECT_EQ(seen.drives[0].routes[0].via, Route::Via::root_complex);
  EXPECT_EQ(seen.drives[0].routes[0].bridges, 2U);
}

TEST_F(DoctorTest, WithoutAnIommu) {
  machine.put("sys/class/iommu/smartio/version", "");
  EXPECT_EQ(read().iommu, "") << "smartio_pci's own is none";
  const Diagnosis seen = diagnosis();
  EXPECT_FALSE(seen.fails());
  EXPECT_THAT(seen.findings, found("iommu-off", Level::slow));
  EXPECT_THAT(seen.findings, found("lender-iommu-off", Level::risk));
  EXPECT_THAT(seen.findings, found("remapping", Level::risk));
  EXPECT_THAT(seen.findings, found("p2p-root", Level::works));
  EXPECT_EQ(seen.lend, Level::risk);
  EXPECT_EQ(seen.borrow, Level::risk);
}

TEST_F(DoctorTest, WithAStrictIommuAllWorks) {
  machine.group("1", "DMA", {kNtb});
  machine.group("2", "DMA", {kDrive});
  machine.put("sys/kernel/irq/24/chip_name", "IR-PCI-MSI-0000:02:00.0\n");
  const Diagnosis seen = diagnosis();
  EXPECT_EQ(seen.lend, Level::works);
  EXPECT_EQ(seen.borrow, Level::works);
  EXPECT_THAT(seen.findings, found("iommu-strict", Level::works));
  EXPECT_THAT(doctor_text(read(), seen),
              AllOf(HasSubstr("To lend: works\nTo borrow: works\n"), Not(HasSubstr("To change"))));
}

TEST_F(DoctorTest, LazyIommu) {
  machine.group("1", "DMA-FQ", {kNtb});
  machine.group("2", "DMA-FQ", {kDrive});
  EXPECT_THAT(findings(), AllOf(found("iommu-lazy", Level::risk), found("lender-iommu-lazy", Level::risk)));
}

TEST_F(DoctorTest, PassedThroughIsOff) {
  machine.group("1", "identity", {kNtb});
  EXPECT_THAT(findings(), found("iommu-off", Level::slow));
  EXPECT_THAT(doctor_text(read(), diagnosis()), HasSubstr("Boot without iommu=pt."));
}

TEST_F(DoctorTest, DriveAndNtbInOneGroup) {
  machine.group("1", "DMA", {kNtb, kDrive, "0000:00:08.0"});
  const Diagnosis seen = diagnosis();
  EXPECT_THAT(seen.findings, found("shared-group", Level::fails));
  EXPECT_THAT(seen.findings, Not(found("ntb-group")));
  EXPECT_EQ(seen.lend, Level::fails);
  EXPECT_EQ(seen.borrow, Level::risk);  // the interrupts
  EXPECT_TRUE(seen.fails());
}

TEST_F(DoctorTest, AnotherDeviceInTheNtbsGroup) {
  machine.add("0000:03:00.0", {}, "0x020000", "0x8086", "0x10d3");
  machine.group("1", "DMA", {kNtb, "0000:03:00.0"});
  EXPECT_THAT(findings(), found("ntb-group", Level::risk));
}

class DoctorSwitchTest : public DoctorTest {
 protected:
  void build(std::optional<bool> redirects) {
    machine.remove("sys/bus/pci/devices");
    machine.remove("sys/devices");
    machine.add_port("0000:00:08.0", {}, false);
    machine.add_port("0000:01:00.0", {"0000:00:08.0"}, {});
    for (const char* port : {"0000:02:00.0", "0000:02:01.0"})
      machine.add_port(port, {"0000:00:08.0", "0000:01:00.0"}, redirects);
    machine.add_ntb("0000:03:00.0", {"0000:00:08.0", "0000:01:00.0", "0000:02:00.0"});
    machine.add_drive("0000:04:00.0", {"0000:00:08.0", "0000:01:00.0", "0000:02:01.0"});
  }
};

TEST_F(DoctorSwitchTest, StraightAcross) {
  build({});
  const Route route = read().drives[0].routes[0];
  EXPECT_EQ(route.via, Route::Via::one_switch);
  EXPECT_EQ(route.bridge, "0000:01:00.0");
  EXPECT_EQ(route.bridges, 3U);
  EXPECT_EQ(route.redirected, false);
  EXPECT_THAT(findings(), found("p2p-switch", Level::works));
  // Where the IOMMU should see them.
  machine.group("1", "DMA", {"0000:03:00.0"});
  machine.group("2", "DMA", {"0000:04:00.0"});
  EXPECT_THAT(findings(), found("switch-no-acs", Level::risk));
}

TEST_F(DoctorSwitchTest, RedirectedForNothing) {
  build(true);
  EXPECT_THAT(findings(), found("acs-redirect", Level::slow));
  machine.group("1", "DMA", {"0000:03:00.0"});
  machine.group("2", "DMA", {"0000:04:00.0"});
  EXPECT_THAT(findings(), AllOf(Not(found("acs-redirect")), found("p2p-switch", Level::works)));
}

TEST_F(DoctorSwitchTest, NotRoot) {
  build({});
  for (const char* port : {"0000:02:00.0", "0000:02:01.0", "0000:03:00.0", "0000:04:00.0"})
    machine.set(port, "config", std::string(64, '\0'));
  query.answer.reset();
  const Diagnosis seen = diagnosis();
  EXPECT_THAT(seen.findings, AllOf(found("p2p-switch", Level::unknown), found("queues", Level::unknown),
                                   found("not-root", Level::unknown)));
  EXPECT_FALSE(seen.fails());
}

TEST_F(DoctorTest, RootComplexesThatTheKernelKnows) {
  EXPECT_THAT(findings(), found("p2p-root", Level::works)) << "Zen";
  machine.cpu("AuthenticAMD", 0x16);
  EXPECT_THAT(findings(), found("p2p-root", Level::unknown));
  machine.cpu("GenuineIntel", 6);
  EXPECT_THAT(findings(), found("p2p-root", Level::unknown));
  // The head of the root bus: a port, or the function at 00.0.
  machine.set("0000:00:08.0", "vendor", "0x8086\n");
  machine.set("0000:00:08.0", "device", "0x2030\n");
  EXPECT_THAT(findings(), found("p2p-root", Level::works));
  machine.add("0000:00:00.0", {}, "0x060000", "0x8086", "0x1234");
  EXPECT_THAT(findings(), found("p2p-root", Level::unknown));
  machine.set("0000:00:00.0", "device", "0x09a2\n");
  EXPECT_THAT(findings(), found("p2p-root", Level::works));
  machine.set("0000:00:00.0", "device", "0x2f00\n");
  EXPECT_THAT(findings(), found("p2p-root", Level::works));
}

TEST_F(DoctorTest, OtherRootBusesOfOneSocket) {
  machine.remove("sys/bus/pci/devices/0000:02:00.0");
  machine.add_port("0000:40:01.0", {}, false, "pci0000:40");
  machine.add_drive("0000:41:00.0", {"0000:40:01.0"}, "pci0000:40");
  EXPECT_THAT(findings(), found("p2p-far", Level::slow)) << "no node is known";
  machine.set(kNtb, "numa_node", "0\n");
  machine.set("0000:41:00.0", "numa_node", "0\n");
  EXPECT_THAT(findings(), found("p2p-root", Level::works));
  machine.cpu("GenuineIntel", 6);
  for (const char* port : {"0000:00:08.0", "0000:40:01.0"}) {
    machine.set(port, "vendor", "0x8086\n");
    machine.set(port, "device", "0x2031\n");
  }
  EXPECT_THAT(findings(), found("p2p-root", Level::works));
  machine.set("0000:40:01.0", "device", "0x2f01\n");
  EXPECT_THAT(findings(), found("p2p-root", Level::unknown)) << "within one root bus only";
}

TEST_F(DoctorTest, AnotherSocket) {
  machine.set(kNtb, "numa_node", "0\n");
  machine.set(kDrive, "numa_node", "1\n");
  EXPECT_THAT(findings(), found("p2p-far", Level::slow));
  machine.set(kNtb, "numa_node", "-1\n");
  EXPECT_THAT(findings(), Not(found("p2p-far")));
}

TEST_F(DoctorTest, AWindowWithoutAnAddress) {
  machine.set(kNtb, "resource",
              FakeMachine::bar(0x4000) + FakeMachine::no_bar() + FakeMachine::bar(4ULL << 30U, false) +
                  FakeMachine::no_bar() + FakeMachine::bar(64ULL << 20U) + FakeMachine::no_bar());
  EXPECT_THAT(read().ntbs[0].unplaced, ElementsAre(2U));
  EXPECT_THAT(findings(), found("window-unplaced", Level::fails));
  // as the kernel leaves it when it has found no room
  machine.set(kNtb, "resource",
              FakeMachine::bar(0x4000) + FakeMachine::no_bar() + FakeMachine::no_bar() + FakeMachine::no_bar() +
                  FakeMachine::no_bar() + FakeMachine::no_bar());
  EXPECT_THAT(read().ntbs[0].unplaced, ElementsAre(2U, 4U));
  EXPECT_TRUE(diagnosis().fails());
}

TEST_F(DoctorTest, SmallWindows) {
  machine.group("1", "DMA", {kNtb});
  machine.windows(kNtb, 4ULL << 30U, 64ULL << 10U);
  EXPECT_THAT(findings(), found("windows", Level::works));
  machine.windows(kNtb, 64ULL << 20U, 1ULL << 20U);
  EXPECT_THAT(findings(), found("windows", Level::works));
  machine.windows(kNtb, 64ULL << 20U, 64ULL << 10U);
  EXPECT_THAT(findings(), found("windows-small", Level::slow));
}

TEST_F(DoctorTest, WithoutAnIommuTheFirstWindowCarriesNoInterrupts) {
  const auto second = Contains(Field(&Finding::text, HasSubstr("interrupts pass through a second one")));
  EXPECT_THAT(findings(), AllOf(found("windows", Level::works), second));
  machine.windows(kNtb, 4ULL << 30U, 64ULL << 10U);
  EXPECT_THAT(findings(), AllOf(found("windows-small", Level::slow), Not(found("windows"))));
  // Passed through is as none.
  machine.group("1", "identity", {kNtb});
  EXPECT_THAT(findings(), found("windows-small", Level::slow));
  machine.put("sys/module/ntb_smartio/parameters/flat_window", "Y\n");
  EXPECT_THAT(findings(),
              AllOf(found("windows", Level::works), found("flat-window", Level::risk), Not(found("iommu-off"))));
}

TEST_F(DoctorTest, WindowsThatAreTooSmallForALink) {
  machine.windows(kNtb, 1ULL << 20U, 1ULL << 20U);
  EXPECT_THAT(findings(), AllOf(found("windows", Level::works), Not(found("windows-least"))));
  machine.windows(kNtb, 512ULL << 10U, 1ULL << 20U);
  EXPECT_THAT(findings(), AllOf(found("windows-least", Level::fails), Not(found("windows"))));
  EXPECT_TRUE(diagnosis().fails());
  machine.group("1", "DMA", {kNtb});
  machine.windows(kNtb, 8ULL << 20U, 1ULL << 20U);
  EXPECT_THAT(findings(), AllOf(found("windows", Level::works), Not(found("windows-least"))));
  machine.windows(kNtb, 4ULL << 20U, 1ULL << 20U);
  EXPECT_THAT(findings(), AllOf(found("windows-least", Level::unknown), found("windows", Level::works)));
  machine.windows(kNtb, 2ULL << 20U, 1ULL << 20U);
  EXPECT_THAT(findings(), found("windows-least", Level::fails));
  // The other host's count.
  machine.windows(kNtb, 4ULL << 30U, 64ULL << 20U);
  machine.set(kNtb, "smartio_link/ntb0/window_sizes",
              "mw=0 here=0x100000000 there=0x400000 in=0x400000\nmw=1 here=0x4000000 there=0x4000000 in=0x4000000\n");
  EXPECT_THAT(findings(), found("windows-least", Level::fails));
}

class DoctorIntelTest : public DoctorTest {
 protected:
  void build(const char* device, const char* revision) {
    machine.set(kNtb, "vendor", "0x8086\n");
    machine.set(kNtb, "device", std::string(device) + "\n");
    machine.set(kNtb, "revision", std::string(revision) + "\n");
    machine.drive_by(kNtb, "ntb_hw_intel");
    machine.put("sys/module/ntb_hw_intel/refcnt", "1\n");
  }
};

TEST_F(DoctorIntelTest, IceLakeWithoutAnIommu) {
  for (const char* revision : {"0x02", "0x0f"}) {
    build("0x347e", revision);
    EXPECT_EQ(read().ntbs[0].family.name, "Intel, generation 4 (Ice Lake)");
    EXPECT_THAT(findings(), AllOf(found("windows-multiples", Level::fails), Not(found("windows"))));
  }
  EXPECT_TRUE(diagnosis().fails());
  // The pool is aligned to its size. A window that is shut leads to memory like it.
  machine.windows(kNtb, 4ULL << 20U, 4ULL << 20U);
  EXPECT_THAT(findings(), AllOf(found("windows", Level::works), Not(found("windows-multiples"))));
  machine.windows(kNtb, 4ULL << 20U, 8ULL << 20U);
  EXPECT_THAT(findings(), found("windows-multiples", Level::fails));
  machine.put("sys/module/ntb_smartio/parameters/pool_mib", "1\n");
  machine.windows(kNtb, 4ULL << 20U, 4ULL << 20U);
  EXPECT_THAT(findings(), found("windows-multiples", Level::fails));
  machine.put("sys/module/ntb_smartio/parameters/flat_window", "Y\n");
  machine.windows(kNtb, 4ULL << 30U, 64ULL << 20U);
  EXPECT_THAT(findings(), found("windows-multiples", Level::unknown));
  EXPECT_FALSE(diagnosis().fails());
}

TEST_F(DoctorIntelTest, IceLakeWithAnIommu) {
  build("0x347e", "0x04");
  machine.group("1", "DMA", {kNtb});
  EXPECT_THAT(findings(), AllOf(found("windows", Level::works), Not(found("windows-multiples"))));
  machine.remove("sys/bus/pci/devices/0000:01:00.0/iommu_group");
  machine.group("2", "identity", {kNtb});
  EXPECT_THAT(findings(), found("windows-multiples", Level::fails));
}

TEST_F(DoctorIntelTest, LaterPartsLeadToAnyPage) {
  build("0x347e", "0x10");
  EXPECT_EQ(read().ntbs[0].family.name, "Intel, generation 4 (Sapphire Rapids or later)");
  EXPECT_THAT(findings(), AllOf(found("windows", Level::works), Not(found("windows-multiples"))));
  build("0x0db4", "0x02");
  EXPECT_THAT(findings(), AllOf(Not(found("windows-multiples")), Not(found("ntb-family"))));
  build("0x201c", "0x04");
  EXPECT_THAT(findings(), found("ntb-family", Level::unknown));
}

TEST_F(DoctorTest, SmallerWindowsOfTheOtherHost) {
  const auto sizes = [&](const char* text) { machine.set(kNtb, "smartio_link/ntb0/window_sizes", text); };
  sizes("mw=0 here=0x100000000 there=0 in=0\nmw=1 here=0x4000000 there=0 in=0\n");
  EXPECT_THAT(findings(), AllOf(Not(found("windows-differ")), found("windows", Level::works)))
      << "it was not there yet";
  sizes("mw=0 here=0x100000000 there=0x40000000 in=0x40000000\nmw=1 here=0x4000000 there=0x4000000 in=0x4000000\n");
  EXPECT_THAT(findings(), AllOf(found("windows-differ", Level::slow), found("windows", Level::works)));
  EXPECT_THAT(findings(), Contains(Field(&Finding::text, HasSubstr("1 GiB of BAR 2 are used"))));
  sizes("mw=0 here=0x100000000 there=0x40000000 in=0x40000000\nmw=1 here=0x4000000 there=0x10000 in=0x10000\n");
  EXPECT_THAT(findings(), found("windows-small", Level::slow)) << "interrupts come through the other host's windows";
  sizes("mw=0 here=0x100000000 there=0x200000000 in=0x100000000\nmw=1 here=0x4000000 there=0x4000000 in=0x4000000\n");
  EXPECT_THAT(findings(), Not(found("windows-differ")));
}

TEST_F(DoctorTest, NoNtbNoDrive) {
  machine.remove("sys/bus/pci/devices/0000:01:00.0");
  machine.remove("sys/bus/pci/devices/0000:02:00.0");
  const Diagnosis seen = diagnosis();
  EXPECT_THAT(seen.findings, found("ntb-none", Level::fails));
  EXPECT_FALSE(seen.lend);
  EXPECT_FALSE(seen.borrow);
  EXPECT_THAT(doctor_text(read(), seen), HasSubstr("To lend: there is no NVMe drive\nTo borrow: there is no NTB\n"));
}

TEST_F(DoctorTest, DriversThatHaveThem) {
  machine.drive_by(kNtb, "");
  EXPECT_THAT(findings(), found("ntb-driver", Level::fails));
  machine.drive_by(kNtb, "ntb_hw_amd");
  std::filesystem::create_directories(machine.root() / "sys/bus/ntb/devices" / kNtb);
  std::filesystem::create_directory_symlink("../drivers/ntb_transport",
                                            machine.root() / "sys/bus/ntb/devices" / kNtb / "driver");
  EXPECT_THAT(findings(), found("ntb-client", Level::fails));
  machine.drive_by(kDrive, "vfio-pci");
  EXPECT_THAT(findings(), found("drive-driver", Level::fails));
}

TEST_F(DoctorTest, ADriveThatIsLentAsAWhole) {
  machine.drive_by(kDrive, "smartio_pci_stub");
  query.answer.reset();
  EXPECT_THAT(findings(), AllOf(found("lent-whole", Level::works), Not(found("drive-driver"))));
  EXPECT_FALSE(diagnosis().fails());
}

TEST_F(DoctorTest, ADriveThatIsBorrowedAsAWhole) {
  machine.put("sys/bus/smartio/devices/lender-0000.02.00.0-ntb0/function", std::string(kDrive) + "\n");
  EXPECT_THAT(read().drives, IsEmpty());
  EXPECT_FALSE(diagnosis().lend);
}

TEST_F(DoctorTest, Modules) {
  machine.put("lib/modules/6.12.1/modules.dep",
              "updates/ntb-smartio.ko:\nupdates/smartio_nvme.ko.zst: updates/ntb.ko\n");
  EXPECT_EQ(read().modules.at("ntb_smartio"), ModuleState::installed);
  EXPECT_EQ(read().modules.at("smartio_nvme"), ModuleState::installed);
  EXPECT_EQ(read().modules.at("ntb"), ModuleState::missing);
  EXPECT_THAT(findings(), found("module", Level::fails));
  machine.put("sys/module/ntb/refcnt", "1\n");
  EXPECT_EQ(read().modules.at("ntb"), ModuleState::loaded);
}

TEST_F(DoctorTest, ModulesOfFunctionsLentWhole) {
  const std::string others =
      "ntb.ko:\nntb_hw_amd.ko:\nsmartio.ko:\nntb_smartio.ko:\nsmartio_nvme.ko:\nsmartio_nvme_mgr.ko:\n";
  machine.put("lib/modules/6.12.1/modules.dep", others + "smartio_pci.ko:\nnvme.ko:\n");
  EXPECT_EQ(diagnosis().lend, Level::fails);
  EXPECT_NE(diagnosis().borrow, Level::fails);
  machine.put("lib/modules/6.12.1/modules.dep", others + "smartio_pci_stub.ko:\nnvme.ko:\n");
  EXPECT_NE(diagnosis().lend, Level::fails);
  EXPECT_EQ(diagnosis().borrow, Level::fails);
  machine.put("lib/modules/6.12.1/modules.dep", others + "smartio_pci.ko:\nsmartio_pci_stub.ko:\n");
  EXPECT_THAT(findings(), found("module-nvme", Level::unknown));
  EXPECT_FALSE(diagnosis().fails());
}

TEST_F(DoctorTest, Multipath) {
  machine.put("sys/module/nvme_core/parameters/multipath", "N\n");
  EXPECT_THAT(findings(), found("multipath", Level::fails));
  machine.remove("sys/module/nvme_core");
  EXPECT_THAT(findings(), found("multipath", Level::unknown));
  machine.put("boot/config-6.12.1", "# x\nCONFIG_NVME_MULTIPATH=y\n");
  EXPECT_THAT(findings(), found("multipath", Level::works));
  machine.put("boot/config-6.12.1", "# CONFIG_NVME_MULTIPATH is not set\n");
  EXPECT_THAT(findings(), found("multipath", Level::fails));
}

TEST_F(DoctorTest, QueuePairs) {
  machine.add_ntb("0000:05:00.0", {});
  query.answer->queue_pairs = 2;
  EXPECT_THAT(findings(), found("queues", Level::unknown));
  machine.drive_by(kDrive, "smartio_nvme_mgr");
  machine.set(kDrive, "queue_pairs_total", "2\n");
  EXPECT_THAT(findings(), found("queues", Level::fails));
  machine.set(kDrive, "queue_pairs_total", "3\n");
  EXPECT_THAT(findings(), found("queues", Level::works));
}

TEST_F(DoctorTest, ALinkThatIsRefused) {
  machine.set(kNtb, "smartio_link/ntb0/state", "up\n");
  machine.set(kNtb, "smartio_link/ntb0/reason", "\n");
  EXPECT_THAT(findings(), Not(found("link-refused")));
  machine.set(kNtb, "smartio_link/ntb0/state", "refused\n");
  machine.set(kNtb, "smartio_link/ntb0/reason", "a memory window is too small\n");
  EXPECT_THAT(findings(), found("link-refused", Level::fails));
  EXPECT_THAT(findings(), Contains(Field(&Finding::text, "The link is refused: a memory window is too small.")));
}

TEST_F(DoctorTest, ControllerMemoryBuffer) {
  // A kernel that can't register it hides it.
  EXPECT_EQ(doctor_json(read(), diagnosis())["drives"][0]["cmb"], nullptr);
  EXPECT_THAT(findings(), Contains(Field(&Finding::text, HasSubstr("The kernel shows no controller memory buffer"))));
  machine.set(kDrive, "nvme/nvme0/cmb", "cmbloc : x00000002\ncmbsz  : x0200001f\n");
  EXPECT_EQ(doctor_json(read(), diagnosis())["drives"][0]["cmb"], true);
  EXPECT_THAT(findings(), Contains(Field(&Finding::text, HasSubstr("It has a controller memory buffer"))));
}

TEST_F(DoctorTest, SlowLinkAndAspm) {
  machine.set(kNtb, "current_link_speed", "8.0 GT/s PCIe\n");
  machine.set(kNtb, "max_link_speed", "16.0 GT/s PCIe\n");
  machine.set(kNtb, "current_link_width", "16\n");
  machine.set(kNtb, "max_link_width", "16\n");
  machine.set(kNtb, "link/l1_aspm", "1\n");
  EXPECT_THAT(findings(), AllOf(found("link-speed", Level::slow), found("aspm", Level::slow)));
  machine.set(kNtb, "max_link_speed", "8.0 GT/s PCIe\n");
  EXPECT_THAT(findings(), Not(found("link-speed")));
}

TEST_F(DoctorTest, SaysItAsJson) {
  const nlohmann::json seen = doctor_json(read(), diagnosis());
  EXPECT_EQ(seen["iommu"], nullptr);
  EXPECT_EQ(seen["interrupt_remapping"], false);
  EXPECT_EQ(seen["ntbs"][0]["family"], "AMD");
  EXPECT_EQ(seen["ntbs"][0]["windows"][0]["size"], 4ULL << 30U);
  EXPECT_EQ(seen["drives"][0]["routes"][0]["via"], "root-complex");
  EXPECT_EQ(seen["lend"], "risk");
  EXPECT_EQ(seen["modules"]["ntb_smartio"], "installed");
}

}  // namespace
}  // namespace smartio::ctl
