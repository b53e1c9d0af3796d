// SPDX-License-Identifier: GPL-2.0
// Command set and queue engine together: the calls from each to the other.
#include "fabric/nvme/drive.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "fabric/nvme/spec_log.h"
#include "fabric/nvme/test_host.h"

namespace smartio::nvme {
namespace {

class DriveTest : public ::testing::Test {
 protected:
  DriveTest() {
    drive.controller().bind(memory);
    host.enable();
    EXPECT_TRUE(host.create_pair(1));
    EXPECT_TRUE(host.create_pair(2));
  }
  static DriveConfig config() {
    DriveConfig config;
    config.name = "drive0";
    config.host = "lender";
    config.namespaces = {{.size = 1 << 20, .block_size = 512}};
    return config;
  }
  SubmissionEntry admin_entry(AdminOpcode opcode, std::uint32_t nsid, std::uint32_t cdw10, std::uint32_t cdw11 = 0) {
    SubmissionEntry entry{};
    entry.opcode = static_cast<std::uint8_t>(opcode);
    entry.cid = host.next_cid++;
    entry.nsid = nsid;
    entry.prp1 = TestHost::kData;
    entry.cdw10 = cdw10;
    entry.cdw11 = cdw11;
    return entry;
  }
  /// The newest entries of the Error Information log, as the host reads it.
  std::array<ErrorLogEntry, 4> errors() {
    std::array<ErrorLogEntry, 4> log{};
    const std::uint32_t dwords = sizeof(log) / 4;
    EXPECT_TRUE(host.command(admin_entry(AdminOpcode::get_log_page, kNsidAll,
                                         static_cast<std::uint32_t>(LogId::error_information) | (dwords - 1) << 16)));
    std::memcpy(log.data(), memory.at(TestHost::kData, sizeof(log)).data(), sizeof(log));
    return log;
  }

  HostMemory memory{TestHost::kMemory};
  Drive drive{config()};
  TestHost host{drive.controller(), memory};
};

TEST_F(DriveTest, TheErrorLogNamesTheSubmissionQueue) {
  for (const unsigned queue : {1U, 2U}) {
    const SubmissionEntry beyond = host.io_entry(IoOpcode::read, 1 << 20);
    host.submit(queue, beyond);
    host.run();
    ASSERT_TRUE(host.poll(queue));
    EXPECT_EQ(errors()[0].sqid, queue);
    EXPECT_EQ(errors()[0].cid, beyond.cid);
  }
  ASSERT_TRUE(host.command(admin_entry(AdminOpcode::identify, 0, 0xFF)));
  EXPECT_EQ(errors()[0].sqid, 0);
}

TEST_F(DriveTest, TheErrorLogNamesTheSubmissionQueueOfAFusedPair) {
  SubmissionEntry compare = host.io_entry(IoOpcode::compare, 1 << 20);
  SubmissionEntry write = host.io_entry(IoOpcode::write, 1 << 20);
  compare.flags = static_cast<std::uint8_t>(Fuse::first);
  write.flags = static_cast<std::uint8_t>(Fuse::second);
  host.submit(2, compare, false);
  host.submit(2, write);
  host.run();
  const auto log = errors();
  EXPECT_EQ(log[1].sqid, 2);
  EXPECT_EQ(log[1].cid, compare.cid);
  EXPECT_EQ(log[0].sqid, 2);
  EXPECT_EQ(log[0].cid, write.cid);
}

TEST_F(DriveTest, TheAdminLogHasWhatTheHostSent) {
  const auto before = drive.controller().admin_log();
  ASSERT_TRUE(host.command(admin_entry(AdminOpcode::get_features, 7, 0x304, 0x1234)));
  host.submit(1, host.io_entry(IoOpcode::flush));
  host.run();
  const auto log = drive.controller().admin_log();
  ASSERT_EQ(log.size(), before.size() + 1) << "and no I/O command";
  EXPECT_EQ(log.front().number, 1U);
  EXPECT_EQ(log.back().number, log.size());
  EXPECT_EQ(log.back().command.opcode, static_cast<std::uint8_t>(AdminOpcode::get_features));
  EXPECT_EQ(log.back().command.nsid, 7U);
  EXPECT_EQ(log.back().command.cdw10, 0x304U);
  EXPECT_EQ(log.back().command.cdw11, 0x1234U);
}

TEST_F(DriveTest, TheAdminLogHasTheOrderInWhichCommandsEnd) {
  Faults& faults = drive.controller().faults();
  const auto last = drive.controller().admin_log().back();
  faults.add({.action = FaultRule::Action::hold, .filter = {.queue = 0}, .count = 1});
  SubmissionEntry first = admin_entry(AdminOpcode::get_features, 0, 1, 0);
  first.cid = 0x700;
  host.submit(0, first);
  host.run();
  ASSERT_TRUE(host.command(admin_entry(AdminOpcode::get_features, 0, 1, 0)));
  auto log = drive.controller().admin_log();
  EXPECT_EQ(log[log.size() - 2].ended_before, last.ended);
  EXPECT_EQ(log[log.size() - 2].ended, 0U);
  EXPECT_EQ(log.back().ended_before, last.ended);
  EXPECT_EQ(log.back().ended, last.ended + 1);
  faults.release_all();
  host.run();
  log = drive.controller().admin_log();
  EXPECT_EQ(log[log.size() - 2].ended, last.ended + 2);
}

TEST_F(DriveTest, TheAdminLogKeepsTheLastOnes) {
  const std::uint64_t before = drive.controller().admin_log().back().number;
  for (std::uint32_t n = 1; n <= AdminLog::kEntries + 1; ++n)
    ASSERT_TRUE(host.command(admin_entry(AdminOpcode::get_features, 0, 1, n)));
  const auto log = drive.controller().admin_log();
  ASSERT_EQ(log.size(), AdminLog::kEntries);
  EXPECT_EQ(log.front().command.cdw11, 2U);
  EXPECT_EQ(log.front().number, before + 2);
  EXPECT_EQ(log.back().number, before + AdminLog::kEntries + 1);
}

}  // namespace
}  // namespace smartio::nvme
