// SPDX-License-Identifier: GPL-2.0
// Requests of clients, and the admin commands in them: for any bytes, an accepted request is within its bounds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/drivers/smartio_nvme/driver.h"

namespace {

void require(bool held) {
  if (!held) std::abort();
}

void check_admin(const snvme_admin& admin) {
  nvme_command cmd{};
  std::memcpy(&cmd, admin.sqe, sizeof(cmd));
  require(admin.data_len <= SNVME_ADMIN_DATA_MAX);
  if (admin.data != nullptr) require(admin.data[admin.data_len - 1] <= 0xFF);  // readable to its end
  const admin_verdict verdict = admin_classify(&cmd);
  if (verdict.treatment == ADMIN_REFUSE) {
    require((verdict.status & 0x7FF) != 0 && (verdict.status & NVME_STATUS_DNR) != 0);
    return;
  }
  require(admin_supported(cmd.common.opcode));
  require(verdict.data_len <= SNVME_ADMIN_DATA_MAX);
  if (cmd.common.opcode == nvme_admin_set_features) require(verdict.treatment != ADMIN_PASS);
}

void check_reservation(const snvme_admin& admin) {
  nvme_command cmd{};
  std::memcpy(&cmd, admin.sqe, sizeof(cmd));
  if (!resv_is_command(cmd.common.opcode)) return;
  resv_command command{};
  const std::size_t size = admin.write ? admin.data_len : 0;
  if (const u16 status = resv_parse(&cmd, admin.data, size, &command); status != 0) {
    require((status & NVME_STATUS_DNR) != 0);
    return;
  }
  resv_ns ns{};
  resv_outcome outcome{};
  constexpr u8 kHost[RESV_HOST_BYTES] = {1};
  if (command.opcode == nvme_cmd_resv_report) return;
  if (resv_execute(&ns, kHost, &command, &outcome) == 0) require(outcome.count == 0 && ns.count <= 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr u32 kMaxEntries = 4096;
  const std::vector<std::uint8_t> message(data, data + size);  // so that a byte too far is noticed
  snvme_request request{};
  if (snvme_check_request(message.data(), message.size(), kMaxEntries, &request) != 0) return 0;
  switch (request.op) {
    case SNVME_ADMIN:
      check_admin(request.admin);
      break;
    case SNVME_RESERVATION:
      check_reservation(request.admin);
      break;
    case SNVME_CREATE:
      require(request.create.entries >= 2 && request.create.entries <= kMaxEntries);
      require(request.create.cq_addr % SNVME_QUEUE_ALIGN == 0 && request.create.sq_addr % SNVME_QUEUE_ALIGN == 0);
      require(request.create.placement <= SNVME_SQ_CMB);
      break;
    case SNVME_DELETE:
    case SNVME_ABORT:
      require(request.qid != 0);
      break;
    case SNVME_ATTACH:
    case SNVME_ACCESS:
      break;
  }
  return 0;
}
