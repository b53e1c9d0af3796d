// SPDX-License-Identifier: GPL-2.0
// A sysfs made of files, for unit tests, and a kernel that answers writes to it as the modules do.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "smartioctl/disk_use.h"
#include "smartioctl/kernel.h"
#include "smartioctl/sysfs.h"

namespace smartio::ctl {

/// A folder that is removed with everything in it.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "smartioctl-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp " + name);
    path_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  void put(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary | std::ios::trunc) << text;
  }

 private:
  std::filesystem::path path_;
};

/// One host's PCI bus with NVMe drives, the drivers nvme and smartio_nvme_mgr.
class FakeSysfs : public Sysfs {
 public:
  explicit FakeSysfs(const Scratch& root) : Sysfs(root.path()), root_(root) {
    for (const char* driver : {"nvme", "smartio_nvme_mgr", "vfio-pci"}) {
      root.put(std::string("bus/pci/drivers/") + driver + "/bind", "");
    }
    root.put("class/smartio_host/fence", "");
    root.put("class/smartio_host/unfence", "");
  }

  void put(const std::string& name, std::string_view text) const { root_.put(name, text); }

  /// A drive that `driver` has ("" for none).
  void add_drive(const std::string& pci, const std::string& serial, const std::string& driver) {
    const std::string at = "bus/pci/devices/" + pci;
    put(at + "/class", "0x010802\n");
    put(at + "/vendor", "0x1b36\n");
    put(at + "/device", "0x0010\n");
    put(at + "/driver_override", "(null)\n");
    serials_.emplace_back(pci, serial);
    if (!driver.empty()) bind(pci, driver);
  }

  std::error_code write(const std::string& relative, std::string_view value) override {
    writes.emplace_back(relative, value);
    const std::string pci(value);
    if (refuse_writes) return {EACCES, std::generic_category()};
    if (relative.ends_with("/driver_override")) {
      put(relative, value == "\n" ? "(null)\n" : pci + "\n");
    } else if (relative == "bus/pci/drivers_probe") {
      if (text("bus/pci/devices/" + pci + "/driver_override") == "(null)") bind(pci, "nvme");
    } else if (relative.ends_with("/unbind")) {
      unbind(pci);
    } else if (relative.ends_with("/bind")) {
      if (probe_error != 0) return {probe_error, std::generic_category()};
      bind(pci, "smartio_nvme_mgr");
    }
    return answer;
  }

  std::vector<std::pair<std::string, std::string>> writes;
  int probe_error = 0;         ///< what the manager's probe returns
  bool manager_lends = true;   ///< whether it lends what it has
  bool refuse_writes = false;  ///< as to an ordinary user
  std::error_code answer;      ///< to all other writes

 private:
  void bind(const std::string& pci, const std::string& driver) {
    const std::string at = "bus/pci/devices/" + pci;
    std::filesystem::create_directory_symlink("../../drivers/" + driver, path(at + "/driver"));
    for (const auto& [drive, serial] : serials_) {
      if (drive != pci || driver == "vfio-pci") continue;
      const std::string controller = "nvme" + pci.substr(pci.size() - 4, 1);
      put(at + "/nvme/" + controller + "/serial", serial + "   \n");
      put(at + "/nvme/" + controller + "/model", "Emulated \"drive\"\n");
      if (driver == "nvme") put(at + "/nvme/" + controller + "/" + controller + "n1/size", "8\n");
    }
    if (driver == "smartio_nvme_mgr" && manager_lends) {
      put("class/smartio_export/" + pci + "/service", "nvme\n");
      put("class/smartio_export/" + pci + "/borrowers", "");
      put("class/smartio_export/" + pci + "/holdings", "");
    }
  }
  void unbind(const std::string& pci) {
    std::filesystem::remove(path("bus/pci/devices/" + pci + "/driver"));
    std::filesystem::remove_all(path("bus/pci/devices/" + pci + "/nvme"));
    std::filesystem::remove_all(path("class/smartio_export/" + pci));
  }

  const Scratch& root_;
  std::vector<std::pair<std::string, std::string>> serials_;
};

class FakeKernel : public Kernel {
 public:
  Result<void> load_module(const std::string& name) override {
    loaded.insert(name);
    if (missing.contains(name)) return fail("Module " + name + " not found");
    return {};
  }
  std::vector<std::string> log_lines(std::string_view part) override { return {std::string(part) + ": it said this"}; }
  void pause(std::chrono::milliseconds time) override { Kernel::pause(std::min(time, std::chrono::milliseconds(1))); }
  std::string enable_at_boot() override { return enabled = true, ""; }

  std::set<std::string> loaded;
  std::set<std::string> missing;
  bool enabled = false;
};

class FakeDiskUse : public DiskUse {
 public:
  using DiskUse::DiskUse;
  bool held = false;

 protected:
  [[nodiscard]] bool claimed(const std::filesystem::path&) const override { return held; }
};

}  // namespace smartio::ctl
