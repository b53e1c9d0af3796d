// SPDX-License-Identifier: GPL-2.0
// smartioctl: the command-line tool. smartioctl(8) describes it.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "smartioctl/allow.h"
#include "smartioctl/borrow.h"
#include "smartioctl/doctor.h"
#include "smartioctl/fence.h"
#include "smartioctl/lend.h"
#include "smartioctl/report.h"

namespace {

using namespace smartio;
using namespace smartio::ctl;

/// The folder of choices that the initramfs has a copy of.
constexpr const char* kChoices = "/etc/smartio/lend.d";

struct Arguments {
  std::string sysfs = "/sys";
  std::string root = "/";
  std::string choices = kChoices;
  std::string rules = "/etc/smartio/allow.d";
  std::string device;
  std::vector<std::string> words;
  std::string host;
  std::string at;
  std::string format = "text";
  Lender::Options lending;
  unsigned timeout = 30;
  double interval = 1;
  bool all = false;
  bool chosen = false;
  bool check = false;
  bool for_vm = false;
};

int end_with(const Refusal& refusal) {
  fmt::print(stderr, "smartioctl: {}\n", refusal.message);
  return static_cast<int>(refusal.status);
}

std::string as_json(const View& view, int indent) {
  return to_json(view).dump(indent, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int show(const Arguments& arguments, const std::function<std::string(const View&)>& text) {
  const Sysfs sysfs(arguments.sysfs);
  const auto view = read_view(sysfs, Choices(arguments.choices));
  if (!view) return end_with({view.error().message});
  const std::string out = arguments.format == "json" ? as_json(*view, 2) : text(*view);
  if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size() || std::fflush(stdout) != 0) return 1;
  if (arguments.check && !problems_of(*view).empty()) return static_cast<int>(Exit::kProblems);
  return 0;
}

/// Prints the list whenever it changes, until a signal comes or the reader closes the output.
int watch(const Arguments& arguments) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const auto seconds = static_cast<std::time_t>(arguments.interval);
  const timespec interval{.tv_sec = seconds,
                          .tv_nsec = static_cast<long>((arguments.interval - static_cast<double>(seconds)) * 1e9)};
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const bool json = arguments.format == "json";
  const Sysfs sysfs(arguments.sysfs);
  std::string shown;
  while (true) {
    auto view = read_view(sysfs, Choices(arguments.choices));
    if (view) {
      for (Link& link : view->links) link.heartbeat_age_ms.reset();  // always another
    }
    const std::string now =
        !view  ? (json ? nlohmann::json{{"error", view.error().message}}.dump() + "\n" : view.error().message + "\n")
        : json ? as_json(*view, -1)
               : list_text(*view);
    if (now != shown) {
      const std::time_t time = std::time(nullptr);
      std::tm local{};
      ::localtime_r(&time, &local);
      if (!json)
        fmt::print("{}{:%Y-%m-%d %H:%M:%S}\n", terminal ? "\033[H\033[2J" : (shown.empty() ? "" : "\n"), local);
      fmt::print("{}", now);
      if (std::fflush(stdout) != 0) return 1;
      shown = now;
    }
    if (::sigtimedwait(&signals, nullptr, &interval) > 0) {
      if (terminal) fmt::print("\n");
      return 0;
    }
  }
}

int lend_or_unlend(const Arguments& arguments, bool lending) {
  Sysfs sysfs(arguments.sysfs);
  Kernel kernel;
  const NvmeAdmin nvme("/dev");
  const DiskUse use(sysfs, "/proc", "/dev");
  const Choices choices(arguments.choices);
  const Rules rules(arguments.rules);
  Lender lender(sysfs, kernel, nvme, use, choices, rules, [](const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);  // the next step may take long
  });
  Lender::Options options = arguments.lending;
  options.patience = std::chrono::seconds(arguments.timeout);
  options.initramfs = arguments.choices == kChoices;
  const auto done = arguments.all      ? lender.lend_all(options)
                    : arguments.chosen ? lender.lend_chosen(arguments.device, options)
                    : lending          ? lender.lend(arguments.device, options)
                                       : lender.unlend(arguments.device, options);
  std::fflush(stdout);
  return done ? 0 : end_with(done.error());
}

int allow_or_enforce(const Arguments& arguments) {
  Sysfs sysfs(arguments.sysfs);
  const Rules rules(arguments.rules);
  const auto report = [](const std::string& line) { fmt::print("{}\n", line); };
  std::vector<std::string> hosts = arguments.words;
  std::string device;
  if (!arguments.all) {
    device = hosts.back();
    hosts.pop_back();
  }
  const auto done = arguments.all ? enforce(sysfs, rules, report)
                                  : allow(sysfs, rules, hosts, device, arguments.lending.force, report);
  std::fflush(stdout);
  return done ? 0 : end_with(done.error());
}

int borrow_or_return(const Arguments& arguments, bool borrowing) {
  Sysfs sysfs(arguments.sysfs);
  Kernel kernel;
  const DiskUse use(sysfs, "/proc", "/dev");
  FunctionBorrower borrower(sysfs, kernel, use, [](const std::string& line) { fmt::print("{}\n", line); });
  const FunctionBorrower::Options options{.force = arguments.lending.force,
                                          .for_vm = arguments.for_vm,
                                          .json = arguments.format == "json",
                                          .patience = std::chrono::seconds(arguments.timeout)};
  const auto done =
      borrowing ? borrower.borrow(arguments.device, options) : borrower.give_back(arguments.device, options);
  std::fflush(stdout);
  return done ? 0 : end_with(done.error());
}

int fence_or_unfence(const Arguments& arguments, bool fencing) {
  Sysfs sysfs(arguments.sysfs);
  const auto done = fencing ? fence(sysfs, arguments.host, arguments.at) : unfence(sysfs, arguments.host, arguments.at);
  if (!done) return end_with(done.error());
  if (fencing) {
    fmt::print("{} is fenced at {}: it can't reach their devices\n", arguments.host, fmt::join(*done, ", "));
  } else if (done->empty()) {
    fmt::print("this host is not fenced anywhere\n");
  } else {
    fmt::print("{} may use the devices of {} again\n", arguments.host, fmt::join(*done, ", "));
  }
  return 0;
}

int doctor(const Arguments& arguments) {
  const Sysfs sysfs(arguments.sysfs);
  const Machine machine =
      read_machine(sysfs, arguments.root, DriveQuery(std::filesystem::path(arguments.root) / "dev"));
  const Diagnosis diagnosis = diagnose(machine);
  const std::string out =
      arguments.format == "json"
          ? doctor_json(machine, diagnosis).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
          : doctor_text(machine, diagnosis);
  if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size() || std::fflush(stdout) != 0) return 1;
  return diagnosis.fails() ? static_cast<int>(Exit::kProblems) : 0;
}

int run(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Lends PCIe devices of this host to other hosts of its cluster, and shows what is lent and borrowed.",
               "smartioctl");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", SMARTIO_VERSION);
  app.footer(
      "Exit status: 0 done, 1 failed, 2 wrong use, 3 problems found (status --check, doctor), 4 refused: in use.\n"
      "See smartioctl(8).");
  app.add_option("--sysfs", arguments.sysfs, "another root of sysfs")->envname("SMARTIO_SYSFS")->capture_default_str();
  app.add_option("--choices", arguments.choices, "folder of the devices to be lent at boot")
      ->envname("SMARTIO_CHOICES")
      ->capture_default_str();

  app.add_option("--rules", arguments.rules, "folder of the rules with the hosts that may borrow a device")
      ->envname("SMARTIO_RULES")
      ->capture_default_str();

  auto* lend = app.add_subcommand("lend", "lend a drive to all hosts, or any PCI function to one");
  auto* device = lend->add_option("BDF", arguments.device, "its PCI address: 01:00.0 or 0000:01:00.0");
  auto* all = lend->add_flag("--all", arguments.all, "all that --persist chose");
  auto* persist = lend->add_flag("--persist", arguments.lending.persist, "and at every boot")->excludes(all);
  lend->add_flag("--chosen", arguments.chosen, "only if --persist chose it")->excludes(all)->excludes(persist);
  device->excludes(all);
  lend->add_option("--as", arguments.lending.as,
                   "nvme: a drive that all hosts share; pci: the whole function, to one host")
      ->check(CLI::IsMember({"nvme", "pci"}))
      ->excludes(all);
  lend->add_option("--vfs", arguments.lending.vfs, "lend this number of virtual functions, not the device")
      ->check(CLI::Range(1U, 65535U))
      ->excludes(all);
  lend->add_flag("--trust-borrowers", arguments.lending.permissions.trust_borrowers,
                 "lend it even if this host's IOMMU is off: a borrower then reaches all of this host's memory");
  lend->add_flag("--shared-group", arguments.lending.permissions.shared_group,
                 "lend it even if it shares its IOMMU group with an NTB (pci: with any device)");
  auto* unlend = app.add_subcommand("unlend", "take a device back, for the stock driver");
  unlend->alias("take-back");
  unlend->add_option("BDF", arguments.device, "its PCI address")->required();
  unlend->add_flag("--persist", arguments.lending.persist, "and don't lend it at boot any more");
  auto* allow_command = app.add_subcommand("allow", "set the hosts that may borrow a device; others lose it");
  auto* words =
      allow_command->add_option("HOST", arguments.words, "names or UUIDs of hosts, or any or none; its address")
          ->option_text("... EXPORT");
  auto* every = allow_command->add_flag("--all", arguments.all, "enforce all stored rules");
  words->excludes(every);
  allow_command
      ->add_flag("--force", arguments.lending.force,
                 "even if a host that loses the permission has borrowed it; its I/O fails")
      ->excludes(every);
  auto* borrow =
      app.add_subcommand("borrow", "add a function that another host lends as a whole to this host's PCI bus");
  auto* give_back = app.add_subcommand("return", "return such a function to its lender");
  for (auto* command : {borrow, give_back}) {
    command->add_option("EXPORT", arguments.device, "HOST:BDF, or the BDF alone if only one lender has that")
        ->required();
  }
  borrow->add_option("--timeout", arguments.timeout, "seconds to wait for the kernel")
      ->check(CLI::Range(1U, 3600U))
      ->capture_default_str();
  borrow->add_flag("--for-vm", arguments.for_vm,
                   "bind it to vfio-pci for a virtual machine; prints the options for QEMU and libvirt");
  give_back->add_flag("--force", arguments.lending.force, "even if it is in use; its users get I/O errors");
  for (auto* command : {lend, unlend}) {
    command->add_flag("--force", arguments.lending.force, "even if it is in use; its users get I/O errors");
    command->add_option("--timeout", arguments.timeout, "seconds to wait for the kernel")
        ->check(CLI::Range(1U, 3600U))
        ->capture_default_str();
  }
  auto* list = app.add_subcommand("list", "hosts, links, devices, borrowers, queue pairs");
  auto* status = app.add_subcommand("status", "show health, problems and remedies");
  status->add_flag("--check", arguments.check, "exit with status 3 if there are problems");
  auto* topology = app.add_subcommand("topology", "a drawing of hosts, links and devices, as seen from here");
  auto* fence_command =
      app.add_subcommand("fence", "cut a host off from the lenders' devices, and wait until that is done");
  auto* unfence_command = app.add_subcommand("unfence", "readmit a fenced host; this host only after a restart");
  for (auto* command : {fence_command, unfence_command}) {
    command->add_option("HOST", arguments.host, "its name or its UUID")->required();
    command->add_option("--at", arguments.at, "only at this lender (default: at all that this host knows)");
  }
  auto* watch_command = app.add_subcommand("watch", "the list, again whenever it changes, until Ctrl-C");
  watch_command->add_option("-n,--interval", arguments.interval, "seconds between reads")
      ->check(CLI::Range(0.05, 3600.0))
      ->capture_default_str();
  auto* doctor_command = app.add_subcommand("doctor", "check this machine's hardware and settings");
  doctor_command->add_option("--root", arguments.root, "another folder with proc, lib, boot and dev in it")
      ->capture_default_str();
  for (auto* command : {borrow, list, status, topology, watch_command, doctor_command}) {
    command->add_option("-o,--output", arguments.format, "text or json")->check(CLI::IsMember({"text", "json"}));
  }

  try {
    app.parse(argc, argv);
    if (lend->parsed() && !arguments.all && arguments.device.empty()) throw CLI::RequiredError("BDF or --all");
    if (allow_command->parsed() && !arguments.all && arguments.words.size() < 2) {
      throw CLI::RequiredError("HOST and EXPORT, or --all");
    }
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(Exit::kUsage);
  }
  if (lend->parsed() || unlend->parsed()) return lend_or_unlend(arguments, lend->parsed());
  if (allow_command->parsed()) return allow_or_enforce(arguments);
  if (borrow->parsed() || give_back->parsed()) return borrow_or_return(arguments, borrow->parsed());
  if (list->parsed()) return show(arguments, list_text);
  if (status->parsed()) return show(arguments, status_text);
  if (topology->parsed()) return show(arguments, topology_text);
  if (doctor_command->parsed()) return doctor(arguments);
  if (watch_command->parsed()) return watch(arguments);
  return fence_or_unfence(arguments, fence_command->parsed());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "smartioctl: {}\n", error.what());
    return 1;
  }
}
