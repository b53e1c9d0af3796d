// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fabric/nvme/media.h"
#include "fabric/nvme/sparse_memory.h"
#include "fabric/nvme/spec.h"
#include "fabric/nvme/write_cache.h"

namespace smartio::nvme {

/// Whether a write may stay in the volatile cache.
enum class Durability : std::uint8_t { cached, durable };

/// A media error: the status to report, and the first block that failed.
struct MediaFault {
  Status status;
  std::uint64_t lba = 0;
};

/// Injected failure of a block range, until it is taken away.
struct FaultyRange {
  std::uint64_t lba = 0;
  std::uint64_t blocks = 0;
  bool on_read = false;
  bool on_write = false;
};

/// The logical blocks of one namespace: media, its part of the drive's write cache, and blocks that cannot be read.
/// Ranges are in logical blocks and have been checked with in_range(). Not thread-safe: CommandSet's mutex guards it.
/// Stays at one address, as the write cache points to it.
class Store {
 public:
  /// `cache` is the drive's and lives longer.
  Store(std::unique_ptr<Media> media, std::uint32_t block_size, WriteCache& cache);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  [[nodiscard]] std::uint32_t block_size() const { return block_size_; }
  [[nodiscard]] std::uint64_t blocks() const { return blocks_; }
  [[nodiscard]] std::uint64_t bytes() const { return blocks_ * block_size_; }
  [[nodiscard]] bool in_range(std::uint64_t lba, std::uint64_t blocks) const {
    return lba <= blocks_ && blocks <= blocks_ - lba;
  }

  /// The blocks' content: a view of memory, or read into `scratch` (as long as the range) for a file. Valid until the
  /// next call of anything here.
  std::expected<std::span<const std::byte>, MediaFault> read(std::uint64_t lba, std::uint64_t blocks,
                                                             std::span<std::byte> scratch);
  /// Whether read() would succeed, without moving data.
  std::optional<MediaFault> verify(std::uint64_t lba, std::uint64_t blocks) const;
  /// Whole or, after a power cut, not at all. `data` is a multiple of the block size.
  std::optional<MediaFault> write(std::uint64_t lba, std::span<const std::byte> data, Durability durability);
  std::optional<MediaFault> write_zeroes(std::uint64_t lba, std::uint64_t blocks, Durability durability);
  /// The blocks read as zeroes, durably, at once.
  std::optional<MediaFault> deallocate(std::uint64_t lba, std::uint64_t blocks);
  /// Unrecovered Read Error for these blocks until they are written, durably.
  void mark_unreadable(std::uint64_t lba, std::uint64_t blocks);

  /// Injected errors that a write does not mend.
  void add_fault(const FaultyRange& range) { faults_.push_back(range); }
  /// Removes all injected faults and unreadable marks.
  void clear_faults();

  /// Everything cached becomes durable.
  void flush() { cache_.flush(this); }
  /// Erases all blocks, then lays out blocks of `block_size`. False: the media failed, all is as before.
  bool format(std::uint32_t block_size);
  /// Grows (new blocks read as zeroes) or shrinks. False: the media failed, all is as before.
  bool resize(std::uint64_t bytes);

  // For WriteCache.
  /// Where the cache keeps a block's line; 0: clean.
  std::uint32_t& dirty_slot(std::uint64_t lba) { return reinterpret_cast<std::uint32_t*>(dirty_.data())[lba]; }
  /// Puts a block's durable content back.
  void restore(std::uint64_t lba, std::span<const std::byte> image);

 private:
  [[nodiscard]] const FaultyRange* fault_in(std::uint64_t lba, std::uint64_t blocks, bool FaultyRange::* kind) const;
  /// First block of the range that is marked unreadable.
  [[nodiscard]] std::optional<std::uint64_t> unreadable_in(std::uint64_t lba, std::uint64_t blocks) const;
  /// Calls `visit` with each unreadable block of the range, in ascending order, until it returns false.
  template <typename Visit>
  void visit_unreadable(std::uint64_t lba, std::uint64_t blocks, Visit visit) const;
  void mend(std::uint64_t lba, std::uint64_t blocks);
  /// Before the media is changed: write faults, and undo images where the change may stay in the cache.
  std::optional<MediaFault> prepare(std::uint64_t lba, std::uint64_t blocks, Durability durability);

  std::unique_ptr<Media> media_;
  std::uint32_t block_size_;
  std::uint64_t blocks_;
  WriteCache& cache_;
  SparseMemory dirty_;       ///< std::uint32_t for each block
  SparseMemory unreadable_;  ///< a bit for each block
  std::uint64_t unreadable_blocks_ = 0;
  std::vector<FaultyRange> faults_;
  std::vector<std::byte> scratch_;  ///< file media: content before a cached write, in pieces
};

}  // namespace smartio::nvme
