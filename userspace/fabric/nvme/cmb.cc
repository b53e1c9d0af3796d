// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/cmb.h"

#include <algorithm>
#include <cstring>

namespace smartio::nvme {

Cmb::Cmb(std::uint64_t bytes)
    : size_(bytes & ~std::uint64_t{0xFFF}),
      words_(size_ != 0 ? std::make_unique<std::atomic<std::uint64_t>[]>(size_ / 8) : nullptr),
      kinds_(size_ != 0 ? std::make_unique<std::atomic<pci::AccessKind>[]>(size_ / 4096) : nullptr) {
  mark(0, size_, pci::AccessKind::message);
}

void Cmb::read(std::uint64_t offset, std::span<std::byte> data) const {
  std::size_t done = 0;
  while (done < data.size()) {
    const std::uint64_t at = offset + done;
    const std::size_t skip = at & 7;
    const std::size_t count = std::min(data.size() - done, 8 - skip);
    const std::uint64_t word = at < size_ ? words_[at / 8].load(std::memory_order_acquire) : 0;
    std::memcpy(data.data() + done, reinterpret_cast<const std::byte*>(&word) + skip, count);
    done += count;
  }
}

void Cmb::write(std::uint64_t offset, std::span<const std::byte> data) {
  std::size_t done = 0;
  while (done < data.size()) {
    const std::uint64_t at = offset + done;
    if (at >= size_) return;
    const std::size_t skip = at & 7;
    const std::size_t count = std::min(data.size() - done, 8 - skip);
    std::atomic<std::uint64_t>& word = words_[at / 8];
    if (count == 8) {
      std::uint64_t value = 0;
      std::memcpy(&value, data.data() + done, 8);
      word.store(value, std::memory_order_release);
    } else {
      // Two CPUs may store to different bytes of one word: neither may undo the other's.
      std::uint64_t old = word.load(std::memory_order_relaxed);
      std::uint64_t merged = 0;
      do {
        merged = old;
        std::memcpy(reinterpret_cast<std::byte*>(&merged) + skip, data.data() + done, count);
      } while (!word.compare_exchange_weak(old, merged, std::memory_order_release, std::memory_order_relaxed));
    }
    done += count;
  }
}

void Cmb::set_space(std::uint64_t cmbmsc) {
  const std::uint64_t base = cmbmsc & ~std::uint64_t{0xFFF};
  const bool on = size_ != 0 && (cmbmsc & 3) == 3 && base + size_ > base;  // CRE and CMSE
  base_.store(on ? base : kNoAddress, std::memory_order_relaxed);
}

void Cmb::mark(std::uint64_t offset, std::uint64_t length, pci::AccessKind kind) {
  if (offset >= size_ || length == 0) return;
  const std::uint64_t last = std::min(length, size_ - offset) + offset - 1;
  for (std::uint64_t page = offset / 4096; page <= last / 4096; ++page) {
    kinds_[page].store(kind, std::memory_order_relaxed);
  }
}

pci::AccessKind Cmb::kind(std::uint64_t offset) const {
  return offset < size_ ? kinds_[offset / 4096].load(std::memory_order_relaxed) : pci::AccessKind::message;
}

void Cmb::reset() {
  base_.store(kNoAddress, std::memory_order_relaxed);
  for (std::uint64_t word = 0; word < size_ / 8; ++word) words_[word].store(0, std::memory_order_relaxed);
  mark(0, size_, pci::AccessKind::message);
}

}  // namespace smartio::nvme
