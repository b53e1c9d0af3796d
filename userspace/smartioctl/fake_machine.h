// SPDX-License-Identifier: GPL-2.0
// A machine made of files, for unit tests: PCI functions below bridges, IOMMU groups, modules, /proc.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "smartioctl/drive_query.h"
#include "smartioctl/fake_sysfs.h"

namespace smartio::ctl {

class FakeQuery : public DriveQuery {
 public:
  FakeQuery() : DriveQuery("/nowhere") {}
  [[nodiscard]] std::optional<DriveAnswer> ask(const std::string&) const override { return answer; }
  std::optional<DriveAnswer> answer = DriveAnswer{.sgl = true, .queue_pairs = 8};
};

/// As a pair's lender has it: an NTB of AMD and a drive, each behind a root port of its own, no IOMMU.
class FakeMachine {
 public:
  FakeMachine() {
    put("proc/sys/kernel/osrelease", "6.12.1\n");
    cpu("AuthenticAMD", 0x17);
    put("lib/modules/6.12.1/modules.dep",
        "updates/ntb.ko.xz:\nupdates/ntb_hw_amd.ko: updates/ntb.ko.xz\nupdates/smartio.ko:\nupdates/ntb_smartio.ko:\n"
        "updates/smartio_nvme.ko:\nupdates/smartio_nvme_mgr.ko:\nupdates/smartio_pci.ko:\n"
        "updates/smartio_pci_stub.ko:\nkernel/drivers/nvme/host/nvme.ko:\n");
    put("sys/module/nvme_core/parameters/multipath", "Y\n");
    put("sys/kernel/irq/24/chip_name", "PCI-MSI\n");
    add_port("0000:00:08.0", {}, false);
    add_port("0000:00:09.0", {}, false);
    add_ntb("0000:01:00.0", {"0000:00:08.0"});
    add_drive("0000:02:00.0", {"0000:00:09.0"});
  }

  [[nodiscard]] std::filesystem::path root() const { return scratch_.path(); }
  void put(const std::string& name, std::string_view text) const { scratch_.put(name, text); }
  void remove(const std::string& name) const { std::filesystem::remove_all(root() / name); }
  /// Of both.
  void cpu(std::string_view vendor, unsigned family) const {
    std::string text;
    for (const unsigned number : {0U, 1U})
      text += fmt::format("processor\t: {}\nvendor_id\t: {}\ncpu family\t: {}\n", number, vendor, family);
    put("proc/cpuinfo", text);
  }
  /// A BAR's line of `resource`.
  static std::string bar(std::uint64_t size, bool placed = true) {
    const std::uint64_t at = placed ? 0x1000000000 : 0;
    return fmt::format("{:#x} {:#x} {:#x}\n", at, at + size - 1, placed ? 0x14220cU : 0x2014220cU);
  }
  static std::string no_bar() { return "0x0 0x0 0x0\n"; }

  /// A function below these bridges; sysfs has it twice, as a folder and as a link.
  void add(const std::string& pci, const std::vector<std::string>& bridges, std::string_view what,
           std::string_view vendor, std::string_view device, std::string_view root_bus = "pci0000:00") const {
    std::string at = fmt::format("sys/devices/{}/", root_bus);
    for (const auto& bridge : bridges) at += bridge + "/";
    at += pci;
    put(at + "/class", fmt::format("{}\n", what));
    put(at + "/vendor", fmt::format("{}\n", vendor));
    put(at + "/device", fmt::format("{}\n", device));
    std::filesystem::create_directories(root() / "sys/bus/pci/devices");
    std::filesystem::create_directory_symlink("../../../../" + at, root() / "sys/bus/pci/devices" / pci);
  }
  void set(const std::string& pci, const std::string& attribute, std::string_view text) const {
    put("sys/bus/pci/devices/" + pci + "/" + attribute, text);
  }
  /// The BARs of an NTB's two windows.
  void windows(const std::string& pci, std::uint64_t first, std::uint64_t second) const {
    set(pci, "resource", bar(0x4000) + no_bar() + bar(first) + no_bar() + bar(second) + no_bar());
  }
  void drive_by(const std::string& pci, const std::string& driver) const {
    const auto link = root() / "sys/bus/pci/devices" / pci / "driver";
    std::filesystem::remove(link);
    if (!driver.empty()) std::filesystem::create_directory_symlink("../drivers/" + driver, link);
  }
  /// With an ACS capability; `redirects`: it sends requests up.
  void add_port(const std::string& pci, const std::vector<std::string>& bridges, std::optional<bool> redirects,
                std::string_view root_bus = "pci0000:00") const {
    add(pci, bridges, "0x060400", "0x1b36", "0x000c", root_bus);
    std::string config(4096, '\0');
    config[0x100] = redirects ? 0x0d : 0x01;
    config[0x102] = 0x01;
    config[0x106] = redirects.value_or(false) ? 0x04 : 0;
    set(pci, "config", config);
  }
  void add_ntb(const std::string& pci, const std::vector<std::string>& bridges) const {
    add(pci, bridges, "0x068000", "0x1022", "0x148b");
    windows(pci, 4ULL << 30U, 64ULL << 20U);
    set(pci, "config", std::string(4096, '\0'));
    drive_by(pci, "ntb_hw_amd");
  }
  void add_drive(const std::string& pci, const std::vector<std::string>& bridges,
                 std::string_view root_bus = "pci0000:00") const {
    add(pci, bridges, "0x010802", "0x1b36", "0x0010", root_bus);
    std::string config(4096, '\0');
    config[0x06] = 0x10;
    config[0x34] = 0x40;
    config[0x40] = 0x11;
    config[0x42] = 0x20;
    set(pci, "config", config);
    set(pci, "nvme/nvme0/model", "Emulated drive\n");
    drive_by(pci, "nvme");
  }
  /// An IOMMU is on, and these functions are in one group.
  void group(const std::string& number, std::string_view type, const std::vector<std::string>& members) const {
    const std::string at = "sys/kernel/iommu_groups/" + number;
    put("sys/class/iommu/dmar0/version", "1\n");
    put(at + "/type", fmt::format("{}\n", type));
    for (const auto& pci : members) {
      put(at + "/devices/" + pci, "");
      std::filesystem::create_directory_symlink(root() / at, root() / "sys/bus/pci/devices" / pci / "iommu_group");
    }
  }

 private:
  ScratchFolder scratch_;
};

}  // namespace smartio::ctl
