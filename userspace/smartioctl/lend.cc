// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/lend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/deadline.h"
#include "base/text.h"
#include "smartioctl/allow.h"
#include "smartioctl/pci.h"
#include "smartioctl/secondary_controllers.h"
#include "smartioctl/text.h"
#include "smartioctl/view.h"
#include "smartioctl/virtual_functions.h"

namespace smartio::ctl {

namespace {

constexpr std::string_view kStock = "nvme";
constexpr std::array kServices{Service{"nvme", "smartio_nvme_mgr"}, Service{"pci", "smartio_pci_stub"}};
constexpr const Service& kNvme = kServices[0];
constexpr const Service& kPci = kServices[1];
constexpr std::chrono::milliseconds kPoll{20};
/// For a driver that the kernel loads by itself, if there is one.
constexpr std::chrono::milliseconds kProbePatience{2000};

}  // namespace

std::vector<std::string> Lender::controllers() const {
  std::vector<std::string> found = sysfs_.list("bus/pci/devices");
  std::erase_if(found, [&](const std::string& pci) { return sysfs_.text(device_path(pci) + "/class") != kNvmeClass; });
  return found;
}

bool Lender::is_exported(const std::string& pci) const { return sysfs_.exists("class/smartio_export/" + pci); }

std::string Lender::driver(const std::string& pci) const { return sysfs_.link(device_path(pci) + "/driver"); }

std::string Lender::driver_text(const std::string& pci) const {
  const std::string name = driver(pci);
  return name.empty() ? "no driver" : "the driver " + name;
}

std::string Lender::serial(const std::string& pci) const {
  const std::string controller = controller_below(sysfs_, device_path(pci));
  return controller.empty() ? "" : sysfs_.text(fmt::format("{}/nvme/{}/serial", device_path(pci), controller));
}

const Service* Lender::service_of(const std::string& pci) const {
  const auto by = [](const std::string& word, std::string_view Service::* member) -> const Service* {
    const auto found = std::ranges::find(kServices, word, member);
    return found == kServices.end() ? nullptr : &*found;
  };
  if (const Service* lent = by(sysfs_.text(fmt::format("class/smartio_export/{}/service", pci)), &Service::name)) {
    return lent;
  }
  return by(driver(pci), &Service::driver);
}

Outcome<const Service*> Lender::service_for(const std::string& pci, const std::string& as) const {
  const std::string what = sysfs_.text(device_path(pci) + "/class");
  const bool drive = what == kNvmeClass;
  const Service* service = as == kNvme.name || (as.empty() && drive) ? &kNvme : &kPci;
  if (service == &kNvme && !drive) {
    const auto found = controllers();
    return refuse(fmt::format("{} is no NVMe controller: its PCI class is {}, not {}; --as pci lends it as a whole; {}",
                              pci, what, kNvmeClass,
                              found.empty()
                                  ? std::string("this host has no NVMe controller")
                                  : fmt::format("NVMe controllers of this host: {}", fmt::join(found, ", "))));
  }
  return service;
}

std::vector<std::string> Lender::uses(const std::string& pci) const {
  std::vector<std::string> devices = {device_path(pci)};
  // Lent already: the disks that this host itself makes of it.
  for (const std::string& path : sysfs_.list("bus/smartio/devices")) {
    const std::string device = "bus/smartio/devices/" + path;
    if (sysfs_.text(device + "/link") == "local" && sysfs_.text(device + "/pci") == pci) devices.push_back(device);
  }
  std::vector<std::string> all;
  for (const std::string& device : devices) std::ranges::copy(uses_of(sysfs_, use_, device), std::back_inserter(all));
  return all;
}

Choice Lender::describe(const std::string& pci, const Service& service, const Options& options) const {
  Choice choice{.pci = pci,
                .vendor = sysfs_.text(device_path(pci) + "/vendor"),
                .device = sysfs_.text(device_path(pci) + "/device"),
                .serial = "",
                .model = "",
                .as = std::string(service.name),
                .vfs = options.vfs,
                .permissions = options.permissions};
  // No program on this host knows the serial number of a drive that is lent as a whole.
  const std::string controller = controller_below(sysfs_, device_path(pci));
  if (&service == &kNvme && !controller.empty()) {
    choice.serial = serial(pci);
    choice.model = sysfs_.text(fmt::format("{}/nvme/{}/model", device_path(pci), controller));
  }
  return choice;
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
  if (!sysfs_.exists(device_path(*pci))) return refuse(fmt::format("{}: no such device here; {}", *pci, others()));
  return *pci;
}

bool Lender::wait_until(std::chrono::milliseconds patience, const std::function<bool()>& done) {
  return smartio::wait_until(Deadline::in(patience), [this] { kernel_.pause(kPoll); }, done);
}

Outcome<void> Lender::write(const std::string& pci, const std::string& file, std::string_view value,
                            std::string_view what) {
  const std::error_code error = sysfs_.write(file, value);
  if (error) return refuse(fmt::format("{}: can't {}: {}", pci, what, reason(error)));
  return {};
}

Outcome<void> Lender::load_modules(const Service& service) {
  const auto load = [&](const std::string& name) -> Outcome<void> {
    if (sysfs_.exists("module/" + name)) return {};
    const auto loaded = kernel_.load_module(name);
    if (loaded) return {};
    return refuse(fmt::format(
        "the module {} can't be loaded ({}); install smartio-dkms for this kernel, and run smartioctl as root", name,
        loaded.error().message));
  };
  if (auto loaded = load("ntb_smartio"); !loaded) return loaded;
  // The driver takes all devices that are kept for it at once, not only the one that is lent now.
  if (auto enforced = enforce(sysfs_, rules_, report_); !enforced) return enforced;
  if (&service == &kPci) {
    for (const std::string& pci : sysfs_.list("bus/pci/devices"))
      if (sysfs_.text(device_path(pci) + "/driver_override") == service.driver) reset_by_bus(pci, true);
  }
  return load(std::string(service.driver));
}

std::string Lender::stock_driver(const std::string& pci, const Service& service) const {
  return &service == &kNvme ? std::string(kStock) : sysfs_.text(device_path(pci) + "/modalias");
}

void Lender::give_back(const std::string& pci, const Service& service, const std::string& driver) {
  if (this->driver(pci) == service.driver) {
    static_cast<void>(sysfs_.write(fmt::format("bus/pci/drivers/{}/unbind", service.driver), pci));
  }
  static_cast<void>(sysfs_.write(device_path(pci) + "/driver_override", "\n"));
  if (&service == &kPci) reset_by_bus(pci, false);
  if (driver.empty()) return;
  if (!sysfs_.exists("bus/pci/drivers/" + driver)) static_cast<void>(kernel_.load_module(driver));
  if (this->driver(pci).empty()) static_cast<void>(sysfs_.write("bus/pci/drivers_probe", pci));
}

void Lender::reset_by_bus(const std::string& pci, bool first) {
  const std::string file = device_path(pci) + "/reset_method";
  const std::string methods = sysfs_.text(file);
  // The kernel's own order has pm first. The write fails for a function that is not alone on its bus.
  if (first && methods == "pm bus") {
    static_cast<void>(sysfs_.write(file, "bus pm"));
  } else if (!first && methods == "bus pm") {
    static_cast<void>(sysfs_.write(file, "default"));
  }
}

void Lender::permit(const std::string& allowance, const Permissions& permissions) {
  for (const auto& [name, given] : {std::pair{"trust_borrowers", permissions.trust_borrowers},
                                    std::pair{"shared_group", permissions.shared_group}}) {
    if (given) static_cast<void>(sysfs_.write(fmt::format("module/smartio/parameters/{}", name), allowance));
  }
}

Outcome<void> Lender::take(const std::string& pci, const Service& service, const Options& options) {
  const std::string before = driver(pci);
  const std::string folder = fmt::format("bus/pci/drivers/{}", service.driver);
  if (before != service.driver) {
    if (auto done = write(pci, device_path(pci) + "/driver_override", service.driver, "choose its driver"); !done)
      return done;
    // The manager takes the quirks of models from its table.
    if (&service == &kNvme && !sysfs_.exists(fmt::format("bus/pci/drivers/{}", kStock))) {
      static_cast<void>(kernel_.load_module(std::string(kStock)));
    }
    if (!before.empty()) {
      if (auto done = write(pci, fmt::format("bus/pci/drivers/{}/unbind", before), pci, "take it from its driver");
          !done) {
        give_back(pci, service, before);
        return done;
      }
    }
    if (driver(pci).empty()) {
      // Unlike drivers_probe this returns the error of the driver's probe. Another program may have bound it meanwhile.
      permit(pci, options.permissions);
      const std::error_code error = sysfs_.write(folder + "/bind", pci);
      permit("-" + pci, options.permissions);
      if (error && driver(pci) != service.driver) {
        const std::string log = log_of(pci);
        give_back(pci, service, before);
        return refuse(fmt::format("{} did not bind {} ({}); the device now has {}{}", service.driver, pci,
                                  error.message(), driver_text(pci), log));
      }
    }
  }
  if (!wait_until(options.patience, [&] { return is_exported(pci); })) {
    const std::string log = log_of(pci);
    const bool had_it = before == service.driver;
    give_back(pci, service, had_it ? "" : before);
    return refuse(fmt::format("{} bound {}, but did not export it within {} s; the device now has {}{}", service.driver,
                              pci, options.patience.count() / 1000, driver_text(pci), log));
  }
  return {};
}

Outcome<void> Lender::check(const std::string& pci, const Service& service, const Options& options) const {
  if (&service == &kPci) {
    if (auto why = why_not_lent(sysfs_, pci, options.permissions)) return std::unexpected(std::move(*why));
  }
  const std::string before = driver(pci);
  const bool stock = &service == &kNvme ? before == kStock : !before.starts_with("vfio") && before != "pci-stub";
  if (!before.empty() && before != service.driver && !stock) {
    return refuse(fmt::format("{} has the driver {}; unbind it first (echo {} > /sys/bus/pci/drivers/{}/unbind)", pci,
                              before, pci, before),
                  Exit::kInUse);
  }
  if (const auto used = uses(pci); !used.empty() && !options.force) {
    return refuse(fmt::format("{} is in use: {}; stop its users, or use --force (they get I/O errors)", pci,
                              fmt::join(used, ", ")),
                  Exit::kInUse);
  }
  return {};
}

Outcome<void> Lender::lend(std::string_view address, const Options& options) {
  const auto pci = find(address);
  if (!pci) return std::unexpected(pci.error());
  if (options.vfs != 0) return lend_virtual(*pci, options);
  auto service = service_for(*pci, options.as);
  if (!service) return std::unexpected(service.error());
  if (!is_exported(*pci)) {
    if (auto free = check(*pci, **service, options); !free) return free;
    // The driver may take it while it is loaded.
    permit(*pci, options.permissions);
    auto loaded = load_modules(**service);
    permit("-" + *pci, options.permissions);
    if (!loaded) return loaded;
    if (*service == &kPci) reset_by_bus(*pci, true);
    if (auto taken = take(*pci, **service, options); !taken) return taken;
    report_(fmt::format("{} is lent", *pci));
  } else {
    if (const Service* lent = service_of(*pci); lent != nullptr && lent != *service) {
      if (!options.as.empty()) {
        return refuse(fmt::format("{} is lent as {}; run smartioctl unlend {} first", *pci, lent->name, *pci),
                      Exit::kInUse);
      }
      service = lent;
    }
    if (*service == &kPci) reset_by_bus(*pci, true);
    report_(fmt::format("{} is lent already", *pci));
  }
  return keep(*pci, **service, options);
}

Outcome<void> Lender::keep(const std::string& pci, const Service& service, const Options& options) {
  if (!options.persist) return {};
  const std::string_view what = options.vfs == 0 ? "is" : "has virtual functions that are";
  if (auto kept = choices_.keep(describe(pci, service, options)); !kept) {
    return refuse(fmt::format("{} {} lent, but not at the next boot: {}", pci, what, kept.error().message));
  }
  report_(options.vfs == 0 ? fmt::format("{} will be lent at every boot ({})", pci, choices_.file(pci).string())
                           : fmt::format("{} of {} will be lent at every boot ({})",
                                         plural(options.vfs, "virtual function"), pci, choices_.file(pci).string()));
  if (const std::string hint = kernel_.enable_at_boot(); !hint.empty()) report_(hint);
  renew_initramfs(options);
  return {};
}

void Lender::renew_initramfs(const Options& options) {
  if (!options.initramfs || !kernel_.has_update_initramfs()) return;
  report_("Rebuilding the initramfs, which has a copy of the choices: update-initramfs -u");
  if (const auto done = kernel_.update_initramfs(); !done) {
    report_(
        fmt::format("warning: update-initramfs -u failed ({}); run it again: until then a boot uses the old choices",
                    done.error().message));
  }
}

Outcome<void> Lender::lend_virtual(const std::string& physical, const Options& options) {
  VirtualFunctions functions(sysfs_, physical);
  if (options.as == kNvme.name) return refuse("virtual functions are lent as a whole: --as pci", Exit::kUsage);
  if (functions.total() == 0) return refuse(fmt::format("{} has no virtual functions (no SR-IOV)", physical));
  if (options.vfs > functions.total()) {
    return refuse(fmt::format("{} can have {}", physical, plural(functions.total(), "virtual function")), Exit::kUsage);
  }
  if (service_of(physical) != nullptr) {
    return refuse(fmt::format("{} is lent itself; run smartioctl unlend {} first", physical, physical), Exit::kInUse);
  }
  // At boot its driver may still be loading.
  if (driver(physical).empty()) {
    static_cast<void>(kernel_.load_module(sysfs_.text(device_path(physical) + "/modalias")));
    if (!wait_until(kProbePatience, [&] { return !driver(physical).empty(); })) {
      return refuse(fmt::format("{} has no driver, and only its own driver can make virtual functions", physical));
    }
  }
  const unsigned before = functions.count();
  if (before != 0 && before != options.vfs) {
    return refuse(fmt::format("{} has {} already, not {}; smartioctl unlend {} removes them", physical,
                              plural(before, "virtual function"), options.vfs, physical),
                  Exit::kInUse);
  }
  if (before == 0) {
    if (auto made = functions.make(options.vfs); !made) return made;
  }
  functions.allow_reset(false);
  if (auto online = bring_online(physical, options); !online) {
    if (before == 0) static_cast<void>(functions.remove());
    functions.allow_reset(!lends_virtual(physical));
    return online;
  }
  Options each = options;
  each.vfs = 0;
  each.persist = false;
  each.as = std::string(kPci.name);
  for (const std::string& pci : functions.addresses()) {
    if (auto lent = lend(pci, each); !lent) {
      if (before == 0) static_cast<void>(functions.remove());
      functions.allow_reset(!lends_virtual(physical));
      return lent;
    }
  }
  report_(fmt::format("{} keeps the driver {}, and is not reset while its virtual functions are lent", physical,
                      driver(physical)));
  return keep(physical, kPci, options);
}

Outcome<void> Lender::bring_online(const std::string& physical, const Options& options) {
  if (driver(physical) != kStock) return {};
  std::vector<std::string> controllers;
  // It comes some time after its driver has the function.
  if (!wait_until(options.patience, [&] {
        controllers = sysfs_.list(device_path(physical) + "/nvme");
        return !controllers.empty() && sysfs_.text(fmt::format("class/nvme/{}/state", controllers[0])) == "live";
      })) {
    return refuse(fmt::format("{}: its controller does not come up{}", physical, log_of(physical)));
  }
  return SecondaryControllers(nvme_, controllers[0]).bring_online(options.vfs);
}

Outcome<void> Lender::unlend_virtual(const std::string& physical, const Options& options) {
  VirtualFunctions functions(sysfs_, physical);
  const std::vector<std::string> all = functions.addresses();
  std::vector<std::string> used;
  for (const std::string& pci : all) {
    if (const std::string has = driver(pci); has.starts_with("vfio"))
      used.push_back(fmt::format("{} has {}", has, pci));
    for (const std::string& use : uses_of_exported(pci)) used.push_back(fmt::format("{}: {}", pci, use));
  }
  if (!used.empty() && !options.force) {
    return refuse(
        fmt::format("virtual functions of {} are in use: {}; stop their users (on borrowers smartioctl return), or use "
                    "--force (they get I/O errors)",
                    physical, fmt::join(used, ", ")),
        Exit::kInUse);
  }
  if (!all.empty()) {
    if (auto done = functions.remove(); !done) return done;
  }
  functions.allow_reset(true);
  report_(all.empty() ? fmt::format("{} has no virtual functions any more, and may be reset again", physical)
                      : fmt::format("{} of {} are removed; it keeps the driver {}",
                                    plural(all.size(), "virtual function"), physical, driver(physical)));
  hint_of_choice(physical, options);
  return {};
}

bool Lender::lends_virtual(const std::string& physical) const {
  // Those that only the override keeps were lent until the physical function's driver went.
  const VirtualFunctions functions(sysfs_, physical);
  return std::ranges::any_of(functions.addresses(), [&](const std::string& pci) {
    return service_of(pci) != nullptr || sysfs_.text(device_path(pci) + "/driver_override") == kPci.driver;
  });
}

std::vector<std::string> Lender::uses_of_exported(const std::string& pci) const {
  std::vector<std::string> used = uses(pci);
  for (const Borrower& borrower :
       parse_borrowers(sysfs_.read(fmt::format("class/smartio_export/{}/borrowers", pci))).items) {
    if (borrower.link != "local") used.push_back(fmt::format("{} uses it over {}", borrower.name, borrower.link));
  }
  return used;
}

Outcome<void> Lender::unlend(std::string_view address, const Options& options) {
  // A choice can be forgotten when its device is removed, too.
  const auto named = parse_pci_address(address);
  if (options.persist && named) {
    const auto forgotten = choices_.forget(*named);
    if (!forgotten) return refuse(forgotten.error().message);
    report_(*forgotten ? fmt::format("{} will not be lent at boot any more", *named)
                       : fmt::format("{} was not chosen to be lent at boot", *named));
    // A device that the initramfs keeps for a driver of this package would have none once the package is purged.
    if (*forgotten) renew_initramfs(options);
    if (!sysfs_.exists(device_path(*named))) return {};
  }
  const auto pci = find(address);
  if (!pci) return std::unexpected(pci.error());
  const Service* service = service_of(*pci);
  if (service == nullptr && (lends_virtual(*pci) || VirtualFunctions(sysfs_, *pci).kept_from_reset())) {
    return unlend_virtual(*pci, options);
  }
  if (service == nullptr) {
    // Perhaps chosen, and not lent for some reason: the override keeps the stock driver away.
    const std::string kept_for = sysfs_.text(device_path(*pci) + "/driver_override");
    if (const auto chosen = std::ranges::find(kServices, kept_for, &Service::driver); chosen != kServices.end()) {
      give_back(*pci, *chosen, stock_driver(*pci, *chosen));
      report_(fmt::format("{} was not lent; it is free for its own driver again", *pci));
      return {};
    }
    if (options.persist) return {};
    return refuse(fmt::format("{} is not lent (smartioctl list shows the lent devices)", *pci));
  }
  const std::vector<std::string> used = uses_of_exported(*pci);
  if (!used.empty() && !options.force) {
    return refuse(
        fmt::format(
            "{} is in use: {}; stop its users (umount; on borrowers then {}), or use --force (they get I/O errors)",
            *pci, fmt::join(used, ", "), service == &kNvme ? "rmmod smartio_nvme" : "smartioctl return"),
        Exit::kInUse);
  }
  if (auto done = write(*pci, fmt::format("bus/pci/drivers/{}/unbind", service->driver), *pci,
                        fmt::format("take it from {}", service->driver));
      !done) {
    return done;
  }
  give_back(*pci, *service, stock_driver(*pci, *service));
  // Any driver that this kernel has for a function that was lent as a whole.
  const auto back = [&] { return service == &kNvme ? driver(*pci) == kStock : !driver(*pci).empty(); };
  const bool gone = wait_until(options.patience, [&] { return !is_exported(*pci); });
  if (!gone || (!wait_until(service == &kNvme ? options.patience : kProbePatience, back) && service == &kNvme)) {
    return refuse(fmt::format("{} is not lent any more, but the driver nvme did not bind it within {} s{}", *pci,
                              options.patience.count() / 1000, log_of(*pci)));
  }
  report_(back() ? fmt::format("{} is back with the driver {}", *pci, driver(*pci))
                 : fmt::format("{} is not lent any more, and has no driver", *pci));
  hint_of_choice(*pci, options);
  return {};
}

void Lender::hint_of_choice(const std::string& pci, const Options& options) {
  if (options.persist || !sysfs_.exists(device_path(pci))) return;
  const auto chosen = choices_.read().choices;
  if (std::ranges::find(chosen, pci, &Choice::pci) != chosen.end()) {
    report_(fmt::format("It will be lent again at the next boot; smartioctl unlend --persist {} prevents that", pci));
  }
}

Outcome<void> Lender::lend_choice(const Choice& choice, const Options& all_options) {
  Options options = all_options;
  options.as = choice.as;
  options.permissions = choice.permissions;
  options.vfs = choice.vfs;
  const std::string& slot = choice.pci;
  const bool there = sysfs_.exists(device_path(slot));
  const std::string vendor = sysfs_.text(device_path(slot) + "/vendor");
  const std::string device = sysfs_.text(device_path(slot) + "/device");
  const bool alike = there && vendor == choice.vendor && device == choice.device;
  if (alike && (choice.serial.empty() || serial(slot) == choice.serial)) return lend(slot, options);
  if (alike && serial(slot).empty()) {
    // No driver has it, so its serial number is not known until it is lent.
    if (auto lent = lend(slot, options); !lent) return lent;
    const std::string now = serial(slot);
    const auto chosen = choices_.read().choices;  // two chosen drives may have changed places
    if (now.empty() || std::ranges::find(chosen, now, &Choice::serial) != chosen.end()) return {};
    give_back(slot, kNvme, std::string(kStock));
  }
  // Moved to another slot, where the stock driver has it?
  const auto all = controllers();
  const auto moved = std::ranges::find_if(
      all, [&](const std::string& pci) { return !choice.serial.empty() && serial(pci) == choice.serial; });
  if (moved != all.end()) {
    if (rules_.has(slot) && !rules_.has(*moved)) {
      return refuse(
          fmt::format("{}: the drive moved to {}; run smartioctl allow HOST... {}, then smartioctl allow any {}", slot,
                      *moved, *moved, slot));
    }
    return lend(*moved, options);
  }

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

void Lender::follow_moves(const std::vector<Choice>& choices, const Options& options) {
  std::vector<Choice> moved;
  for (const Choice& choice : choices) {
    if (choice.serial.empty() || serial(choice.pci) == choice.serial) continue;
    for (const std::string& pci : controllers()) {
      if (is_exported(pci) && serial(pci) == choice.serial) {
        static_cast<void>(choices_.forget(choice.pci));
        moved.push_back(describe(pci, kNvme, {.permissions = choice.permissions}));
        report_(fmt::format("the drive with serial {} moved from {} to {}", choice.serial, choice.pci, pci));
      }
    }
  }
  for (const Choice& choice : moved) {
    if (const auto kept = choices_.keep(choice); !kept) report_(kept.error().message);
  }
  if (!moved.empty() && options.initramfs && kernel_.has_update_initramfs()) {
    report_("the initramfs has the old address; run update-initramfs -u");
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
  follow_moves(choices, options);
  if (choices.empty() && complaints.empty()) report_("nothing was chosen to be lent (smartioctl lend --persist BDF)");
  if (!failures.empty()) return refuse(fmt::format("{}", fmt::join(failures, "\n")));
  return {};
}

Outcome<void> Lender::lend_chosen(std::string_view address, const Options& options) {
  const auto named = parse_pci_address(address);
  if (!named) return refuse(fmt::format("{:?} is not a PCI address such as 0000:01:00.0", address), Exit::kUsage);
  const auto choices = choices_.read().choices;
  const auto choice = std::ranges::find(choices, *named, &Choice::pci);
  if (choice == choices.end()) return refuse(fmt::format("{} was not chosen to be lent at boot", *named));
  Options once = options;
  once.persist = false;
  return lend_choice(*choice, once);
}

}  // namespace smartio::ctl
