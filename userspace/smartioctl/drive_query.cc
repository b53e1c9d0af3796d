// SPDX-License-Identifier: GPL-2.0
#include "smartioctl/drive_query.h"

#include <algorithm>

namespace smartio::ctl {

namespace {

constexpr std::uint8_t kIdentifyController = 1;
constexpr std::uint8_t kGetFeatures = 0x0a;
constexpr std::uint32_t kNumberOfQueues = 7;
constexpr std::size_t kSgls = 536;

}  // namespace

std::optional<DriveAnswer> DriveQuery::ask(const std::string& controller) const {
  const auto page = admin_.identify(controller, kIdentifyController);
  if (!page) return {};
  nvme_admin_cmd queues{};
  queues.opcode = kGetFeatures;
  queues.cdw10 = kNumberOfQueues;
  if (admin_.send(controller, queues) != 0) return {};
  // SGLS bits 1:0: 0 none, 1 any alignment, 2 dwords. NSQA and NCQA are 0's based.
  return DriveAnswer{.sgl = ((*page)[kSgls] & 3U) != 0,
                     .queue_pairs = std::min(queues.result & 0xffffU, queues.result >> 16U) + 1};
}

}  // namespace smartio::ctl
