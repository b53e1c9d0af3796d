// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <linux/nvme_ioctl.h>

#include <array>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <string>

namespace smartio::ctl {

/// Admin commands to NVMe controllers, through nvme-core's character devices. It takes root.
class NvmeAdmin {
 public:
  /// `dev` has the device files: "/dev", or that of another tree.
  explicit NvmeAdmin(std::filesystem::path dev) : dev_(std::move(dev)) {}
  NvmeAdmin(const NvmeAdmin&) = delete;
  NvmeAdmin& operator=(const NvmeAdmin&) = delete;
  virtual ~NvmeAdmin() = default;
  /// `controller` is nvme-core's name of it: "nvme0". Waits for the completion, some seconds at most. 0 if it was
  /// successful, with its dword 0 in `command.result`; a positive status field (NVM Express Base Specification 2.1,
  /// 4.2.3); or a negative errno.
  [[nodiscard]] virtual int send(const std::string& controller, nvme_admin_cmd& command) const;

  using Page = std::array<std::uint8_t, 4096>;
  /// The data that Identify returns for this CNS (5.1.13), with 0 for all else in the command; or send()'s error.
  [[nodiscard]] std::expected<Page, int> identify(const std::string& controller, std::uint8_t cns) const;

 private:
  std::filesystem::path dev_;
};

}  // namespace smartio::ctl
