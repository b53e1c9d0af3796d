// SPDX-License-Identifier: GPL-2.0
// The words that every device model and the routing between them share.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

namespace smartio::pci {

/// An address on one host's PCIe bus, as a device of that host puts it on the wire: an IOVA where that host's
/// IOMMU is on, a physical address where it is off. Means nothing without knowing which function uses it.
struct BusAddress {
  std::uint64_t value = 0;

  auto operator<=>(const BusAddress&) const = default;
  constexpr BusAddress operator+(std::uint64_t bytes) const { return {value + bytes}; }
};

// Where x86 devices send their MSIs. Never memory, even if a guest maps memory there.
constexpr std::uint64_t kInterruptBegin = 0xfee00000;
constexpr std::uint64_t kInterruptEnd = 0xfef00000;
constexpr bool is_interrupt(BusAddress address) {
  return address.value >= kInterruptBegin && address.value < kInterruptEnd;
}

/// The content of a transaction: the columns of the ledger.
enum class AccessKind : std::uint8_t {
  command,     ///< submission queue entries, written by a CPU or fetched by a drive
  doorbell,    ///< NVMe queue doorbells
  data,        ///< payload of commands
  list,        ///< PRP lists and SGL segments
  completion,  ///< completion queue entries
  interrupt,   ///< MSI messages (writes to 0xFEExxxxx)
  message,     ///< a CPU's stores to and loads from the peer's memory: rings, bootstrap pages, test data
  control,     ///< device registers other than doorbells
};
inline constexpr std::size_t kAccessKinds = 8;

struct Load;

/// The context of an access from its origin to its end.
struct Transaction {
  /// The kind as the origin knows it. The end of the access may refine `message` (a doorbell, an SQ).
  AccessKind kind = AccessKind::message;
  /// NTBs crossed so far. Routing gives up at kMaxHops, so two windows that lead into each other end.
  std::uint8_t hops = 0;
  /// Accesses of devices only: may this wait for a guest's QEMU? It may if no QEMU waits for the device.
  bool may_wait = false;
  /// Loads of a guest's CPU only. The guest's own QEMU waits for the answer. So the load may wait for another QEMU only
  /// if no circle of hosts closes, and not for long (docs/fabric.md).
  const Load* load = nullptr;
};
inline constexpr std::uint8_t kMaxHops = 4;

/// Where an access ended.
enum class Delivery : std::uint8_t {
  memory,     ///< guest memory that this process has mapped
  endpoint,   ///< a BAR of another endpoint of the host (peer to peer)
  qemu,       ///< handed to the guest's QEMU, which applies IOMMU, interrupt remapping and its memory map
  unclaimed,  ///< dropped; a read gave all ones
};

/// How an access ended, and its kind as found at the end.
struct Outcome {
  Delivery delivery = Delivery::unclaimed;
  AccessKind kind = AccessKind::message;
};

/// One store of a guest to a BAR, up to 8 bytes, little endian in `data`.
struct Store {
  std::uint64_t offset;
  std::uint32_t size;  ///< 1 to 8
  std::uint64_t data;
};

/// One store of a device to its host's bus.
struct BusStore {
  BusAddress address;
  std::uint32_t size;  ///< 1 to 8
  std::uint64_t data;
};

}  // namespace smartio::pci
