// SPDX-License-Identifier: GPL-2.0
// The properties of a machine that lending and borrowing depend on. They are read from sysfs, /proc, /lib/modules and
// /boot at one moment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "smartioctl/drive_query.h"
#include "smartioctl/pci.h"
#include "smartioctl/sysfs.h"

namespace smartio::ctl {

/// A family of NTBs: its vendor, and which of its BARs are memory windows.
struct NtbFamily {
  std::string name;
  std::string driver;                 ///< module of the kernel that drives it
  std::vector<unsigned> window_bars;  ///< empty: all that it has behind BAR 0
  bool to_multiples = false;          ///< a window leads only to multiples of its size
  std::string doubt;                  ///< what docs/hardware.md expects of one that smartio never ran on
};

/// The IOMMU as one function has it.
enum class Translation {
  off,     ///< there is none, or it passes this function's addresses on as they are
  strict,  ///< unmapped memory is out of reach at once
  lazy,    ///< some milliseconds later
};

struct PciLink {
  std::string speed;  ///< "8.0 GT/s PCIe"
  std::string width;
  bool slower_than_possible = false;
};

/// The common properties of NTBs and drives.
struct Function {
  std::string pci;
  std::string driver;  ///< empty: none
  Translation translation = Translation::off;
  std::string group;                    ///< empty without an IOMMU
  std::vector<std::string> neighbours;  ///< other functions of the group, bridges excepted
  PciLink link;
  bool aspm = false;  ///< its link may sleep
  int node = -1;      ///< NUMA node; -1: not known
};

struct Ntb : Function {
  NtbFamily family;
  std::string refused;                 ///< why the link is refused; empty: it isn't
  std::string client;                  ///< the driver that uses its windows: ntb_smartio; empty: none
  std::vector<Bar> windows;            ///< those that have a size
  std::vector<unsigned> unplaced;      ///< windows of the family without an address, by BAR
  std::vector<std::uint64_t> inbound;  ///< bytes of each window into this host; empty: the other host was not there
};

/// From a drive to an NTB: how the drive's requests get into the NTB's window.
struct Route {
  enum class Via { one_switch, root_complex, other_root };
  std::string ntb;
  Via via = Via::root_complex;
  std::string bridge;    ///< the last one above both; empty unless one_switch
  unsigned bridges = 0;  ///< that a request passes
  bool same_group = false;
  bool listed = false;             ///< the kernel knows that the root complex forwards such requests (pci_p2pdma)
  std::optional<bool> redirected;  ///< one_switch: ACS sends requests up; none: not known
};

struct Drive : Function {
  std::string controller;  ///< nvmeN; empty: no driver has it
  std::string model;
  std::string serial;
  std::optional<unsigned> msix;         ///< entries; 0: no MSI-X; none: not known
  std::optional<unsigned> queue_pairs;  ///< for I/O
  bool queue_pairs_at_least = false;    ///< its driver asked for this number, it may have more
  std::optional<bool> sgl;
  std::optional<bool> cmb;    ///< none: the kernel shows none, and may hide one
  std::vector<Route> routes;  ///< to each NTB
};

enum class ModuleState { loaded, installed, missing };

struct Machine {
  std::string kernel;      ///< release
  std::string cpu_vendor;  ///< of /proc/cpuinfo: "GenuineIntel"
  unsigned cpu_family = 0;
  unsigned cpus = 0;
  std::string iommu;              ///< "intel", "amd", "other"; empty: none is on
  std::optional<bool> remapping;  ///< of interrupts; none: not known
  std::optional<bool> multipath;  ///< of nvme-core; none: not known
  bool sees_config = true;        ///< capabilities could be read
  bool flat_window = false;       ///< of ntb_smartio
  std::uint64_t pool = 4 << 20;   ///< bytes of ntb_smartio's pool for each link
  std::map<std::string, ModuleState> modules;
  std::vector<Ntb> ntbs;
  std::vector<Drive> drives;
};

/// `root` has proc, lib and boot in it: "/", or a folder like that.
Machine read_machine(const Sysfs& sysfs, const std::filesystem::path& root, const DriveQuery& query);

}  // namespace smartio::ctl
