// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/eventually.h"
#include "fabric/nvme/test_host.h"

namespace smartio::nvme {
namespace {

using ::testing::ElementsAre;

constexpr std::uint16_t code(Status status) { return static_cast<std::uint16_t>(status.sct << 8 | status.sc); }
std::uint16_t code(const CompletionEntry& entry) { return static_cast<std::uint16_t>(entry.status >> 1 & 0x7FF); }

class ControllerTest : public ::testing::Test {
 protected:
  explicit ControllerTest(ControllerConfig config = {.queue_pairs = 4}) : controller(config, commands) {
    controller.bind(memory);
  }
  FakeCommands commands;
  HostMemory memory{TestHost::kMemory};
  Controller controller;
  TestHost host{controller, memory};
};

TEST_F(ControllerTest, EnablesAndDisables) {
  EXPECT_EQ(host.csts(), 0U);
  host.enable();
  EXPECT_EQ(host.csts(), csts::kReady);
  EXPECT_EQ(controller.engine().submission_queues(), 1U);
  host.disable();
  EXPECT_EQ(host.csts(), 0U);
  EXPECT_EQ(controller.engine().submission_queues(), 0U);
  EXPECT_EQ(commands.resets, 1);
  EXPECT_TRUE(memory.tags.empty());
  EXPECT_EQ(host.read64(reg::kAsq), TestHost::kAdminSq) << "a controller reset keeps ASQ";
}

TEST_F(ControllerTest, CarriesOutAnAdminCommand) {
  host.enable();
  SubmissionEntry identify{};
  identify.opcode = 0x06;
  identify.cid = 77;
  identify.prp1 = TestHost::kData;
  const auto done = host.command(identify);
  ASSERT_TRUE(done);
  EXPECT_EQ(code(*done), 0);
  EXPECT_EQ(done->cid, 77);
  EXPECT_EQ(done->sq_head, 1);
  EXPECT_EQ(done->sq_id, 0);
  EXPECT_EQ(memory.at(TestHost::kData, 1)[0], std::byte{0x1D});
  EXPECT_EQ(memory.interrupts[0], 1U);
}

TEST_F(ControllerTest, ReadsWhatItWrote) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  std::ranges::fill(memory.at(TestHost::kData, 4096), std::byte{0xA5});
  host.submit(1, host.io_entry(IoOpcode::write, 16));
  host.run();
  auto done = host.poll(1);
  ASSERT_TRUE(done);
  EXPECT_EQ(code(*done), 0);
  host.submit(1, host.io_entry(IoOpcode::read, 16, 8, TestHost::kData + 0x1000));
  host.run();
  done = host.poll(1);
  ASSERT_TRUE(done);
  EXPECT_EQ(code(*done), 0);
  EXPECT_EQ(memory.at(TestHost::kData + 0x1FFF, 1)[0], std::byte{0xA5});
  EXPECT_EQ(memory.interrupts[1], 2U);
  EXPECT_GE(memory.reads[static_cast<std::size_t>(pci::AccessKind::command)], 2U);
}

TEST_F(ControllerTest, FetchesABurstAndInterruptsOnce) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  const unsigned before = memory.reads[static_cast<std::size_t>(pci::AccessKind::command)];
  for (int index = 0; index < 20; ++index) host.submit(1, host.io_entry(IoOpcode::read), index == 19);
  host.run();
  EXPECT_EQ(memory.reads[static_cast<std::size_t>(pci::AccessKind::command)] - before, 1U);
  EXPECT_EQ(memory.interrupts[1], 1U);
  for (int index = 0; index < 20; ++index) EXPECT_TRUE(host.poll(1)) << index;
  EXPECT_FALSE(host.poll(1));
}

TEST_F(ControllerTest, WrapsItsQueuesManyTimes) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1, 8, 5));
  for (int index = 0; index < 100; ++index) {
    const SubmissionEntry entry = host.io_entry(IoOpcode::flush);
    host.submit(1, entry);
    host.run();
    const auto done = host.poll(1);
    ASSERT_TRUE(done) << index;
    EXPECT_EQ(done->cid, entry.cid);
    EXPECT_EQ(done->sq_head, host.ring_of(1).tail);
  }
}

TEST_F(ControllerTest, NeverOverwritesACompletionTheHostHasNotSeen) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1, 16, 4));
  std::vector<std::uint16_t> sent;
  for (int index = 0; index < 10; ++index) {
    sent.push_back(host.next_cid);
    host.submit(1, host.io_entry(IoOpcode::flush));
  }
  host.run();
  std::vector<std::uint16_t> seen;
  for (int round = 0; round < 10; ++round) {
    while (const auto done = host.poll(1)) seen.push_back(done->cid);
    host.run();
  }
  EXPECT_EQ(seen, sent);
}

TEST_F(ControllerTest, SurvivesAFullQueueThatIsShared) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1, 16, 4));
  host.io[2] = host.io[1];
  host.io[2].sq = TestHost::kQueues + 2 * 0x4000;
  ASSERT_TRUE(host.command(host.create_sq_entry(2, 16, host.io[2].sq, 1)));
  for (int index = 0; index < 8; ++index) {
    host.submit(1, host.io_entry(IoOpcode::flush));
    host.submit(2, host.io_entry(IoOpcode::flush));
  }
  std::array<int, 3> seen{};
  for (int round = 0; round < 20; ++round) {
    host.run();
    while (const auto done = host.poll(1)) ++seen.at(done->sq_id);
  }
  EXPECT_THAT(seen, ElementsAre(0, 8, 8));
}

TEST_F(ControllerTest, AFailedFetchIsFatal) {
  host.enable();
  const auto cq = host.command(host.create_cq_entry(1, 8, TestHost::kQueues, 1));
  ASSERT_TRUE(cq);
  const auto sq = host.command(host.create_sq_entry(1, 8, 0x7000000000, 1));
  ASSERT_TRUE(sq);
  ASSERT_EQ(code(*sq), 0);
  host.sq_doorbell(1, 1);
  host.run();
  EXPECT_EQ(host.csts(), csts::kReady | csts::kFatal);
  EXPECT_EQ(controller.counters().fatal, 1U);
  host.disable();
  EXPECT_EQ(host.csts(), 0U);
  host.enable();
  EXPECT_EQ(host.csts(), csts::kReady);
}

TEST_F(ControllerTest, RefusesToEnableWithAWrongConfiguration) {
  const std::uint32_t wrong[] = {
      TestHost::kCc | 1U << 4,                    // CSS
      TestHost::kCc | 9U << 7,                    // MPS
      TestHost::kCc | 1U << 11,                   // AMS
      (TestHost::kCc & ~(15U << 16)) | 7U << 16,  // IOSQES
      (TestHost::kCc & ~(15U << 20)) | 5U << 20,  // IOCQES
  };
  for (const std::uint32_t cc : wrong) {
    host.enable(cc);
    EXPECT_EQ(host.csts(), csts::kFatal) << std::hex << cc;
    host.disable();
    EXPECT_EQ(host.csts(), 0U);
  }
  host.write32(reg::kAqa, 0);
  host.write32(reg::kCc, TestHost::kCc | 1);
  host.run();
  EXPECT_EQ(host.csts(), csts::kFatal) << "queues of one entry";
}

TEST_F(ControllerTest, EnablesWithLargerPages) {
  host.enable(TestHost::kCc | 2U << 7);  // 16 KiB
  EXPECT_EQ(host.csts(), csts::kReady);
  host.disable();
  host.write32(reg::kAqa, 31U << 16 | 31U);
  host.write64(reg::kAsq, 0x11000);  // not aligned to 16 KiB
  host.write32(reg::kCc, TestHost::kCc | 2U << 7 | 1);
  host.run();
  EXPECT_EQ(host.csts(), csts::kFatal);
}

TEST_F(ControllerTest, AQuickDisableAndEnableIsAReset) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  host.write32(reg::kCc, TestHost::kCc);
  host.write_enable();
  host.run();
  EXPECT_EQ(host.csts(), csts::kReady);
  EXPECT_EQ(controller.engine().submission_queues(), 1U);
  EXPECT_EQ(commands.resets, 1);
}

TEST_F(ControllerTest, ShutsDown) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  host.write32(reg::kCc, TestHost::kCc | 1 | 1U << 14);
  EXPECT_EQ(host.csts() & csts::kShutdownMask, csts::kShutdownOccurring);
  host.run();
  EXPECT_EQ(host.csts(), csts::kReady | csts::kShutdownComplete);
  EXPECT_EQ(commands.shutdowns, 1);
  host.submit(1, host.io_entry(IoOpcode::flush));
  host.run();
  EXPECT_FALSE(host.poll(1)) << "nothing is processed after a shutdown";
  host.disable();
  EXPECT_EQ(host.csts(), 0U);
  host.enable();
  EXPECT_EQ(host.csts(), csts::kReady);
  EXPECT_EQ(commands.shutdowns, 1);
}

TEST_F(ControllerTest, ShutsDownWhileDisabled) {
  host.write32(reg::kCc, TestHost::kCc | 2U << 14);
  host.run();
  EXPECT_EQ(host.csts(), csts::kShutdownComplete);
}

TEST_F(ControllerTest, SubsystemResetLeavesItsMark) {
  host.enable();
  host.write32(reg::kNssr, 0x12345678);
  host.run();
  EXPECT_EQ(host.csts(), csts::kReady) << "not the key";
  host.write32(reg::kNssr, kSubsystemResetKey);
  host.run();
  EXPECT_EQ(host.csts(), csts::kSubsystemReset);
  EXPECT_EQ(host.read32(reg::kCc), 0U);
  host.write32(reg::kCsts, csts::kSubsystemReset);
  EXPECT_EQ(host.csts(), 0U);
  host.enable();
  EXPECT_EQ(host.csts(), csts::kReady);
}

TEST_F(ControllerTest, FunctionResetForgetsTheHost) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  controller.reset(pci::ResetCause::function);
  EXPECT_EQ(host.csts(), 0U);
  EXPECT_EQ(host.read32(reg::kCc), 0U);
  EXPECT_EQ(host.read64(reg::kAsq), 0U);
  host.run();
  EXPECT_EQ(controller.engine().submission_queues(), 0U);
  EXPECT_EQ(commands.resets, 1);
  EXPECT_EQ(commands.power_cuts, 0);
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
}

TEST_F(ControllerTest, PowerOnAfterUseIsAPowerCut) {
  controller.reset(pci::ResetCause::power_on);
  host.run();
  EXPECT_EQ(commands.power_cuts, 0) << "nothing had been done yet";
  host.enable();
  controller.reset(pci::ResetCause::power_on);
  host.run();
  EXPECT_EQ(commands.power_cuts, 1);
}

TEST_F(ControllerTest, PowerCutLosesQueuesAndRegisters) {
  host.enable();
  controller.power_cut();
  EXPECT_EQ(host.csts(), 0U);
  host.run();
  EXPECT_EQ(commands.power_cuts, 1);
  EXPECT_EQ(controller.engine().completion_queues(), 0U);
  host.enable();
  EXPECT_EQ(host.csts(), csts::kReady);
}

TEST_F(ControllerTest, AResetInTheMiddleOfACommandHidesItFromTheHost) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  commands.during = [this](CommandContext&) { controller.reset(pci::ResetCause::function); };
  host.submit(1, host.io_entry(IoOpcode::read, 0));
  host.submit(1, host.io_entry(IoOpcode::read, 0));
  std::ranges::fill(commands.media, std::byte{0xEE});
  host.run();
  EXPECT_EQ(commands.executed.size(), 1U) << "the second was fetched, and not begun";
  EXPECT_EQ(memory.at(TestHost::kData, 1)[0], std::byte{0});
  EXPECT_FALSE(host.poll(1, false));
}

TEST_F(ControllerTest, InvalidDoorbellsAreReportedAndIgnored) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1, 16));
  SubmissionEntry request{};
  request.opcode = 0x0C;
  request.cid = 900;
  EXPECT_FALSE(host.command(request));
  host.sq_doorbell(3, 1);  // no such queue
  host.run();
  auto done = host.poll(0);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->cid, 900);
  EXPECT_EQ(done->result, event::kInvalidDoorbellRegister.result());
  EXPECT_EQ(commands.errors.size(), 1U);
  // Errors are masked until their log page was read.
  request.cid = 901;
  host.sq_doorbell(1, 16);  // out of range
  EXPECT_FALSE(host.command(request));
  controller.log_read(LogId::error_information);
  host.run();
  done = host.poll(0);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->result, event::kInvalidDoorbellValue.result());
  EXPECT_EQ(controller.counters().invalid_doorbells, 2U);
  host.cq_doorbell(1, 3);  // frees more than there is
  host.run();
  EXPECT_EQ(controller.counters().invalid_doorbells, 3U);
  host.submit(1, host.io_entry(IoOpcode::flush));
  host.run();
  EXPECT_TRUE(host.poll(1)) << "the queue still works";
}

TEST_F(ControllerTest, ATailThatGoesBackwardsIsInvalid) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1, 16, 4));
  for (int index = 0; index < 8; ++index) host.submit(1, host.io_entry(IoOpcode::flush));
  host.run();  // three are fetched: more do not fit into the completion queue
  host.sq_doorbell(1, 5);
  host.run();
  EXPECT_EQ(controller.counters().invalid_doorbells, 1U);
}

TEST_F(ControllerTest, DoorbellsTakeWholeDwordsOnly) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  host.submit(1, host.io_entry(IoOpcode::flush), false);
  const std::uint16_t half = 1;
  controller.bar_write(0, reg::kDoorbells + 8, std::as_bytes(std::span(&half, 1)), {});
  host.run();
  EXPECT_FALSE(host.poll(1));
  const std::uint64_t both = 1;  // SQ 1 tail, CQ 1 head 0
  const pci::Outcome outcome = controller.bar_write(0, reg::kDoorbells + 8, std::as_bytes(std::span(&both, 1)), {});
  EXPECT_EQ(outcome.kind, pci::AccessKind::doorbell);
  host.run();
  EXPECT_TRUE(host.poll(1));
}

TEST_F(ControllerTest, FatalStopsUntilReset) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  controller.set_fatal();
  EXPECT_EQ(host.csts(), csts::kReady | csts::kFatal);
  host.submit(1, host.io_entry(IoOpcode::flush));
  host.run();
  EXPECT_FALSE(host.poll(1));
  EXPECT_TRUE(commands.executed.empty());
  host.disable();
  host.enable();
  EXPECT_EQ(host.csts(), csts::kReady);
}

TEST_F(ControllerTest, FatalBeforeEnableKeepsItFromGettingReady) {
  controller.set_fatal();
  host.enable();
  EXPECT_EQ(host.csts(), csts::kFatal);
  host.disable();
  host.enable();
  EXPECT_EQ(host.csts(), csts::kReady);
}

TEST_F(ControllerTest, PauseHoldsCommandsBack) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  controller.pause(true);
  EXPECT_EQ(host.csts(), csts::kReady | csts::kPaused);
  host.submit(1, host.io_entry(IoOpcode::flush));
  host.run();
  EXPECT_FALSE(host.poll(1));
  controller.pause(false);
  host.run();
  EXPECT_TRUE(host.poll(1));
  EXPECT_EQ(host.csts(), csts::kReady);
}

TEST_F(ControllerTest, FusedPairsRunAsOne) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  std::ranges::fill(memory.at(TestHost::kData, 512), std::byte{0});
  std::ranges::fill(memory.at(TestHost::kData + 0x1000, 512), std::byte{7});
  SubmissionEntry compare = host.io_entry(IoOpcode::compare, 0, 1);
  compare.flags = 1;
  SubmissionEntry write = host.io_entry(IoOpcode::write, 0, 1, TestHost::kData + 0x1000);
  write.flags = 2;
  host.submit(1, compare, false);
  host.submit(1, write);
  host.run();
  auto first = host.poll(1);
  auto second = host.poll(1);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->cid, compare.cid);
  EXPECT_EQ(code(*first), 0);
  EXPECT_EQ(code(*second), 0);
  EXPECT_EQ(commands.media[0], std::byte{7});
  // The same again fails to compare.
  host.submit(1, compare, false);
  host.submit(1, write);
  host.run();
  first = host.poll(1);
  second = host.poll(1);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(code(*first), code(status::kCompareFailure));
  EXPECT_EQ(code(*second), code(status::kAbortedFailedFused));
}

TEST_F(ControllerTest, AFusedPairMayBeSplitByTheEndOfTheRingOrOfAFullQueue) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1, 4, 2));
  SubmissionEntry compare = host.io_entry(IoOpcode::compare, 0, 1);
  compare.flags = 1;
  SubmissionEntry write = host.io_entry(IoOpcode::write, 0, 1);
  write.flags = 2;
  int done = 0;
  for (int round = 0; round < 9; ++round) {
    host.submit(1, compare, false);
    host.submit(1, write);
    for (int look = 0; look < 4; ++look) {
      host.run();
      while (const auto entry = host.poll(1)) {
        EXPECT_EQ(code(*entry), 0);
        ++done;
      }
    }
    if (round % 2 == 0) {  // shifts the pairs by one entry
      host.submit(1, host.io_entry(IoOpcode::flush));
      host.run();
      EXPECT_TRUE(host.poll(1));
    }
  }
  EXPECT_EQ(done, 18);
}

TEST_F(ControllerTest, FusedCommandsWithoutTheirPartnerAreAborted) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  SubmissionEntry first = host.io_entry(IoOpcode::compare, 0, 1);
  first.flags = 1;
  SubmissionEntry second = host.io_entry(IoOpcode::write, 0, 1);
  second.flags = 2;
  host.submit(1, first);  // alone
  host.run();
  auto done = host.poll(1);
  ASSERT_TRUE(done);
  EXPECT_EQ(code(*done), code(status::kAbortedMissingFused));
  host.submit(1, second);  // alone
  host.run();
  done = host.poll(1);
  ASSERT_TRUE(done);
  EXPECT_EQ(code(*done), code(status::kAbortedMissingFused));
  host.submit(1, first, false);  // followed by another command
  host.submit(1, host.io_entry(IoOpcode::flush));
  host.run();
  done = host.poll(1);
  ASSERT_TRUE(done);
  EXPECT_EQ(code(*done), code(status::kAbortedMissingFused));
  done = host.poll(1);
  ASSERT_TRUE(done);
  EXPECT_EQ(code(*done), 0);
  first.flags = 3;  // reserved
  host.submit(1, first);
  host.run();
  done = host.poll(1);
  ASSERT_TRUE(done);
  EXPECT_EQ(code(*done), code(status::kInvalidField));
  // Not a pair that exists.
  second.flags = 1;
  first.flags = 2;
  host.submit(1, second, false);
  host.submit(1, first);
  host.run();
  done = host.poll(1);
  ASSERT_TRUE(done);
  EXPECT_EQ(code(*done), code(status::kInvalidField));
  ASSERT_TRUE(host.poll(1));
  EXPECT_TRUE(commands.executed.size() == 1) << "only the flush";
}

TEST_F(ControllerTest, DescribesItself) {
  const pci::FunctionDescription& description = controller.description();
  EXPECT_EQ(description.class_code, 0x010802U);
  EXPECT_EQ(description.msix_vectors, 5);
  EXPECT_EQ(description.bars[0].size, 0x4000U);
  EXPECT_TRUE(description.bars[0].is64);
  EXPECT_EQ(description.bars[2].size, 0U);
  EXPECT_GE(description.msix_table_offset, 0x1000U + 8 * 5);
  EXPECT_GE(description.msix_pba_offset, description.msix_table_offset + 5 * 16);
}

TEST(ControllerThread, WorksOnAThreadOfItsOwn) {
  FakeCommands commands;
  HostMemory memory{TestHost::kMemory};
  Controller controller({.queue_pairs = 2}, commands);
  controller.bind(memory);
  TestHost host(controller, memory);
  controller.start();
  std::optional<CompletionEntry> done;
  const auto completed = [&](unsigned queue) {
    return eventually([&] {
      done = host.poll(queue);
      return done.has_value();
    });
  };
  for (int round = 0; round < 20; ++round) {
    host.write_enable();
    ASSERT_TRUE(eventually([&] { return host.csts() == csts::kReady; })) << round;
    host.io[1] = {TestHost::kQueues, TestHost::kQueues + 0x2000, 64, 64, 0, 0, true, 1};
    for (std::uint64_t at = 0; at < 64 * 16; at += 8) memory.word(host.io[1].cq + at).store(0);
    host.submit(0, host.create_cq_entry(1, 64, host.io[1].cq, 1));
    ASSERT_TRUE(completed(0));
    host.submit(0, host.create_sq_entry(1, 64, host.io[1].sq, 1));
    ASSERT_TRUE(completed(0));
    for (int index = 0; index < 200; ++index) {
      const SubmissionEntry entry = host.io_entry(IoOpcode::flush);
      host.submit(1, entry);
      ASSERT_TRUE(completed(1)) << index;
      EXPECT_EQ(done->cid, entry.cid);
    }
    if (round % 2 == 0) {
      host.write32(reg::kCc, TestHost::kCc);
    } else {
      controller.reset(pci::ResetCause::function);
    }
    ASSERT_TRUE(eventually([&] { return host.csts() == 0; }));
  }
  controller.stop();
}

class CmbTest : public ControllerTest {
 protected:
  CmbTest() : ControllerTest({.queue_pairs = 2, .cmb = 1 << 20}) {}
  static constexpr std::uint64_t kBase = 0xC0000000;
};

TEST_F(CmbTest, ShowsItselfOnceEnabled) {
  EXPECT_EQ(controller.description().bars[2].size, 1U << 20);
  EXPECT_TRUE((host.read64(reg::kCap) >> 57 & 1) != 0);
  EXPECT_EQ(host.read64(reg::kCmbloc), 0U);
  host.write64(reg::kCmbmsc, 1);
  EXPECT_EQ(host.read32(reg::kCmbloc), 2U);
  EXPECT_EQ(host.read32(reg::kCmbsz) >> 12, 256U);
  host.write64(reg::kCmbmsc, ~std::uint64_t{0});
  EXPECT_EQ(host.read32(reg::kCmbsts), 1U) << "the range wraps";
}

TEST_F(CmbTest, HoldsQueuesAndData) {
  host.write64(reg::kCmbmsc, kBase | 3);
  host.enable();
  ASSERT_TRUE(host.command(host.create_cq_entry(1, 16, kBase + 0x2000, 1)));
  ASSERT_TRUE(host.command(host.create_sq_entry(1, 16, kBase, 1)));
  SubmissionEntry entry = host.io_entry(IoOpcode::read, 0, 8, kBase + 0x4000);
  std::ranges::fill(commands.media, std::byte{0x5A});
  const pci::Outcome outcome = controller.bar_write(2, 0, std::as_bytes(std::span(&entry, 1)), {});
  EXPECT_EQ(outcome.kind, pci::AccessKind::command);
  host.sq_doorbell(1, 1);
  host.run();
  CompletionEntry done{};
  controller.bar_read(2, 0x2000, std::as_writable_bytes(std::span(&done, 1)), {});
  EXPECT_EQ(done.cid, entry.cid);
  EXPECT_EQ(done.status, 1);
  std::byte data{};
  controller.bar_read(2, 0x4FFF, std::span(&data, 1), {});
  EXPECT_EQ(data, std::byte{0x5A});
  EXPECT_EQ(memory.refused, 0U);
  host.disable();
  EXPECT_EQ(controller.bar_write(2, 0, std::as_bytes(std::span(&entry, 1)), {}).kind, pci::AccessKind::message);
  EXPECT_EQ(host.read64(reg::kCmbmsc), kBase | 3) << "a controller reset keeps CMBMSC";
}

TEST_F(CmbTest, IsNotAddressableUntilTheHostSaysSo) {
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  host.submit(1, host.io_entry(IoOpcode::read, 0, 8, kBase));
  host.run();
  EXPECT_EQ(memory.refused, 1U);
}

TEST_F(CmbTest, MergesByteStores) {
  const std::uint64_t word = 0x1122334455667788;
  controller.bar_write(2, 8, std::as_bytes(std::span(&word, 1)), {});
  const std::array bytes{std::byte{0xAA}, std::byte{0xBB}};
  controller.bar_write(2, 15, bytes, {});
  std::array<std::byte, 16> seen{};
  controller.bar_read(2, 8, seen, {});
  EXPECT_EQ(seen[0], std::byte{0x88});
  EXPECT_EQ(seen[7], std::byte{0xAA});
  EXPECT_EQ(seen[8], std::byte{0xBB});
  controller.power_cut();
  controller.bar_read(2, 8, seen, {});
  EXPECT_EQ(seen[7], std::byte{0});
}

}  // namespace
}  // namespace smartio::nvme
