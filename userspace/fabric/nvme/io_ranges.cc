// SPDX-License-Identifier: GPL-2.0
// The commands that change or check blocks without their data: Write Zeroes, Write Uncorrectable, Verify, Dataset
// Management; and Copy, whose data stays in the drive.
#include <array>
#include <cstring>

#include "fabric/nvme/copy_limits.h"
#include "fabric/nvme/io_range.h"

namespace smartio::nvme {

Status io_write_zeroes(ActiveCommand& x) {
  IoRange range;
  if (const Status checked = range_of(x, false, range); !checked.ok()) return checked;
  Store& store = range.ns->store;
  const auto fault = (x.entry.cdw12 & kDeallocate) != 0 ? store.deallocate(range.lba, range.blocks)
                                                        : store.write_zeroes(range.lba, range.blocks, durability_of(x));
  if (fault) return x.refuse(*fault);
  ++x.drive.counters.other_io_commands;
  return status::kSuccess;
}

Status io_write_uncorrectable(ActiveCommand& x) {
  IoRange range;
  if (const Status checked = range_of(x, false, range); !checked.ok()) return checked;
  range.ns->store.mark_unreadable(range.lba, range.blocks);
  ++x.drive.counters.other_io_commands;
  return status::kSuccess;
}

Status io_verify(ActiveCommand& x) {
  IoRange range;
  if (const Status checked = range_of(x, false, range); !checked.ok()) return checked;
  if (auto fault = range.ns->store.verify(range.lba, range.blocks)) return x.refuse(*fault);
  ++x.drive.counters.other_io_commands;
  return status::kSuccess;
}

Status io_dataset_management(ActiveCommand& x) {
  Namespace* ns = x.find_namespace();
  if (ns == nullptr) return x.failure();
  const std::size_t count = (x.entry.cdw10 & 0xFFU) + 1U;
  std::array<DatasetRange, 256> ranges;
  const auto list = std::span(ranges).first(count);
  if (const Status fetched = x.fetch(std::as_writable_bytes(list)); !fetched.ok()) return fetched;
  // All are checked first: a command that fails has done nothing.
  for (const DatasetRange& range : list) {
    if (!ns->store.in_range(range.lba, range.blocks)) return x.refuse(status::kLbaOutOfRange, at::kDword10);
  }
  ++x.drive.counters.other_io_commands;
  if ((x.entry.cdw11 & 1U << 2U) == 0) return status::kSuccess;  // no Deallocate: access hints, which change nothing
  for (const DatasetRange& range : list) {
    if (auto fault = ns->store.deallocate(range.lba, range.blocks)) return x.refuse(*fault);
    x.drive.counters.blocks_deallocated += range.blocks;
  }
  return status::kSuccess;
}

Status io_copy(ActiveCommand& x) {
  Namespace* ns = x.find_namespace();
  if (ns == nullptr) return x.failure();
  if ((x.entry.cdw12 >> 8U & 0xFU) != 0) return x.refuse(status::kInvalidField, at::kDword12);  // descriptor format 0h
  const std::size_t count = (x.entry.cdw12 & 0xFFU) + 1U;
  if (count > CopyLimits::kRanges) return x.refuse(status::kCommandSizeLimitExceeded, at::kDword12);
  std::array<CopyRange, CopyLimits::kRanges> ranges;
  const auto list = std::span(ranges).first(count);
  if (const Status fetched = x.fetch(std::as_writable_bytes(list)); !fetched.ok()) return fetched;

  const CopyLimits limits(x.drive.config, ns->store.block_size());
  std::uint64_t blocks = 0;
  for (const CopyRange& range : list) {
    const std::uint64_t length = range.blocks + 1U;
    if (length > limits.range_blocks) return x.refuse(status::kCommandSizeLimitExceeded, at::kDword12);
    if (!ns->store.in_range(range.lba, length)) return x.refuse(status::kLbaOutOfRange, at::kDword12);
    blocks += length;
  }
  if (blocks > limits.total_blocks) return x.refuse(status::kCommandSizeLimitExceeded, at::kDword12);
  const std::uint64_t to = std::uint64_t{x.entry.cdw11} << 32U | x.entry.cdw10;
  if (!ns->store.in_range(to, blocks)) return x.refuse(status::kLbaOutOfRange, at::kDword10);

  // Read as a whole, then written as a whole: source and destination may overlap.
  const auto data = buffer(x.drive.data, blocks * ns->store.block_size());
  std::size_t done = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bytes = (list[i].blocks + 1ULL) * ns->store.block_size();
    const auto source = ns->store.read(list[i].lba, list[i].blocks + 1U, buffer(x.drive.scratch, bytes));
    if (!source) {
      x.command.set_result(i);  // the lowest numbered range that was not copied
      return x.refuse(source.error());
    }
    std::memcpy(data.data() + done, source->data(), source->size());
    done += source->size();
  }
  if (auto fault = ns->store.write(to, data, durability_of(x))) return x.refuse(*fault);
  ++x.drive.counters.other_io_commands;
  return status::kSuccess;
}

}  // namespace smartio::nvme
