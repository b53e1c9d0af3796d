// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/lend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "smartioctl/text.h"
#include "smartioctl/view.h"

namespace smartio::ctl {

namespace {

constexpr std::string_view kManager = "smartio_nvme_mgr";
constexpr std::string_view kStock = "nvme";
/// PCI class: mass storage, non-volatile memory, NVM Express I/O controller.
constexpr std::string_view kNvmeClass = "0x010802";
constexpr std::chrono::milliseconds kPoll{20};

std::string at(const std::string& pci) { return "bus/pci/devices/" + pci; }

std::string reason(std::error_code error) {
  if (error.value() == EACCES || error.value() == EPERM) return "not permitted: run it as root";
  return error.message();
}

}  // namespace

std::vector<std::string> Lender::controllers() const {
  std::vector<std::string> found = sysfs_.list("bus/pci/devices");
  std::erase_if(found, [&](const std::string& pci) { return sysfs_.text(at(pci) + "/class") != kNvmeClass; });
  return found;
}

bool Lender::is_lent(const std::string& pci) const { return sysfs_.exists("class/smartio_export/" + pci); }

std::string Lender::driver(const std::string& pci) const { return sysfs_.link(at(pci) + "/driver"); }

std::string Lender::serial(const std::string& pci) const {
  const std::string controller = controller_below(sysfs_, at(pci));
  return controller.empty() ? "" : sysfs_.text(fmt::format("{}/nvme/{}/serial", at(pci), controller));
}

std::vector<std::string> Lender::uses(const std::string& pci) const {
  std::vector<std::string> devices = {at(pci)};
  // Lent already: the disks that this host itself makes of it.
  for (const std::string& path : sysfs_.list("bus/smartio/devices")) {
    const std::string device = "bus/smartio/devices/" + path;
    if (sysfs_.text(device + "/link") == "local" && sysfs_.text(device + "/pci") == pci) devices.push_back(device);
  }
  std::vector<std::string> all;
  for (const std::string& device : devices) {
    for (const std::string& disk : disks_of(sysfs_, device)) std::ranges::copy(use_.of(disk), std::back_inserter(all));
  }
  return all;
}

Choice Lender::describe(const std::string& pci) const {
  const std::string controller = controller_below(sysfs_, at(pci));
  return {.pci = pci,
          .vendor = sysfs_.text(at(pci) + "/vendor"),
          .device = sysfs_.text(at(pci) + "/device"),
          .serial = serial(pci),
          .model = controller.empty() ? "" : sysfs_.text(fmt::format("{}/nvme/{}/model", at(pci), controller))};
}

std::string Lender::log_of(const std::string& pci) const {
  std::string text;
  for (const std::string& line : kernel_.log_lines(pci)) text += "\n  kernel: " + line;
  return text + fmt::format("\nMore may be in: dmesg | grep -e smartio -e nvme -e {}", pci);
}

Outcome<std::string> Lender::find(std::string_view address) const {
  const auto pci = parse_pci_address(address);
  if (!pci) {
    return refuse(fmt::format("'{}' is no PCI address; it looks like 01:00.0 or 0000:01:00.0 (lspci -D shows them)",
                              printable(address)),
                  Exit::kUsage);
  }
  const auto others = [&] {
    const auto found = controllers();
    return found.empty() ? std::string("this host has no NVMe controller")
                         : fmt::format("NVMe controllers of this host: {}", fmt::join(found, ", "));
  };
  if (!sysfs_.exists(at(*pci))) return refuse(fmt::format("{}: no such device here; {}", *pci, others()));
  const std::string what = sysfs_.text(at(*pci) + "/class");
  if (what != kNvmeClass) {
    return refuse(
        fmt::format("{} is no NVMe controller: its PCI class is {}, not {}; {}", *pci, what, kNvmeClass, others()));
  }
  return *pci;
}

bool Lender::wait_until(std::chrono::milliseconds patience, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    kernel_.pause(kPoll);
  }
  return true;
}

Outcome<void> Lender::write(const std::string& pci, const std::string& file, std::string_view value,
                            std::string_view what) {
  const std::error_code error = sysfs_.write(file, value);
  if (error) return refuse(fmt::format("{}: can't {}: {}", pci, what, reason(error)));
  return {};
}

Outcome<void> Lender::load_modules() {
  for (const std::string name : {"ntb_smartio", "smartio_nvme_mgr"}) {
    if (sysfs_.exists("module/" + name)) continue;
    const auto loaded = kernel_.load_module(name);
    if (!loaded) {
      return refuse(
          fmt::format("the module {} can't be loaded ({}); it has to be installed for this kernel (make "
                      "modules_install), and it takes root to load it",
                      name, loaded.error().message));
    }
  }
  return {};
}

void Lender::give_back(const std::string& pci, const std::string& driver) {
  if (this->driver(pci) == kManager) {
    static_cast<void>(sysfs_.write(fmt::format("bus/pci/drivers/{}/unbind", kManager), pci));
  }
  static_cast<void>(sysfs_.write(at(pci) + "/driver_override", "\n"));
  if (driver.empty()) return;
  if (!sysfs_.exists("bus/pci/drivers/" + driver)) static_cast<void>(kernel_.load_module(driver));
  if (this->driver(pci).empty()) static_cast<void>(sysfs_.write("bus/pci/drivers_probe", pci));
}

Outcome<void> Lender::take(const std::string& pci, const Options& options) {
  const std::string before = driver(pci);
  if (before != kManager) {
    if (auto done = write(pci, at(pci) + "/driver_override", kManager, "choose its driver"); !done) return done;
    if (!before.empty()) {
      if (auto done = write(pci, fmt::format("bus/pci/drivers/{}/unbind", before), pci, "take it from its driver");
          !done) {
        give_back(pci, before);
        return done;
      }
    }
    if (driver(pci).empty()) {
      // Unlike drivers_probe this answers with what the driver's probe returned. Somebody else may have been faster.
      const std::error_code error = sysfs_.write(fmt::format("bus/pci/drivers/{}/bind", kManager), pci);
      if (error && driver(pci) != kManager) {
        const std::string log = log_of(pci);
        give_back(pci, before);
        return refuse(fmt::format("{}: the manager did not take it ({}); it is back with {}{}", pci, reason(error),
                                  before.empty() ? "no driver" : before, log));
      }
    }
  }
  if (!wait_until(options.patience, [&] { return is_lent(pci); })) {
    const std::string log = log_of(pci);
    give_back(pci, before == kManager ? "" : before);
    return refuse(fmt::format("{}: the manager has it, but did not lend it within {} s; it is back with {}{}", pci,
                              options.patience.count() / 1000,
                              before.empty() || before == kManager ? "no driver" : before, log));
  }
  return {};
}

Outcome<void> Lender::lend(std::string_view address, const Options& options) {
  const auto pci = find(address);
  if (!pci) return std::unexpected(pci.error());
  if (!is_lent(*pci)) {
    const std::string before = driver(*pci);
    if (!before.empty() && before != kStock && before != kManager) {
      return refuse(fmt::format("{} belongs to the driver {}; free it there first (echo {} > "
                                "/sys/bus/pci/drivers/{}/unbind)",
                                *pci, before, *pci, before),
                    Exit::kInUse);
    }
    if (const auto used = uses(*pci); !used.empty() && !options.force) {
      return refuse(fmt::format("{} is in use on this host: {}; end that first (umount, swapoff, …), or --force it, "
                                "which breaks what uses it",
                                *pci, fmt::join(used, ", ")),
                    Exit::kInUse);
    }
    if (auto loaded = load_modules(); !loaded) return loaded;
    if (auto taken = take(*pci, options); !taken) return taken;
    report_(fmt::format("{} is lent", *pci));
  } else {
    report_(fmt::format("{} is lent already", *pci));
  }
  if (!options.persist) return {};
  if (auto kept = choices_.keep(describe(*pci)); !kept) {
    return refuse(fmt::format("{} is lent, but not at the next boot: {}", *pci, kept.error().message));
  }
  report_(fmt::format("{} will be lent at every boot ({})", *pci, choices_.file(*pci).string()));
  if (const std::string hint = kernel_.enable_at_boot(); !hint.empty()) report_(hint);
  return {};
}

Outcome<void> Lender::unlend(std::string_view address, const Options& options) {
  // A choice can be forgotten when its device is gone, too.
  const auto named = parse_pci_address(address);
  if (options.persist && named) {
    const auto forgotten = choices_.forget(*named);
    if (!forgotten) return refuse(forgotten.error().message);
    report_(*forgotten ? fmt::format("{} will not be lent at boot any more", *named)
                       : fmt::format("{} was not chosen to be lent at boot", *named));
    if (!sysfs_.exists(at(*named))) return {};
  }
  const auto pci = find(address);
  if (!pci) return std::unexpected(pci.error());
  if (driver(*pci) != kManager && !is_lent(*pci)) {
    // Perhaps chosen, and not lent for some reason: the override is what keeps the stock driver away.
    if (sysfs_.text(at(*pci) + "/driver_override") == kManager) {
      give_back(*pci, std::string(kStock));
      report_(fmt::format("{} was not lent; it is free for the driver nvme again", *pci));
      return {};
    }
    if (options.persist) return {};
    return refuse(fmt::format("{} is not lent (smartioctl list shows what is)", *pci));
  }
  std::vector<std::string> used = uses(*pci);
  for (const Borrower& borrower :
       parse_borrowers(sysfs_.read(fmt::format("class/smartio_export/{}/borrowers", *pci))).items) {
    if (borrower.link != "local") used.push_back(fmt::format("{} uses it over {}", borrower.name, borrower.link));
  }
  if (!used.empty() && !options.force) {
    return refuse(
        fmt::format("{} is in use: {}; end that first (umount; on borrowers then rmmod smartio_nvme), or --force it: "
                    "I/O in flight then fails",
                    *pci, fmt::join(used, ", ")),
        Exit::kInUse);
  }
  if (auto done = write(*pci, fmt::format("bus/pci/drivers/{}/unbind", kManager), *pci, "take it from the manager");
      !done) {
    return done;
  }
  give_back(*pci, std::string(kStock));
  if (!wait_until(options.patience, [&] { return !is_lent(*pci) && driver(*pci) == kStock; })) {
    return refuse(fmt::format("{} is not lent any more, but the driver nvme did not take it within {} s{}", *pci,
                              options.patience.count() / 1000, log_of(*pci)));
  }
  report_(fmt::format("{} is back with the driver nvme", *pci));
  if (!options.persist && sysfs_.exists(at(*pci))) {
    const auto chosen = choices_.read().choices;
    if (std::ranges::find(chosen, *pci, &Choice::pci) != chosen.end()) {
      report_(fmt::format("It will be lent again at the next boot; smartioctl unlend --persist {} forgets that", *pci));
    }
  }
  return {};
}

Outcome<void> Lender::lend_choice(const Choice& choice, const Options& options) {
  const std::string& slot = choice.pci;
  const bool there = sysfs_.exists(at(slot));
  const std::string vendor = sysfs_.text(at(slot) + "/vendor");
  const std::string device = sysfs_.text(at(slot) + "/device");
  const bool alike = there && vendor == choice.vendor && device == choice.device;
  if (alike && (choice.serial.empty() || serial(slot) == choice.serial)) return lend(slot, options);
  if (alike && serial(slot).empty()) {
    // No driver has it, so its serial number is not known until it is lent.
    if (auto lent = lend(slot, options); !lent) return lent;
    const std::string now = serial(slot);
    const auto chosen = choices_.read().choices;  // two chosen drives may have changed places
    if (now.empty() || std::ranges::find(chosen, now, &Choice::serial) != chosen.end()) return {};
    give_back(slot, std::string(kStock));
  }
  // Moved to another slot, where the stock driver has it?
  const auto all = controllers();
  const auto moved = std::ranges::find_if(
      all, [&](const std::string& pci) { return !choice.serial.empty() && serial(pci) == choice.serial; });
  if (moved != all.end()) return lend(*moved, options);

  const std::string forget = fmt::format("smartioctl unlend --persist {} forgets the choice", slot);
  if (!there) return refuse(fmt::format("{}: the chosen drive is not there; {}", slot, forget));
  if (!alike) {
    return refuse(fmt::format("{}: another device is there now ({}:{}, not {}:{}); {}", slot, vendor, device,
                              choice.vendor, choice.device, forget));
  }
  return refuse(
      fmt::format("{}: another drive is there now (serial {}, not {}), so it is not lent; smartioctl lend "
                  "--persist {} chooses it, {}",
                  slot, serial(slot), choice.serial, slot, forget));
}

void Lender::follow_moves(const std::vector<Choice>& choices) {
  std::vector<Choice> moved;
  for (const Choice& choice : choices) {
    if (choice.serial.empty() || serial(choice.pci) == choice.serial) continue;
    for (const std::string& pci : controllers()) {
      if (is_lent(pci) && serial(pci) == choice.serial) {
        static_cast<void>(choices_.forget(choice.pci));
        moved.push_back(describe(pci));
        report_(fmt::format("the drive with serial {} moved from {} to {}", choice.serial, choice.pci, pci));
      }
    }
  }
  for (const Choice& choice : moved) {
    if (const auto kept = choices_.keep(choice); !kept) report_(kept.error().message);
  }
}

Outcome<void> Lender::lend_all(const Options& options) {
  const auto [choices, complaints] = choices_.read();
  std::vector<std::string> failures = complaints;
  Options each = options;
  each.persist = false;
  for (const Choice& choice : choices) {
    if (auto lent = lend_choice(choice, each); !lent) failures.push_back(lent.error().message);
  }
  follow_moves(choices);
  if (choices.empty() && complaints.empty()) report_("nothing was chosen to be lent (smartioctl lend --persist BDF)");
  if (!failures.empty()) return refuse(fmt::format("{}", fmt::join(failures, "\n")));
  return {};
}

}  // namespace smartio::ctl
