// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/memory_tags.h"

#include <cstdint>
#include <iterator>
#include <mutex>

namespace smartio::pci {

void MemoryTags::cut(const std::byte* begin, const std::byte* end) {
  auto at = tags_.lower_bound(begin);
  if (at != tags_.begin()) {
    const auto before = std::prev(at);
    if (before->second.end > begin) {
      const Tag old = before->second;
      before->second.end = begin;
      if (old.end > end) at = tags_.emplace(end, old).first;
    }
  }
  while (at != tags_.end() && at->first < end) {
    if (at->second.end > end) tags_.emplace(end, at->second);
    at = tags_.erase(at);
  }
}

std::uint64_t MemoryTags::add(std::span<const Interval> intervals, AccessKind kind) {
  const std::unique_lock lock(lock_);
  const std::uint64_t id = next_id_++;
  for (const Interval& interval : intervals) {
    if (interval.size == 0) continue;
    cut(interval.begin, interval.begin + interval.size);
    tags_.insert_or_assign(interval.begin, Tag{interval.begin + interval.size, kind, id});
  }
  count_.store(tags_.size(), std::memory_order_release);
  return id;
}

void MemoryTags::remove(std::uint64_t id) {
  const std::unique_lock lock(lock_);
  std::erase_if(tags_, [id](const auto& tag) { return tag.second.id == id; });
  count_.store(tags_.size(), std::memory_order_release);
}

void MemoryTags::clear() {
  const std::unique_lock lock(lock_);
  tags_.clear();
  count_.store(0, std::memory_order_release);
}

void MemoryTags::Lookup::search(const std::byte* memory) {
  const std::shared_lock lock(tags_.lock_);
  const auto next = tags_.tags_.upper_bound(memory);
  tagged_ = false;
  begin_ = nullptr;
  end_ = next == tags_.tags_.end() ? reinterpret_cast<const std::byte*>(UINTPTR_MAX) : next->first;
  if (next == tags_.tags_.begin()) return;
  const auto& [begin, tag] = *std::prev(next);
  if (memory < tag.end) {
    tagged_ = true;
    kind_ = tag.kind;
    begin_ = begin;
    end_ = tag.end;
  } else {
    begin_ = tag.end;
  }
}

}  // namespace smartio::pci
