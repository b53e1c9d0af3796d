// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include <set>

#include "tests/drivers/smartio_nvme/driver.h"

namespace {

constexpr u16 kDnr = 0x4000;

nvme_command command(u8 opcode, u32 cdw10 = 0, u32 cdw11 = 0) {
  nvme_command cmd{};
  cmd.common.opcode = opcode;
  cmd.common.cdw10 = cdw10;
  cmd.common.cdw11 = cdw11;
  return cmd;
}

void expect_refused(const nvme_command& cmd, u16 status) {
  const admin_verdict verdict = admin_classify(&cmd);
  EXPECT_EQ(verdict.treatment, ADMIN_REFUSE) << unsigned{cmd.common.opcode} << " " << cmd.common.cdw10;
  EXPECT_EQ(verdict.status, status | kDnr) << unsigned{cmd.common.opcode} << " " << cmd.common.cdw10;
}

TEST(AdminTable, UnknownCommandsAreRefused) {
  const std::set<unsigned> known = {nvme_admin_identify,     nvme_admin_get_log_page, nvme_admin_get_features,
                                    nvme_admin_set_features, nvme_admin_abort_cmd,    nvme_admin_async_event};
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    EXPECT_EQ(admin_supported(static_cast<u8>(opcode)), known.contains(opcode)) << opcode;
    if (!known.contains(opcode)) expect_refused(command(static_cast<u8>(opcode)), NVME_SC_INVALID_OPCODE);
  }
  expect_refused(command(nvme_admin_async_event), NVME_SC_ASYNC_LIMIT);
}

// Only these pass a command with an effect, and none of them reaches the drive.
TEST(AdminTable, NoSetFeaturesPasses) {
  for (u32 fid = 0; fid < 256; ++fid) {
    const nvme_command cmd = command(nvme_admin_set_features, fid);
    EXPECT_NE(admin_classify(&cmd).treatment, ADMIN_PASS) << fid;
  }
  expect_refused(command(nvme_admin_set_features, NVME_FEAT_VOLATILE_WC), NVME_SC_FEATURE_NOT_CHANGEABLE);
  expect_refused(command(nvme_admin_set_features, NVME_FEAT_KATO), NVME_SC_INVALID_FIELD);
  expect_refused(command(nvme_admin_set_features, NVME_FEAT_NUM_QUEUES | 1U << 31U), NVME_SC_FEATURE_NOT_SAVEABLE);
}

TEST(AdminTable, FlagsAreRefused) {
  nvme_command cmd = command(nvme_admin_identify, NVME_ID_CNS_CTRL);
  EXPECT_EQ(admin_classify(&cmd).treatment, ADMIN_IDENTIFY_CTRL);
  for (unsigned flags = 1; flags < 256; ++flags) {
    cmd.common.flags = static_cast<u8>(flags);
    expect_refused(cmd, NVME_SC_INVALID_FIELD);
  }
}

TEST(AdminTable, IdentifyIsOnePageAndNamesNoController) {
  nvme_command cmd = command(nvme_admin_identify, NVME_ID_CNS_NS_ACTIVE_LIST);
  EXPECT_EQ(admin_classify(&cmd).data_len, 4096U);
  expect_refused(command(nvme_admin_identify, NVME_ID_CNS_CTRL | 1U << 16U), NVME_SC_INVALID_FIELD);
  expect_refused(command(nvme_admin_identify, NVME_ID_CNS_CTRL_LIST), NVME_SC_INVALID_FIELD);
}

nvme_command get_log(u8 lid, u64 dwords, u64 offset = 0) {
  nvme_command cmd{};
  cmd.get_log_page.opcode = nvme_admin_get_log_page;
  cmd.get_log_page.lid = lid;
  cmd.get_log_page.numdl = static_cast<u16>(dwords - 1);
  cmd.get_log_page.numdu = static_cast<u16>((dwords - 1) >> 16U);
  cmd.get_log_page.lpol = static_cast<u32>(offset);
  cmd.get_log_page.lpou = static_cast<u32>(offset >> 32U);
  return cmd;
}

// The manager has memory for exactly the data that the drive would transfer.
TEST(AdminTable, LogLengthIsTheCommands) {
  nvme_command cmd = get_log(NVME_LOG_SMART, 128);
  EXPECT_EQ(admin_classify(&cmd).data_len, 512U);
  cmd = get_log(NVME_LOG_ERROR, SNVME_ADMIN_DATA_MAX / 4);
  EXPECT_EQ(admin_classify(&cmd).data_len, unsigned{SNVME_ADMIN_DATA_MAX});
  expect_refused(get_log(NVME_LOG_ERROR, SNVME_ADMIN_DATA_MAX / 4 + 1), NVME_SC_INVALID_FIELD);
  expect_refused(get_log(NVME_LOG_ERROR, 1ULL << 32U), NVME_SC_INVALID_FIELD);
  expect_refused(get_log(NVME_LOG_TELEMETRY_HOST, 128), NVME_SC_INVALID_LOG_PAGE);
}

TEST(AdminTable, OffsetsOfOwnLogsAreChecked) {
  nvme_command cmd = get_log(NVME_LOG_CMD_EFFECTS, 128, 4096);
  EXPECT_EQ(admin_classify(&cmd).treatment, ADMIN_LOG_EFFECTS);
  expect_refused(get_log(NVME_LOG_CMD_EFFECTS, 128, 4100), NVME_SC_INVALID_FIELD);
  expect_refused(get_log(NVME_LOG_CHANGED_NS, 128, 2), NVME_SC_INVALID_FIELD);
  expect_refused(get_log(NVME_LOG_CHANGED_NS, 128, 1ULL << 40U), NVME_SC_INVALID_FIELD);
}

TEST(AdminTable, HostIdentifierHasItsLength) {
  nvme_command cmd = command(nvme_admin_get_features, NVME_FEAT_HOST_ID, 1);
  EXPECT_EQ(admin_classify(&cmd).data_len, 16U);
  cmd = command(nvme_admin_set_features, NVME_FEAT_HOST_ID, 0);
  EXPECT_EQ(admin_classify(&cmd).data_len, 8U);
  cmd = command(nvme_admin_get_features, NVME_FEAT_HOST_ID | 3U << 8U, 1);
  EXPECT_EQ(admin_classify(&cmd).data_len, 0U);
  expect_refused(command(nvme_admin_get_features, NVME_FEAT_HOST_ID | 4U << 8U), NVME_SC_INVALID_FIELD);
}

}  // namespace
