// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "fabric/pci/types.h"

namespace smartio::nvme {

/// The controller memory buffer: memory inside the drive that the host reaches through a BAR and the drive itself
/// by the address the host gave it (CMBMSC.CBA). CPU stores and the drive's own accesses meet here from different
/// threads: aligned pieces of 8 bytes are single atomic accesses, in ascending order, as in host memory.
class Cmb {
 public:
  /// `bytes` is a multiple of 4 KiB; 0: there is none.
  explicit Cmb(std::uint64_t bytes);

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Any thread. Bytes beyond the end read as 0 and are not written.
  void read(std::uint64_t offset, std::span<std::byte> data) const;
  void write(std::uint64_t offset, std::span<const std::byte> data);

  /// Where the drive finds its buffer on the bus, from CMBMSC. Any thread.
  void set_space(std::uint64_t cmbmsc);
  /// Offset into the buffer of [address, address + length), if all of it lies inside.
  [[nodiscard]] std::optional<std::uint64_t> find(pci::BusAddress address, std::uint64_t length) const {
    const std::uint64_t base = base_.load(std::memory_order_relaxed);
    if (base == kNoAddress || address.value < base) return std::nullopt;
    const std::uint64_t offset = address.value - base;
    if (offset >= size_ || length > size_ - offset) return std::nullopt;
    return offset;
  }

  /// The kind of stores to a page of the buffer: an SQ there makes them commands. Any thread.
  void mark(std::uint64_t offset, std::uint64_t length, pci::AccessKind kind);
  [[nodiscard]] pci::AccessKind kind(std::uint64_t offset) const;

  /// As after power-on: all zero, not addressable. Any thread.
  void reset();

 private:
  static constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};

  const std::uint64_t size_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> words_;
  std::unique_ptr<std::atomic<pci::AccessKind>[]> kinds_;  // one a 4 KiB page
  std::atomic<std::uint64_t> base_{kNoAddress};
};

}  // namespace smartio::nvme
