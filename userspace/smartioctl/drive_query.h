// SPDX-License-Identifier: GPL-2.0
// Properties that only an NVMe controller itself knows, asked by admin commands that change nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "smartioctl/nvme_admin.h"

namespace smartio::ctl {

struct DriveAnswer {
  bool sgl = false;          ///< it takes SGLs for data (Identify Controller, SGLS)
  unsigned queue_pairs = 0;  ///< I/O queue pairs that its driver got from it; it may have more
};

class DriveQuery {
 public:
  /// `dev` has the device files: "/dev", or that of another tree.
  explicit DriveQuery(std::filesystem::path dev) : admin_(std::move(dev)) {}
  DriveQuery(const DriveQuery&) = delete;
  DriveQuery& operator=(const DriveQuery&) = delete;
  virtual ~DriveQuery() = default;
  /// `controller` is nvme-core's name of it: "nvme0". None if it can't be asked: that takes root.
  [[nodiscard]] virtual std::optional<DriveAnswer> ask(const std::string& controller) const;

 private:
  NvmeAdmin admin_;
};

}  // namespace smartio::ctl
