// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/counters.h"

namespace smartio::pci {

std::string_view counter_name(Count count) {
  switch (count) {
    case Count::config_reads:
      return "config_reads";
    case Count::config_writes:
      return "config_writes";
    case Count::register_reads:
      return "register_reads";
    case Count::register_writes:
      return "register_writes";
    case Count::peer_reads:
      return "peer_reads";
    case Count::peer_writes:
      return "peer_writes";
    case Count::dma_writes_memory:
      return "dma_writes_memory";
    case Count::dma_writes_endpoint:
      return "dma_writes_endpoint";
    case Count::dma_writes_qemu:
      return "dma_writes_qemu";
    case Count::dma_writes_unclaimed:
      return "dma_writes_unclaimed";
    case Count::dma_reads_memory:
      return "dma_reads_memory";
    case Count::dma_reads_endpoint:
      return "dma_reads_endpoint";
    case Count::dma_reads_qemu:
      return "dma_reads_qemu";
    case Count::dma_reads_unclaimed:
      return "dma_reads_unclaimed";
    case Count::dma_refused_by_qemu:
      return "dma_refused_by_qemu";
    case Count::interrupts_sent:
      return "interrupts_sent";
    case Count::interrupts_kept:
      return "interrupts_kept";
    case Count::interrupts_dropped:
      return "interrupts_dropped";
    case Count::dma_maps:
      return "dma_maps";
    case Count::dma_unmaps:
      return "dma_unmaps";
    case Count::messages:
      return "messages";
    case Count::connections:
      return "connections";
    case Count::resets:
      return "resets";
    case Count::count_:
      break;
  }
  return "unknown";
}

std::vector<std::pair<std::string_view, std::uint64_t>> Counters::all() const {
  std::vector<std::pair<std::string_view, std::uint64_t>> result;
  for (std::size_t i = 0; i < kCounts; ++i) {
    const auto count = static_cast<Count>(i);
    result.emplace_back(counter_name(count), get(count));
  }
  return result;
}

void Counters::reset() {
  for (auto& value : values_) value.store(0, std::memory_order_relaxed);
}

}  // namespace smartio::pci
