// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/nvme/sparse_memory.h"

namespace smartio::nvme {

class Store;

/// A drive's volatile write cache, as far as it can be seen: the blocks that a power cut would lose, and their content
/// after it. New data goes to the media at once; the cache keeps each dirty block's durable content (its undo image). A
/// flush forgets images, a power cut puts them back. When the cache is full the oldest writes become durable.
///
/// A write is durable as a whole or not at all, as AWUPF promises. Blocks of one write form a group, groups that share
/// a block become one, and only whole groups leave. Not thread-safe.
class WriteCache {
 public:
  /// `capacity` in bytes of user data; 0: no cache, reserve() always returns false.
  explicit WriteCache(std::uint64_t capacity);

  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  [[nodiscard]] std::uint64_t dirty_blocks() const { return live_; }

  /// Makes room for a write of `bytes`. False where it is larger than the whole cache: such a write is durable at once.
  bool reserve(std::uint64_t bytes);
  /// Starts a write: the group for the following remember().
  std::uint32_t begin();
  /// `before` is the block's content now, one logical block long. A block that is dirty already keeps its older image.
  void remember(Store& store, std::uint64_t lba, std::uint32_t group, std::span<const std::byte> before);
  /// The media's content of these blocks is durable now.
  void settle(Store& store, std::uint64_t lba, std::uint64_t blocks);
  /// The same for all of a store, or (null) for all stores.
  void flush(const Store* store);
  /// Puts all images back. Returns how many blocks were lost.
  std::uint64_t power_cut();

 private:
  struct Line {
    Store* store = nullptr;  ///< null: no longer dirty
    std::uint64_t lba = 0;
    std::uint32_t group = 0;
    std::uint32_t image = 0;
  };
  /// Undo images of one block size.
  struct Images {
    std::uint32_t block_size;
    SparseMemory memory;
    std::uint32_t used = 0;            ///< images below this were handed out at least once
    std::vector<std::uint32_t> spare;  ///< and of those, these are free
  };

  Images& images_for(std::uint32_t block_size);
  std::span<std::byte> image_of(const Line& line);
  std::uint32_t root(std::uint32_t group);
  void release(Line& line);
  void evict(std::uint64_t bytes);
  /// Drops dead lines and those of the groups in `leaving` (indexed by root), and numbers groups again.
  void compact(const std::vector<bool>& leaving);

  std::uint64_t capacity_;
  std::uint64_t used_ = 0;              ///< bytes of dirty blocks
  std::uint64_t live_ = 0;              ///< dirty blocks
  std::vector<Line> lines_;             ///< oldest first, dead ones among them; Store's dirty slots are index + 1
  std::vector<std::uint32_t> parents_;  ///< union-find over groups
  std::vector<Images> images_;
};

}  // namespace smartio::nvme
