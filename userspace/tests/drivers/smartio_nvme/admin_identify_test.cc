// SPDX-License-Identifier: GPL-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tests/drivers/smartio_nvme/driver.h"

namespace {

TEST(AdminIdentify, ControllerIsOneOfSeveralWithoutOptionalCommands) {
  nvme_id_ctrl id{};
  static_assert(sizeof(id) == 4096);
  std::memset(&id, 0xFF, sizeof(id));
  const std::string nqn = "nqn.2014-08.org.nvmexpress:uuid:0";
  const admin_view view{.cntlid = 0x1234, .mdts = 5, .subnqn = nqn.c_str()};
  admin_rewrite_ctrl(&id, &view);
  EXPECT_EQ(id.cntlid, 0x1234);
  EXPECT_EQ(id.mdts, 5);
  EXPECT_EQ(std::string(id.subnqn), nqn);
  EXPECT_EQ(id.cmic, NVME_CTRL_CMIC_MULTI_CTRL);
  EXPECT_EQ(id.oacs, 0);
  EXPECT_EQ(id.kas, 0);
  EXPECT_EQ(id.hmpre, 0U);
  EXPECT_EQ(id.sanicap, 0U);
  EXPECT_EQ(id.oaes, static_cast<u32>(NVME_AEN_CFG_NS_ATTR));
  EXPECT_EQ(id.oncs & NVME_CTRL_ONCS_TIMESTAMP, 0);
  EXPECT_EQ(id.ctratt, static_cast<u32>(NVME_CTRL_ATTR_HID_128_BIT));
  EXPECT_NE(id.oncs & NVME_CTRL_ONCS_WRITE_ZEROES, 0);
  EXPECT_EQ(id.lpa & 0x08, 0) << "telemetry";
  EXPECT_EQ(id.sgls, 0xFFFFFFFFU) << "the drive's";
  EXPECT_EQ(id.vwc, 0xFF) << "the drive's";
  EXPECT_EQ(id.npss, 0);
}

// The manager's own reservations, whether or not the drive has any.
TEST(AdminIdentify, ReservationsAreThere) {
  nvme_id_ctrl id{};
  const admin_view view{.cntlid = 1, .mdts = 5, .subnqn = "nqn.x"};
  admin_rewrite_ctrl(&id, &view);
  EXPECT_EQ(id.oncs, NVME_CTRL_ONCS_RESERVATIONS);
  nvme_id_ns ns{};
  ns.nsze = ns.ncap = 100;
  admin_rewrite_ns(&ns);
  EXPECT_EQ(ns.rescap, 0xFF);
  nvme_effects_log log{};
  admin_rewrite_effects(&log);
  for (const unsigned opcode : {0x0DU, 0x0EU, 0x11U, 0x15U}) EXPECT_EQ(log.iocs[opcode], 1U) << opcode;
}

TEST(AdminIdentify, LongSubsystemNameIsCut) {
  nvme_id_ctrl id{};
  const std::string nqn(400, 'x');
  const admin_view view{.cntlid = 1, .mdts = 5, .subnqn = nqn.c_str()};
  admin_rewrite_ctrl(&id, &view);
  EXPECT_EQ(id.subnqn[255], 0);
  EXPECT_EQ(strnlen(id.subnqn, sizeof(id.subnqn)), 255U);
}

TEST(AdminIdentify, NamespaceIsShared) {
  nvme_id_ns id{};
  id.nsze = id.ncap = 100;
  admin_rewrite_ns(&id);
  EXPECT_EQ(id.nmic, NVME_NS_NMIC_SHARED);
}

TEST(AdminIdentify, InactiveNamespaceStaysZero) {
  nvme_id_ns id{};
  admin_rewrite_ns(&id);
  EXPECT_EQ(id.nmic, 0);
  nvme_id_ns_cs_indep indep{};
  admin_rewrite_ns_indep(&indep);
  EXPECT_EQ(indep.nmic, 0);
  indep.nstat = 1;
  admin_rewrite_ns_indep(&indep);
  EXPECT_EQ(indep.nmic, NVME_NS_NMIC_SHARED);
}

TEST(AdminIdentify, EffectsLogHidesWhatIsRefused) {
  nvme_effects_log log{};
  static_assert(sizeof(log) == ADMIN_LOG_BYTES);
  for (auto& one : log.acs) one = 1;
  for (auto& one : log.iocs) one = 1;
  admin_rewrite_effects(&log);
  EXPECT_EQ(log.acs[nvme_admin_format_nvm], 0U);
  EXPECT_EQ(log.acs[nvme_admin_identify], 1U);
  EXPECT_EQ(log.iocs[nvme_cmd_write], 1U);
}

TEST(AdminIdentify, CapLosesWhatAClientHasNot) {
  EXPECT_EQ(admin_rewrite_cap(~0ULL) & (1ULL << 36U | 1ULL << 57U | 3ULL << 59U), 0U);
  EXPECT_EQ(admin_rewrite_cap(0x00F000FF) & 0xFFFF, 0xFFU) << "MQES";
}

TEST(AdminIdentify, MdtsIsTheSmallerOne) {
  EXPECT_EQ(admin_mdts(0, 0, 1U << 20U), 8) << "no limit of the drive: 1 MiB of 4 KiB pages";
  EXPECT_EQ(admin_mdts(5, 0, 1U << 20U), 5);
  EXPECT_EQ(admin_mdts(9, 0, 1U << 20U), 8);
  EXPECT_EQ(admin_mdts(0, 1ULL << 48U, 1U << 20U), 7) << "MPSMIN 8 KiB";
}

}  // namespace
