// SPDX-License-Identifier: GPL-2.0
// The uses of a disk on this host: they would break without its driver.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "smartioctl/sysfs.h"

namespace smartio::ctl {

/// One line of /proc/PID/mountinfo.
struct Mount {
  std::string device;  ///< "259:1"; file systems of several disks have one of their own
  std::string source;  ///< "/dev/nvme0n1p1"
  std::string point;
};
std::vector<Mount> parse_mounts(std::string_view mountinfo);
/// The devices of /proc/swaps.
std::vector<std::string> parse_swaps(std::string_view swaps);

class DiskUse {
 public:
  /// `proc` and `dev` are /proc and /dev, or folders like them.
  DiskUse(const Sysfs& sysfs, std::filesystem::path proc, std::filesystem::path dev)
      : sysfs_(sysfs), proc_(std::move(proc)), dev_(std::move(dev)) {}
  virtual ~DiskUse() = default;

  /// Each use of the disk ("nvme0n1") and of its partitions, as a phrase: "nvme0n1p1 is mounted on /data".
  [[nodiscard]] std::vector<std::string> of(const std::string& disk) const;
  /// Each process that has `node` ("/dev/vfio/11") open, as a phrase: "process 42 (qemu) has /dev/vfio/11 open".
  [[nodiscard]] std::vector<std::string> openers(const std::string& node) const;

 protected:
  /// Whether the disk or a partition of it is claimed for exclusive use, as by file systems, swap, md, LVM and
  /// dm-crypt. Claims in all mount namespaces count.
  [[nodiscard]] virtual bool claimed(const std::filesystem::path& node) const;

 private:
  const Sysfs& sysfs_;
  std::filesystem::path proc_;
  std::filesystem::path dev_;
};

}  // namespace smartio::ctl
