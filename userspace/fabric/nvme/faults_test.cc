// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "fabric/nvme/controller.h"
#include "fabric/nvme/test_host.h"

namespace smartio::nvme {
namespace {

using namespace std::chrono_literals;
using Action = FaultRule::Action;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FaultsTest : public ::testing::Test {
 protected:
  FaultsTest() {
    controller.bind(memory);
    host.enable();
    EXPECT_TRUE(host.create_pair(1));
    EXPECT_TRUE(host.create_pair(2));
  }
  std::uint16_t submit(IoOpcode opcode, unsigned queue = 1, std::uint64_t lba = 0) {
    const SubmissionEntry entry = host.io_entry(opcode, lba);
    host.submit(queue, entry);
    return entry.cid;
  }
  /// Runs the worker and takes all completions of a queue: cid and status code.
  std::vector<std::pair<std::uint16_t, unsigned>> completions(unsigned queue = 1) {
    host.run();
    std::vector<std::pair<std::uint16_t, unsigned>> all;
    while (const auto entry = host.poll(queue)) all.emplace_back(entry->cid, entry->status >> 1 & 0x7FF);
    return all;
  }
  static FaultRule rule(Action action, FaultFilter filter = {}, std::uint64_t count = 0) {
    return {.action = action, .filter = filter, .count = count};
  }

  FakeCommands commands;
  HostMemory memory{TestHost::kMemory};
  Controller controller{{.queue_pairs = 4}, commands};
  Faults& faults = controller.faults();
  TestHost host{controller, memory};
};

TEST_F(FaultsTest, FiltersByOpcodeNamespaceAndQueue) {
  SubmissionEntry entry{};
  entry.nsid = 2;
  entry.opcode = static_cast<std::uint8_t>(IoOpcode::write);
  EXPECT_TRUE((FaultFilter{}.matches(1, entry)));
  EXPECT_FALSE((FaultFilter{}.matches(0, entry))) << "the admin queue only if it is named";
  EXPECT_TRUE((FaultFilter{.queue = 0}.matches(0, entry)));
  EXPECT_TRUE((FaultFilter{.opcode = FaultFilter::Opcode::write, .nsid = 2, .queue = 3}.matches(3, entry)));
  EXPECT_FALSE((FaultFilter{.nsid = 1}.matches(1, entry)));
  EXPECT_FALSE((FaultFilter{.queue = 2}.matches(1, entry)));
  EXPECT_FALSE((FaultFilter{.opcode = FaultFilter::Opcode::read}.matches(1, entry)));
  entry.opcode = static_cast<std::uint8_t>(IoOpcode::flush);
  EXPECT_TRUE((FaultFilter{.opcode = FaultFilter::Opcode::flush}.matches(1, entry)));
  entry.opcode = 0x7F;
  EXPECT_FALSE((FaultFilter{.opcode = FaultFilter::Opcode::flush}.matches(1, entry)));
  EXPECT_TRUE((FaultFilter{}.matches(1, entry)));
}

TEST_F(FaultsTest, RulesAreListedCountedAndRemoved) {
  const auto id = faults.add(rule(Action::fail, {}, 2));
  const auto other = faults.add(rule(Action::hold, {.queue = 2}));
  EXPECT_TRUE(faults.armed());
  submit(IoOpcode::flush);
  EXPECT_EQ(completions().size(), 1U);
  ASSERT_EQ(faults.rules().size(), 2U);
  EXPECT_EQ(faults.rules()[0].id, id);
  EXPECT_EQ(faults.rules()[0].hits, 1U);
  EXPECT_EQ(faults.rules()[0].rule.count, 1U);
  submit(IoOpcode::flush);
  EXPECT_EQ(completions().size(), 1U);
  EXPECT_EQ(faults.rules().size(), 1U) << "used up";
  EXPECT_FALSE(faults.remove(id));
  EXPECT_TRUE(faults.remove(other));
  EXPECT_FALSE(faults.armed());
  faults.add(rule(Action::hold));
  faults.clear();
  EXPECT_FALSE(faults.armed());
}

TEST_F(FaultsTest, FailsCommandsWithAStatus) {
  FaultRule failing = rule(Action::fail, {.opcode = FaultFilter::Opcode::write}, 1);
  failing.status = status::kWriteFault;
  faults.add(failing);
  submit(IoOpcode::read);
  const auto failed = submit(IoOpcode::write);
  const auto good = submit(IoOpcode::write);
  const auto done = completions();
  ASSERT_EQ(done.size(), 3U);
  EXPECT_EQ(done[1], std::pair(failed, 0x280U));
  EXPECT_EQ(done[2], std::pair(good, 0U));
  EXPECT_EQ(commands.executed.size(), 2U) << "the failed one was not executed";
  EXPECT_EQ(controller.counters().failed, 1U);
}

TEST_F(FaultsTest, HoldsCommandsAndReleasesThemInAnyOrder) {
  faults.add(rule(Action::hold, {.opcode = FaultFilter::Opcode::write}));
  const auto first = submit(IoOpcode::write, 1, 10);
  const auto second = submit(IoOpcode::write, 1, 20);
  const auto read = submit(IoOpcode::read);
  EXPECT_THAT(completions(), ElementsAre(std::pair(read, 0U)));
  const auto held = faults.held();
  ASSERT_EQ(held.size(), 2U);
  EXPECT_EQ(held[0].cid, first);
  EXPECT_EQ(held[0].lba, 10U);
  EXPECT_EQ(held[0].queue, 1);
  EXPECT_EQ(held[0].nsid, 1U);
  EXPECT_FALSE(held[0].completion);
  EXPECT_TRUE(faults.release(held[1].id));
  EXPECT_TRUE(faults.held()[1].released) << "until the worker has come to it";
  EXPECT_FALSE(faults.held()[0].released);
  EXPECT_THAT(completions(), ElementsAre(std::pair(second, 0U)));
  EXPECT_FALSE(faults.release(held[1].id)) << "gone";
  EXPECT_EQ(faults.release_all(), 1U);
  EXPECT_THAT(completions(), ElementsAre(std::pair(first, 0U)));
  EXPECT_THAT(faults.held(), IsEmpty());
  EXPECT_THAT(commands.executed, ElementsAre(read, second, first));
}

TEST_F(FaultsTest, AHeldWriteTakesItsDataWhenItIsExecuted) {
  faults.add(rule(Action::hold));
  std::ranges::fill(memory.at(TestHost::kData, 4096), std::byte{1});
  submit(IoOpcode::write);
  EXPECT_THAT(completions(), IsEmpty());
  EXPECT_EQ(commands.media[0], std::byte{0});
  std::ranges::fill(memory.at(TestHost::kData, 4096), std::byte{2});
  faults.release_all();
  EXPECT_EQ(completions().size(), 1U);
  EXPECT_EQ(commands.media[0], std::byte{2});
}

TEST_F(FaultsTest, AWriteWhoseCommitIsHeldHasItsDataAlready) {
  faults.add(rule(Action::hold_commit));
  std::ranges::fill(memory.at(TestHost::kData, 4096), std::byte{1});
  const auto write = submit(IoOpcode::write);
  const auto read = submit(IoOpcode::read, 1, 8);
  EXPECT_THAT(completions(), IsEmpty());
  EXPECT_EQ(commands.media[0], std::byte{0});
  EXPECT_THAT(commands.executed, IsEmpty());
  std::ranges::fill(memory.at(TestHost::kData, 4096), std::byte{2});
  faults.clear();
  EXPECT_EQ(faults.release_all(), 2U);
  EXPECT_THAT(completions(), ElementsAre(std::pair(write, 0U), std::pair(read, 0U)));
  EXPECT_EQ(commands.media[0], std::byte{1});
  submit(IoOpcode::write);
  EXPECT_EQ(completions().size(), 1U);
  EXPECT_NE(commands.media[0], std::byte{1}) << "the next one fetches its own";
}

TEST_F(FaultsTest, AWriteInTheMiddleOfItsTransferTakesTheRestWhenItIsReleased) {
  faults.add(rule(Action::hold_data));
  std::ranges::fill(memory.at(TestHost::kData, 4096), std::byte{1});
  const auto write = submit(IoOpcode::write);
  EXPECT_THAT(completions(), IsEmpty());
  std::ranges::fill(memory.at(TestHost::kData, 4096), std::byte{2});
  faults.clear();
  EXPECT_EQ(faults.release_all(), 1U);
  EXPECT_THAT(completions(), ElementsAre(std::pair(write, 0U)));
  EXPECT_EQ(commands.media[0], std::byte{1});
  EXPECT_EQ(commands.media[2047], std::byte{1});
  EXPECT_EQ(commands.media[2048], std::byte{2});
}

TEST_F(FaultsTest, AWriteThatLosesItsHostInTheMiddleOfItsTransferFailsAndWritesNothing) {
  faults.add(rule(Action::hold_data));
  const auto write = submit(IoOpcode::write);
  EXPECT_THAT(completions(), IsEmpty());
  faults.clear();
  memory.unanswered = true;
  EXPECT_EQ(faults.release_all(), 1U);
  EXPECT_THAT(completions(), ElementsAre(std::pair(write, 0x004U)));
  EXPECT_THAT(commands.executed, IsEmpty());
}

TEST_F(FaultsTest, AWriteWhoseCommitIsHeldGoesWithItsQueue) {
  faults.add(rule(Action::hold_commit));
  std::ranges::fill(memory.at(TestHost::kData, 4096), std::byte{1});
  submit(IoOpcode::write);
  EXPECT_THAT(completions(), IsEmpty());
  faults.clear();
  host.submit(0, host.delete_entry(0x00, 1));
  EXPECT_EQ(completions().size(), 1U);
  EXPECT_EQ(faults.release_all(), 0U);
  host.run();
  EXPECT_THAT(commands.executed, IsEmpty());
}

TEST_F(FaultsTest, DelaysCommands) {
  FaultRule slow = rule(Action::delay, {}, 1);
  slow.min = 3000us;
  slow.max = 4000us;
  faults.add(slow);
  const auto start = Engine::Clock::now();
  const auto late = submit(IoOpcode::read);
  const auto prompt = submit(IoOpcode::read);
  EXPECT_THAT(completions(), ElementsAre(std::pair(prompt, 0U)));
  const auto due = controller.engine().deadline();
  ASSERT_TRUE(due);
  EXPECT_GE(*due - start, 3000us);
  ASSERT_EQ(faults.held().size(), 1U);
  EXPECT_TRUE(faults.held()[0].timed);
  while (Engine::Clock::now() < *due) std::this_thread::yield();
  EXPECT_THAT(completions(), ElementsAre(std::pair(late, 0U)));
  EXPECT_FALSE(controller.engine().deadline());
}

TEST_F(FaultsTest, ExecutesCommandsOneAfterAnother) {
  FaultRule serial = rule(Action::serial);
  serial.min = serial.max = 1h;
  faults.add(serial);
  const auto start = Engine::Clock::now();
  const std::vector all{submit(IoOpcode::read), submit(IoOpcode::write), submit(IoOpcode::read, 2)};
  host.run();
  // The time of a later one stays when an earlier one is released.
  for (std::size_t at = 0; at < all.size(); ++at) {
    const std::chrono::hours later(at + 1);
    const auto due = controller.engine().deadline();
    ASSERT_TRUE(due);
    EXPECT_GE(*due - start, later);
    EXPECT_LE(*due - Engine::Clock::now(), later);
    EXPECT_TRUE(faults.release(faults.held().front().id));
    host.run();
    ASSERT_EQ(commands.executed.size(), at + 1);
    EXPECT_EQ(commands.executed[at], all[at]);
  }
  EXPECT_FALSE(controller.engine().deadline());
}

TEST_F(FaultsTest, ARuleWaitsForNoCommandThatIsNotThereAnyMore) {
  FaultRule serial = rule(Action::serial);
  serial.min = serial.max = 1h;
  faults.add(serial);
  const auto first = submit(IoOpcode::read);
  const auto second = submit(IoOpcode::read);
  EXPECT_THAT(completions(), IsEmpty());
  EXPECT_EQ(faults.release_all(), 2U);
  EXPECT_THAT(completions(), ElementsAre(std::pair(first, 0U), std::pair(second, 0U)));
  submit(IoOpcode::read);
  host.run();
  const auto due = controller.engine().deadline();
  ASSERT_TRUE(due);
  EXPECT_LE(*due - Engine::Clock::now(), 1h);
}

TEST_F(FaultsTest, ARuleDoesNotWaitForCommandsOfAnother) {
  FaultRule serial = rule(Action::serial, {.queue = 2});
  serial.min = serial.max = 2h;
  faults.add(serial);
  serial.filter.queue = 1;
  serial.min = serial.max = 1h;
  faults.add(serial);
  submit(IoOpcode::read, 2);
  host.run();
  submit(IoOpcode::read, 1);
  host.run();
  const auto due = controller.engine().deadline();
  ASSERT_TRUE(due);
  EXPECT_LE(*due - Engine::Clock::now(), 1h);
}

TEST_F(FaultsTest, ADelayedCommandCanBeReleasedEarly) {
  FaultRule slow = rule(Action::delay);
  slow.min = 1h;
  faults.add(slow);
  const auto cid = submit(IoOpcode::read);
  EXPECT_THAT(completions(), IsEmpty());
  EXPECT_EQ(faults.release_all(), 1U);
  EXPECT_THAT(completions(), ElementsAre(std::pair(cid, 0U)));
  EXPECT_FALSE(controller.engine().deadline());
}

TEST_F(FaultsTest, HoldsCompletions) {
  faults.add(rule(Action::hold_completion, {}, 1));
  const auto cid = submit(IoOpcode::write);
  EXPECT_THAT(completions(), IsEmpty());
  EXPECT_THAT(commands.executed, ElementsAre(cid)) << "executed all the same";
  ASSERT_EQ(faults.held().size(), 1U);
  EXPECT_TRUE(faults.held()[0].completion);
  faults.release_all();
  EXPECT_THAT(completions(), ElementsAre(std::pair(cid, 0U)));
  EXPECT_EQ(commands.executed.size(), 1U);
}

TEST_F(FaultsTest, DelaysCompletions) {
  FaultRule slow = rule(Action::delay_completion, {}, 1);
  slow.min = 1000us;
  faults.add(slow);
  const auto cid = submit(IoOpcode::read);
  EXPECT_THAT(completions(), IsEmpty());
  EXPECT_EQ(commands.executed.size(), 1U);
  const auto due = controller.engine().deadline();
  ASSERT_TRUE(due);
  while (Engine::Clock::now() < *due) std::this_thread::yield();
  EXPECT_THAT(completions(), ElementsAre(std::pair(cid, 0U)));
}

TEST_F(FaultsTest, DropsAndDuplicatesCompletions) {
  faults.add(rule(Action::drop_completion, {}, 1));
  submit(IoOpcode::flush);
  const auto second = submit(IoOpcode::flush);
  EXPECT_THAT(completions(), ElementsAre(std::pair(second, 0U)));
  faults.add(rule(Action::duplicate_completion, {}, 1));
  const auto twice = submit(IoOpcode::flush);
  EXPECT_THAT(completions(), ElementsAre(std::pair(twice, 0U), std::pair(twice, 0U)));
  EXPECT_EQ(controller.counters().dropped, 1U);
  EXPECT_EQ(controller.counters().duplicated, 1U);
}

TEST_F(FaultsTest, DuplicatesWaitForRoomLikeAllOthers) {
  ASSERT_TRUE(host.create_pair(3, 8, 2));
  faults.add(rule(Action::duplicate_completion));
  for (int index = 0; index < 3; ++index) submit(IoOpcode::flush, 3);
  std::size_t seen = 0;
  for (int round = 0; round < 12; ++round) seen += completions(3).size();
  EXPECT_EQ(seen, 6U);
  EXPECT_GT(controller.counters().full, 0U);
}

TEST_F(FaultsTest, DeletingAQueueEndsWhatItHolds) {
  faults.add(rule(Action::hold));
  const auto held = submit(IoOpcode::write, 1, 0);
  const auto other = submit(IoOpcode::write, 2, 8);
  host.run();
  const auto both = faults.held();
  ASSERT_EQ(both.size(), 2U);
  host.submit(0, host.delete_entry(0x00, 1));
  EXPECT_THAT(completions(1), ElementsAre(std::pair(held, 0x008U))) << "Command Aborted due to SQ Deletion";
  ASSERT_TRUE(host.poll(0));
  faults.release_all();
  EXPECT_THAT(completions(2), ElementsAre(std::pair(other, 0U)));
  EXPECT_THAT(commands.executed, ElementsAre(other)) << "nothing of the deleted queue lands late";
  EXPECT_FALSE(faults.release(both[0].id));
}

TEST_F(FaultsTest, DeletingAQueueDropsHeldCompletions) {
  faults.add(rule(Action::hold_completion));
  submit(IoOpcode::write);
  host.run();
  host.submit(0, host.delete_entry(0x00, 1));
  EXPECT_THAT(completions(1), IsEmpty());
  ASSERT_TRUE(host.poll(0));
  EXPECT_EQ(faults.release_all(), 0U);
  EXPECT_THAT(completions(1), IsEmpty());
}

TEST_F(FaultsTest, AResetDropsWhatIsHeld) {
  faults.add(rule(Action::hold));
  FaultRule slow = rule(Action::delay, {.queue = 2});
  slow.min = 1h;
  submit(IoOpcode::write);
  host.run();
  faults.clear();
  faults.add(slow);
  submit(IoOpcode::write, 2);
  host.run();
  ASSERT_EQ(faults.held().size(), 2U);
  host.disable();
  EXPECT_THAT(faults.held(), IsEmpty());
  EXPECT_FALSE(controller.engine().deadline());
  EXPECT_EQ(controller.counters().discarded, 2U);
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  EXPECT_EQ(faults.release_all(), 0U);
  EXPECT_THAT(completions(1), IsEmpty());
  EXPECT_THAT(commands.executed, IsEmpty());
}

TEST_F(FaultsTest, PowerCutAndFatalDropWhatIsHeld) {
  faults.add(rule(Action::hold));
  submit(IoOpcode::write);
  host.run();
  controller.set_fatal();
  host.run();
  EXPECT_THAT(faults.held(), IsEmpty());
  host.disable();
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  submit(IoOpcode::write);
  host.run();
  EXPECT_EQ(faults.held().size(), 1U);
  controller.power_cut();
  host.run();
  EXPECT_THAT(faults.held(), IsEmpty());
  EXPECT_THAT(commands.executed, IsEmpty());
}

TEST_F(FaultsTest, AbortEndsAHeldCommand) {
  faults.add(rule(Action::hold));
  const auto held = submit(IoOpcode::write);
  const auto stays = submit(IoOpcode::write);
  host.run();
  SubmissionEntry abort{};
  abort.opcode = 0x08;
  abort.cid = 999;
  abort.cdw10 = 1 | std::uint32_t{held} << 16;
  const auto answer = host.command(abort);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->result, 0U) << "aborted";
  EXPECT_THAT(completions(), ElementsAre(std::pair(held, 0x007U)));
  EXPECT_THAT(commands.executed, IsEmpty());
  ASSERT_EQ(faults.held().size(), 1U);
  EXPECT_EQ(faults.held()[0].cid, stays);
}

TEST_F(FaultsTest, AbortCannotUndoAHeldCompletion) {
  faults.add(rule(Action::hold_completion, {.queue = 1}));
  const auto held = submit(IoOpcode::write);
  host.run();
  SubmissionEntry abort{};
  abort.opcode = 0x08;
  abort.cid = 999;
  abort.cdw10 = 1 | std::uint32_t{held} << 16;
  const auto answer = host.command(abort);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->result, 1U) << "not aborted";
  EXPECT_EQ(faults.held().size(), 1U);
}

TEST_F(FaultsTest, AQueueHoldsNoMoreThanItsSize) {
  ASSERT_TRUE(host.create_pair(3, 8, 64));
  faults.add(rule(Action::hold));
  for (int index = 0; index < 30; ++index) {
    submit(IoOpcode::flush, 3);
    host.run();
  }
  EXPECT_LE(faults.held().size(), 8U) << "a host that ignores its own limits";
  faults.clear();
  std::size_t seen = 0;
  for (int round = 0; round < 8; ++round) {
    faults.release_all();
    seen += completions(3).size();
  }
  EXPECT_GE(seen, 8U);
}

TEST_F(FaultsTest, HoldsAFusedPairAsOne) {
  faults.add(rule(Action::hold, {.opcode = FaultFilter::Opcode::write}));
  SubmissionEntry compare = host.io_entry(IoOpcode::compare, 0, 1);
  compare.flags = 1;
  SubmissionEntry write = host.io_entry(IoOpcode::write, 0, 1);
  write.flags = 2;
  host.submit(1, compare, false);
  host.submit(1, write);
  EXPECT_THAT(completions(), IsEmpty());
  EXPECT_EQ(faults.release_all(), 1U);
  EXPECT_THAT(completions(), ElementsAre(std::pair(compare.cid, 0U), std::pair(write.cid, 0U)));
}

TEST_F(FaultsTest, AdminCommandsOnlyIfTheQueueIsNamed) {
  faults.add(rule(Action::fail));
  SubmissionEntry identify{};
  identify.opcode = 0x06;
  identify.cid = 50;
  identify.prp1 = TestHost::kData;
  auto done = host.command(identify);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->status >> 1, 0);
  faults.add(rule(Action::fail, {.queue = 0}, 1));
  done = host.command(identify);
  ASSERT_TRUE(done);
  EXPECT_NE(done->status >> 1, 0);
}

TEST(FaultsThread, ControlAndWorkerAtOnce) {
  FakeCommands commands;
  HostMemory memory{TestHost::kMemory};
  Controller controller({.queue_pairs = 1}, commands);
  controller.bind(memory);
  TestHost host(controller, memory);
  host.enable();
  ASSERT_TRUE(host.create_pair(1));
  controller.start();
  std::jthread control([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      Faults& faults = controller.faults();
      FaultRule slow{.action = Action::delay, .filter = {}, .min = 0us, .max = 200us, .count = 2};
      faults.add(slow);
      const auto held = faults.add({.action = Action::hold, .filter = {}});
      const auto kept = faults.add({.action = Action::hold_completion, .filter = {}, .count = 1});
      std::this_thread::yield();
      faults.remove(held);
      faults.remove(kept);
      faults.release_all();
      (void)faults.held();
      (void)controller.counters();
    }
    controller.faults().clear();
    controller.faults().release_all();
  });
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  int done = 0;
  while (done < 300 && std::chrono::steady_clock::now() < deadline) {
    host.submit(1, host.io_entry(IoOpcode::flush));
    while (std::chrono::steady_clock::now() < deadline) {
      if (host.poll(1)) {
        ++done;
        break;
      }
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(done, 300);
  control = {};
  controller.stop();
}

}  // namespace
}  // namespace smartio::nvme
