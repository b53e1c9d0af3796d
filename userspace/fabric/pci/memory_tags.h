// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <span>

#include "fabric/pci/types.h"
#include "fabric/pci/writer_first_lock.h"

namespace smartio::pci {

/// The kinds of parts of one host's memory, by the addresses at which this process has them mapped. They distinguish a
/// CPU's store into a submission queue from other stores, through any function. Thread-safe; costs an atomic load while
/// there are no tags.
class MemoryTags {
 public:
  struct Interval {
    const std::byte* begin;
    std::uint64_t size;
  };
  /// Tags all of `intervals` under one id, which is never 0. A byte that is tagged twice has the newer kind.
  std::uint64_t add(std::span<const Interval> intervals, AccessKind kind);
  /// Unknown ids are ignored. The removal does not restore an overlapping older tag.
  void remove(std::uint64_t id);
  void clear();
  [[nodiscard]] std::size_t size() const { return count_.load(std::memory_order_relaxed); }

  /// Answers for a run of stores: remembers the last interval. Holds no lock in between. A tag that is added meanwhile
  /// counts from the next run on.
  class Lookup {
   public:
    explicit Lookup(const MemoryTags& tags) : tags_(tags), any_(tags.count_.load(std::memory_order_acquire) != 0) {}
    /// The kind of the data at `memory`, `untagged` if it has no tag.
    AccessKind kind(const std::byte* memory, AccessKind untagged) {
      if (!any_) return untagged;
      if (memory < begin_ || memory >= end_) search(memory);
      return tagged_ ? kind_ : untagged;
    }

   private:
    void search(const std::byte* memory);

    const MemoryTags& tags_;
    bool any_;
    bool tagged_ = false;
    AccessKind kind_ = AccessKind::message;
    const std::byte* begin_ = nullptr;
    const std::byte* end_ = nullptr;
  };

 private:
  struct Tag {
    const std::byte* end;
    AccessKind kind;
    std::uint64_t id;
  };
  void cut(const std::byte* begin, const std::byte* end);

  mutable WriterFirstLock lock_;          // protects tags_ and next_id_
  std::map<const std::byte*, Tag> tags_;  // by first byte; never overlapping
  std::uint64_t next_id_ = 1;
  std::atomic<std::size_t> count_{0};  // of tags_
};

}  // namespace smartio::pci
