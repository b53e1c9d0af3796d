// SPDX-License-Identifier: GPL-2.0
// A sysfs made of files, for unit tests, and a kernel that answers writes to it as the modules do.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/scratch_folder.h"
#include "smartioctl/disk_use.h"
#include "smartioctl/kernel.h"
#include "smartioctl/sysfs.h"

namespace smartio::ctl {

/// One host's PCI bus with NVMe drives and network functions, their drivers, smartio_nvme_mgr and smartio_pci_stub.
class FakeSysfs : public Sysfs {
 public:
  explicit FakeSysfs(const ScratchFolder& root) : Sysfs(root.path()), root_(root) {
    for (const char* driver : {"nvme", "smartio_nvme_mgr", "smartio_pci_stub", "vfio-pci", "e1000e"}) {
      root.put(std::string("bus/pci/drivers/") + driver + "/bind", "");
    }
    root.put("class/smartio_host/fence", "");
    root.put("class/smartio_host/unfence", "");
    root.put("class/smartio_export/allow", "");
  }

  void put(const std::string& name, std::string_view text) const { root_.put(name, text); }
  /// The rules that the core got, as "DEVICE HOSTS".
  std::vector<std::string> rules() const {
    std::vector<std::string> lines;
    for (const auto& [name, value] : writes) {
      if (name == "class/smartio_export/allow") lines.push_back(value);
    }
    return lines;
  }

  /// A drive that `driver` has ("" for none).
  void add_drive(const std::string& pci, const std::string& serial, const std::string& driver) {
    const std::string at = device_path(pci);
    put(at + "/class", "0x010802\n");
    put(at + "/vendor", "0x1b36\n");
    put(at + "/device", "0x0010\n");
    put(at + "/driver_override", "(null)\n");
    serials_.emplace_back(pci, serial);
    if (!driver.empty()) bind(pci, driver);
  }

  /// The first 256 bytes of configuration space of a function with these capabilities.
  static std::string config(std::initializer_list<unsigned char> capabilities, char header_type = 0) {
    std::string bytes(256, '\0');
    bytes[0x0e] = header_type;
    if (capabilities.size() != 0) bytes[0x06] = 0x10;
    char at = 0x40;
    bytes[0x34] = capabilities.size() == 0 ? '\0' : at;
    for (const unsigned char id : capabilities) {
      bytes[static_cast<std::size_t>(at)] = static_cast<char>(id);
      at = static_cast<char>(at + 8);
      bytes[static_cast<std::size_t>(at - 7)] = at;
    }
    bytes[static_cast<std::size_t>(at - 7)] = 0;
    return bytes;
  }

  /// A network function with MSI-X, alone in an IOMMU group, with the interface `interface`.
  void add_nic(const std::string& pci, const std::string& interface, const std::string& driver = "e1000e") {
    const std::string at = device_path(pci);
    put(at + "/class", "0x020000\n");
    put(at + "/vendor", "0x8086\n");
    put(at + "/device", "0x10d3\n");
    put(at + "/modalias", "pci:v00008086d000010D3\n");
    put(at + "/driver_override", "(null)\n");
    put(at + "/config", config({0x01, 0x10, 0x11}));
    put(at + "/resource", "0x00000000fe000000 0x00000000fe01ffff 0x0000000000040200\n");
    put(at + "/net/" + interface + "/address", "");
    put("class/net/" + interface + "/flags", "0x1002\n");
    add_to_group(pci, "7");
    nics_.insert(pci);
    if (!driver.empty()) bind(pci, driver);
  }
  /// The physical function of an SR-IOV device, with a driver that makes virtual ones.
  void add_sriov_nic(const std::string& pci, unsigned total) {
    add_nic(pci, "eth4");
    add_sriov(pci, total);
  }
  void add_sriov(const std::string& pci, unsigned total) const {
    const std::string at = device_path(pci);
    put(at + "/sriov_totalvfs", std::to_string(total) + "\n");
    put(at + "/sriov_numvfs", "0\n");
    put(at + "/sriov_drivers_autoprobe", "1\n");
    put(at + "/reset_method", "flr bus\n");
  }
  void add_to_group(const std::string& pci, const std::string& group) const {
    put("kernel/iommu_groups/" + group + "/devices/" + pci, "");
    std::filesystem::remove(path("bus/pci/devices/" + pci + "/iommu_group"));
    std::filesystem::create_symlink("../../../../kernel/iommu_groups/" + group,
                                    path("bus/pci/devices/" + pci + "/iommu_group"));
  }

  std::error_code write(const std::string& relative, std::string_view value) override {
    writes.emplace_back(relative, value);
    const std::string pci(value);
    if (refuse_writes) return {EACCES, std::generic_category()};
    if (relative.ends_with("/driver_override")) {
      put(relative, value == "\n" ? "(null)\n" : pci + "\n");
    } else if (relative.ends_with("/sriov_numvfs")) {
      if (numvfs_error != 0) return {numvfs_error, std::generic_category()};
      set_virtual(relative.substr(0, relative.rfind('/')), static_cast<unsigned>(std::stoul(std::string(value))));
    } else if (relative.ends_with("/sriov_drivers_autoprobe") || relative.ends_with("/reset_method")) {
      put(relative, pci + "\n");
    } else if (relative == "bus/pci/drivers_probe") {
      if (text("bus/pci/devices/" + pci + "/driver_override") == "(null)") {
        bind(pci, nics_.contains(pci) ? "e1000e" : "nvme");
      }
    } else if (relative.ends_with("/unbind")) {
      unbind(pci);
    } else if (relative.starts_with("module/")) {
      put(relative, value);
    } else if (relative.ends_with("/bind")) {
      permitted.clear();
      for (const char* allowed :
           {"module/smartio/parameters/trust_borrowers", "module/smartio/parameters/shared_group"}) {
        permitted += text(allowed) == pci ? "1" : "0";
      }
      if (probe_error != 0 && (probe_error_of.empty() || probe_error_of == pci))
        return {probe_error, std::generic_category()};
      bind(pci, std::filesystem::path(relative).parent_path().filename());
    }
    return answer;
  }

  std::vector<std::pair<std::string, std::string>> writes;
  std::string permitted;       ///< to the device of the last probe: trust_borrowers, shared_group
  int probe_error = 0;         ///< returned by the manager's probe
  std::string probe_error_of;  ///< for this device alone
  int numvfs_error = 0;        ///< returned by a physical function's driver instead of making virtual functions
  bool manager_lends = true;   ///< whether it lends the devices that it has
  bool refuse_writes = false;  ///< as to an ordinary user
  std::error_code answer;      ///< to all other writes

 private:
  /// 0000:05:00.0 has its virtual functions at 0000:05:10.0, .2, .4 …, as Intel's 82576.
  void set_virtual(const std::string& physical, unsigned count) {
    for (unsigned n = 0; exists(physical + "/virtfn" + std::to_string(n)); ++n) {
      const std::string link = physical + "/virtfn" + std::to_string(n);
      unbind(this->link(link));
      std::filesystem::remove_all(path("bus/pci/devices/" + this->link(link)));
      std::filesystem::remove(path(link));
    }
    const std::string bus = std::filesystem::path(physical).filename().string().substr(0, 8);
    for (unsigned n = 0; n < count; ++n) {
      const std::string pci = bus + "1" + std::to_string(n / 4) + "." + std::to_string(n % 4 * 2);
      const bool probed = text(physical + "/sriov_drivers_autoprobe") == "1";
      add_nic(pci, "eth" + std::to_string(5 + n), probed ? "e1000e" : "");
      add_to_group(pci, std::to_string(20 + n));
      std::filesystem::create_directory_symlink("../" + pci, path(physical + "/virtfn" + std::to_string(n)));
    }
    put(physical + "/sriov_numvfs", std::to_string(count) + "\n");
  }
  void bind(const std::string& pci, const std::string& driver) {
    const std::string at = device_path(pci);
    std::filesystem::create_directory_symlink("../../drivers/" + driver, path(at + "/driver"));
    for (const auto& [drive, serial] : serials_) {
      if (drive != pci || driver == "vfio-pci" || driver == "smartio_pci_stub") continue;
      const std::string controller = "nvme" + pci.substr(pci.size() - 4, 1);
      put(at + "/nvme/" + controller + "/serial", serial + "   \n");
      put(at + "/nvme/" + controller + "/model", "Emulated \"drive\"\n");
      if (driver == "nvme") put(at + "/nvme/" + controller + "/" + controller + "n1/size", "8\n");
    }
    if (driver.starts_with("smartio_") && manager_lends) {
      put("class/smartio_export/" + pci + "/service", driver == "smartio_pci_stub" ? "pci\n" : "nvme\n");
      put("class/smartio_export/" + pci + "/borrowers", "");
      put("class/smartio_export/" + pci + "/holdings", "");
    }
  }
  void unbind(const std::string& pci) {
    std::filesystem::remove(path("bus/pci/devices/" + pci + "/driver"));
    std::filesystem::remove_all(path("bus/pci/devices/" + pci + "/nvme"));
    std::filesystem::remove_all(path("class/smartio_export/" + pci));
  }

  const ScratchFolder& root_;
  std::set<std::string> nics_;
  std::vector<std::pair<std::string, std::string>> serials_;
};

class FakeKernel : public Kernel {
 public:
  Result<void> load_module(const std::string& name) override {
    if (loading) loading(name);
    loaded.insert(name);
    if (missing.contains(name)) return fail("Module " + name + " not found");
    return {};
  }
  std::vector<std::string> log_lines(std::string_view part) override { return {std::string(part) + ": it said this"}; }
  void pause(std::chrono::milliseconds time) override { Kernel::pause(std::min(time, std::chrono::milliseconds(1))); }
  std::string enable_at_boot() override { return enabled = true, ""; }
  bool has_update_initramfs() override { return initramfs_tools; }
  Result<void> update_initramfs() override {
    if (in_initramfs) in_initramfs();
    return initramfs_fails ? fail("no space left") : Result<void>{};
  }

  std::function<void(const std::string&)> loading;
  std::set<std::string> loaded;
  std::set<std::string> missing;
  bool enabled = false;
  bool initramfs_tools = false;
  bool initramfs_fails = false;
  std::function<void()> in_initramfs;  ///< whenever it is rebuilt
};

class FakeDiskUse : public DiskUse {
 public:
  using DiskUse::DiskUse;
  bool held = false;

 protected:
  [[nodiscard]] bool claimed(const std::filesystem::path&) const override { return held; }
};

}  // namespace smartio::ctl
