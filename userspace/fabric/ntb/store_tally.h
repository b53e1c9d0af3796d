// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "fabric/ledger/ledger.h"
#include "fabric/pci/types.h"

namespace smartio::ntb {

/// The state of a CPU's write-combining buffer: where its last store to a window ended. It is kept between messages,
/// because QEMU cuts a row of stores into messages at any place. It is flushed by the accesses that flush a real
/// buffer: to an uncached register, and loads. Any thread; two CPUs at once may make the count of TLPs a little larger.
class CombiningBuffer {
 public:
  void flush() { last_.store(0, std::memory_order_relaxed); }

 private:
  friend class StoreTally;
  std::atomic<std::uint64_t> last_{0};  ///< 0: empty. Else end offset, window and kind of the last store
};

/// Counts a row of a CPU's stores to one window and enters them in the ledger when it goes out of scope: a handful
/// of atomic adds for a message instead of some for each store.
class StoreTally {
 public:
  StoreTally(CombiningBuffer& buffer, unsigned window, ledger::LinkLedger& ledger, ledger::Direction direction)
      : buffer_(buffer),
        window_(window),
        ledger_(ledger),
        direction_(direction),
        last_(buffer.last_.load(std::memory_order_relaxed)) {}
  StoreTally(const StoreTally&) = delete;
  StoreTally& operator=(const StoreTally&) = delete;
  ~StoreTally() {
    buffer_.last_.store(last_, std::memory_order_relaxed);
    for (std::size_t kind = 0; kind < cells_.size(); kind++)
      if (cells_[kind].bytes != 0)
        ledger_.posted(direction_, static_cast<pci::AccessKind>(kind), cells_[kind].transactions, cells_[kind].bytes);
    if (dropped_ != 0) ledger_.dropped(direction_, dropped_);
  }

  void landed(std::uint64_t offset, std::uint32_t size, pci::AccessKind kind) {
    auto& cell = cells_[static_cast<std::size_t>(kind)];
    cell.bytes += size;
    if (offset % kLine == 0 || last_ != key(offset, kind)) cell.transactions++;
    if (offset / kLine != (offset + size - 1) / kLine) cell.transactions++;
    last_ = key(offset + size, kind);
  }
  void dropped() {
    dropped_++;
    last_ = 0;
  }

 private:
  static constexpr std::uint64_t kLine = 64;
  [[nodiscard]] std::uint64_t key(std::uint64_t end, pci::AccessKind kind) const {
    return end << 8 | std::uint64_t{window_} << 4 | static_cast<std::uint64_t>(kind);
  }

  CombiningBuffer& buffer_;
  const unsigned window_;
  ledger::LinkLedger& ledger_;
  const ledger::Direction direction_;
  std::uint64_t last_;
  std::array<ledger::Cell, pci::kAccessKinds> cells_{};
  std::uint64_t dropped_ = 0;
};

}  // namespace smartio::ntb
