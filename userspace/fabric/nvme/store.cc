// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/store.h"

#include <algorithm>
#include <array>
#include <new>

namespace smartio::nvme {
namespace {

constexpr std::uint64_t kPieceBytes = 64 << 10;

std::uint64_t bitmap_bytes(std::uint64_t blocks) { return (blocks + 7) / 8; }

}  // namespace

Store::Store(std::unique_ptr<Media> media, std::uint32_t block_size, WriteCache& cache)
    : media_(std::move(media)),
      block_size_(block_size),
      blocks_(media_->size() / block_size),
      cache_(cache),
      dirty_(blocks_ * sizeof(std::uint32_t)),
      unreadable_(bitmap_bytes(blocks_)),
      scratch_(kPieceBytes) {}

Store::~Store() { flush(); }

const FaultyRange* Store::fault_in(std::uint64_t lba, std::uint64_t blocks, bool FaultyRange::* kind) const {
  const FaultyRange* first = nullptr;
  for (const FaultyRange& fault : faults_) {
    if (!(fault.*kind) || fault.blocks == 0) continue;
    const bool overlaps = fault.lba < lba ? lba - fault.lba < fault.blocks : fault.lba - lba < blocks;
    if (overlaps && (first == nullptr || fault.lba < first->lba)) first = &fault;
  }
  return first;
}

template <typename Visit>
void Store::visit_unreadable(std::uint64_t lba, std::uint64_t blocks, Visit visit) const {
  const std::uint64_t end = lba + blocks;
  while (lba < end) {
    // Whole bytes without a mark are stepped over: a drive may have billions of blocks.
    if (lba % 8 == 0 && unreadable_.data()[lba / 8] == std::byte{0}) {
      lba += 8;
      continue;
    }
    const std::byte bit = std::byte{1} << static_cast<int>(lba % 8);
    if ((unreadable_.data()[lba / 8] & bit) != std::byte{0} && !visit(lba)) return;
    ++lba;
  }
}

std::optional<std::uint64_t> Store::unreadable_in(std::uint64_t lba, std::uint64_t blocks) const {
  std::optional<std::uint64_t> first;
  if (unreadable_blocks_ == 0) return first;
  visit_unreadable(lba, blocks, [&](std::uint64_t found) {
    first = found;
    return false;
  });
  return first;
}

void Store::mend(std::uint64_t lba, std::uint64_t blocks) {
  if (unreadable_blocks_ == 0) return;
  visit_unreadable(lba, blocks, [&](std::uint64_t found) {
    unreadable_.data()[found / 8] &= ~(std::byte{1} << static_cast<int>(found % 8));
    return --unreadable_blocks_ != 0;
  });
}

std::optional<MediaFault> Store::verify(std::uint64_t lba, std::uint64_t blocks) const {
  if (blocks == 0) return std::nullopt;
  std::optional<std::uint64_t> failing = unreadable_in(lba, blocks);
  if (const FaultyRange* fault = fault_in(lba, blocks, &FaultyRange::on_read)) {
    failing = std::min(failing.value_or(~0ULL), std::max(fault->lba, lba));
  }
  if (!failing) return std::nullopt;
  return MediaFault{status::kUnrecoveredReadError, *failing};
}

std::expected<std::span<const std::byte>, MediaFault> Store::read(std::uint64_t lba, std::uint64_t blocks,
                                                                  std::span<std::byte> scratch) {
  if (auto fault = verify(lba, blocks)) return std::unexpected(*fault);
  const auto data = media_->view(lba * block_size_, blocks * block_size_, scratch);
  if (data.empty() && blocks != 0) return std::unexpected(MediaFault{status::kUnrecoveredReadError, lba});
  return data;
}

std::optional<MediaFault> Store::prepare(std::uint64_t lba, std::uint64_t blocks, Durability durability) {
  if (const FaultyRange* fault = fault_in(lba, blocks, &FaultyRange::on_write)) {
    return MediaFault{status::kWriteFault, std::max(fault->lba, lba)};
  }
  // A write over unreadable blocks mends them, and that cannot be undone: it is durable at once, as any write may be.
  if (durability == Durability::durable || unreadable_in(lba, blocks) || !cache_.reserve(blocks * block_size_)) {
    cache_.settle(*this, lba, blocks);
    return std::nullopt;
  }
  const std::uint32_t group = cache_.begin();
  const std::uint64_t step = kPieceBytes / block_size_;
  for (std::uint64_t done = 0; done < blocks; done += step) {
    const std::uint64_t count = std::min(step, blocks - done);
    const auto before = media_->view((lba + done) * block_size_, count * block_size_, scratch_);
    if (before.empty()) return MediaFault{status::kWriteFault, lba + done};
    for (std::uint64_t i = 0; i < count; ++i) {
      cache_.remember(*this, lba + done + i, group, before.subspan(i * block_size_, block_size_));
    }
  }
  return std::nullopt;
}

std::optional<MediaFault> Store::write(std::uint64_t lba, std::span<const std::byte> data, Durability durability) {
  const std::uint64_t blocks = data.size() / block_size_;
  if (blocks == 0) return std::nullopt;
  if (auto fault = prepare(lba, blocks, durability)) return fault;
  if (!media_->write(lba * block_size_, data)) return MediaFault{status::kWriteFault, lba};
  mend(lba, blocks);
  return std::nullopt;
}

std::optional<MediaFault> Store::write_zeroes(std::uint64_t lba, std::uint64_t blocks, Durability durability) {
  if (blocks == 0) return std::nullopt;
  if (auto fault = prepare(lba, blocks, durability)) return fault;
  // Zeroes need no space: the media's content is the same.
  if (!media_->discard(lba * block_size_, blocks * block_size_)) return MediaFault{status::kWriteFault, lba};
  mend(lba, blocks);
  return std::nullopt;
}

std::optional<MediaFault> Store::deallocate(std::uint64_t lba, std::uint64_t blocks) {
  return write_zeroes(lba, blocks, Durability::durable);
}

void Store::mark_unreadable(std::uint64_t lba, std::uint64_t blocks) {
  cache_.settle(*this, lba, blocks);
  for (std::uint64_t i = lba; i < lba + blocks; ++i) {
    const std::byte bit = std::byte{1} << static_cast<int>(i % 8);
    std::byte& cell = unreadable_.data()[i / 8];
    if ((cell & bit) == std::byte{0}) ++unreadable_blocks_;
    cell |= bit;
  }
}

void Store::clear_faults() {
  faults_.clear();
  unreadable_.discard(0, unreadable_.size());
  unreadable_blocks_ = 0;
}

bool Store::format(std::uint32_t block_size) {
  const std::uint64_t blocks = media_->size() / block_size;
  SparseMemory dirty;
  SparseMemory unreadable;
  try {
    dirty.resize(blocks * sizeof(std::uint32_t));
    unreadable.resize(bitmap_bytes(blocks));
  } catch (const std::bad_alloc&) {
    return false;
  }
  flush();
  if (!media_->discard(0, media_->size())) return false;
  dirty_ = std::move(dirty);
  unreadable_ = std::move(unreadable);
  unreadable_blocks_ = 0;
  block_size_ = block_size;
  blocks_ = blocks;
  return true;
}

bool Store::resize(std::uint64_t bytes) {
  const std::uint64_t blocks = bytes / block_size_;
  if (blocks < blocks_) {
    cache_.settle(*this, blocks, blocks_ - blocks);
    mend(blocks, blocks_ - blocks);
  }
  try {
    if (blocks > blocks_) {
      dirty_.resize(blocks * sizeof(std::uint32_t));
      unreadable_.resize(bitmap_bytes(blocks));
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (!media_->resize(blocks * block_size_)) return false;
  if (blocks < blocks_) {
    dirty_.resize(blocks * sizeof(std::uint32_t));
    unreadable_.resize(bitmap_bytes(blocks));
  }
  blocks_ = blocks;
  return true;
}

void Store::restore(std::uint64_t lba, std::span<const std::byte> image) {
  // Nothing to do about a machine whose disk fails here: the block reads as written last.
  media_->write(lba * block_size_, image);
}

}  // namespace smartio::nvme
