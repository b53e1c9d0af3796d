// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace smartio::ctl {

/// The running system besides sysfs, as far as this tool uses it. Tests have their own.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// modprobe NAME; its own words if it fails.
  virtual Result<void> load_module(const std::string& name);
  /// Lines of the kernel log that contain `part`, the last few of them, without time.
  virtual std::vector<std::string> log_lines(std::string_view part);
  virtual void pause(std::chrono::milliseconds time);
  /// Enables the unit that lends at boot, where systemd runs. An empty text, or the steps that the user must take.
  virtual std::string enable_at_boot();
  /// Whether there is initramfs-tools' update-initramfs.
  virtual bool has_update_initramfs();
  /// update-initramfs -u, which takes many seconds; its own words if it fails.
  virtual Result<void> update_initramfs();
};

}  // namespace smartio::ctl
