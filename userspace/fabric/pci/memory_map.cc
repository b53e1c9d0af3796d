// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/memory_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace smartio::pci {

std::expected<void, MemoryMap::MapError> MemoryMap::map(BusAddress address, std::uint64_t size, Rights rights,
                                                        std::uint64_t offset, UniqueFd fd, std::string* unsafe) {
  const auto refuse = [&](int number, std::string why) {
    return std::unexpected(MapError{number, fmt::format("DMA_MAP {:#x} +{:#x}: {}", address.value, size, why)});
  };
  if (size == 0) return refuse(EINVAL, "size is 0");
  if (size - 1 > std::numeric_limits<std::uint64_t>::max() - address.value) {
    return refuse(EINVAL, "runs past the end of the address space");
  }
  // Opened before the lock is taken: mmap of a large file takes its time.
  std::shared_ptr<MemoryFile> file;
  if (fd) {
    auto opened = files_.open(fd.get());
    if (opened) {
      file = std::move(*opened);
      if (offset > file->size() || size > file->size() - offset) {
        return refuse(EINVAL, fmt::format("offset {:#x} runs past the file's {:#x} bytes", offset, file->size()));
      }
    } else if (unsafe != nullptr) {
      *unsafe = opened.error().message;
    }
  }
  std::byte* memory = file ? file->base() + offset : nullptr;
  if (file && !file->writable()) rights.write = false;

  const std::unique_lock lock(lock_);
  if (ranges_.size() >= kMaxRanges) return refuse(ENOSPC, "too many ranges");
  const auto next = ranges_.lower_bound(address.value);
  if (next != ranges_.end() && next->first - address.value <= size - 1) return refuse(EEXIST, "overlaps a range");
  if (next != ranges_.begin()) {
    const auto& [begin, range] = *std::prev(next);
    if (address.value - begin <= range.size - 1) return refuse(EEXIST, "overlaps a range");
  }
  if (file) {
    if (!users_.contains(file.get()) && users_.size() >= kMaxFiles) return refuse(ENOSPC, "too many memory files");
    ++users_[file.get()];
  }
  ranges_.emplace_hint(next, address.value, Range{size, rights, memory, std::move(file)});
  return {};
}

std::size_t MemoryMap::unmap(BusAddress address, std::uint64_t size) {
  if (size == 0) return 0;
  const std::uint64_t last =
      size - 1 > std::numeric_limits<std::uint64_t>::max() - address.value ? ~0ULL : address.value + (size - 1);
  std::vector<std::shared_ptr<MemoryFile>> gone;  // unmapped from this process after the lock is released
  std::size_t count = 0;
  const std::unique_lock lock(lock_);
  auto at = ranges_.lower_bound(address.value);
  if (at != ranges_.begin()) {
    const auto before = std::prev(at);
    if (address.value - before->first <= before->second.size - 1) at = before;
  }
  while (at != ranges_.end() && at->first <= last) {
    if (Range& range = at->second; range.file) {
      const auto user = users_.find(range.file.get());
      if (--user->second == 0) {
        users_.erase(user);
        gone.push_back(std::move(range.file));
      }
    }
    at = ranges_.erase(at);
    ++count;
  }
  return count;
}

void MemoryMap::clear() {
  std::map<std::uint64_t, Range> gone;
  const std::unique_lock lock(lock_);
  gone.swap(ranges_);
  users_.clear();
}

std::size_t MemoryMap::ranges() const {
  const std::shared_lock lock(lock_);
  return ranges_.size();
}

MemoryMap::Piece MemoryMap::Reader::search(BusAddress address, std::uint64_t length, Right right) {
  const auto next = map_.ranges_.upper_bound(address.value);
  if (next != map_.ranges_.begin()) {
    const auto& [begin, range] = *std::prev(next);
    const std::uint64_t into = address.value - begin;
    if (into < range.size) {
      const bool allowed = right == Right::write ? range.rights.write : range.rights.read;
      const std::uint64_t piece = std::min(length, range.size - into);
      if (range.memory == nullptr || !allowed) return {nullptr, piece};
      begin_ = begin;
      size_ = range.size;
      rights_ = range.rights;
      memory_ = range.memory;
      return {memory_ + into, piece};
    }
  }
  if (next == map_.ranges_.end()) return {nullptr, length};
  return {nullptr, std::min(length, next->first - address.value)};
}

}  // namespace smartio::pci
