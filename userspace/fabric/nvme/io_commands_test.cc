// SPDX-License-Identifier: GPL-2.0
// Each I/O command, and each status it can end with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/nvme/fake_command.h"
#include "fabric/nvme/spec_log.h"

namespace smartio::nvme {
namespace {

using test::FakeCommand;
using test::io_entry;
using test::kFua;
using test::pattern;
using test::TestDrive;

std::vector<std::byte> zeroes(std::size_t bytes) { return std::vector<std::byte>(bytes); }

class IoCommands : public testing::Test {
 protected:
  TestDrive drive;

  Status dsm(std::uint32_t nsid, const std::vector<DatasetRange>& ranges, std::uint32_t cdw11 = 4) {
    SubmissionEntry e{};
    e.opcode = static_cast<std::uint8_t>(IoOpcode::dataset_management);
    e.nsid = nsid;
    e.cdw10 = static_cast<std::uint32_t>(ranges.size() - 1);
    e.cdw11 = cdw11;
    FakeCommand command(e);
    const auto bytes = std::as_bytes(std::span(ranges));
    command.host.assign(bytes.begin(), bytes.end());
    return drive.commands.execute_io(command);
  }

  Status copy(std::uint64_t to, const std::vector<CopyRange>& ranges, std::uint32_t flags = 0,
              std::uint64_t* result = nullptr) {
    SubmissionEntry e{};
    e.opcode = static_cast<std::uint8_t>(IoOpcode::copy);
    e.nsid = 1;
    e.cdw10 = static_cast<std::uint32_t>(to);
    e.cdw12 = static_cast<std::uint32_t>(ranges.size() - 1) | flags;
    FakeCommand command(e);
    const auto bytes = std::as_bytes(std::span(ranges));
    command.host.assign(bytes.begin(), bytes.end());
    const Status ended = drive.commands.execute_io(command);
    if (result != nullptr) *result = command.result;
    return ended;
  }
  static CopyRange range(std::uint64_t lba, std::uint16_t blocks) {
    CopyRange r{};
    r.lba = lba;
    r.blocks = static_cast<std::uint16_t>(blocks - 1);
    return r;
  }

  Status fused(std::uint64_t lba, const std::vector<std::byte>& expected, const std::vector<std::byte>& data,
               Status& compare_status, std::uint32_t write_flags = 0) {
    FakeCommand compare(io_entry(IoOpcode::compare, 1, lba, static_cast<std::uint32_t>(expected.size() / 512)));
    FakeCommand write(io_entry(IoOpcode::write, 1, lba, static_cast<std::uint32_t>(data.size() / 512), write_flags));
    compare.host = expected;
    write.host = data;
    return drive.commands.execute_fused(compare, write, compare_status);
  }

  void cut() { drive.commands.power_cut(); }
};

TEST_F(IoCommands, ReadGivesWhatWasWritten) {
  const auto data = pattern(8 * 512, 1);
  EXPECT_TRUE(drive.write(100, data).ok());
  EXPECT_EQ(drive.read(100, 8), data);
  EXPECT_EQ(drive.read(99), zeroes(512));
  EXPECT_EQ(drive.read(108), zeroes(512));
}

TEST_F(IoCommands, NamespacesAreApart) {
  const auto data = pattern(4096, 1);
  EXPECT_TRUE(drive.write(1, data, 0, 2).ok());
  EXPECT_EQ(drive.read(1, 1, 2), data);
  EXPECT_EQ(drive.read(0, 64), zeroes(64 * 512));
}

TEST_F(IoCommands, ReadMapsExactlyItsBytes) {
  FakeCommand command(io_entry(IoOpcode::read, 1, 0, 8));
  EXPECT_TRUE(drive.commands.execute_io(command).ok());
  EXPECT_EQ(command.mapped, 4096U);
  EXPECT_EQ(command.host.size(), 4096U);
}

TEST_F(IoCommands, LastBlockIsInRangeAndTheNextIsNot) {
  EXPECT_TRUE(drive.write(2047, pattern(512, 1)).ok());
  for (const IoOpcode opcode : {IoOpcode::read, IoOpcode::write, IoOpcode::compare, IoOpcode::write_zeroes,
                                IoOpcode::write_uncorrectable, IoOpcode::verify}) {
    EXPECT_EQ(drive.io(io_entry(opcode, 1, 2047, 2)), status::kLbaOutOfRange) << static_cast<int>(opcode);
    EXPECT_EQ(drive.io(io_entry(opcode, 1, 2048, 1)), status::kLbaOutOfRange);
    EXPECT_EQ(drive.io(io_entry(opcode, 1, ~0ULL, 2)), status::kLbaOutOfRange);
  }
  EXPECT_EQ(drive.read(2047), pattern(512, 1));
}

TEST_F(IoCommands, NamespaceMustBeValidAndActive) {
  for (const IoOpcode opcode :
       {IoOpcode::read, IoOpcode::write, IoOpcode::compare, IoOpcode::write_zeroes, IoOpcode::write_uncorrectable,
        IoOpcode::verify, IoOpcode::flush, IoOpcode::dataset_management, IoOpcode::copy}) {
    EXPECT_EQ(drive.io(io_entry(opcode, 0, 0, 1)), status::kInvalidNamespaceOrFormat) << static_cast<int>(opcode);
    EXPECT_EQ(drive.io(io_entry(opcode, 65, 0, 1)), status::kInvalidNamespaceOrFormat);
    EXPECT_EQ(drive.io(io_entry(opcode, 3, 0, 1)), status::kInvalidField);
    if (opcode != IoOpcode::flush) {
      EXPECT_EQ(drive.io(io_entry(opcode, kNsidAll, 0, 1)), status::kInvalidNamespaceOrFormat);
    }
  }
}

TEST_F(IoCommands, UnknownOpcodesAreRefusedForGood) {
  for (const unsigned opcode : {0x03U, 0x0DU, 0x0EU, 0x11U, 0x7FU, 0x80U, 0xFFU}) {
    SubmissionEntry e{};
    e.opcode = static_cast<std::uint8_t>(opcode);
    e.nsid = 1;
    const Status ended = drive.io(e);
    EXPECT_EQ(ended, status::kInvalidOpcode) << opcode;
    EXPECT_TRUE(ended.dnr);
    EXPECT_TRUE(ended.more) << "there is an entry in the error log";
  }
}

TEST_F(IoCommands, MdtsLimitsTransfersOnly) {
  DriveConfig config = TestDrive::small();
  config.mdts = 1;  // 8 KiB
  TestDrive small(config);
  EXPECT_EQ(small.read(0, 16).size(), 8192U);
  EXPECT_EQ(small.io(io_entry(IoOpcode::read, 1, 0, 17)), status::kInvalidField);
  EXPECT_EQ(small.io(io_entry(IoOpcode::write, 1, 0, 17)), status::kInvalidField);
  EXPECT_EQ(small.io(io_entry(IoOpcode::compare, 1, 0, 17)), status::kInvalidField);
  EXPECT_EQ(small.io(io_entry(IoOpcode::read, 2, 0, 3)), status::kInvalidField);
  EXPECT_TRUE(small.io(io_entry(IoOpcode::write_zeroes, 1, 0, 2048)).ok());
  EXPECT_TRUE(small.io(io_entry(IoOpcode::verify, 1, 0, 2048)).ok());
}

TEST_F(IoCommands, AMalformedDataPointerEndsTheCommand) {
  for (const IoOpcode opcode :
       {IoOpcode::read, IoOpcode::write, IoOpcode::compare, IoOpcode::dataset_management, IoOpcode::copy}) {
    FakeCommand command(io_entry(opcode, 1, 0, 1));
    command.map_status = status::kPrpOffsetInvalid;
    EXPECT_EQ(drive.commands.execute_io(command), status::kPrpOffsetInvalid) << static_cast<int>(opcode);
    EXPECT_TRUE(command.host.empty());
  }
}

TEST_F(IoCommands, AWriteWhoseDataDoesNotArriveChangesNothing) {
  FakeCommand command(io_entry(IoOpcode::write, 1, 0, 4));
  command.host = pattern(2048, 1);
  command.read_status = status::kDataTransferError;
  EXPECT_EQ(drive.commands.execute_io(command), status::kDataTransferError);
  EXPECT_EQ(drive.read(0, 4), zeroes(2048));
}

TEST_F(IoCommands, AReadThatCannotBeDeliveredFails) {
  FakeCommand command(io_entry(IoOpcode::read, 1, 0, 1));
  command.write_status = status::kDataTransferError;
  EXPECT_EQ(drive.commands.execute_io(command), status::kDataTransferError);
  EXPECT_EQ(drive.commands.counters().read_commands, 0U);
}

TEST_F(IoCommands, FlushMakesDurable) {
  const auto data = pattern(512, 1);
  EXPECT_TRUE(drive.write(0, data).ok());
  EXPECT_TRUE(drive.flush().ok());
  EXPECT_TRUE(drive.write(1, data).ok());
  EXPECT_EQ(drive.commands.counters().dirty_blocks, 1U);
  cut();
  EXPECT_EQ(drive.read(0), data);
  EXPECT_EQ(drive.read(1), zeroes(512));
  EXPECT_EQ(drive.commands.counters().lost_blocks, 1U);
}

TEST_F(IoCommands, FlushIsForOneNamespaceOrForAll) {
  EXPECT_TRUE(drive.write(0, pattern(512, 1)).ok());
  EXPECT_TRUE(drive.write(0, pattern(4096, 2), 0, 2).ok());
  EXPECT_TRUE(drive.flush(2).ok());
  cut();
  EXPECT_EQ(drive.read(0), zeroes(512));
  EXPECT_EQ(drive.read(0, 1, 2), pattern(4096, 2));
  EXPECT_TRUE(drive.write(0, pattern(512, 3)).ok());
  EXPECT_TRUE(drive.write(0, pattern(4096, 4), 0, 2).ok());
  EXPECT_TRUE(drive.flush(kNsidAll).ok());
  cut();
  EXPECT_EQ(drive.read(0), pattern(512, 3));
  EXPECT_EQ(drive.read(0, 1, 2), pattern(4096, 4));
}

TEST_F(IoCommands, ForceUnitAccessIsDurable) {
  EXPECT_TRUE(drive.write(0, pattern(512, 1), kFua).ok());
  EXPECT_TRUE(drive.io(io_entry(IoOpcode::write_zeroes, 1, 0, 1)).ok());
  cut();
  EXPECT_EQ(drive.read(0), pattern(512, 1)) << "a cached Write Zeroes is lost like a write";
  EXPECT_TRUE(drive.io(io_entry(IoOpcode::write_zeroes, 1, 0, 1, kFua)).ok());
  cut();
  EXPECT_EQ(drive.read(0), zeroes(512));
  EXPECT_TRUE(drive.write(0, pattern(512, 2)).ok());
  EXPECT_EQ(drive.commands.counters().fua_writes, 1U) << "of two writes and two Write Zeroes";
}

TEST_F(IoCommands, WithTheCacheOffWritesAreDurable) {
  EXPECT_TRUE(drive.write(0, pattern(512, 1)).ok());
  EXPECT_TRUE(drive.set_feature(FeatureId::volatile_write_cache, 0).ok());
  EXPECT_EQ(drive.commands.counters().dirty_blocks, 0U) << "what was cached is written through";
  EXPECT_TRUE(drive.write(1, pattern(512, 2)).ok());
  cut();
  EXPECT_EQ(drive.read(0), pattern(512, 1));
  EXPECT_EQ(drive.read(1), pattern(512, 2));
}

TEST_F(IoCommands, ShutdownMakesDurable) {
  EXPECT_TRUE(drive.write(0, pattern(512, 1)).ok());
  drive.commands.shutdown();
  cut();
  EXPECT_EQ(drive.read(0), pattern(512, 1));
}

TEST_F(IoCommands, AControllerResetLosesNothing) {
  EXPECT_TRUE(drive.write(0, pattern(512, 1)).ok());
  drive.commands.controller_reset();
  EXPECT_EQ(drive.read(0), pattern(512, 1));
  EXPECT_EQ(drive.commands.counters().dirty_blocks, 1U) << "and it is still not durable";
}

TEST_F(IoCommands, CompareFindsADifference) {
  auto data = pattern(1024, 1);
  EXPECT_TRUE(drive.write(0, data).ok());
  FakeCommand same(io_entry(IoOpcode::compare, 1, 0, 2));
  same.host = data;
  EXPECT_TRUE(drive.commands.execute_io(same).ok());
  data.back() ^= std::byte{1};
  FakeCommand different(io_entry(IoOpcode::compare, 1, 0, 2));
  different.host = data;
  EXPECT_EQ(drive.commands.execute_io(different), status::kCompareFailure);
}

TEST_F(IoCommands, FusedWriteHappensOnlyIfTheCompareHolds) {
  const auto before = pattern(512, 1);
  const auto after = pattern(512, 2);
  EXPECT_TRUE(drive.write(9, before).ok());
  Status compared;
  EXPECT_TRUE(fused(9, before, after, compared).ok());
  EXPECT_TRUE(compared.ok());
  EXPECT_EQ(drive.read(9), after);
  EXPECT_EQ(fused(9, before, pattern(512, 3), compared), status::kAbortedFailedFused);
  EXPECT_EQ(compared, status::kCompareFailure);
  EXPECT_EQ(drive.read(9), after);
}

TEST_F(IoCommands, FusedCommandsMustNameTheSameBlocks) {
  FakeCommand compare(io_entry(IoOpcode::compare, 1, 0, 1));
  FakeCommand write(io_entry(IoOpcode::write, 1, 1, 1));
  Status compared;
  EXPECT_EQ(drive.commands.execute_fused(compare, write, compared), status::kInvalidField);
  EXPECT_EQ(compared, status::kInvalidField);
  write.entry_ = io_entry(IoOpcode::write, 2, 0, 1);
  EXPECT_EQ(drive.commands.execute_fused(compare, write, compared), status::kInvalidField);
  write.entry_ = io_entry(IoOpcode::write, 1, 0, 2);
  EXPECT_EQ(drive.commands.execute_fused(compare, write, compared), status::kInvalidField);
}

TEST_F(IoCommands, FusedCommandsFailTogetherOrTheWriteAlone) {
  Status compared;
  EXPECT_EQ(fused(4000, pattern(512, 1), pattern(512, 2), compared), status::kAbortedFailedFused);
  EXPECT_EQ(compared, status::kLbaOutOfRange);
  FakeCommand compare(io_entry(IoOpcode::compare, 1, 0, 1));
  FakeCommand write(io_entry(IoOpcode::write, 1, 0, 1));
  write.read_status = status::kDataTransferError;
  EXPECT_EQ(drive.commands.execute_fused(compare, write, compared), status::kDataTransferError);
  EXPECT_TRUE(compared.ok());
  compare.read_status = status::kDataTransferError;
  write.read_status = {};
  EXPECT_EQ(drive.commands.execute_fused(compare, write, compared), status::kAbortedFailedFused);
  EXPECT_EQ(compared, status::kDataTransferError);
  EXPECT_EQ(drive.read(0), zeroes(512));
}

TEST_F(IoCommands, FusedCommandsNoticeAResetBetweenTheirTransfers) {
  FakeCommand compare(io_entry(IoOpcode::compare, 1, 0, 1));
  FakeCommand write(io_entry(IoOpcode::write, 1, 0, 1));
  write.host = pattern(512, 1);
  write.during_read = [&] { drive.commands.controller_reset(); };
  Status compared;
  EXPECT_FALSE(drive.commands.execute_fused(compare, write, compared).ok());
  EXPECT_EQ(compared, status::kAbortedPowerLoss);
  EXPECT_EQ(drive.read(0), zeroes(512));
}

TEST_F(IoCommands, WriteZeroes) {
  EXPECT_TRUE(drive.write(0, pattern(64 * 512, 1), kFua).ok());
  EXPECT_TRUE(drive.io(io_entry(IoOpcode::write_zeroes, 1, 3, 20)).ok());
  EXPECT_EQ(drive.read(3, 20), zeroes(20 * 512));
  EXPECT_NE(drive.read(2), zeroes(512));
  EXPECT_NE(drive.read(23), zeroes(512));
  EXPECT_TRUE(drive.flush().ok());
  // With Deallocate it is durable at once, as deallocation is.
  static constexpr std::uint32_t kDeallocate = 1U << 25U;
  EXPECT_TRUE(drive.io(io_entry(IoOpcode::write_zeroes, 1, 30, 2, kDeallocate)).ok());
  cut();
  EXPECT_EQ(drive.read(30, 2), zeroes(1024));
}

TEST_F(IoCommands, WriteUncorrectableUntilWritten) {
  EXPECT_TRUE(drive.write(0, pattern(4 * 512, 1)).ok());
  EXPECT_TRUE(drive.io(io_entry(IoOpcode::write_uncorrectable, 1, 1, 2)).ok());
  EXPECT_EQ(drive.io(io_entry(IoOpcode::read, 1, 0, 4)), status::kUnrecoveredReadError);
  EXPECT_EQ(drive.io(io_entry(IoOpcode::compare, 1, 2, 1)), status::kUnrecoveredReadError);
  EXPECT_EQ(drive.io(io_entry(IoOpcode::verify, 1, 0, 8)), status::kUnrecoveredReadError);
  EXPECT_TRUE(drive.io(io_entry(IoOpcode::verify, 1, 3, 8)).ok());
  EXPECT_EQ(drive.read(0).size(), 512U);
  EXPECT_TRUE(drive.write(1, pattern(512, 2)).ok());
  EXPECT_EQ(drive.read(1), pattern(512, 2));
  EXPECT_TRUE(drive.read(2).empty());
  const auto log = drive.log<std::array<ErrorLogEntry, 64>>(LogId::error_information);
  EXPECT_EQ(log[0].lba, 2U);
  EXPECT_EQ(drive.commands.counters().media_errors, 4U);
}

TEST_F(IoCommands, InjectedMediaErrors) {
  drive.commands.add_media_error({.nsid = 1, .lba = 5, .blocks = 1});
  drive.commands.add_media_error(
      {.nsid = 1, .lba = 10, .blocks = 2, .on_read = true, .on_write = true, .clear_on_rewrite = false});
  drive.commands.add_media_error({.nsid = 1, .lba = 20, .blocks = ~0ULL, .clear_on_rewrite = false});
  drive.commands.add_media_error({.nsid = 1, .lba = 5000, .blocks = 1});  // beyond the end: nothing to fail
  drive.commands.add_media_error({.nsid = 40, .lba = 0, .blocks = 1});
  EXPECT_EQ(drive.io(io_entry(IoOpcode::read, 1, 5, 1)), status::kUnrecoveredReadError);
  EXPECT_TRUE(drive.write(5, pattern(512, 1)).ok());
  EXPECT_EQ(drive.read(5), pattern(512, 1));
  EXPECT_EQ(drive.write(9, pattern(1024, 1)), status::kWriteFault);
  EXPECT_EQ(drive.io(io_entry(IoOpcode::write_zeroes, 1, 11, 1)), status::kWriteFault);
  EXPECT_EQ(dsm(1, {{.attributes = 0, .blocks = 4, .lba = 9}}), status::kWriteFault);
  EXPECT_EQ(drive.io(io_entry(IoOpcode::read, 1, 11, 1)), status::kUnrecoveredReadError);
  EXPECT_TRUE(drive.write(2047, pattern(512, 1)).ok());
  EXPECT_EQ(drive.io(io_entry(IoOpcode::read, 1, 2047, 1)), status::kUnrecoveredReadError);
  EXPECT_EQ(drive.log<SmartLog>(LogId::smart_health).media_errors[0], 6U);
  drive.commands.clear_media_errors();
  EXPECT_EQ(drive.read(2047), pattern(512, 1));
  EXPECT_TRUE(drive.write(10, pattern(512, 1)).ok());
}

TEST_F(IoCommands, DeallocatedBlocksReadAsZeroes) {
  EXPECT_TRUE(drive.write(0, pattern(64 * 512, 1)).ok());
  EXPECT_TRUE(dsm(1, {{.attributes = 0, .blocks = 8, .lba = 0}, {.attributes = 0, .blocks = 3, .lba = 33}}).ok());
  EXPECT_EQ(drive.read(0, 8), zeroes(8 * 512));
  EXPECT_EQ(drive.read(33, 3), zeroes(3 * 512));
  EXPECT_NE(drive.read(8), zeroes(512));
  EXPECT_NE(drive.read(36), zeroes(512));
  EXPECT_EQ(drive.commands.counters().blocks_deallocated, 11U);
  EXPECT_TRUE(dsm(1, {{.attributes = 0, .blocks = 2048, .lba = 0}}).ok());
  EXPECT_EQ(drive.commands.counters().dirty_blocks, 0U);
}

TEST_F(IoCommands, DatasetManagementHintsChangeNothing) {
  EXPECT_TRUE(drive.write(0, pattern(512, 1)).ok());
  EXPECT_TRUE(dsm(1, {{.attributes = 7, .blocks = 1, .lba = 0}}, 3).ok());
  EXPECT_EQ(drive.read(0), pattern(512, 1));
}

TEST_F(IoCommands, DatasetManagementChecksAllRangesFirst) {
  EXPECT_TRUE(drive.write(0, pattern(512, 1)).ok());
  EXPECT_EQ(dsm(1, {{.attributes = 0, .blocks = 1, .lba = 0}, {.attributes = 0, .blocks = 2, .lba = 2047}}),
            status::kLbaOutOfRange);
  EXPECT_EQ(drive.read(0), pattern(512, 1));
  EXPECT_TRUE(dsm(1, std::vector<DatasetRange>(256, {.attributes = 0, .blocks = 0, .lba = 0})).ok());
  EXPECT_EQ(drive.read(0), pattern(512, 1)) << "ranges of no blocks";
}

TEST_F(IoCommands, CopyGathersRanges) {
  const auto data = pattern(16 * 512, 1);
  EXPECT_TRUE(drive.write(0, data).ok());
  EXPECT_TRUE(copy(100, {range(4, 2), range(0, 1)}).ok());
  EXPECT_EQ(drive.read(100, 2), std::vector(data.begin() + 4 * 512, data.begin() + 6 * 512));
  EXPECT_EQ(drive.read(102), std::vector(data.begin(), data.begin() + 512));
  // Overlapping: as if the source was read first.
  EXPECT_TRUE(copy(1, {range(0, 8)}).ok());
  EXPECT_EQ(drive.read(1, 8), std::vector(data.begin(), data.begin() + 8 * 512));
}

TEST_F(IoCommands, CopyRefusesWhatIsTooMuchOrOutside) {
  EXPECT_EQ(copy(0, {range(2047, 2)}), status::kLbaOutOfRange);
  EXPECT_EQ(copy(2047, {range(0, 2)}), status::kLbaOutOfRange);
  EXPECT_EQ(copy(0, {range(0, 1)}, 1U << 8U), status::kInvalidField) << "descriptor format 1";
  EXPECT_EQ(copy(0, std::vector<CopyRange>(129, range(0, 1))), status::kCommandSizeLimitExceeded);
  EXPECT_EQ(copy(0, std::vector<CopyRange>(3, range(0, 1000))), status::kCommandSizeLimitExceeded);
  DriveConfig config = TestDrive::small();
  config.mdts = 1;
  TestDrive small(config);
  FakeCommand command(io_entry(IoOpcode::copy, 1, 0, 1));
  const CopyRange long_range = range(0, 17);
  command.host.resize(sizeof(long_range));
  std::memcpy(command.host.data(), &long_range, sizeof(long_range));
  EXPECT_EQ(small.commands.execute_io(command), status::kCommandSizeLimitExceeded);
}

TEST_F(IoCommands, CopyNamesTheRangeThatFailed) {
  drive.commands.add_media_error({.nsid = 1, .lba = 50, .blocks = 1});
  std::uint64_t result = 0;
  EXPECT_EQ(copy(100, {range(0, 1), range(50, 1)}, 0, &result), status::kUnrecoveredReadError);
  EXPECT_EQ(result, 1U);
}

TEST_F(IoCommands, APowerCutWhileDataIsFetchedEndsTheWrite) {
  FakeCommand command(io_entry(IoOpcode::write, 1, 0, 1));
  command.host = pattern(512, 1);
  command.during_read = [&] { drive.commands.power_cut(); };
  EXPECT_EQ(drive.commands.execute_io(command), status::kAbortedPowerLoss);
  EXPECT_EQ(drive.read(0), zeroes(512));
}

TEST_F(IoCommands, ANamespaceThatGoesWhileDataIsFetchedIsNotTouched) {
  FakeCommand command(io_entry(IoOpcode::write, 1, 0, 1));
  command.host = pattern(512, 1);
  command.during_read = [&] { EXPECT_TRUE(drive.commands.remove_namespace(1).has_value()); };
  const Status ended = drive.commands.execute_io(command);
  EXPECT_EQ(ended, status::kNamespaceNotReady);
  EXPECT_FALSE(ended.dnr) << "the retry finds out";
  EXPECT_EQ(drive.commands.execute_io(command), status::kInvalidField);
}

TEST_F(IoCommands, CountsWhatItDid) {
  EXPECT_TRUE(drive.write(0, pattern(4096, 1)).ok());
  EXPECT_EQ(drive.read(0, 2).size(), 1024U);
  EXPECT_TRUE(drive.flush().ok());
  EXPECT_TRUE(drive.io(io_entry(IoOpcode::verify, 1, 0, 1)).ok());
  EXPECT_FALSE(drive.io(io_entry(IoOpcode::read, 9, 0, 1)).ok());
  const DriveCounters counters = drive.commands.counters();
  EXPECT_EQ(counters.write_commands, 1U);
  EXPECT_EQ(counters.bytes_written, 4096U);
  EXPECT_EQ(counters.read_commands, 1U);
  EXPECT_EQ(counters.bytes_read, 1024U);
  EXPECT_EQ(counters.flush_commands, 1U);
  EXPECT_EQ(counters.other_io_commands, 1U);
  EXPECT_EQ(counters.failed_commands, 1U);
}

}  // namespace
}  // namespace smartio::nvme
