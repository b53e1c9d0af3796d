// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/drive_query.h"

#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>

#include "base/unique_fd.h"

namespace smartio::ctl {

namespace {

constexpr std::uint8_t kIdentify = 0x06;
constexpr std::uint32_t kIdentifyController = 1;
constexpr std::uint8_t kGetFeatures = 0x0a;
constexpr std::uint32_t kNumberOfQueues = 7;
constexpr std::size_t kSgls = 536;
constexpr std::uint32_t kPatienceMs = 5000;

}  // namespace

std::optional<DriveAnswer> DriveQuery::ask(const std::string& controller) const {
  const UniqueFd fd(::open((dev_ / controller).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return {};
  std::array<std::uint8_t, 4096> page{};
  nvme_admin_cmd identify{};
  identify.opcode = kIdentify;
  identify.addr = reinterpret_cast<std::uintptr_t>(page.data());
  identify.data_len = page.size();
  identify.cdw10 = kIdentifyController;
  identify.timeout_ms = kPatienceMs;
  if (::ioctl(fd.get(), NVME_IOCTL_ADMIN_CMD, &identify) != 0) return {};
  nvme_admin_cmd queues{};
  queues.opcode = kGetFeatures;
  queues.cdw10 = kNumberOfQueues;
  queues.timeout_ms = kPatienceMs;
  if (::ioctl(fd.get(), NVME_IOCTL_ADMIN_CMD, &queues) != 0) return {};
  // SGLS bits 1:0: 0 none, 1 any alignment, 2 dwords. NSQA and NCQA are 0's based.
  return DriveAnswer{.sgl = (page[kSgls] & 3U) != 0,
                     .queue_pairs = std::min(queues.result & 0xffffU, queues.result >> 16U) + 1};
}

}  // namespace smartio::ctl
