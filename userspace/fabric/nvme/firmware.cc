// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/firmware.h"

#include <algorithm>
#include <cstring>

namespace smartio::nvme {

Status Firmware::download(std::uint64_t offset, std::span<const std::byte> piece) {
  if (offset > kMaxImage || piece.size() > kMaxImage - offset) return status::kInvalidField;
  const Piece range{offset, offset + piece.size()};
  // A download that starts over starts at 0 (section 5.13): the host may have given up on the one before.
  if (offset == 0) {
    image_.clear();
    pieces_.clear();
  }
  for (const Piece& other : pieces_) {
    if (range.begin < other.end && other.begin < range.end) return status::kOverlappingRange;
  }
  if (!pieces_.empty() && pieces_.back().end == range.begin) {
    pieces_.back().end = range.end;
  } else {
    pieces_.push_back(range);
  }
  if (image_.size() < range.end) image_.resize(range.end);
  std::memcpy(image_.data() + offset, piece.data(), piece.size());
  return status::kSuccess;
}

Status Firmware::commit(unsigned action, unsigned slot) {
  if (slot > kSlots) return status::kInvalidFirmwareSlot;
  if (action > 3) return status::kInvalidField;
  const bool has_image = !image_.empty();
  const bool takes_image = action == 0 || action == 1 || (action == 3 && has_image);
  if (takes_image) {
    // Slot 0 lets the controller choose: the first free one that may be written, else the last.
    if (slot == 0) {
      slot = 2;
      while (slot < kSlots && slots_[slot - 1]) ++slot;
    }
    if (slot == 1) return status::kInvalidFirmwareSlot;
    static constexpr std::size_t kRevision = 8;
    const bool whole = pieces_.size() == 1 && image_.size() >= kMagic.size() + kRevision;
    if (!whole || std::memcmp(image_.data(), kMagic.data(), kMagic.size()) != 0) return status::kInvalidFirmwareImage;
    std::string revision(reinterpret_cast<const char*>(image_.data()) + kMagic.size(), kRevision);
    if (std::ranges::any_of(revision, [](char c) { return c < 0x20 || c > 0x7E; }))
      return status::kInvalidFirmwareImage;
    slots_[slot - 1] = std::move(revision);
    image_.clear();
    pieces_.clear();
  }
  if (action == 0) return status::kSuccess;
  if (slot == 0 || !slots_[slot - 1]) return status::kInvalidFirmwareSlot;
  if (action == 3) {
    active_ = slot;
    next_ = 0;
  } else {
    next_ = slot;
  }
  return status::kSuccess;
}

void Firmware::reset() {
  if (next_ != 0) active_ = next_;
  next_ = 0;
  image_.clear();
  pieces_.clear();
}

FirmwareSlotLog Firmware::page() const {
  FirmwareSlotLog log{};
  log.afi = static_cast<std::uint8_t>(active_ | next_ << 4U);
  for (unsigned i = 0; i < kSlots; ++i) {
    if (!slots_[i]) continue;
    std::memset(log.revision[i], ' ', sizeof(log.revision[i]));
    std::memcpy(log.revision[i], slots_[i]->data(), std::min(slots_[i]->size(), sizeof(log.revision[i])));
  }
  return log;
}

}  // namespace smartio::nvme
