// SPDX-License-Identifier: GPL-2.0
// The admin commands that the queue engine answers itself.
#include <gtest/gtest.h>

#include "fabric/nvme/controller.h"
#include "fabric/nvme/test_host.h"

namespace smartio::nvme {
namespace {

Status status_of(const std::optional<CompletionEntry>& entry) {
  if (!entry) return {7, 0xFF};  // no completion: equal to no status there is
  return Status::from_field(static_cast<std::uint16_t>(entry->status >> 1));
}

class QueueAdminTest : public ::testing::Test {
 protected:
  QueueAdminTest() {
    controller.bind(memory);
    host.enable();
  }
  Status run(const SubmissionEntry& entry) {
    last = host.command(entry);
    return status_of(last);
  }
  SubmissionEntry cq(unsigned id = 1) { return host.create_cq_entry(id, 16, TestHost::kQueues + 0x2000, 1); }
  SubmissionEntry sq(unsigned id = 1, unsigned cq = 1) { return host.create_sq_entry(id, 16, TestHost::kQueues, cq); }
  SubmissionEntry feature(std::uint8_t opcode, FeatureId id, std::uint32_t cdw11 = 0, std::uint32_t more = 0) {
    SubmissionEntry entry{};
    entry.opcode = opcode;
    entry.cid = host.next_cid++;
    entry.cdw10 = static_cast<std::uint32_t>(id) | more;
    entry.cdw11 = cdw11;
    return entry;
  }
  SubmissionEntry abort(unsigned queue, std::uint16_t cid) {
    SubmissionEntry entry{};
    entry.opcode = 0x08;
    entry.cid = host.next_cid++;
    entry.cdw10 = queue | std::uint32_t{cid} << 16;
    return entry;
  }

  FakeCommands commands;
  HostMemory memory{TestHost::kMemory};
  Controller controller{{.queue_pairs = 4}, commands};
  TestHost host{controller, memory};
  std::optional<CompletionEntry> last;
};

TEST_F(QueueAdminTest, CreatesAndDeletes) {
  EXPECT_EQ(run(cq()), status::kSuccess);
  EXPECT_EQ(run(sq()), status::kSuccess);
  EXPECT_EQ(controller.engine().submission_queues(), 2U);
  EXPECT_EQ(memory.tags.size(), 2U) << "both SQs are known to hold commands";
  EXPECT_EQ(run(host.delete_entry(0x00, 1)), status::kSuccess);
  EXPECT_EQ(memory.tags.size(), 1U);
  EXPECT_EQ(run(host.delete_entry(0x04, 1)), status::kSuccess);
  EXPECT_EQ(controller.engine().completion_queues(), 1U);
  EXPECT_TRUE(commands.errors.empty());
}

TEST_F(QueueAdminTest, CompletionQueueErrors) {
  EXPECT_EQ(run(cq(0)), status::kInvalidQueueIdentifier);
  EXPECT_EQ(run(cq(5)), status::kInvalidQueueIdentifier);
  EXPECT_EQ(run(cq(0xFFFF)), status::kInvalidQueueIdentifier);
  SubmissionEntry entry = cq();
  entry.cdw10 = 1;  // one entry
  EXPECT_EQ(run(entry), status::kInvalidQueueSize);
  entry.cdw10 = 1 | kMaxQueueEntries << 16;
  EXPECT_EQ(run(entry), status::kInvalidQueueSize);
  entry = cq();
  entry.cdw11 &= ~1U;
  EXPECT_EQ(run(entry), status::kInvalidField) << "not contiguous";
  entry = cq();
  entry.prp1 += 4;
  EXPECT_EQ(run(entry), status::kPrpOffsetInvalid);
  entry = cq();
  entry.cdw11 |= 5U << 16;
  EXPECT_EQ(run(entry), status::kInvalidInterruptVector);
  EXPECT_EQ(run(cq()), status::kSuccess);
  EXPECT_EQ(run(cq()), status::kInvalidQueueIdentifier) << "exists";
  EXPECT_EQ(commands.errors.size(), 9U) << "each is in the error log";
  EXPECT_EQ(commands.errors.back().sq_id, 0);
}

TEST_F(QueueAdminTest, SubmissionQueueErrors) {
  EXPECT_EQ(run(sq()), status::kCompletionQueueInvalid) << "not made yet";
  EXPECT_EQ(run(sq(1, 0)), status::kInvalidQueueIdentifier) << "the admin CQ";
  ASSERT_EQ(run(cq()), status::kSuccess);
  EXPECT_EQ(run(sq(0)), status::kInvalidQueueIdentifier);
  EXPECT_EQ(run(sq(5)), status::kInvalidQueueIdentifier);
  EXPECT_EQ(run(sq(1, 9)), status::kCompletionQueueInvalid);
  SubmissionEntry entry = sq();
  entry.cdw10 = 1;
  EXPECT_EQ(run(entry), status::kInvalidQueueSize);
  entry = sq();
  entry.cdw10 = 1 | kMaxQueueEntries << 16;
  EXPECT_EQ(run(entry), status::kInvalidQueueSize);
  entry = sq();
  entry.cdw11 &= ~1U;
  EXPECT_EQ(run(entry), status::kInvalidField);
  entry = sq();
  entry.prp1 += 64;
  EXPECT_EQ(run(entry), status::kPrpOffsetInvalid);
  EXPECT_EQ(run(sq()), status::kSuccess);
  EXPECT_EQ(run(sq()), status::kInvalidQueueIdentifier);
}

TEST_F(QueueAdminTest, QueuesNeedTheirEntrySizes) {
  host.disable();
  host.enable(0);  // IOSQES and IOCQES 0: admin queue only
  ASSERT_EQ(host.csts(), csts::kReady);
  EXPECT_EQ(run(cq()), status::kInvalidQueueSize);
}

TEST_F(QueueAdminTest, DeletionErrors) {
  EXPECT_EQ(run(host.delete_entry(0x00, 0)), status::kInvalidQueueIdentifier);
  EXPECT_EQ(run(host.delete_entry(0x00, 1)), status::kInvalidQueueIdentifier);
  EXPECT_EQ(run(host.delete_entry(0x04, 0)), status::kInvalidQueueIdentifier);
  EXPECT_EQ(run(host.delete_entry(0x04, 77)), status::kInvalidQueueIdentifier);
  ASSERT_TRUE(host.create_pair(1));
  EXPECT_EQ(run(host.delete_entry(0x04, 1)), status::kInvalidQueueDeletion) << "its SQ is there";
  EXPECT_EQ(run(host.delete_entry(0x00, 1)), status::kSuccess);
  EXPECT_EQ(run(host.delete_entry(0x04, 1)), status::kSuccess);
}

TEST_F(QueueAdminTest, DeletionInTheSameBurstAsADoorbell) {
  ASSERT_TRUE(host.create_pair(1));
  host.submit(0, host.delete_entry(0x00, 1));
  host.submit(1, host.io_entry(IoOpcode::flush));
  host.run();
  EXPECT_TRUE(host.poll(0));
  EXPECT_EQ(controller.engine().submission_queues(), 1U);
}

TEST_F(QueueAdminTest, ANewQueueForgetsOldDoorbells) {
  ASSERT_TRUE(host.create_pair(1));
  host.submit(1, host.io_entry(IoOpcode::flush));
  host.run();
  ASSERT_TRUE(host.poll(1));
  ASSERT_EQ(run(host.delete_entry(0x00, 1)), status::kSuccess);
  ASSERT_EQ(run(host.delete_entry(0x04, 1)), status::kSuccess);
  ASSERT_TRUE(host.create_pair(1));
  host.submit(1, host.io_entry(IoOpcode::flush));
  host.run();
  EXPECT_TRUE(host.poll(1));
  EXPECT_EQ(controller.counters().invalid_doorbells, 0U);
}

TEST_F(QueueAdminTest, NumberOfQueues) {
  EXPECT_EQ(run(feature(0x0A, FeatureId::number_of_queues)), status::kSuccess);
  EXPECT_EQ(last->result, 0x00030003U);
  EXPECT_EQ(run(feature(0x09, FeatureId::number_of_queues, 0x0001'0000)), status::kSuccess);
  EXPECT_EQ(last->result, 0x00010000U) << "one SQ, two CQs";
  EXPECT_EQ(run(feature(0x0A, FeatureId::number_of_queues)), status::kSuccess);
  EXPECT_EQ(last->result, 0x00010000U);
  EXPECT_EQ(run(cq(3)), status::kInvalidQueueIdentifier) << "more than were allocated";
  EXPECT_EQ(run(feature(0x09, FeatureId::number_of_queues, 0x00FE'00FE)), status::kSuccess);
  EXPECT_EQ(last->result, 0x00030003U) << "no more than there are";
  EXPECT_EQ(run(feature(0x09, FeatureId::number_of_queues, 0xFFFF)), status::kInvalidField);
  EXPECT_EQ(run(feature(0x09, FeatureId::number_of_queues, 0xFFFF0000)), status::kInvalidField);
  EXPECT_EQ(run(feature(0x09, FeatureId::number_of_queues, 0, 1U << 31)), status::kFeatureNotSaveable);
  ASSERT_EQ(run(cq()), status::kSuccess);
  EXPECT_EQ(run(feature(0x09, FeatureId::number_of_queues, 0)), status::kCommandSequenceError);
  EXPECT_EQ(run(feature(0x0A, FeatureId::number_of_queues, 0, 1U << 8)), status::kSuccess);
  EXPECT_EQ(last->result, 0x00030003U) << "default";
  EXPECT_EQ(run(feature(0x0A, FeatureId::number_of_queues, 0, 3U << 8)), status::kSuccess);
  EXPECT_EQ(last->result, 4U) << "changeable";
  EXPECT_EQ(run(feature(0x0A, FeatureId::number_of_queues, 0, 5U << 8)), status::kInvalidField);
}

TEST_F(QueueAdminTest, InterruptFeatures) {
  EXPECT_EQ(run(feature(0x09, FeatureId::interrupt_coalescing, 0x0A05)), status::kSuccess);
  EXPECT_EQ(run(feature(0x0A, FeatureId::interrupt_coalescing)), status::kSuccess);
  EXPECT_EQ(last->result, 0x0A05U);
  EXPECT_EQ(run(feature(0x09, FeatureId::interrupt_vector_configuration, 1U << 16 | 2)), status::kSuccess);
  EXPECT_EQ(run(feature(0x0A, FeatureId::interrupt_vector_configuration, 2)), status::kSuccess);
  EXPECT_EQ(last->result, (1U << 16 | 2));
  EXPECT_EQ(run(feature(0x0A, FeatureId::interrupt_vector_configuration, 1)), status::kSuccess);
  EXPECT_EQ(last->result, 1U);
  EXPECT_EQ(run(feature(0x09, FeatureId::interrupt_vector_configuration, 5)), status::kInvalidField);
  EXPECT_EQ(run(feature(0x0A, FeatureId::interrupt_vector_configuration, 5)), status::kInvalidField);
  SubmissionEntry entry = feature(0x09, FeatureId::interrupt_coalescing, 1);
  entry.nsid = 1;
  EXPECT_EQ(run(entry), status::kFeatureNotNamespaceSpecific);
  host.disable();
  host.enable();
  EXPECT_EQ(run(feature(0x0A, FeatureId::interrupt_coalescing)), status::kSuccess);
  EXPECT_EQ(last->result, 0U) << "a reset brings the default back";
}

TEST_F(QueueAdminTest, OtherFeaturesAreTheCommandSets) {
  EXPECT_EQ(run(feature(0x09, FeatureId::arbitration, 7)), status::kInvalidOpcode) << "the stand-in's answer";
  EXPECT_EQ(run(feature(0x0A, FeatureId::arbitration)), status::kInvalidOpcode);
  EXPECT_EQ(commands.admin_commands, 2);
}

TEST_F(QueueAdminTest, EventRequestsHaveALimit) {
  SubmissionEntry request{};
  request.opcode = 0x0C;
  for (std::uint16_t cid = 100; cid < 100 + Engine::kEventRequests; ++cid) {
    request.cid = cid;
    EXPECT_FALSE(host.command(request)) << cid;
  }
  request.cid = 200;
  EXPECT_EQ(run(request), status::kAsyncEventLimitExceeded);
  // One event for each request, in their order; another sort is not masked.
  controller.raise(event::kTemperature);
  controller.raise(event::kTemperature);
  controller.raise(event::kNamespaceAttributeChanged);
  host.run();
  auto done = host.poll(0);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->cid, 100);
  EXPECT_EQ(done->result, event::kTemperature.result());
  done = host.poll(0);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->cid, 101);
  EXPECT_EQ(done->result, event::kNamespaceAttributeChanged.result());
  EXPECT_FALSE(host.poll(0));
  controller.raise(event::kSpare);  // SMART events are masked together
  host.run();
  EXPECT_FALSE(host.poll(0));
  controller.log_read(LogId::smart_health);
  host.run();
  done = host.poll(0);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->result, event::kSpare.result());
}

TEST_F(QueueAdminTest, AnEventWaitsForARequest) {
  controller.raise(event::kReliability);
  host.run();
  SubmissionEntry request{};
  request.opcode = 0x0C;
  request.cid = 5;
  EXPECT_EQ(run(request), status::kSuccess);
  EXPECT_EQ(last->result, event::kReliability.result());
}

TEST_F(QueueAdminTest, AbortOfAnEventRequest) {
  SubmissionEntry request{};
  request.opcode = 0x0C;
  request.cid = 300;
  EXPECT_FALSE(host.command(request));
  host.submit(0, abort(0, 300));
  host.run();
  auto done = host.poll(0);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->cid, 300);
  EXPECT_EQ(status_of(done), status::kAbortRequested);
  done = host.poll(0);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->result, 0U) << "aborted";
}

TEST_F(QueueAdminTest, AbortOfWhatIsNotThere) {
  EXPECT_EQ(run(abort(0, 1234)), status::kSuccess);
  EXPECT_EQ(last->result, 1U) << "not aborted";
  EXPECT_EQ(run(abort(44, 1)), status::kSuccess);
  EXPECT_EQ(last->result, 1U);
}

TEST_F(QueueAdminTest, AdminCommandsTakeNoSgl) {
  SubmissionEntry identify{};
  identify.opcode = 0x06;
  identify.flags = 1U << 6;
  identify.prp1 = TestHost::kData;
  identify.prp2 = 4096;
  EXPECT_EQ(run(identify), status::kInvalidField);
  identify.flags = 1;
  EXPECT_EQ(run(identify), status::kInvalidField) << "no fused admin commands";
}

}  // namespace
}  // namespace smartio::nvme
