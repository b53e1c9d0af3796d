// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "smartioctl/choices.h"
#include "smartioctl/disk_use.h"
#include "smartioctl/function.h"
#include "smartioctl/kernel.h"
#include "smartioctl/nvme_admin.h"
#include "smartioctl/outcome.h"
#include "smartioctl/rules.h"
#include "smartioctl/sysfs.h"

namespace smartio::ctl {

/// How a device is lent: the part of it that is borrowed, and the driver that this host needs for that.
struct Service {
  std::string_view name;    ///< "nvme": a drive that all hosts share; "pci": the function as a whole, for one of them
  std::string_view driver;  ///< which is its module's name, too
};

/// Gives devices from their stock driver to the driver that lends them, and back. A device that can't be lent goes back
/// to the driver that it had. Every step is one write to sysfs, and the kernel does the rest.
class Lender {
 public:
  struct Options {
    bool force = false;      ///< although it is in use
    bool persist = false;    ///< at every boot, or no more
    std::string as{};        ///< a service's name; empty: nvme for an NVMe drive, pci for all else
    bool initramfs = false;  ///< a copy of the choices may be in the initramfs
    unsigned vfs = 0;        ///< lend this number of the device's virtual functions, not the device
    Permissions permissions{};
    std::chrono::milliseconds patience{30000};
  };
  /// Gets each step that was done, a line at a time.
  using Report = std::function<void(const std::string&)>;

  Lender(Sysfs& sysfs, Kernel& kernel, const NvmeAdmin& nvme, const DiskUse& use, const Choices& choices,
         const Rules& rules, Report report)
      : sysfs_(sysfs),
        kernel_(kernel),
        nvme_(nvme),
        use_(use),
        choices_(choices),
        rules_(rules),
        report_(std::move(report)) {}

  Outcome<void> lend(std::string_view address, const Options& options);
  /// Also of all virtual functions that a device lends: they are removed then.
  Outcome<void> unlend(std::string_view address, const Options& options);
  /// All chosen devices. Continues with the next after a failure, and then fails with all the reasons.
  Outcome<void> lend_all(const Options& options);
  /// The one that was chosen in this slot, with the checks of lend_all(). Which choices have moved is seen only when
  /// all are lent, so lend_all() alone writes that down.
  Outcome<void> lend_chosen(std::string_view address, const Options& options);

 private:
  /// The address in full, of a device that is there.
  [[nodiscard]] Outcome<std::string> find(std::string_view address) const;
  /// The service that a device is to be lent as.
  [[nodiscard]] Outcome<const Service*> service_for(const std::string& pci, const std::string& as) const;
  /// The service that a device is lent as, or has been given to; null if it is not.
  [[nodiscard]] const Service* service_of(const std::string& pci) const;
  [[nodiscard]] std::vector<std::string> controllers() const;
  [[nodiscard]] bool is_exported(const std::string& pci) const;
  [[nodiscard]] std::string driver(const std::string& pci) const;
  /// For a message: "the driver nvme" or "no driver".
  [[nodiscard]] std::string driver_text(const std::string& pci) const;
  [[nodiscard]] std::string serial(const std::string& pci) const;
  [[nodiscard]] std::vector<std::string> uses(const std::string& pci) const;
  [[nodiscard]] Choice describe(const std::string& pci, const Service& service, const Options& options) const;
  /// The kernel's words about the device, to be put behind a message.
  [[nodiscard]] std::string log_of(const std::string& pci) const;

  /// Why the device can't be had now.
  [[nodiscard]] Outcome<void> check(const std::string& pci, const Service& service, const Options& options) const;
  /// With the rules in force before there is a driver that lends.
  Outcome<void> load_modules(const Service& service);
  /// The core lends the device with this PCI address once as permitted; with "-" before the address, no more.
  void permit(const std::string& allowance, const Permissions& permissions);
  Outcome<void> take(const std::string& pci, const Service& service, const Options& options);
  Outcome<void> write(const std::string& pci, const std::string& file, std::string_view value, std::string_view what);
  /// Puts the reset of its bus before that by its power state, or with `first` false sets the kernel's order again. Not
  /// each device forgets its queues in D3hot, though it says so (No_Soft_Reset: PCI Bus Power Management Interface
  /// Specification 1.2, 3.2.4). Its next host would get its old DMA.
  void reset_by_bus(const std::string& pci, bool first);
  /// To the stock driver, or without one to none.
  void give_back(const std::string& pci, const Service& service, const std::string& driver);
  /// The stock driver's name, or that of an alias by which modprobe finds it.
  [[nodiscard]] std::string stock_driver(const std::string& pci, const Service& service) const;
  bool wait_until(std::chrono::milliseconds patience, const std::function<bool()>& done);
  Outcome<void> keep(const std::string& pci, const Service& service, const Options& options);
  /// After a change of the choices: the initramfs has a copy of them, where initramfs-tools' hook put it.
  void renew_initramfs(const Options& options);
  /// The obstacles to taking a lent device back: its uses here, and its borrowers.
  [[nodiscard]] std::vector<std::string> uses_of_exported(const std::string& pci) const;
  /// If the device was taken back for now only.
  void hint_of_choice(const std::string& pci, const Options& options);
  [[nodiscard]] bool lends_virtual(const std::string& physical) const;
  Outcome<void> lend_virtual(const std::string& physical, const Options& options);
  Outcome<void> unlend_virtual(const std::string& physical, const Options& options);
  /// A drive's virtual functions have queues and interrupts.
  Outcome<void> bring_online(const std::string& physical, const Options& options);
  Outcome<void> lend_choice(const Choice& choice, const Options& options);
  /// Writes down where each chosen drive is now. The initramfs is not rebuilt: at boot /boot may not be mounted yet.
  void follow_moves(const std::vector<Choice>& choices, const Options& options);

  Sysfs& sysfs_;
  Kernel& kernel_;
  const NvmeAdmin& nvme_;
  const DiskUse& use_;
  const Choices& choices_;
  const Rules& rules_;
  Report report_;
};

}  // namespace smartio::ctl
