// SPDX-License-Identifier: GPL-2.0
// Firmware Image Download and Firmware Commit (sections 5.11 and 5.12).
#include "fabric/nvme/drive_state.h"
#include "fabric/nvme/io_range.h"

namespace smartio::nvme {

Status firmware_download(ActiveCommand& x) {
  const std::uint64_t bytes = (std::uint64_t{x.entry.cdw10} + 1) * 4;
  const std::uint64_t offset = std::uint64_t{x.entry.cdw11} * 4;
  if (bytes > x.drive.config.max_transfer() || bytes > Firmware::kMaxImage) {
    return x.refuse(status::kInvalidField, at::kDword10);
  }
  const auto piece = buffer(x.drive.data, bytes);
  if (const Status fetched = x.fetch(piece); !fetched.ok()) return fetched;
  const Status taken = x.drive.firmware.download(offset, piece);
  return taken.ok() ? taken : x.refuse(taken, at::kDword11);
}

Status firmware_commit(ActiveCommand& x) {
  // A boot partition update (bit 31) is refused with the actions that are for it.
  const Status committed = x.drive.firmware.commit(x.entry.cdw10 >> 3U & 7U, x.entry.cdw10 & 7U);
  return committed.ok() ? committed : x.refuse(committed, at::kDword10);
}

}  // namespace smartio::nvme
