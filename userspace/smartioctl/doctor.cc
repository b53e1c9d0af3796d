// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>

#include "smartioctl/json.h"
#include "smartioctl/report.h"

namespace smartio::ctl {

namespace {

using nlohmann::json;

/// Where x86 takes interrupt messages (drivers/ntb_smartio/link.h): a first window that leads to all addresses from 0
/// on covers it, or another one is set to it.
constexpr std::uint64_t kInterruptsEnd = 0xfef00000;
constexpr std::uint64_t kInterruptsSize = 0x100000;
/// The bytes of the first window that are enough for a link (docs/ntb-smartio.md). With an IOMMU half of them are for
/// registers. A link comes up with the least, too, if both sides have just that: then the driver knows it from the
/// start.
constexpr std::uint64_t kEnoughTranslated = 8ULL << 20U;
constexpr std::uint64_t kLeastTranslated = 4ULL << 20U;
constexpr std::uint64_t kEnoughPool = 1ULL << 20U;
/// The largest piece of memory that is aligned to its size, without an IOMMU.
constexpr std::uint64_t kLargestAligned = 4ULL << 20U;

constexpr std::array<std::string_view, 5> kLevels = {"works", "unknown", "slow", "risk", "fails"};
constexpr std::array<std::string_view, 3> kRoles = {"lend", "borrow", "both"};

std::string_view word(Level level) { return kLevels.at(static_cast<std::size_t>(level)); }
std::string_view word(Role role) { return kRoles.at(static_cast<std::size_t>(role)); }

std::string_view word(Translation translation) {
  switch (translation) {
    case Translation::strict:
      return "strict";
    case Translation::lazy:
      return "lazy";
    case Translation::off:
      break;
  }
  return "off";
}

std::string_view word(Route::Via via) {
  switch (via) {
    case Route::Via::one_switch:
      return "switch";
    case Route::Via::root_complex:
      return "root-complex";
    case Route::Via::other_root:
      break;
  }
  return "other-root";
}

std::string_view word(ModuleState state) {
  switch (state) {
    case ModuleState::loaded:
      return "loaded";
    case ModuleState::installed:
      return "installed";
    case ModuleState::missing:
      break;
  }
  return "missing";
}

class Findings {
 public:
  explicit Findings(std::vector<Finding>& to) : to_(to) {}
  /// The next findings are about this function, and count for this role.
  void about(std::string subject, Role role) {
    subject_ = std::move(subject);
    role_ = role;
  }
  void add(Level level, std::string id, std::string text, std::string advice = {}) {
    to_.push_back({level, role_, std::move(id), subject_, std::move(text), std::move(advice)});
  }

 private:
  std::vector<Finding>& to_;
  std::string subject_;
  Role role_ = Role::both;
};

void judge_modules(const Machine& machine, Findings& findings) {
  const auto missing = [&](std::string_view name) {
    const auto found = machine.modules.find(std::string(name));
    return found != machine.modules.end() && found->second == ModuleState::missing;
  };
  const auto judge = [&](Role role, std::string_view name, std::string_view how) {
    if (!missing(name)) return;
    findings.about("", role);
    findings.add(Level::fails, "module", fmt::format("The module {} is not installed for this kernel.", name),
                 std::string(how));
  };
  constexpr std::string_view kOurs = "Install smartio-dkms. If it is installed, see dkms status.";
  constexpr std::string_view kNtb = "Install ntb-dkms. If it is installed, see dkms status.";
  judge(Role::both, "ntb", kNtb);
  for (const auto& [name, state] : machine.modules) {
    if (name.starts_with("ntb_hw_")) judge(Role::both, name, kNtb);
  }
  judge(Role::both, "smartio", kOurs);
  judge(Role::both, "ntb_smartio", kOurs);
  judge(Role::both, "smartio_nvme", kOurs);
  judge(Role::borrow, "smartio_pci", kOurs);
  judge(Role::lend, "smartio_pci_stub", kOurs);
  if (!machine.drives.empty()) {
    judge(Role::lend, "smartio_nvme_mgr", kOurs);
    if (missing("nvme")) {
      findings.about("", Role::lend);
      findings.add(
          Level::unknown, "module-nvme",
          "The module nvme is not installed for this kernel: its table of quirks is not there, and a drive that "
          "needs one may fail.",
          "Use a kernel with CONFIG_BLK_DEV_NVME.");
    }
  }
  findings.about("", Role::both);
  if (!machine.multipath) {
    findings.add(Level::unknown, "multipath",
                 "The state of the kernel's NVMe multipath is unknown: nvme_core is not loaded.");
  } else if (*machine.multipath) {
    findings.add(Level::works, "multipath",
                 "The kernel's NVMe multipath is on: several paths to a drive make one disk.");
  } else {
    findings.add(Level::fails, "multipath",
                 "The kernel's NVMe multipath is off: a lost path fails I/O, and two paths make two disks.",
                 "Use a kernel with CONFIG_NVME_MULTIPATH, and no nvme_core.multipath=N.");
  }
}

std::string iommu_advice(const Machine& machine) {
  return machine.iommu.empty() ? "Turn VT-d or AMD-Vi on in the firmware's settings (Intel: boot with intel_iommu=on)."
                               : "Boot without iommu=pt.";
}

void judge_remapping(const Machine& machine, Findings& findings) {
  findings.about("", Role::both);
  if (!machine.remapping) {
    findings.add(Level::unknown, "remapping",
                 "The state of interrupt remapping is unknown: /sys/kernel/irq lists no interrupt.");
  } else if (*machine.remapping) {
    findings.add(Level::works, "remapping",
                 "Interrupts are remapped: another host can raise only those that it was given.");
  } else {
    findings.add(Level::risk, "remapping",
                 "Interrupts are not remapped: a linked host can raise any interrupt of this one.",
                 machine.iommu.empty()
                     ? iommu_advice(machine)
                     : "Turn interrupt remapping (Intel: x2APIC, too) on in the firmware's settings; no intremap=off.");
  }
}

/// Whether window 0 of the other host leads to addresses from 0 on. Else it leads to the pool.
bool from_zero(const Machine& machine, const Ntb& ntb) {
  return ntb.translation != Translation::off || machine.flat_window;
}

/// The IOMMU as the NTB has it: the other host's reach, and whether data is copied.
void judge_translation(const Machine& machine, const Ntb& ntb, Findings& findings) {
  findings.about(ntb.pci, Role::borrow);
  switch (ntb.translation) {
    case Translation::off:
      if (machine.flat_window) {
        findings.add(
            Level::risk, "flat-window",
            "No IOMMU translates for this NTB, and flat_window=1: the other host reaches all memory of this one.",
            iommu_advice(machine));
        break;
      }
      findings.add(
          Level::slow, "iommu-off",
          fmt::format("No IOMMU translates for this NTB: borrowed drives' data is copied through a pool of {}.",
                      size_text(machine.pool)),
          iommu_advice(machine));
      break;
    case Translation::strict:
      findings.add(Level::works, "iommu-strict",
                   "The IOMMU is on and strict: data is not copied, and unmapped memory is out of reach at once.");
      break;
    case Translation::lazy:
      findings.add(Level::risk, "iommu-lazy",
                   "The IOMMU is on and lazy: data is not copied, and the other host reaches a page some milliseconds "
                   "after it was unmapped.",
                   "Boot with iommu.strict=1, if the linked hosts are not trusted.");
      break;
  }
}

/// Windows with which no link comes up. `first`: bytes of window 0 that both sides have.
bool judge_refusal(const Machine& machine, const Ntb& ntb, std::uint64_t first, Findings& findings) {
  if (ntb.family.to_multiples && ntb.translation == Translation::off) {
    // Window 0 leads to the pool; one that is shut leads to a page, and to more where there is more of it.
    std::vector<std::string> large;
    for (std::size_t i = 0; i < ntb.windows.size(); ++i) {
      const std::uint64_t most = i == 0 && !machine.flat_window ? machine.pool : kLargestAligned;
      if (ntb.windows[i].size > most)
        large.push_back(fmt::format("BAR {} ({}, not {} at most)", ntb.windows[i].number,
                                    size_text(ntb.windows[i].size), size_text(most)));
    }
    const std::string how =
        iommu_advice(machine) + " Or make both windows 4 MiB or smaller in the firmware's settings.";
    if (!large.empty() && machine.flat_window) {
      findings.add(Level::unknown, "windows-multiples",
                   fmt::format("Its windows lead only to multiples of their size, and no IOMMU translates: with {} the "
                               "link comes up only if its driver can shut a window.",
                               fmt::join(large, ", ")),
                   how);
    } else if (!large.empty()) {
      findings.add(Level::fails, "windows-multiples",
                   fmt::format("Its windows lead only to multiples of their size, and no IOMMU translates: with {} no "
                               "link comes up.",
                               fmt::join(large, ", ")),
                   how);
      return true;
    }
  }
  const bool translated = ntb.translation != Translation::off;
  const std::uint64_t enough = translated ? kEnoughTranslated : kEnoughPool;
  if (first >= enough) return false;
  const bool refused = !translated || first < kLeastTranslated || first < ntb.windows.front().size;
  findings.add(refused ? Level::fails : Level::unknown, "windows-least",
               fmt::format("{} of the first window can be used, less than {}: {}.", size_text(first), size_text(enough),
                           refused ? "the link is refused, or ntb_smartio does not take the NTB"
                                   : "a link comes up, with little memory for queues and data"),
               "Make the first window 4 GiB in the firmware's settings of both hosts.");
  return refused;
}

void judge_windows(const Machine& machine, const Ntb& ntb, Findings& findings) {
  findings.about(ntb.pci, Role::both);
  if (!ntb.unplaced.empty()) {
    findings.add(
        Level::fails, "window-unplaced",
        fmt::format("The firmware gave no address to BAR {}: a window is missing.", fmt::join(ntb.unplaced, ", ")),
        "Turn \"Above 4G decoding\" on in the firmware's settings, and make the high MMIO range twice as large as all "
        "windows.");
  }
  if (ntb.windows.empty()) {
    if (ntb.unplaced.empty())
      findings.add(Level::fails, "window-none", "The NTB has no memory window.",
                   "Turn its NTB mode on in the firmware's settings.");
    return;
  }
  std::vector<std::string> sizes;
  for (const Bar& bar : ntb.windows) sizes.push_back(fmt::format("BAR {}: {}", bar.number, size_text(bar.size)));
  const std::string what = fmt::format("Memory windows: {}", fmt::join(sizes, ", "));
  // Of the other host's windows, which lead here, nothing is known before it was there: mostly they are alike.
  std::vector<std::uint64_t> inbound = ntb.inbound;
  if (inbound.empty()) {
    for (const Bar& bar : ntb.windows) inbound.push_back(bar.size);
  }
  std::vector<std::string> less;
  for (std::size_t i = 0; i < std::min(inbound.size(), ntb.windows.size()); ++i) {
    if (inbound[i] < ntb.windows[i].size)
      less.push_back(fmt::format("{} of BAR {}", size_text(inbound[i]), ntb.windows[i].number));
  }
  if (!less.empty()) {
    findings.add(Level::slow, "windows-differ",
                 fmt::format("The other host's windows are smaller: {} are used here.", fmt::join(less, ", ")),
                 "Choose the same sizes in the firmware's settings of both hosts.");
  }
  if (judge_refusal(machine, ntb, inbound.front(), findings)) return;
  const bool first = from_zero(machine, ntb) && inbound.front() >= kInterruptsEnd;
  const bool other =
      std::ranges::any_of(inbound | std::views::drop(1), [](std::uint64_t size) { return size >= kInterruptsSize; });
  if (first) {
    findings.add(Level::works, "windows", fmt::format("{}; the first covers the interrupt addresses.", what));
  } else if (other) {
    findings.add(Level::works, "windows", fmt::format("{}; interrupts pass through a second one.", what));
  } else {
    findings.about(ntb.pci, Role::borrow);
    findings.add(
        Level::slow, "windows-small",
        fmt::format(
            "{}; none carries interrupts, so completions come by doorbells of the NTB, or a timer looks for them.",
            what),
        from_zero(machine, ntb) ? "Make the first window 4 GiB, or a second one 1 MiB or more, in the firmware's "
                                  "settings of both hosts."
                                : "Make the second window 1 MiB or more in the firmware's settings of both "
                                  "hosts: without an IOMMU the first one leads to the pool only.");
  }
}

void judge_link(const Function& function, Findings& findings) {
  if (function.link.slower_than_possible) {
    findings.add(Level::slow, "link-speed",
                 fmt::format("Its PCIe link runs with {} and {} lanes, less than it could.", function.link.speed,
                             function.link.width),
                 "Look at the cable, the slot, and the port's speed in the firmware's settings.");
  }
  if (function.aspm) {
    findings.add(Level::slow, "aspm", "Its PCIe link sleeps when idle (ASPM): the first access after that is late.",
                 "Turn ASPM off in the firmware's settings, or boot with pcie_aspm.policy=performance.");
  }
}

void judge_ntb(const Machine& machine, const Ntb& ntb, Findings& findings) {
  findings.about(ntb.pci, Role::both);
  if (ntb.driver.empty()) {
    findings.add(Level::fails, "ntb-driver", "No driver is bound to the NTB.",
                 fmt::format("modprobe {}", ntb.family.driver));
  } else if (!ntb.client.empty() && ntb.client != "ntb_smartio") {
    findings.add(Level::fails, "ntb-client", fmt::format("{} uses the NTB's windows.", ntb.client),
                 fmt::format("modprobe -r {}", ntb.client));
  }
  if (!ntb.refused.empty()) {
    findings.add(Level::fails, "link-refused", fmt::format("The link is refused: {}.", ntb.refused),
                 "See the kernel's log, and smartioctl doctor on the other host.");
  }
  if (!ntb.family.doubt.empty()) findings.add(Level::unknown, "ntb-family", ntb.family.doubt);
  judge_link(ntb, findings);
  judge_windows(machine, ntb, findings);
  judge_translation(machine, ntb, findings);
  std::vector<std::string> others = ntb.neighbours;
  std::erase_if(others, [&](const std::string& pci) {
    return std::ranges::find(machine.drives, pci, &Function::pci) != machine.drives.end();
  });
  findings.about(ntb.pci, Role::both);
  if (!others.empty()) {
    findings.add(Level::risk, "ntb-group",
                 fmt::format("It is in one IOMMU group with {}: the other host reaches the memory mapped for them.",
                             fmt::join(others, ", ")),
                 "Put the NTB into a slot whose port has ACS, or turn ACS on in the firmware's settings.");
  }
}

void judge_route(const Machine& machine, const Drive& drive, const Route& route, Findings& findings) {
  const auto ntb = std::ranges::find(machine.ntbs, route.ntb, &Function::pci);
  const bool translated = drive.translation != Translation::off;
  if (route.same_group) {
    findings.add(
        Level::fails, "shared-group",
        fmt::format(
            "It is in one IOMMU group with the NTB {}: a borrower's CPUs reach all memory mapped for the drive. "
            "It is not lent without --shared-group.",
            route.ntb),
        "Move one of them to a port with ACS, or turn ACS on in the firmware's settings.");
  }
  switch (route.via) {
    case Route::Via::one_switch:
      if (translated && route.redirected == false) {
        findings.add(Level::risk, "switch-no-acs",
                     fmt::format("It and the NTB {} are behind one switch ({}) without ACS: the IOMMU does not see "
                                 "requests from one to the other.",
                                 route.ntb, route.bridge),
                     "Turn ACS on in the firmware's settings, or use a switch that has it, if the borrowers are not "
                     "trusted.");
      } else if (translated) {
        findings.add(
            Level::works, "p2p-switch",
            fmt::format("It and the NTB {} are behind one switch ({}); the IOMMU translates, so requests go up to it.",
                        route.ntb, route.bridge));
      } else if (!route.redirected) {
        findings.add(
            Level::unknown, "p2p-switch",
            fmt::format(
                "It and the NTB {} are behind one switch ({}); only root sees whether requests go straight across.",
                route.ntb, route.bridge));
      } else if (*route.redirected) {
        findings.add(
            Level::slow, "acs-redirect",
            fmt::format("It and the NTB {} are behind one switch ({}), which sends requests up to the root complex "
                        "(ACS) needlessly.",
                        route.ntb, route.bridge),
            "Turn ACS off in the firmware's settings, or boot with pci=disable_acs_redir=, while no IOMMU is on.");
      } else {
        findings.add(Level::works, "p2p-switch",
                     fmt::format("It and the NTB {} are behind one switch ({}): requests go straight across.",
                                 route.ntb, route.bridge));
      }
      break;
    case Route::Via::root_complex:
      if (route.listed) {
        findings.add(Level::works, "p2p-root",
                     fmt::format("Its requests reach the NTB {} through the root complex, past {} bridges.", route.ntb,
                                 route.bridges));
      } else {
        findings.add(Level::unknown, "p2p-root",
                     fmt::format("Its requests reach the NTB {} through the root complex, if that forwards them: the "
                                 "kernel's list (pci_p2pdma) does not have it.",
                                 route.ntb),
                     "Put drive and NTB behind one switch, if the drive's reads and writes fail.");
      }
      break;
    case Route::Via::other_root:
      findings.add(Level::slow, "p2p-far",
                   fmt::format("The NTB {} is at another root complex or socket: such requests are slow, or refused.",
                               route.ntb),
                   "Put drive and NTB at one socket, best behind one switch.");
      break;
  }
  if (ntb != machine.ntbs.end() && translated && ntb->translation == Translation::off) {
    findings.add(Level::unknown, "iommu-mixed",
                 fmt::format("The IOMMU translates for the drive and not for the NTB {}: not seen yet.", route.ntb));
  }
}

void judge_queues(const Machine& machine, const Drive& drive, Findings& findings) {
  if (drive.msix && *drive.msix == 0) {
    findings.add(Level::slow, "msix", "It has no MSI-X: borrowers look for completions by a timer.");
  } else if (drive.msix && *drive.msix < 2) {
    findings.add(Level::slow, "msix",
                 "Its MSI-X table has one entry, which the lender needs: borrowers look for completions by a timer.");
  }
  if (!drive.queue_pairs) {
    findings.add(
        Level::unknown, "queues",
        "Its number of queue pairs is unknown: run smartioctl doctor as root, with a driver bound to the drive.");
    return;
  }
  const unsigned pairs = *drive.queue_pairs;
  const std::string count =
      fmt::format("{}{} I/O queue pair{}", drive.queue_pairs_at_least ? "At least " : "", pairs, pairs == 1 ? "" : "s");
  // Each linked host wants one, and so does this one.
  const auto hosts = machine.ntbs.size() + 1;
  if (pairs < hosts && !drive.queue_pairs_at_least) {
    findings.add(Level::fails, "queues",
                 fmt::format("{}: fewer than the {} hosts, each of which needs one.", count, hosts),
                 "Use a drive with more queue pairs.");
  } else if (pairs < hosts) {
    findings.add(Level::unknown, "queues", fmt::format("{}; {} hosts need one each.", count, hosts));
  } else {
    findings.add(Level::works, "queues", fmt::format("{} for {} host{}.", count, hosts, hosts == 1 ? "" : "s"));
  }
}

void judge_drive(const Machine& machine, const Drive& drive, Findings& findings) {
  findings.about(drive.pci, Role::lend);
  if (drive.driver == "smartio_pci_stub") {
    findings.add(Level::works, "lent-whole", "It is lent as a whole, to one host at a time.");
  } else if (!drive.driver.empty() && drive.driver != "nvme" && drive.driver != "smartio_nvme_mgr") {
    findings.add(Level::fails, "drive-driver", fmt::format("The driver {} is bound to it.", drive.driver),
                 fmt::format("echo {} > /sys/bus/pci/drivers/{}/unbind", drive.pci, drive.driver));
  }
  judge_queues(machine, drive, findings);
  if (drive.sgl) {
    findings.add(
        Level::works, "sgl",
        *drive.sgl ? "It takes SGLs: one descriptor for data of many pages." : "It takes no SGLs: PRP lists are used.");
  }
  findings.add(Level::works, "cmb",
               drive.cmb
                   ? "It has a controller memory buffer, for borrowers' submission queues."
                   : "The kernel shows no controller memory buffer of it. Without one submission queues are in the "
                     "lender's memory.");
  judge_link(drive, findings);
  switch (drive.translation) {
    case Translation::off:
      findings.add(Level::risk, "lender-iommu-off",
                   "No IOMMU translates for it: a borrower's kernel reaches all memory of this host through it.",
                   iommu_advice(machine));
      break;
    case Translation::strict:
      findings.add(Level::works, "lender-iommu",
                   "The IOMMU translates for it: a borrower's kernel reaches only the memory mapped for it.");
      break;
    case Translation::lazy:
      findings.add(Level::risk, "lender-iommu-lazy",
                   "The IOMMU translates for it, and is lazy: a borrower's kernel reaches a page some milliseconds "
                   "after it was unmapped.",
                   "Boot with iommu.strict=1, if the borrowers are not trusted.");
      break;
  }
  for (const Route& route : drive.routes) judge_route(machine, drive, route, findings);
}

std::optional<Level> worst(const std::vector<Finding>& findings, Role role) {
  Level level = Level::works;
  for (const Finding& finding : findings) {
    if (finding.role == role || finding.role == Role::both) level = std::max(level, finding.level);
  }
  return level;
}

std::string verdict(std::optional<Level> level, std::string_view nothing) {
  if (!level) return std::string(nothing);
  switch (*level) {
    case Level::works:
      return "works";
    case Level::unknown:
      return "should work; not all could be seen";
    case Level::slow:
      return "works, slower than it could";
    case Level::risk:
      return "works, and linked hosts have to be trusted";
    case Level::fails:
      break;
  }
  return "does not work as it is";
}

void section(std::string& text, const std::string& title, const std::vector<Finding>& findings,
             const std::string& subject) {
  if (std::ranges::find(findings, subject, &Finding::subject) == findings.end()) return;
  text += title + "\n";
  for (const Finding& finding : findings) {
    if (finding.subject == subject) text += fmt::format("  {:<8} {}\n", word(finding.level), finding.text);
  }
}

json function_json(const Function& function) {
  return {{"pci", function.pci},
          {"driver", or_null(function.driver)},
          {"iommu", word(function.translation)},
          {"group", or_null(function.group)},
          {"group_neighbours", function.neighbours},
          {"link_speed", or_null(function.link.speed)},
          {"link_width", or_null(function.link.width)},
          {"aspm", function.aspm},
          {"node", function.node < 0 ? json() : json(function.node)}};
}

json ntb_json(const Ntb& ntb) {
  json result = function_json(ntb);
  result["family"] = ntb.family.name;
  result["client"] = or_null(ntb.client);
  result["windows"] = json::array();
  for (const Bar& bar : ntb.windows) result["windows"].push_back({{"bar", bar.number}, {"size", bar.size}});
  result["unplaced"] = ntb.unplaced;
  return result;
}

json drive_json(const Drive& drive) {
  json result = function_json(drive);
  result["controller"] = or_null(drive.controller);
  result["model"] = or_null(drive.model);
  result["serial"] = or_null(drive.serial);
  result["msix"] = or_null(drive.msix);
  result["queue_pairs"] = or_null(drive.queue_pairs);
  result["queue_pairs_at_least"] = drive.queue_pairs_at_least;
  result["sgl"] = or_null(drive.sgl);
  result["cmb"] = or_null(drive.cmb);
  result["routes"] = json::array();
  for (const Route& route : drive.routes) {
    result["routes"].push_back({{"ntb", route.ntb},
                                {"via", word(route.via)},
                                {"bridge", or_null(route.bridge)},
                                {"bridges", route.bridges},
                                {"same_group", route.same_group},
                                {"listed", route.listed},
                                {"acs_redirect", or_null(route.redirected)}});
  }
  return result;
}

}  // namespace

bool Diagnosis::fails() const {
  return std::ranges::any_of(findings, [](const Finding& finding) { return finding.level == Level::fails; });
}

Diagnosis diagnose(const Machine& machine) {
  Diagnosis diagnosis;
  Findings findings(diagnosis.findings);
  if (machine.ntbs.empty()) {
    findings.about("", Role::both);
    findings.add(Level::fails, "ntb-none", "No NTB found.",
                 "Plug the adapter in, and turn its NTB mode (NTB to NTB) on in the firmware's settings, the same on "
                 "both sides.");
  }
  judge_modules(machine, findings);
  judge_remapping(machine, findings);
  if (!machine.sees_config) {
    findings.about("", Role::both);
    findings.add(Level::unknown, "not-root", "Capabilities of PCI functions are for root only.",
                 "Run smartioctl doctor as root.");
  }
  for (const Ntb& ntb : machine.ntbs) judge_ntb(machine, ntb, findings);
  for (const Drive& drive : machine.drives) judge_drive(machine, drive, findings);
  if (!machine.drives.empty()) diagnosis.lend = worst(diagnosis.findings, Role::lend);
  if (!machine.ntbs.empty()) diagnosis.borrow = worst(diagnosis.findings, Role::borrow);
  return diagnosis;
}

std::string doctor_text(const Machine& machine, const Diagnosis& diagnosis) {
  std::string text;
  section(text,
          fmt::format("This host: kernel {}, {} CPUs ({}), IOMMU {}", machine.kernel, machine.cpus, machine.cpu_vendor,
                      machine.iommu.empty() ? "off" : machine.iommu),
          diagnosis.findings, "");
  for (const Ntb& ntb : machine.ntbs)
    section(text, fmt::format("NTB {} ({})", ntb.pci, ntb.family.name), diagnosis.findings, ntb.pci);
  for (const Drive& drive : machine.drives) {
    section(text, fmt::format("Drive {}{}", drive.pci, drive.model.empty() ? "" : fmt::format(" ({})", drive.model)),
            diagnosis.findings, drive.pci);
  }
  text += fmt::format("To lend: {}\n", verdict(diagnosis.lend, "there is no NVMe drive"));
  text += fmt::format("To borrow: {}\n", verdict(diagnosis.borrow, "there is no NTB"));
  std::vector<const Finding*> advice;
  for (const Finding& finding : diagnosis.findings) {
    const auto same = [&](const Finding* other) { return other->advice == finding.advice; };
    if (!finding.advice.empty() && std::ranges::none_of(advice, same)) advice.push_back(&finding);
  }
  std::ranges::stable_sort(advice, std::ranges::greater{}, &Finding::level);
  if (!advice.empty()) text += "To change:\n";
  for (const Finding* finding : advice) text += fmt::format("  {:<8} {}\n", word(finding->level), finding->advice);
  return text;
}

json doctor_json(const Machine& machine, const Diagnosis& diagnosis) {
  json result = {{"kernel", machine.kernel},
                 {"cpus", machine.cpus},
                 {"cpu_vendor", or_null(machine.cpu_vendor)},
                 {"iommu", or_null(machine.iommu)},
                 {"interrupt_remapping", or_null(machine.remapping)},
                 {"multipath", or_null(machine.multipath)}};
  result["modules"] = json::object();
  for (const auto& [name, state] : machine.modules) result["modules"][name] = word(state);
  result["ntbs"] = json::array();
  for (const Ntb& ntb : machine.ntbs) result["ntbs"].push_back(ntb_json(ntb));
  result["drives"] = json::array();
  for (const Drive& drive : machine.drives) result["drives"].push_back(drive_json(drive));
  result["findings"] = json::array();
  for (const Finding& finding : diagnosis.findings) {
    result["findings"].push_back({{"level", word(finding.level)},
                                  {"role", word(finding.role)},
                                  {"id", finding.id},
                                  {"subject", or_null(finding.subject)},
                                  {"text", finding.text},
                                  {"advice", or_null(finding.advice)}});
  }
  result["lend"] = diagnosis.lend ? json(word(*diagnosis.lend)) : json();
  result["borrow"] = diagnosis.borrow ? json(word(*diagnosis.borrow)) : json();
  return result;
}

}  // namespace smartio::ctl
