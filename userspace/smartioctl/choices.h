// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "smartioctl/function.h"

namespace smartio::ctl {

/// A device that this host lends at every boot. Addresses move and serial numbers are known only once a driver runs the
/// drive, so both are kept. The udev rule goes by the address and the IDs; `lend --all` corrects the choices whose
/// devices moved.
struct Choice {
  std::string pci;     ///< "0000:01:00.0", which is the file's name too
  std::string vendor;  ///< "0x1234", as sysfs has it
  std::string device;
  std::string serial;       ///< empty if it was not known
  std::string model;        ///< for people
  std::string as = "nvme";  ///< the service: "nvme" or "pci"
  unsigned vfs = 0;         ///< lend this number of the device's virtual functions, not the device
  Permissions permissions{};
};

/// The choices, one file each in a folder: /etc/smartio/lend.d/0000:01:00.0.conf, TOML with one key a line, which the
/// udev rule's helper reads too.
class Choices {
 public:
  struct Found {
    std::vector<Choice> choices;          ///< by address
    std::vector<std::string> complaints;  /// files that can't be read as one, and why
  };

  explicit Choices(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] Found read() const;
  /// Writes the file whole or not at all; it is on the disk when this returns.
  [[nodiscard]] Result<void> keep(const Choice& choice) const;
  /// True if there was one.
  [[nodiscard]] Result<bool> forget(const std::string& pci) const;
  [[nodiscard]] std::filesystem::path file(const std::string& pci) const { return folder_ / (pci + ".conf"); }

 private:
  std::filesystem::path folder_;
};

}  // namespace smartio::ctl
