// SPDX-License-Identifier: GPL-2.0
// The virtual functions of an SR-IOV device (PCIe 6.0, 9.2), which its own driver makes when sysfs asks for them.
#pragma once

#include <string>
#include <vector>

#include "smartioctl/outcome.h"
#include "smartioctl/sysfs.h"

namespace smartio::ctl {

class VirtualFunctions {
 public:
  VirtualFunctions(Sysfs& sysfs, std::string physical) : sysfs_(sysfs), physical_(std::move(physical)) {}

  /// How many the device can have; 0 without SR-IOV.
  [[nodiscard]] unsigned total() const { return number("sriov_totalvfs"); }
  /// How many there are.
  [[nodiscard]] unsigned count() const { return number("sriov_numvfs"); }
  /// Their PCI addresses, by number.
  [[nodiscard]] std::vector<std::string> addresses() const;
  /// Has the driver of the physical function make `count` virtual ones; there are none before. No driver takes them.
  [[nodiscard]] Outcome<void> make(unsigned count);
  /// They are removed when this returns. Their drivers were asked to release them before that.
  [[nodiscard]] Outcome<void> remove();
  /// Whether the physical function can be reset by sysfs or vfio. A reset ends its virtual functions without notice to
  /// their drivers, the lending one among them. So it is off while they are lent.
  void allow_reset(bool allowed);
  [[nodiscard]] bool kept_from_reset() const;

 private:
  [[nodiscard]] std::string at(std::string_view attribute) const;
  [[nodiscard]] unsigned number(std::string_view attribute) const;
  [[nodiscard]] Outcome<void> write(std::string_view attribute, std::string_view value, std::string_view what);

  Sysfs& sysfs_;
  std::string physical_;
};

}  // namespace smartio::ctl
