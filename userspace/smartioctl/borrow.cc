// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/borrow.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/deadline.h"
#include "smartioctl/function.h"
#include "smartioctl/json.h"
#include "smartioctl/text.h"

namespace smartio::ctl {

namespace {

constexpr std::string_view kModule = "smartio_pci";
constexpr std::string_view kVfio = "vfio-pci";
constexpr std::string_view kPaths = "bus/smartio/devices";
constexpr std::chrono::milliseconds kPoll{20};

/// The meaning of the kernel's answer to a function's borrower.
std::string why(std::error_code error, const std::string& host) {
  switch (error.value()) {
    case EPERM:
      return fmt::format("{0} does not allow this host to borrow it; run smartioctl allow on {0}", host);
    case EBUSY:
      return fmt::format("another host has borrowed it (smartioctl list on {} names that host)", host);
    case ENOLINK:
    case ENOTCONN:
    case EHOSTUNREACH:
      return "the link is down";
    case ENOSPC:
      return "its BARs fit into no window of the link";
    case EOPNOTSUPP:
      return "this link does not support it; see dmesg";
    case EINPROGRESS:
      return "its user on this host (such as a VM) has not released it yet";
    case ENOENT:
      return fmt::format("the module {} on this host does not know it", kModule);
    default:
      return reason(error);
  }
}

std::string qemu_device(const std::string& function) { return fmt::format("vfio-pci,host={}", function); }

/// `function` is DOMAIN:BUS:SLOT.FUNCTION.
std::string libvirt_xml(const std::string& function) {
  return fmt::format(
      "<hostdev mode='subsystem' type='pci' managed='no'><source><address domain='0x{}' bus='0x{}' slot='0x{}' "
      "function='0x{}'/></source></hostdev>",
      function.substr(0, 4), function.substr(5, 2), function.substr(8, 2), function.substr(11));
}

}  // namespace

std::string FunctionBorrower::Found::text() const { return fmt::format("{} of {} over {}", pci, host_name, link); }

std::vector<FunctionBorrower::Found> FunctionBorrower::all() const {
  std::vector<Found> found;
  for (const std::string& name : sysfs_.list(std::string(kPaths))) {
    const std::string at = fmt::format("{}/{}", kPaths, name);
    if (sysfs_.text(at + "/service") != "pci" || sysfs_.text(at + "/link") == "local") continue;
    found.push_back({.path = name,
                     .host = sysfs_.text(at + "/host"),
                     .host_name = sysfs_.text(at + "/host_name"),
                     .pci = sysfs_.text(at + "/pci"),
                     .link = sysfs_.text(at + "/link"),
                     .state = sysfs_.text(at + "/state"),
                     .borrowed = sysfs_.text(at + "/borrowed") == "1",
                     .function = sysfs_.text(at + "/function")});
  }
  return found;
}

Outcome<std::vector<FunctionBorrower::Found>> FunctionBorrower::find(std::string_view name) const {
  // "lender:0000:03:00.0": an address alone has colons, too.
  const auto address = parse_pci_address(name);
  const std::size_t border = name.find_first_of("/:");
  const auto suffix = border == std::string_view::npos ? std::nullopt : parse_pci_address(name.substr(border + 1));
  std::vector<Found> every = all();
  const auto meant = [&](const Found& one) {
    if (one.path == name || (!one.function.empty() && one.function == name)) return true;
    if (address) return one.pci == *address;
    return suffix && one.pci == *suffix && one.host_name == name.substr(0, border);
  };
  std::vector<Found> found;
  std::ranges::copy_if(every, std::back_inserter(found), meant);
  if (found.empty()) {
    std::vector<std::string> there;
    for (const Found& one : every) there.push_back(fmt::format("{}:{}", one.host_name, one.pci));
    const std::string rest = there.empty() ? "no linked host lends a function as a whole"
                                           : fmt::format("there are {}", fmt::join(there, ", "));
    return refuse(fmt::format("there is no export '{}'; {}", name, rest));
  }
  const bool one_export = std::ranges::all_of(found, [&](const Found& one) {
    return one.pci == found.front().pci && one.host_name == found.front().host_name;
  });
  if (!one_export) {
    std::vector<std::string> there;
    for (const Found& one : found) there.push_back(fmt::format("{}:{}", one.host_name, one.pci));
    return refuse(fmt::format("'{}' may be {}; name the host, too", name, fmt::join(there, " or ")), Exit::kUsage);
  }
  return found;
}

Outcome<void> FunctionBorrower::borrow(std::string_view name, const Options& options) {
  if (!sysfs_.exists(fmt::format("module/{}", kModule))) {
    if (const auto loaded = kernel_.load_module(std::string(kModule)); !loaded) {
      return refuse(fmt::format(
          "the module {} can't be loaded ({}); install smartio-dkms for this kernel, and run smartioctl as root",
          kModule, loaded.error().message));
    }
  }
  const auto paths = find(name);
  if (!paths) return std::unexpected(paths.error());
  if (options.for_vm) {
    if (const auto loaded = kernel_.load_module(std::string(kVfio)); !loaded) {
      return refuse(fmt::format("the module {} can't be loaded: {}", kVfio, loaded.error().message));
    }
  }
  if (const auto had = std::ranges::find_if(*paths, &Found::borrowed); had != paths->end()) {
    if (options.for_vm && had->function.empty()) {
      return refuse(fmt::format("{} is borrowed, but absent; it returns when the link is up and {} allows it",
                                had->text(), had->host_name));
    }
    if (options.for_vm) return prepare_for_vm(*had, options);
    report_here(
        *had, options,
        fmt::format("{} is borrowed already{}", had->text(),
                    had->function.empty()
                        ? fmt::format(", but absent; it returns when the link is up and {} allows it", had->host_name)
                        : ", as " + had->function));
    return {};
  }
  // Any link that is up will do.
  auto best = std::ranges::find(*paths, "ready", &Found::state);
  if (best == paths->end()) best = paths->begin();
  const std::string at = fmt::format("{}/{}", kPaths, best->path);
  if (const std::error_code error = sysfs_.write(at + "/borrowed", "1")) {
    return refuse(fmt::format("{} can't be borrowed: {}", best->text(), why(error, best->host_name)),
                  error.value() == EBUSY || error.value() == EINPROGRESS ? Exit::kInUse : Exit::kFailed);
  }
  std::string function;
  const auto arrived = [&] { return !(function = sysfs_.text(at + "/function")).empty(); };
  if (!wait_until(Deadline::in(options.patience), [this] { kernel_.pause(kPoll); }, arrived)) {
    return refuse(fmt::format("{} is borrowed, but did not appear within {} s; see smartioctl status and dmesg",
                              best->text(), options.patience.count() / 1000));
  }
  Found here = *best;
  here.function = function;
  if (options.for_vm) {
    auto ready = prepare_for_vm(here, options);
    if (ready) return {};
    if (const std::error_code error = sysfs_.write(at + "/borrowed", "0")) {
      ready.error().message += fmt::format("; and it can't be returned: {}", reason(error));
    }
    return ready;
  }
  const std::string driver = sysfs_.link(device_path(function) + "/driver");
  report_here(here, options,
              fmt::format("{} is here as {}{}", best->text(), function,
                          driver.empty() ? ", without a driver" : " with the driver " + driver));
  return {};
}

void FunctionBorrower::report_here(const Found& one, const Options& options, const std::string& text) {
  if (!options.json) {
    report_(text);
    return;
  }
  const std::string driver = one.function.empty() ? "" : sysfs_.link(device_path(one.function) + "/driver");
  nlohmann::json object{{"export", fmt::format("{}:{}", one.host_name, one.pci)},
                        {"link", one.link},
                        {"address", or_null(one.function)},
                        {"driver", or_null(driver)}};
  if (options.for_vm) {
    object["qemu"] = {"-device", qemu_device(one.function)};
    object["libvirt"] = libvirt_xml(one.function);
  }
  report_(object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

Outcome<void> FunctionBorrower::prepare_for_vm(const Found& one, const Options& options) {
  const std::string path = fmt::format("{}/{}", kPaths, one.path);
  const std::string device = device_path(one.function);
  const std::string addresses = sysfs_.text(path + "/addresses");
  if (addresses == "flat") {
    return refuse(fmt::format("{} can't be given to a VM: this host's IOMMU is off; turn it on", one.text()));
  }
  if (addresses != "own") {
    return refuse(
        fmt::format("{} can't be given to a VM: {} gives it no address space of its own; turn on the IOMMU there, "
                    "isolate its group",
                    one.text(), one.host_name));
  }
  // The driver that the kernel found for it has it by now, if there is one.
  const std::string driver = sysfs_.link(device + "/driver");
  if (driver != kVfio) {
    if (const auto used = uses_of(sysfs_, use_, device); !used.empty()) {
      return refuse(fmt::format("{} is in use: {}; stop its users", one.function, fmt::join(used, ", ")), Exit::kInUse);
    }
    std::error_code error = sysfs_.write(device + "/driver_override", kVfio);
    if (!error && !driver.empty()) error = sysfs_.write(device + "/driver/unbind", one.function);
    if (!error) error = sysfs_.write("bus/pci/drivers_probe", one.function);
    if (error || sysfs_.link(device + "/driver") != kVfio) {
      return refuse(fmt::format("{} does not take {}{}", kVfio, one.function, error ? ": " + reason(error) : ""));
    }
  }
  report_here(one, options, fmt::format("{} is here as {} with the driver {}", one.text(), one.function, kVfio));
  if (options.json) return {};
  report_(fmt::format("QEMU: -device {}", qemu_device(one.function)));
  report_(fmt::format("libvirt: {}", libvirt_xml(one.function)));
  return {};
}

Outcome<void> FunctionBorrower::give_back(std::string_view name, const Options& options) {
  const auto paths = find(name);
  if (!paths) return std::unexpected(paths.error());
  // With auto_borrow each link to its lender waits for it: one that is left would borrow it again.
  std::vector<Found> had;
  std::ranges::copy_if(all(), std::back_inserter(had), [&](const Found& one) {
    return one.borrowed && one.pci == paths->front().pci && one.host == paths->front().host &&
           one.host_name == paths->front().host_name;
  });
  if (had.empty()) return refuse(fmt::format("{} is not borrowed by this host", paths->front().text()));
  std::ranges::stable_partition(had, [](const Found& one) { return one.function.empty(); });
  const Found& here = had.back();
  if (!here.function.empty()) {
    const auto used = uses_of(sysfs_, use_, device_path(here.function));
    if (!used.empty() && !options.force) {
      return refuse(fmt::format("{} is in use: {}; stop its users, or use --force (they get I/O errors)", here.function,
                                fmt::join(used, ", ")),
                    Exit::kInUse);
    }
  }
  Outcome<void> returned;
  for (const Found& one : had) {
    const std::error_code error = sysfs_.write(fmt::format("{}/{}/borrowed", kPaths, one.path), "0");
    if (!error || !returned) continue;
    if (error.value() == EINPROGRESS) {
      returned = refuse(
          fmt::format("{} will be returned when its user (such as a VM) releases it; stop that user", one.text()),
          Exit::kInUse);
    } else {
      returned = refuse(fmt::format("{} can't be returned: {}", one.text(), why(error, one.host_name)));
    }
  }
  if (!returned) return returned;
  report_(fmt::format("{} is returned", here.text()));
  return {};
}

}  // namespace smartio::ctl
