// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "smartioctl/disk_use.h"
#include "smartioctl/kernel.h"
#include "smartioctl/outcome.h"
#include "smartioctl/sysfs.h"

namespace smartio::ctl {

/// Gets functions that other hosts lend as a whole to this one's PCI bus, and returns them.
class FunctionBorrower {
 public:
  struct Options {
    bool force = false;   ///< return it although it is in use
    bool for_vm = false;  ///< vfio-pci gets it, for a virtual machine; the words for QEMU and libvirt are reported
    bool json = false;    ///< the borrowed function is reported as one JSON object
    std::chrono::milliseconds patience{30000};
  };
  /// Gets each step that was done, a line at a time.
  using Report = std::function<void(const std::string&)>;

  FunctionBorrower(Sysfs& sysfs, Kernel& kernel, const DiskUse& use, Report report)
      : sysfs_(sysfs), kernel_(kernel), use_(use), report_(std::move(report)) {}

  /// `name`: "HOST:BDF" or "HOST/BDF", the address in the lender if no other lender has it, or a path's name.
  Outcome<void> borrow(std::string_view name, const Options& options);
  /// `name`: the same, or the function's address on this host.
  Outcome<void> give_back(std::string_view name, const Options& options);

 private:
  /// One path to an export, and its state on this host.
  struct Found {
    std::string path;
    std::string host;  ///< its UUID
    std::string host_name;
    std::string pci;  ///< in the lender
    std::string link;
    std::string state;
    bool borrowed = false;
    std::string function;  ///< its address on this host; empty while it is not there

    [[nodiscard]] std::string text() const;
  };
  [[nodiscard]] std::vector<Found> all() const;
  /// vfio-pci gets the function, which has to have addresses that a virtual machine's memory can have.
  [[nodiscard]] Outcome<void> prepare_for_vm(const Found& one, const Options& options);
  /// `text` is the report for people.
  void report_here(const Found& one, const Options& options, const std::string& text);
  /// The paths to the one export that `name` means.
  [[nodiscard]] Outcome<std::vector<Found>> find(std::string_view name) const;

  Sysfs& sysfs_;
  Kernel& kernel_;
  const DiskUse& use_;
  Report report_;
};

}  // namespace smartio::ctl
