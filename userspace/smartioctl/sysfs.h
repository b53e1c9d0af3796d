// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/result.h"

namespace smartio::ctl {

/// The folder of a PCI function ("0000:01:00.0") in sysfs.
inline std::string device_path(std::string_view pci) { return "bus/pci/devices/" + std::string(pci); }

/// The sysfs of this host, or, with another root, a tree of files like it. Paths are relative to the root. A missing
/// file reads as empty: devices come and go while the tool looks at them.
class Sysfs {
 public:
  explicit Sysfs(std::filesystem::path root) : root_(std::move(root)) {}
  Sysfs(const Sysfs&) = delete;
  Sysfs& operator=(const Sysfs&) = delete;
  virtual ~Sysfs() = default;

  [[nodiscard]] std::filesystem::path path(std::string_view relative) const { return root_ / relative; }
  [[nodiscard]] bool exists(const std::string& relative) const;
  /// The whole attribute, at most 64 KiB of it; empty if it can't be read.
  [[nodiscard]] std::string read(const std::string& relative) const;
  /// The attribute as one word or phrase: without the line's end, fit for a terminal.
  [[nodiscard]] std::string text(const std::string& relative) const;
  /// Names in a folder, sorted; none if there is no such folder.
  [[nodiscard]] std::vector<std::string> list(const std::string& relative) const;
  /// Those of a class's devices. Attributes of the class lie in the same folder, and are no folders.
  [[nodiscard]] std::vector<std::string> devices(const std::string& relative) const;
  /// The last part of a symbolic link's target, e.g. the driver's name; empty if there is no link.
  [[nodiscard]] std::string link(const std::string& relative) const;
  /// Writes an attribute; the kernel's answer is the error code.
  virtual std::error_code write(const std::string& relative, std::string_view value);

 private:
  std::filesystem::path root_;
};

}  // namespace smartio::ctl
