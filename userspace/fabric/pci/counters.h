// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace smartio::pci {

/// The counters of an endpoint. Names for the control socket are in counter_name().
enum class Count : std::uint8_t {
  config_reads,
  config_writes,
  register_reads,   ///< a guest's loads from BARs
  register_writes,  ///< a guest's stores to BARs
  peer_reads,       ///< accesses of other endpoints of the host (or its own) to the BARs
  peer_writes,
  dma_writes_memory,  ///< by where the device's accesses ended, one for each piece
  dma_writes_endpoint,
  dma_writes_qemu,
  dma_writes_unclaimed,
  dma_reads_memory,
  dma_reads_endpoint,
  dma_reads_qemu,
  dma_reads_unclaimed,
  loads_in_circle,      ///< loads of other hosts, which would have waited for a host that waits for them
  dma_refused_by_qemu,  ///< writes handed over that QEMU answered with an error (an IOMMU fault, say)
  interrupts_sent,
  interrupts_kept,     ///< met no eventfd and are pending
  interrupts_dropped,  ///< bus master off, device removed, or beyond the table
  dma_maps,
  dma_unmaps,
  messages,  ///< vfio-user messages received
  connections,
  resets,
  count_  ///< how many there are; not a counter
};
inline constexpr std::size_t kCounts = static_cast<std::size_t>(Count::count_);

/// As the control socket spells it.
std::string_view counter_name(Count count);

/// One endpoint's counters. Lock-free; any thread.
class Counters {
 public:
  void add(Count count, std::uint64_t by = 1) {
    values_[static_cast<std::size_t>(count)].fetch_add(by, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get(Count count) const {
    return values_[static_cast<std::size_t>(count)].load(std::memory_order_relaxed);
  }
  /// All of them by name, in the order of Count.
  [[nodiscard]] std::vector<std::pair<std::string_view, std::uint64_t>> all() const;
  void reset();

 private:
  std::array<std::atomic<std::uint64_t>, kCounts> values_{};
};

}  // namespace smartio::pci
