// SPDX-License-Identifier: GPL-2.0
#include "cluster/qemu_args.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

namespace smartio::cluster {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Installation kInstallation{.top = "/top", .cache = "/cache", .fabric = "/fabric"};

topology::Topology ours(const std::string& name) {
  return topology::load(std::filesystem::path(SMARTIO_TOPOLOGIES) / (name + ".toml")).value();
}

std::vector<std::string> arguments(const topology::Topology& topology, std::size_t host, bool with_fabric = true) {
  return qemu_arguments(topology, topology.hosts.at(host), kInstallation,
                        {.kernel_arguments = "console=ttyS0", .initrd = "initrd", .with_fabric = with_fabric});
}

/// The values of all options of this name, in order.
std::vector<std::string> values(const std::vector<std::string>& words, std::string_view option) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == option) found.push_back(words[i + 1]);
  }
  return found;
}

constexpr const char* kDisk = "virtio-blk-pci,bus=pcie.0,addr=0x2,drive=root,serial=root";
constexpr const char* kSerial = "virtio-serial-pci,bus=pcie.0,addr=0x4";
constexpr const char* kAgent = "virtserialport,chardev=qga,name=org.qemu.guest_agent.0";
constexpr const char* kData = "virtserialport,chardev=data,name=org.smartio.data";

TEST(QemuArguments, AHostsUuidIsItsOwnAndStays) {
  const auto pair = ours("pair");
  const auto star = ours("star");
  const std::string lender = uuid_of(pair, "lender");
  EXPECT_THAT(lender, ::testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_EQ(lender, uuid_of(ours("pair"), "lender"));
  EXPECT_NE(lender, uuid_of(pair, "borrower"));
  EXPECT_NE(lender, uuid_of(star, "lender"));
  EXPECT_THAT(values(arguments(pair, 0), "-uuid"), ElementsAre(lender));
}

TEST(QemuArguments, AServerWritesToADiskOfItsOwn) {
  auto topology = ours("pair");
  topology.hosts[0].image = topology::Image::server;
  const auto words = arguments(topology, 0);
  EXPECT_THAT(values(words, "-initrd"), ElementsAre("/cache/guest-server/initrd"));
  EXPECT_THAT(
      values(words, "-blockdev"),
      ElementsAre("driver=qcow2,node-name=root,discard=unmap,file.driver=file,file.filename=lender.root.qcow2"));
  EXPECT_THAT(values(arguments(topology, 1), "-initrd"), ElementsAre("initrd"));
}

TEST(QemuArguments, AHostThatRunsVmsHasADiskForThat) {
  auto topology = ours("pair");
  topology.hosts[1].vms = true;
  const auto words = arguments(topology, 1);
  EXPECT_THAT(values(words, "-blockdev").at(1),
              "driver=file,node-name=vms,filename=/cache/guest-vm/vm.img,read-only=on,locking=off");
  const auto devices = values(words, "-device");
  EXPECT_EQ(devices.at(1), kDisk) << "the root is the first disk";
  EXPECT_EQ(devices.at(2), "virtio-blk-pci,bus=pcie.0,addr=0x5,drive=vms,serial=vms");
  EXPECT_THAT(arguments(topology, 0), Not(Contains(HasSubstr("vms"))));
}

TEST(QemuArguments, OfTheLenderOfAPair) {
  const auto words = arguments(ours("pair"), 0);
  EXPECT_EQ(words[0], "qemu-system-x86_64");
  EXPECT_THAT(words, Contains("-no-reboot"));
  EXPECT_THAT(values(words, "-machine"), ElementsAre("q35,hpet=off,memory-backend=memory"));
  EXPECT_THAT(values(words, "-global"), ElementsAre("ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"));
  EXPECT_THAT(values(words, "-object"),
              ElementsAre("memory-backend-memfd,id=memory,size=512M,share=on", "monitor-qmp,id=monitor,chardev=qmp"));
  EXPECT_THAT(values(words, "-m"), ElementsAre("512M"));
  EXPECT_THAT(values(words, "-smp"), ElementsAre("2"));
  EXPECT_THAT(values(words, "-accel"), ElementsAre("tcg,thread=multi,tb-size=128"));
  EXPECT_THAT(values(words, "-kernel"), ElementsAre("/cache/guest/vmlinux"));
  EXPECT_THAT(values(words, "-initrd"), ElementsAre("initrd"));
  EXPECT_THAT(values(words, "-append"),
              ElementsAre("console=ttyS0 oops=panic loglevel=5 intel_iommu=off guest.host=lender guest.ip=10.77.0.1/24 "
                          "guest.hosts=lender:10.77.0.1,borrower:10.77.0.2"));
  EXPECT_THAT(values(words, "-blockdev"),
              ElementsAre("driver=file,node-name=root,filename=/cache/guest/root.img,read-only=on,locking=off"));
  EXPECT_THAT(values(words, "-netdev"),
              ElementsAre("stream,id=lan,server=off,addr.type=unix,addr.path=lender.lan.sock"));
  EXPECT_THAT(values(words, "-chardev"),
              ElementsAre("pipe,id=qga,path=lender.qga", "socket,id=data,path=lender.data.sock,server=on,wait=off",
                          "socket,id=console,path=lender.console.sock,server=on,wait=off,logfile=lender.console.log,"
                          "logappend=on",
                          "socket,id=qmp,path=lender.qmp.sock,server=on,wait=off"));
  EXPECT_THAT(
      values(words, "-device"),
      ElementsAre(
          kDisk, "virtio-net-pci,bus=pcie.0,addr=0x3,netdev=lan,mac=52:54:00:77:00:01,romfile=", kSerial, kAgent, kData,
          "pcie-root-port,id=rp0,bus=pcie.0,addr=0x8,chassis=1,slot=1",
          R"({"driver":"vfio-user-pci","id":"ntb0","bus":"rp0","socket":{"type":"unix","path":"lender.ntb0.sock"}})",
          "pcie-root-port,id=rp1,bus=pcie.0,addr=0x9,chassis=2,slot=2",
          R"({"driver":"vfio-user-pci","id":"drive0","bus":"rp1","socket":{"type":"unix","path":"lender.drive0.sock"}})"));
}

TEST(QemuArguments, OfTheBorrowerOfAPair) {
  const auto words = arguments(ours("pair"), 1);
  EXPECT_THAT(values(words, "-append").at(0), HasSubstr(" intel_iommu=on guest.host=borrower "));
  EXPECT_THAT(
      values(words, "-device"),
      ElementsAre(
          "intel-iommu,caching-mode=on,intremap=on", kDisk,
          "virtio-net-pci,bus=pcie.0,addr=0x3,netdev=lan,mac=52:54:00:77:00:02,romfile=", kSerial, kAgent, kData,
          "pcie-root-port,id=rp0,bus=pcie.0,addr=0x8,chassis=1,slot=1", "x3130-upstream,id=up0,bus=rp0",
          "xio3130-downstream,id=dn0,bus=up0,chassis=64,slot=1",
          R"({"driver":"vfio-user-pci","id":"ntb0","bus":"dn0","socket":{"type":"unix","path":"borrower.ntb0.sock"}})"));
}

TEST(QemuArguments, IntelsNtbIsBehindARootPortOnBothSides) {
  for (const std::size_t host : {0U, 1U})
    EXPECT_THAT(values(arguments(ours("pair-intel-icx"), host), "-device"),
                Contains(HasSubstr(R"("id":"ntb0","bus":"rp0")")))
        << host;
}

TEST(QemuArguments, AnIommuAsTheTopologySaysIt) {
  const auto host = [](std::string_view lines) {
    return arguments(
        topology::parse(fmt::format("[cluster]\nname = \"c\"\n[[host]]\nname = \"a\"\n{}", lines), "f").value(), 0);
  };
  const auto amd = host("iommu = \"amd\"\nremapping = false\n");
  EXPECT_EQ(values(amd, "-device").at(0), "amd-iommu,dma-remap=on,intremap=off");
  EXPECT_THAT(values(amd, "-append").at(0), HasSubstr(" intel_iommu=off "));
  EXPECT_THAT(values(amd, "-append").at(0), Not(HasSubstr("lazy")));
  const auto lazy = host("iommu = \"intel\"\nlazy = true\nremapping = false\n");
  EXPECT_EQ(values(lazy, "-device").at(0), "intel-iommu,caching-mode=on,intremap=off");
  EXPECT_THAT(values(lazy, "-append").at(0), HasSubstr(" intremap=off guest.iommu=lazy"));
}

TEST(QemuArguments, OneSwitchHasAllEndpoints) {
  const auto devices = values(arguments(ours("pair-switch"), 0), "-device");
  EXPECT_THAT(std::span(devices).last(8),
              ElementsAre("pcie-root-port,id=rp0,bus=pcie.0,addr=0x8,chassis=1,slot=1", "x3130-upstream,id=up0,bus=rp0",
                          "xio3130-downstream,id=dn16,bus=up0,chassis=64,slot=1", "x3130-upstream,id=up1,bus=dn16",
                          "xio3130-downstream,id=dn0,bus=up1,addr=0x0,chassis=65,slot=1",
                          HasSubstr(R"("id":"ntb0","bus":"dn0")"),
                          "xio3130-downstream,id=dn1,bus=up1,addr=0x1,chassis=65,slot=2",
                          HasSubstr(R"("id":"drive0","bus":"dn1")")));
}

TEST(QemuArguments, EveryTopologyGivesEveryEndpointOnePlaceOfItsOwn) {
  for (const auto& entry : std::filesystem::directory_iterator(SMARTIO_TOPOLOGIES)) {
    if (entry.path().extension() != ".toml") continue;
    const auto topology = topology::load(entry.path()).value();
    for (std::size_t i = 0; i < topology.hosts.size(); ++i) {
      const auto devices = values(arguments(topology, i), "-device");
      EXPECT_EQ(devices[0].starts_with("intel-iommu"), topology.hosts[i].iommu == topology::Iommu::intel);
      EXPECT_EQ(devices[0].starts_with("amd-iommu"), topology.hosts[i].iommu == topology::Iommu::amd);
      for (const auto& endpoint : topology::endpoints(topology)) {
        const auto count = std::ranges::count_if(
            devices, [&](const std::string& device) { return device.contains('"' + endpoint.socket + '"'); });
        EXPECT_EQ(count, endpoint.host == topology.hosts[i].name ? 1 : 0) << entry.path() << " " << endpoint.socket;
      }
      auto sorted = devices;
      std::ranges::sort(sorted);
      EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end()) << entry.path();
    }
  }
}

constexpr std::string_view kWithDevices = R"([cluster]
name = "c"
[[host]]
name = "a"
[[host]]
name = "b"
[[cable]]
between = ["a", "b"]
[[device]]
name = "disk"
type = "nvme"
host = "b"
size = "64M"
cmb = "2M"
[[device]]
name = "nic"
type = "e1000e"
host = "b"
[[device]]
name = "old"
type = "ahci"
host = "b"
size = "1M"
[[device]]
name = "usb"
type = "xhci"
host = "b"
size = "1M"
[[device]]
name = "toy"
type = "edu"
host = "b"
dma_bits = 64
[[device]]
name = "vnic"
type = "igb"
host = "a"
)";

TEST(QemuArguments, AnNvmeWithVirtualFunctionsSharesItsNamespace) {
  const auto topology = topology::parse(R"([cluster]
name = "c"
[[host]]
name = "a"
[[device]]
name = "disk"
type = "nvme"
host = "a"
size = "64M"
vfs = 2
)",
                                        "f")
                            .value();
  const auto words = arguments(topology, 0);
  const auto devices = values(words, "-device");
  ASSERT_GE(devices.size(), 4U);
  EXPECT_THAT(
      std::span(devices).last(4),
      ElementsAre(testing::StartsWith("pcie-root-port,id=dp0,"),
                  R"({"driver":"nvme-subsys","id":"disk.subsystem","nqn":"disk"})",
                  R"({"driver":"nvme","id":"disk","bus":"dp0","serial":"disk","dbcs":false,"subsys":"disk.subsystem",)"
                  R"("sriov_max_vfs":2,"sriov_vq_flexible":6,"sriov_vi_flexible":4,"max_ioqpairs":14,"msix_qsize":13})",
                  R"({"driver":"nvme-ns","bus":"disk","drive":"disk0","nsid":1,"shared":true})"));
}

TEST(QemuArguments, DevicesOfQemusOwnAreBehindRootPortsOfTheirOwn) {
  const auto topology = topology::parse(kWithDevices, "f").value();
  const auto words = arguments(topology, 1);
  const auto devices = values(words, "-device");
  EXPECT_THAT(values(words, "-global"), Contains("pci-device.x-max-bounce-buffer-size=1073741824"));
  EXPECT_THAT(
      std::span(devices).subspan(9),
      ElementsAre(
          "pcie-root-port,id=dp0,bus=pcie.0,addr=0x18,chassis=17,slot=17",
          R"({"driver":"nvme","id":"disk","bus":"dp0","serial":"disk","dbcs":false,"drive":"disk0","cmb_size_mb":2})",
          "pcie-root-port,id=dp1,bus=pcie.0,addr=0x19,chassis=18,slot=18",
          R"({"driver":"e1000e","id":"nic","bus":"dp1","netdev":"dp1.lan","mac":"52:54:00:77:02:02","romfile":""})",
          "pcie-root-port,id=dp2,bus=pcie.0,addr=0x1a,chassis=19,slot=19",
          R"({"driver":"ich9-ahci","id":"old","bus":"dp2"})", R"({"driver":"ide-hd","bus":"old.0","drive":"disk2"})",
          "pcie-root-port,id=dp3,bus=pcie.0,addr=0x1b,chassis=20,slot=20",
          R"({"driver":"qemu-xhci","id":"usb","bus":"dp3"})",
          R"({"driver":"usb-storage","bus":"usb.0","drive":"disk3"})",
          "pcie-root-port,id=dp4,bus=pcie.0,addr=0x1c,chassis=21,slot=21",
          R"({"driver":"edu","id":"toy","bus":"dp4","dma_mask":18446744073709551615})"));
  const auto nodes = values(words, "-blockdev");
  EXPECT_THAT(std::span(nodes).subspan(1),
              ElementsAre(R"({"driver":"file","node-name":"disk0","filename":"b.disk.img","discard":"unmap"})",
                          R"({"driver":"file","node-name":"disk2","filename":"b.old.img","discard":"unmap"})",
                          R"({"driver":"file","node-name":"disk3","filename":"b.usb.img","discard":"unmap"})"));
  EXPECT_THAT(values(words, "-netdev").at(1), "stream,id=dp1.lan,server=off,addr.type=unix,addr.path=b.nic.lan.sock");
  const auto other = values(arguments(topology, 0), "-device");
  EXPECT_THAT(other.at(other.size() - 2), "pcie-root-port,id=dp0,bus=pcie.0,addr=0x18,chassis=17,slot=17");
  EXPECT_THAT(other.back(), HasSubstr(R"("driver":"igb","id":"vnic","bus":"dp0")"));
}

TEST(PciAddress, IsThatOfTheFirmware) {
  const auto topology = topology::parse(kWithDevices, "f").value();
  EXPECT_EQ(pci_address_of(topology, "a", "ntb0"), "0000:01:00.0");
  EXPECT_EQ(pci_address_of(topology, "a", "vnic"), "0000:02:00.0");
  EXPECT_EQ(pci_address_of(topology, "b", "ntb0"), "0000:03:00.0") << "behind a switch, which has two buses";
  EXPECT_EQ(pci_address_of(topology, "b", "disk"), "0000:04:00.0");
  EXPECT_EQ(pci_address_of(topology, "b", "toy"), "0000:08:00.0");
  EXPECT_EQ(pci_address_of(topology, "b", "vnic"), "") << "it is in a";
  EXPECT_EQ(pci_address_of(ours("pair"), "lender", "drive0"), "0000:02:00.0");
  EXPECT_EQ(pci_address_of(ours("pair-intel-spr"), "borrower", "ntb0"), "0000:01:00.0") << "no switch";
  // Two switches: each has a bus of its upstream port and one of its downstream ports.
  EXPECT_EQ(pci_address_of(ours("star-31"), "lender", "ntb0"), "0000:03:00.0");
  EXPECT_EQ(pci_address_of(ours("star-31"), "lender", "ntb16"), "0000:15:00.0");
}

TEST(QemuArguments, MoreEndpointsThanRootPortsAreBehindSwitches) {
  const auto devices = values(arguments(ours("star-31"), 0), "-device");
  EXPECT_THAT(std::span(devices).subspan(5, 4),
              ElementsAre("pcie-root-port,id=rp0,bus=pcie.0,addr=0x8,chassis=1,slot=1", "x3130-upstream,id=up0,bus=rp0",
                          "xio3130-downstream,id=dn0,bus=up0,addr=0x0,chassis=64,slot=1",
                          HasSubstr(R"("id":"ntb0","bus":"dn0")")));
  EXPECT_THAT(std::span(devices).subspan(37, 6),
              ElementsAre("xio3130-downstream,id=dn15,bus=up0,addr=0xf,chassis=64,slot=16",
                          HasSubstr(R"("id":"ntb15","bus":"dn15")"),
                          "pcie-root-port,id=rp1,bus=pcie.0,addr=0x9,chassis=2,slot=2", "x3130-upstream,id=up1,bus=rp1",
                          "xio3130-downstream,id=dn16,bus=up1,addr=0x0,chassis=65,slot=17",
                          HasSubstr(R"("id":"ntb16","bus":"dn16")")));
  EXPECT_THAT(devices.back(), HasSubstr(R"("id":"drive0","bus":"dn31")"));
}

TEST(QemuArguments, SixteenEndpointsHaveRootPortsOfTheirOwn) {
  const auto count_of = [](unsigned cables, std::string_view device) {
    const auto topology = topology::parse(fmt::format("[cluster]\nname = \"c\"\n[[host]]\nname = \"a\"\ncpus = 3\n"
                                                      "[[host]]\nname = \"b\"\ncount = {}\n"
                                                      "[[cable]]\nbetween = [\"a\", \"b*\"]\n",
                                                      cables),
                                          "f")
                              .value();
    const auto devices = values(arguments(topology, 0), "-device");
    return std::ranges::count_if(devices, [&](const std::string& word) { return word.starts_with(device); });
  };
  EXPECT_EQ(count_of(16, "pcie-root-port"), 16);
  EXPECT_EQ(count_of(16, "x3130"), 0);
  EXPECT_EQ(count_of(17, "pcie-root-port"), 2);
  EXPECT_EQ(count_of(17, "x3130"), 2);
  EXPECT_EQ(count_of(17, "xio3130"), 17);
}

TEST(QemuArguments, WithoutTheFabricAHostHasNothingOfIt) {
  const auto words = arguments(ours("pair"), 0, false);
  EXPECT_THAT(words, Not(Contains(HasSubstr("vfio-user"))));
  EXPECT_THAT(words, Not(Contains(HasSubstr("root-port"))));
  EXPECT_THAT(values(words, "-netdev"), ElementsAre("hubport,id=lan,hubid=0"));
  EXPECT_THAT(arguments(topology::parse(kWithDevices, "f").value(), 1, false), Not(Contains(HasSubstr("disk"))));
}

TEST(QemuArguments, InstructionsAreCountedIfAPluginIsNamed) {
  const auto topology = ours("pair");
  EXPECT_THAT(arguments(topology, 0), Not(Contains("-plugin")));
  const auto words = qemu_arguments(topology, topology.hosts.at(1), kInstallation,
                                    {.kernel_arguments = "", .initrd = "initrd", .counter = "/top/count.so"});
  EXPECT_THAT(values(words, "-plugin"), ElementsAre("/top/count.so,socket=borrower.counts.sock"));
}

TEST(QemuArguments, AHostThatCombinesStoresShowsItsFences) {
  auto topology = ours("pair");
  EXPECT_THAT(arguments(topology, 1), Not(Contains("-plugin")));
  topology.hosts.at(1).write_combining = 1;
  EXPECT_THAT(arguments(topology, 0), Not(Contains("-plugin")));
  EXPECT_THAT(values(arguments(topology, 1), "-plugin"),
              ElementsAre(HasSubstr("tcg_fence/smartio-tcg-fence.so,page=borrower.fences")));
  EXPECT_THAT(arguments(topology, 1, false), Not(Contains("-plugin")));
}

TEST(QemuArguments, AHostWithoutDevicesHasNoPorts) {
  const auto topology = topology::parse("[cluster]\nname = \"c\"\n[[host]]\nname = \"a\"\n", "f").value();
  EXPECT_THAT(arguments(topology, 0), Not(Contains(HasSubstr("root-port"))));
}

TEST(ShellQuoted, CanBePasted) {
  EXPECT_EQ(shell_quoted({"a", "b=c,d", "/x/y.z"}), "a b=c,d /x/y.z");
  EXPECT_EQ(shell_quoted({"a b", "", "it's", "{\"x\":1}"}), R"('a b' '' 'it'\''s' '{"x":1}')");
  EXPECT_THAT(shell_quoted({}), IsEmpty());
}

}  // namespace
}  // namespace smartio::cluster
