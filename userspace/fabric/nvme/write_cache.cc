// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/write_cache.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "fabric/nvme/store.h"

namespace smartio::nvme {

WriteCache::WriteCache(std::uint64_t capacity) : capacity_(capacity) {}

WriteCache::Images& WriteCache::images_for(std::uint32_t block_size) {
  for (Images& images : images_) {
    if (images.block_size == block_size) return images;
  }
  return images_.emplace_back(Images{block_size, SparseMemory(capacity_), 0, {}});
}

std::span<std::byte> WriteCache::image_of(const Line& line) {
  Images& images = images_for(line.store->block_size());
  return {images.memory.data() + std::uint64_t{line.image} * images.block_size, images.block_size};
}

std::uint32_t WriteCache::root(std::uint32_t group) {
  while (parents_[group] != group) {
    parents_[group] = parents_[parents_[group]];
    group = parents_[group];
  }
  return group;
}

void WriteCache::release(Line& line) {
  images_for(line.store->block_size()).spare.push_back(line.image);
  used_ -= line.store->block_size();
  --live_;
  line.store->dirty_slot(line.lba) = 0;
  line.store = nullptr;
}

bool WriteCache::reserve(std::uint64_t bytes) {
  if (bytes > capacity_) return false;
  if (used_ + bytes > capacity_) {
    evict(used_ + bytes - capacity_);
  } else if (lines_.size() > 2 * live_ + 65536 || parents_.size() > 2 * live_ + 65536) {
    compact(std::vector<bool>(parents_.size()));
  }
  return true;
}

std::uint32_t WriteCache::begin() {
  const auto group = static_cast<std::uint32_t>(parents_.size());
  parents_.push_back(group);
  return group;
}

void WriteCache::remember(Store& store, std::uint64_t lba, std::uint32_t group, std::span<const std::byte> before) {
  std::uint32_t& slot = store.dirty_slot(lba);
  if (slot != 0) {
    const std::uint32_t a = root(lines_[slot - 1].group);
    const std::uint32_t b = root(group);
    parents_[std::max(a, b)] = std::min(a, b);
    return;
  }
  Images& images = images_for(store.block_size());
  Line line{.store = &store, .lba = lba, .group = group, .image = 0};
  if (images.spare.empty()) {
    line.image = images.used++;
  } else {
    line.image = images.spare.back();
    images.spare.pop_back();
  }
  std::memcpy(image_of(line).data(), before.data(), before.size());
  lines_.push_back(line);
  slot = static_cast<std::uint32_t>(lines_.size());
  used_ += store.block_size();
  ++live_;
}

void WriteCache::settle(Store& store, std::uint64_t lba, std::uint64_t blocks) {
  if (live_ == 0) return;
  if (blocks > lines_.size()) {  // a discard of a whole drive must not walk all of its blocks
    for (Line& line : lines_) {
      if (line.store == &store && line.lba >= lba && line.lba - lba < blocks) release(line);
    }
    return;
  }
  for (std::uint64_t i = 0; i < blocks; ++i) {
    if (const std::uint32_t slot = store.dirty_slot(lba + i); slot != 0) release(lines_[slot - 1]);
  }
}

void WriteCache::flush(const Store* store) {
  if (live_ == 0 && lines_.empty()) return;
  for (Line& line : lines_) {
    if (line.store != nullptr && (store == nullptr || line.store == store)) release(line);
  }
  if (live_ == 0) {
    lines_.clear();
    parents_.clear();
  }
}

std::uint64_t WriteCache::power_cut() {
  const std::uint64_t lost = live_;
  for (Line& line : lines_) {
    if (line.store == nullptr) continue;
    line.store->restore(line.lba, image_of(line));
    release(line);
  }
  lines_.clear();
  parents_.clear();
  return lost;
}

void WriteCache::evict(std::uint64_t bytes) {
  // A quarter more than needed, so that a cache that stays full is walked once in many writes.
  bytes += capacity_ / 4;
  std::vector<std::uint64_t> group_bytes(parents_.size());
  for (const Line& line : lines_) {
    if (line.store != nullptr) group_bytes[root(line.group)] += line.store->block_size();
  }
  std::vector<bool> leaving(parents_.size());
  std::uint64_t freed = 0;
  for (const Line& line : lines_) {
    if (freed >= bytes) break;
    if (line.store == nullptr) continue;
    const std::uint32_t group = root(line.group);
    if (leaving[group]) continue;
    leaving[group] = true;
    freed += group_bytes[group];
  }
  compact(leaving);
}

void WriteCache::compact(const std::vector<bool>& leaving) {
  static constexpr auto kUnnumbered = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> renumbered(parents_.size(), kUnnumbered);
  std::uint32_t groups = 0;
  std::size_t kept = 0;
  for (Line& line : lines_) {
    if (line.store == nullptr) continue;
    const std::uint32_t group = root(line.group);
    if (leaving[group]) {
      release(line);
      continue;
    }
    if (renumbered[group] == kUnnumbered) renumbered[group] = groups++;
    line.group = renumbered[group];
    line.store->dirty_slot(line.lba) = static_cast<std::uint32_t>(kept + 1);
    lines_[kept++] = line;
  }
  lines_.resize(kept);
  parents_.resize(groups);
  std::iota(parents_.begin(), parents_.end(), 0U);
}

}  // namespace smartio::nvme
