// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fabric/pci/types.h"

namespace smartio::ledger {

/// Which way a request crosses a link: from the host on the NTB's primary side, or from the secondary's.
enum class Direction : std::uint8_t { from_primary, from_secondary };

/// Transactions and bytes of one cell of the ledger. `transactions` are TLPs as a PCIe link would carry them. A
/// device's write is split at 256-byte boundaries (Max_Payload_Size), its read at 512-byte boundaries
/// (Max_Read_Request_Size). A CPU's adjacent ascending stores within one 64-byte line of a window count as one, as
/// write combining would merge them. Every CPU load is one.
struct Cell {
  std::uint64_t transactions = 0;
  std::uint64_t bytes = 0;
};

/// A copy of a link's counters at one moment.
struct Snapshot {
  /// [direction][kind]
  std::array<std::array<Cell, pci::kAccessKinds>, 2> posted;
  std::array<std::array<Cell, pci::kAccessKinds>, 2> non_posted;
  /// Accesses that were dropped: cable out, window shut, beyond its limit, or refused behind it.
  std::array<std::uint64_t, 2> dropped{};
};

/// Counts transactions across one link, by direction and kind. Lock-free; any thread.
class LinkLedger {
 public:
  void posted(Direction direction, pci::AccessKind kind, std::uint64_t transactions, std::uint64_t bytes);
  void non_posted(Direction direction, pci::AccessKind kind, std::uint64_t transactions, std::uint64_t bytes);
  void dropped(Direction direction, std::uint64_t accesses);

  [[nodiscard]] Snapshot snapshot() const;
  /// Accesses that were dropped, by direction, since the link was made: reset() leaves them.
  [[nodiscard]] std::array<std::uint64_t, 2> dropped_ever() const;
  void reset();

  /// TLPs that a device's access of `bytes` at `address` makes when split at `boundary` (a power of two).
  static std::uint64_t split(std::uint64_t address, std::uint64_t bytes, std::uint64_t boundary);
  static constexpr std::uint64_t kMaxPayload = 256;
  static constexpr std::uint64_t kMaxReadRequest = 512;

 private:
  struct AtomicCell {
    std::atomic<std::uint64_t> transactions{0};
    std::atomic<std::uint64_t> bytes{0};
  };
  std::array<std::array<AtomicCell, pci::kAccessKinds>, 2> posted_;
  std::array<std::array<AtomicCell, pci::kAccessKinds>, 2> non_posted_;
  std::array<std::atomic<std::uint64_t>, 2> dropped_{};
  std::array<std::atomic<std::uint64_t>, 2> dropped_ever_{};
};

}  // namespace smartio::ledger
