// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/data_pointer.h"

#include <algorithm>
#include <cstring>

namespace smartio::nvme {
namespace {

// SGL descriptor types (NVMe 1.4, figure 116).
constexpr unsigned kDataBlock = 0;
constexpr unsigned kBitBucket = 1;
constexpr unsigned kSegment = 2;
constexpr unsigned kLastSegment = 3;
// Descriptors that are fetched from a segment at a time.
constexpr std::size_t kSegmentChunk = 256;

unsigned type_of(const SglDescriptor& descriptor) { return descriptor.type >> 4; }
unsigned subtype_of(const SglDescriptor& descriptor) { return descriptor.type & 0xF; }

}  // namespace

void DataMap::clear() {
  pieces_.clear();
  length_ = 0;
  cursor_ = 0;
}

void DataMap::add(std::uint64_t address, std::uint64_t length, bool bucket) {
  if (length == 0) return;
  if (!pieces_.empty()) {
    Piece& last = pieces_.back();
    // Not across the top of the address space: the next address after it is 0.
    const bool follows =
        bucket ? last.bucket : !last.bucket && address != 0 && last.address.value + last.length == address;
    if (follows) {
      last.length += length;
      length_ += length;
      return;
    }
  }
  pieces_.push_back({length_, length, {address}, bucket});
  length_ += length;
}

Status DataMap::map(const Dma& dma, const SubmissionEntry& entry, std::uint64_t length, bool to_host, Options options) {
  clear();
  if (length == 0) return status::kSuccess;
  if (length > kMaxLength) return status::kInvalidField;
  Status status;
  switch (entry.psdt()) {
    case static_cast<unsigned>(DataPointer::prp):
      status = map_prp(dma, entry.prp1, entry.prp2, length, options.page_size);
      break;
    case static_cast<unsigned>(DataPointer::sgl):
    case static_cast<unsigned>(DataPointer::sgl_metadata_sgl): {
      if (!options.sgl) return status::kInvalidField;
      SglDescriptor first;
      static_assert(offsetof(SubmissionEntry, prp2) == offsetof(SubmissionEntry, prp1) + 8);
      std::memcpy(&first.address, &entry.prp1, 8);
      std::memcpy(&first.length, &entry.prp2, 4);
      first.type = static_cast<std::uint8_t>(entry.prp2 >> 56);
      status = map_sgl(dma, first, length, to_host);
      break;
    }
    default:
      return status::kInvalidField;
  }
  if (!status.ok()) clear();
  return status;
}

Status DataMap::map_prp(const Dma& dma, std::uint64_t prp1, std::uint64_t prp2, std::uint64_t length,
                        std::uint32_t page_size) {
  const std::uint64_t in_page = page_size - 1;
  if ((prp1 & 3) != 0) return status::kPrpOffsetInvalid;
  const std::uint64_t first = std::min<std::uint64_t>(length, page_size - (prp1 & in_page));
  add(prp1, first);
  const std::uint64_t rest = length - first;
  if (rest == 0) return status::kSuccess;
  if (rest <= page_size) {
    if ((prp2 & in_page) != 0) return status::kPrpOffsetInvalid;
    add(prp2, rest);
    return status::kSuccess;
  }
  return map_prp_list(dma, prp2, rest, page_size);
}

Status DataMap::map_prp_list(const Dma& dma, std::uint64_t list, std::uint64_t length, std::uint32_t page_size) {
  const std::uint64_t in_page = page_size - 1;
  if ((list & 7) != 0) return status::kPrpOffsetInvalid;
  while (length != 0) {
    const std::uint64_t needed = (length + in_page) / page_size;
    const std::uint64_t room = (page_size - (list & in_page)) / 8;
    const std::uint64_t count = std::min(needed, room);
    const bool chained = needed > room;  // the page's last entry then leads to the next list
    list_.resize(count);
    if (!dma.read({list}, std::as_writable_bytes(std::span(list_)), pci::AccessKind::list)) {
      return status::kDataTransferError;
    }
    const std::uint64_t data_entries = chained ? count - 1 : count;
    for (std::uint64_t index = 0; index < data_entries; ++index) {
      const std::uint64_t page = list_[index];
      if ((page & in_page) != 0) return status::kPrpOffsetInvalid;
      const std::uint64_t bytes = std::min<std::uint64_t>(length, page_size);
      add(page, bytes);
      length -= bytes;
    }
    if (chained) {
      list = list_[count - 1];
      // Only the pointer in the command may have an offset; this also makes each further list hold many entries.
      if ((list & in_page) != 0) return status::kPrpOffsetInvalid;
    }
  }
  return status::kSuccess;
}

Status DataMap::add_descriptor(const SglDescriptor& descriptor, std::uint64_t requested, bool to_host) {
  if (subtype_of(descriptor) != 0) return status::kSglDescriptorTypeInvalid;
  switch (type_of(descriptor)) {
    case kDataBlock:
      if (descriptor.length > requested - length_) return status::kDataSglLengthInvalid;
      if (descriptor.address + descriptor.length < descriptor.address) return status::kDataTransferError;
      add(descriptor.address, descriptor.length);
      return status::kSuccess;
    case kBitBucket:
      // In a transfer from the host a bucket counts as empty (NVMe 1.4, 4.4).
      if (!to_host) return status::kSuccess;
      if (descriptor.length > requested - length_) return status::kDataSglLengthInvalid;
      add(0, descriptor.length, true);
      return status::kSuccess;
    default:
      return status::kSglDescriptorTypeInvalid;
  }
}

Status DataMap::map_sgl(const Dma& dma, const SglDescriptor& first, std::uint64_t length, bool to_host) {
  SglDescriptor next = first;
  unsigned budget = kMaxSglDescriptors;
  while (true) {
    const unsigned type = type_of(next);
    if (type != kSegment && type != kLastSegment) {
      const Status status = add_descriptor(next, length, to_host);
      if (!status.ok()) return status;
      break;
    }
    if (subtype_of(next) != 0) return status::kSglDescriptorTypeInvalid;
    if (next.length == 0 || next.length % sizeof(SglDescriptor) != 0) return status::kInvalidSglSegmentDescriptor;
    const bool last_segment = type == kLastSegment;
    std::uint64_t left = next.length / sizeof(SglDescriptor);
    std::uint64_t address = next.address;
    if (left > budget) return status::kInvalidNumberOfSglDescriptors;
    budget -= static_cast<unsigned>(left);
    bool follow = false;
    while (left != 0) {
      segment_.resize(std::min<std::uint64_t>(left, kSegmentChunk));
      if (!dma.read({address}, std::as_writable_bytes(std::span(segment_)), pci::AccessKind::list)) {
        return status::kDataTransferError;
      }
      address += segment_.size() * sizeof(SglDescriptor);
      left -= segment_.size();
      for (std::size_t index = 0; index < segment_.size(); ++index) {
        const SglDescriptor& descriptor = segment_[index];
        const unsigned kind = type_of(descriptor);
        if (kind == kSegment || kind == kLastSegment) {
          // Leads on from the end of a segment, and from nowhere else.
          const bool at_end = left == 0 && index + 1 == segment_.size();
          if (last_segment || !at_end) return status::kInvalidSglSegmentDescriptor;
          next = descriptor;
          follow = true;
          continue;
        }
        const Status status = add_descriptor(descriptor, length, to_host);
        if (!status.ok()) return status;
      }
    }
    if (follow) continue;
    if (!last_segment) return status::kInvalidSglSegmentDescriptor;  // the segment leads to no other one
    break;
  }
  return length_ == length ? status::kSuccess : status::kDataSglLengthInvalid;
}

template <typename Move>
bool DataMap::walk(std::uint64_t offset, std::uint64_t count, Move move) {
  if (offset > length_ || count > length_ - offset) return false;
  if (count == 0) return true;
  if (cursor_ >= pieces_.size() || pieces_[cursor_].start > offset) cursor_ = 0;
  while (pieces_[cursor_].start + pieces_[cursor_].length <= offset) ++cursor_;
  std::uint64_t done = 0;
  while (done < count) {
    const Piece& piece = pieces_[cursor_];
    const std::uint64_t skip = offset + done - piece.start;
    const std::uint64_t bytes = std::min(count - done, piece.length - skip);
    if (!move(piece, skip, done, bytes)) return false;
    done += bytes;
    if (done < count) ++cursor_;
  }
  return true;
}

Status DataMap::read(const Dma& dma, std::uint64_t offset, std::span<std::byte> into) {
  const bool done =
      walk(offset, into.size(), [&](const Piece& piece, std::uint64_t skip, std::uint64_t at, std::uint64_t bytes) {
        const auto part = into.subspan(at, bytes);
        if (piece.bucket) {
          std::ranges::fill(part, std::byte{0});
          return true;
        }
        return dma.read(piece.address + skip, part, pci::AccessKind::data);
      });
  return done ? status::kSuccess : status::kDataTransferError;
}

Status DataMap::write(const Dma& dma, std::uint64_t offset, std::span<const std::byte> from) {
  const bool done =
      walk(offset, from.size(), [&](const Piece& piece, std::uint64_t skip, std::uint64_t at, std::uint64_t bytes) {
        if (!piece.bucket) dma.write(piece.address + skip, from.subspan(at, bytes), pci::AccessKind::data);
        return true;
      });
  return done ? status::kSuccess : status::kDataTransferError;
}

}  // namespace smartio::nvme
