// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <string_view>

#include "base/numbers.h"
#include "base/text.h"
#include "smartioctl/view.h"

namespace smartio::ctl {

namespace {

struct KnownNtb {
  std::string_view vendor;
  std::string_view device;  ///< empty: all that are bridges of no other kind
  std::string_view name;
  std::string_view driver;
  std::array<unsigned, 3> windows;  ///< BARs; 0 ends them
};

// The IDs of the kernel's drivers (drivers/ntb/hw, 6.12).
constexpr KnownNtb kKnownNtbs[] = {
    {"0x1022", "0x145b", "AMD", "ntb_hw_amd", {1, 2, 4}},
    {"0x1022", "0x148b", "AMD", "ntb_hw_amd", {2, 4, 0}},
    {"0x1022", "0x14c0", "AMD", "ntb_hw_amd", {2, 4, 0}},
    {"0x1022", "0x14c3", "AMD", "ntb_hw_amd", {2, 4, 0}},
    {"0x1022", "0x155a", "AMD", "ntb_hw_amd", {2, 4, 0}},
    {"0x1d94", "0x145b", "Hygon", "ntb_hw_amd", {1, 2, 4}},
    {"0x8086", "0x3725", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x3726", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x3727", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x3c0d", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x3c0e", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x3c0f", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x0e0d", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x0e0e", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x0e0f", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x2f0d", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x2f0e", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x2f0f", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x6f0d", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x6f0e", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x6f0f", "Intel, first generation", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x201c", "Intel, generation 3", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x347e", "Intel, generation 4", "ntb_hw_intel", {2, 4, 0}},
    {"0x8086", "0x0db4", "Intel, generation 5", "ntb_hw_intel", {2, 4, 0}},
    {"0x11f8", "", "Microchip Switchtec", "ntb_hw_switchtec", {0, 0, 0}},
    {"0x111d", "", "IDT", "ntb_hw_idt", {0, 0, 0}},
};

// This host needs some of these, by its role.
constexpr std::string_view kModules[] = {
    "ntb", "smartio", "ntb_smartio", "smartio_nvme", "smartio_nvme_mgr", "smartio_pci", "smartio_pci_stub", "nvme"};

// ntb_hw_intel tells Ice Lake from later parts by the revision (ntb_hw_gen4.h).
constexpr std::string_view kGeneration4 = "0x347e";
constexpr std::uint64_t kIceLakeFirst = 0x02;
constexpr std::uint64_t kIceLakeLast = 0x0f;

// Root complexes that forward requests between their ports, as the kernel has them (drivers/pci/p2pdma.c, 6.12): AMD's
// since this family, and Intel's with one of these at the head of a root bus.
constexpr unsigned kZen = 0x17;
struct Forwarding {
  std::string_view device;
  bool across;  ///< also between root buses
};
constexpr Forwarding kForwarding[] = {
    {"0x3c00", false}, {"0x3c01", false}, {"0x2f00", false}, {"0x2f01", false}, {"0x2030", true},
    {"0x2031", true},  {"0x2032", true},  {"0x2033", true},  {"0x2020", true},  {"0x09a2", true},
};

std::string doubt_about(const KnownNtb& known) {
  if (known.driver == "ntb_hw_switchtec") {
    return "smartio never ran on it. Its driver lets CPUs through, but no drive: a borrower's I/O will fail.";
  }
  if (known.driver == "ntb_hw_idt") return "smartio never ran on it.";
  if (known.driver == "ntb_hw_intel" && known.device != kGeneration4 && known.device != "0x0db4") {
    return "smartio never ran on it. It works, if a window may lead to address 0.";
  }
  return "";
}

/// Ice Lake's and Sapphire Rapids' have one ID.
void tell_generation_4(NtbFamily& family, const std::string& revision) {
  const auto number = parse_number(revision);
  if (!number || *number < kIceLakeFirst) return;
  family.to_multiples = *number <= kIceLakeLast;
  family.name += family.to_multiples ? " (Ice Lake)" : " (Sapphire Rapids or later)";
}

std::optional<NtbFamily> family_of(const Pci& pci, const std::string& function) {
  const std::string vendor = pci.text(function, "vendor");
  const std::string device = pci.text(function, "device");
  const std::string what = pci.text(function, "class");
  for (const KnownNtb& known : kKnownNtbs) {
    if (known.vendor != vendor) continue;
    if (known.device.empty() ? !what.starts_with(kOtherBridgeClass) : known.device != device) continue;
    NtbFamily family;
    family.name = known.name;
    family.driver = known.driver;
    family.doubt = doubt_about(known);
    if (device == kGeneration4) tell_generation_4(family, pci.text(function, "revision"));
    for (const unsigned bar : known.windows) {
      if (bar != 0) family.window_bars.push_back(bar);
    }
    return family;
  }
  return {};
}

std::string file_text(const std::filesystem::path& file) { return Sysfs(file.parent_path()).read(file.filename()); }

/// One line of a large file: modules.dep and config are larger than an attribute may be.
bool has_line(const std::filesystem::path& file, const std::function<bool(std::string_view)>& wanted) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (wanted(line)) return true;
  }
  return false;
}

/// "…/smartio_nvme.ko.xz: …" is the line of smartio_nvme; modules.builtin has no colon.
bool names_module(std::string_view line, std::string_view name) {
  line = line.substr(0, line.find(':'));
  line.remove_prefix(line.rfind('/') == std::string_view::npos ? 0 : line.rfind('/') + 1);
  line = line.substr(0, line.find(".ko"));
  return std::ranges::equal(line, name, [](char a, char b) { return a == b || (a == '-' && b == '_'); });
}

ModuleState module_state(const Sysfs& sysfs, const std::filesystem::path& folder, std::string_view name) {
  if (sysfs.exists(fmt::format("module/{}", name))) return ModuleState::loaded;
  const auto named = [&](std::string_view line) { return names_module(line, name); };
  const bool there = has_line(folder / "modules.dep", named) || has_line(folder / "modules.builtin", named);
  return there ? ModuleState::installed : ModuleState::missing;
}

std::optional<bool> read_multipath(const Sysfs& sysfs, const std::filesystem::path& config) {
  const std::string parameter = "module/nvme_core/parameters/multipath";
  if (sysfs.exists(parameter)) return sysfs.text(parameter) == "Y";
  if (sysfs.exists("module/nvme_core/parameters")) return false;  // it was compiled without
  if (has_line(config, [](std::string_view line) { return line == "CONFIG_NVME_MULTIPATH=y"; })) return true;
  if (std::filesystem::exists(config)) return false;
  return {};
}

std::string read_iommu(const Sysfs& sysfs) {
  auto units = sysfs.list("class/iommu");
  std::erase(units, "smartio");  // smartio_pci's, for functions of other hosts
  if (units.empty()) return "";
  if (units.front().starts_with("dmar")) return "intel";
  if (units.front().starts_with("ivhd")) return "amd";
  return "other";
}

/// The kernel calls interrupt chips behind remapping IR-something.
std::optional<bool> read_remapping(const Sysfs& sysfs) {
  const auto irqs = sysfs.list("kernel/irq");
  if (irqs.empty()) return {};
  return std::ranges::any_of(irqs, [&](const std::string& irq) {
    const std::string chip = sysfs.text(fmt::format("kernel/irq/{}/chip_name", irq));
    return chip.starts_with("IR-") || chip.starts_with("AMD-IR") || chip.starts_with("INTEL-IR");
  });
}

Translation translation_of(const std::string& type) {
  if (type == "DMA-FQ") return Translation::lazy;
  return type.starts_with("DMA") ? Translation::strict : Translation::off;
}

void read_function(const Pci& pci, const std::string& name, Function& function) {
  function.pci = printable(name);
  function.driver = pci.driver(name);
  function.translation = translation_of(pci.group_type(name));
  function.group = pci.group(name);
  function.neighbours = pci.group_neighbours(name);
  function.link.speed = pci.text(name, "current_link_speed");
  function.link.width = pci.text(name, "current_link_width");
  const std::string best_speed = pci.text(name, "max_link_speed");
  const std::string best_width = pci.text(name, "max_link_width");
  const auto less = [](const std::string& now, const std::string& best) {
    return parse_number(now).value_or(0) < parse_number(best).value_or(0);
  };
  // "16.0 GT/s PCIe": before the point. A width or speed of 0 is one that is not known.
  const auto giga = [](const std::string& speed) { return speed.substr(0, speed.find('.')); };
  const bool known = parse_number(function.link.width).value_or(0) != 0 && parse_number(giga(function.link.speed));
  function.link.slower_than_possible =
      known && (less(function.link.width, best_width) || less(giga(function.link.speed), giga(best_speed)));
  for (const char* state : {"l0s_aspm", "l1_aspm"}) {
    function.aspm = function.aspm || pci.text(name, fmt::format("link/{}", state)) == "1";
  }
  const std::string node = pci.text(name, "numa_node");
  function.node = static_cast<int>(parse_number(node).value_or(0));
  if (node.empty() || node.starts_with('-')) function.node = -1;
}

Ntb read_ntb(const Sysfs& sysfs, const Pci& pci, const std::string& name, NtbFamily family) {
  Ntb ntb;
  read_function(pci, name, ntb);
  ntb.family = std::move(family);
  ntb.client = sysfs.link(fmt::format("bus/ntb/devices/{}/driver", name));
  for (const Bar& bar : pci.bars(name)) {
    const auto& windows = ntb.family.window_bars;
    const bool window = windows.empty() ? bar.number != 0 : std::ranges::find(windows, bar.number) != windows.end();
    if (window && bar.placed) ntb.windows.push_back(bar);
  }
  for (const std::string& link : sysfs.list(device_path(name) + "/smartio_link")) {
    const std::string at = fmt::format("{}/smartio_link/{}", device_path(name), link);
    if (sysfs.text(at + "/state") == "refused") ntb.refused = sysfs.text(at + "/reason");
    ntb.inbound = parse_inbound(sysfs.read(fmt::format("{}/smartio_link/{}/window_sizes", device_path(name), link)));
  }
  for (const unsigned bar : ntb.family.window_bars) {
    if (std::ranges::find(ntb.windows, bar, &Bar::number) == ntb.windows.end()) ntb.unplaced.push_back(bar);
  }
  return ntb;
}

/// The first function of a root bus stands for its root complex, if it is at 00.0 or a port.
bool forwards(const Pci& pci, const std::string& root, bool across) {
  const auto all = pci.functions();
  const auto first = std::ranges::find_if(
      all, [&](const std::string& name) { return pci.root(name) == root && pci.bridges(name).empty(); });
  if (first == all.end() || pci.text(*first, "vendor") != "0x8086") return false;
  if (!first->ends_with(":00.0") && !pci.text(*first, "class").starts_with(kPciBridgeClass)) return false;
  const auto known = std::ranges::find(kForwarding, pci.text(*first, "device"), &Forwarding::device);
  return known != std::end(kForwarding) && (known->across || !across);
}

bool is_listed(const Machine& machine, const Pci& pci, const std::string& a, const std::string& b) {
  if (machine.cpu_vendor == "AuthenticAMD" && machine.cpu_family >= kZen) return true;
  return forwards(pci, a, a != b) && (a == b || forwards(pci, b, true));
}

Route read_route(const Machine& machine, const Pci& pci, const Drive& drive, const Ntb& ntb) {
  Route route;
  route.ntb = ntb.pci;
  route.same_group = !drive.group.empty() && drive.group == ntb.group;
  const auto above_drive = pci.bridges(drive.pci);
  const auto above_ntb = pci.bridges(ntb.pci);
  const auto [end, other_end] = std::ranges::mismatch(above_drive, above_ntb);
  const auto common = static_cast<std::size_t>(end - above_drive.begin());
  route.bridges = static_cast<unsigned>(above_drive.size() + above_ntb.size() - 2 * common + (common == 0 ? 0 : 1));
  if (common == 0) {
    const std::string drive_root = pci.root(drive.pci);
    const std::string ntb_root = pci.root(ntb.pci);
    // A socket has several root buses.
    const bool nodes_known = drive.node >= 0 && ntb.node >= 0;
    const bool far = nodes_known ? drive.node != ntb.node : drive_root != ntb_root;
    route.via = far ? Route::Via::other_root : Route::Via::root_complex;
    route.listed = is_listed(machine, pci, drive_root, ntb_root);
    return route;
  }
  route.via = Route::Via::one_switch;
  route.bridge = above_drive[common - 1];
  // The ports below that bridge decide: a request comes in at one of them, and answers at the other.
  bool known = true;
  bool redirected = false;
  for (const auto& bridges : {above_drive, above_ntb}) {
    if (bridges.size() <= common) continue;
    const Config config = pci.config(bridges[common]);
    known = known && config.readable(true);
    const auto acs = config.acs();
    redirected = redirected || (acs && acs->redirects);
  }
  if (known) route.redirected = redirected;
  return route;
}

Drive read_drive(const Sysfs& sysfs, const Pci& pci, const std::string& name, const DriveQuery& query) {
  Drive drive;
  read_function(pci, name, drive);
  const Config config = pci.config(name);
  if (config.readable(false)) drive.msix = config.msix_entries().value_or(0);
  const std::string device = device_path(name);
  drive.controller = controller_below(sysfs, device);
  if (drive.controller.empty()) return drive;
  const std::string below = fmt::format("{}/nvme/{}", device, drive.controller);
  drive.model = sysfs.text(below + "/model");
  drive.serial = sysfs.text(below + "/serial");
  // "cmbloc : 0x… cmbsz : 0x…" of the stock driver. It shows a buffer only where the kernel can register it
  // (pci_p2pdma).
  if (sysfs.exists(below + "/cmb")) drive.cmb = true;
  if (const auto answer = query.ask(drive.controller)) {
    drive.sgl = answer->sgl;
    drive.queue_pairs = answer->queue_pairs;
    drive.queue_pairs_at_least = true;
  }
  // The manager asked for all there are.
  if (const auto all = parse_number(sysfs.text(device + "/queue_pairs_total"))) {
    drive.queue_pairs = static_cast<unsigned>(*all);
    drive.queue_pairs_at_least = false;
  }
  return drive;
}

/// A function that another host lends as a whole: its lender judges it.
bool is_borrowed(const Sysfs& sysfs, const std::string& pci) {
  const std::string paths = "bus/smartio/devices";
  return std::ranges::any_of(sysfs.list(paths), [&](const std::string& path) {
    return sysfs.text(fmt::format("{}/{}/function", paths, path)) == pci;
  });
}

void read_cpus(const std::filesystem::path& file, Machine& machine) {
  has_line(file, [&](std::string_view line) {
    if (line.starts_with("processor")) ++machine.cpus;
    if (line.starts_with("cpu family")) {
      machine.cpu_family = static_cast<unsigned>(parse_number(trimmed(line.substr(line.find(':') + 1))).value_or(0));
    }
    if (line.starts_with("vendor_id")) machine.cpu_vendor = printable(trimmed(line.substr(line.find(':') + 1)));
    return false;
  });
}

}  // namespace

Machine read_machine(const Sysfs& sysfs, const std::filesystem::path& root, const DriveQuery& query) {
  Machine machine;
  const Pci pci(sysfs);
  machine.kernel = printable(trimmed(file_text(root / "proc/sys/kernel/osrelease")));
  read_cpus(root / "proc/cpuinfo", machine);
  machine.iommu = read_iommu(sysfs);
  machine.remapping = read_remapping(sysfs);
  machine.multipath = read_multipath(sysfs, root / ("boot/config-" + machine.kernel));
  const std::string parameters = "module/ntb_smartio/parameters";
  machine.flat_window = sysfs.text(parameters + "/flat_window") == "Y";
  if (const auto mib = parse_number(sysfs.text(parameters + "/pool_mib"))) {
    machine.pool = std::clamp<std::uint64_t>(*mib, 1, 4) << 20U;
  }
  const auto folder = root / "lib/modules" / machine.kernel;
  for (const std::string_view name : kModules) machine.modules[std::string(name)] = module_state(sysfs, folder, name);
  for (const std::string& name : pci.functions()) {
    if (auto family = family_of(pci, name)) {
      machine.modules[family->driver] = module_state(sysfs, folder, family->driver);
      machine.ntbs.push_back(read_ntb(sysfs, pci, name, std::move(*family)));
      machine.sees_config = machine.sees_config && pci.config(name).readable(true);
    }
  }
  for (const std::string& name : pci.functions()) {
    if (pci.text(name, "class") != kNvmeClass || is_borrowed(sysfs, name)) continue;
    Drive drive = read_drive(sysfs, pci, name, query);
    for (const Ntb& ntb : machine.ntbs) drive.routes.push_back(read_route(machine, pci, drive, ntb));
    machine.drives.push_back(std::move(drive));
  }
  return machine;
}

}  // namespace smartio::ctl
