// SPDX-License-Identifier: GPL-2.0
// The commands that move data: Read, Write, Compare, their fused form, and Flush.
#include <cstring>

#include "fabric/nvme/io_range.h"

namespace smartio::nvme {
namespace {

/// The whole of a command's data is fetched before any of it is written. So a transfer that fails changes nothing. A
/// write is in the media entirely or not at all, even if the drive is reset meanwhile.
Status fetch_data(ActiveCommand& x, IoRange& range, std::vector<std::byte>& storage) {
  if (const Status checked = range_of(x, true, range); !checked.ok()) return checked;
  return x.fetch(buffer(storage, range.bytes()));
}

Status commit_write(ActiveCommand& x, const IoRange& range, std::span<const std::byte> data) {
  if (auto fault = range.ns->store.write(range.lba, data, durability_of(x))) return x.refuse(*fault);
  x.drive.health.count_write(data.size());
  x.drive.health.count_start();
  ++x.drive.counters.write_commands;
  if ((x.entry.cdw12 & kForceUnitAccess) != 0) ++x.drive.counters.fua_writes;
  x.drive.counters.bytes_written += data.size();
  return status::kSuccess;
}

Status compare_data(ActiveCommand& x, const IoRange& range, std::span<const std::byte> expected) {
  const auto found = range.ns->store.read(range.lba, range.blocks, buffer(x.drive.scratch, range.bytes()));
  if (!found) return x.refuse(found.error());
  x.drive.health.count_read(expected.size());
  ++x.drive.counters.other_io_commands;
  if (std::memcmp(found->data(), expected.data(), expected.size()) != 0) return status::kCompareFailure;
  return status::kSuccess;
}

}  // namespace

Status io_read(ActiveCommand& x) {
  IoRange range;
  if (const Status checked = range_of(x, true, range); !checked.ok()) return checked;
  if (const Status mapped = x.map(range.bytes()); !mapped.ok()) return mapped;
  const std::span<std::byte> scratch =
      x.drive.config.backing.empty() ? std::span<std::byte>{} : buffer(x.drive.scratch, range.bytes());
  const auto data = range.ns->store.read(range.lba, range.blocks, scratch);
  if (!data) return x.refuse(data.error());
  if (const Status stored = x.store(*data); !stored.ok()) return stored;
  x.drive.health.count_read(data->size());
  ++x.drive.counters.read_commands;
  x.drive.counters.bytes_read += data->size();
  return status::kSuccess;
}

Status io_write(ActiveCommand& x) {
  IoRange range;
  if (const Status fetched = fetch_data(x, range, x.drive.data); !fetched.ok()) return fetched;
  return commit_write(x, range, buffer(x.drive.data, range.bytes()));
}

Status io_compare(ActiveCommand& x) {
  IoRange range;
  if (const Status fetched = fetch_data(x, range, x.drive.data); !fetched.ok()) return fetched;
  return compare_data(x, range, buffer(x.drive.data, range.bytes()));
}

Status io_fused(CommandContext& compare, CommandContext& write, DriveState& drive, Status& compare_status) {
  ActiveCommand first(drive, compare);
  IoRange compared;
  Status checked = fetch_data(first, compared, drive.compare);
  first.suspend();

  ActiveCommand second(drive, write);
  const SubmissionEntry& a = compare.entry();
  const SubmissionEntry& b = write.entry();
  IoRange written;
  Status result;
  if (!checked.ok()) {
    result = status::kAbortedFailedFused;
  } else if (a.nsid != b.nsid || a.cdw10 != b.cdw10 || a.cdw11 != b.cdw11 || (a.cdw12 & 0xFFFF) != (b.cdw12 & 0xFFFF)) {
    // Section 6.2: both name the same blocks, else both are refused.
    checked = first.refuse(status::kInvalidField, at::kDword10);
    result = second.refuse(status::kInvalidField, at::kDword10);
  } else {
    result = fetch_data(second, written, drive.data);
    // The mutex is held from here to the end: nothing comes between the two.
    checked = first.still_valid();
    if (checked.ok()) checked = compare_data(first, compared, buffer(drive.compare, compared.bytes()));
    if (!checked.ok()) {
      result = status::kAbortedFailedFused;
    } else if (result.ok()) {
      result = commit_write(second, written, buffer(drive.data, written.bytes()));
    }
  }
  // In the order of the commands, for the error log; nothing changes in between that matters to it.
  second.suspend();
  first.resume();
  compare_status = first.finish(checked);
  second.resume();
  return second.finish(result);
}

Status io_flush(ActiveCommand& x) {
  ++x.drive.counters.flush_commands;
  if (x.entry.nsid == kNsidAll) {
    x.drive.cache.flush(nullptr);
    return status::kSuccess;
  }
  Namespace* ns = x.find_namespace();
  if (ns == nullptr) return x.failure();
  ns->store.flush();
  return status::kSuccess;
}

}  // namespace smartio::nvme
