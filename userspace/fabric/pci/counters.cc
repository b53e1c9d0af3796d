// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/counters.h"

namespace smartio::pci {

namespace {

constexpr std::array<std::string_view, kCounts> kNames{"config_reads",       "config_writes",
                                                       "register_reads",     "register_writes",
                                                       "peer_reads",         "peer_writes",
                                                       "dma_writes_memory",  "dma_writes_endpoint",
                                                       "dma_writes_qemu",    "dma_writes_unclaimed",
                                                       "dma_reads_memory",   "dma_reads_endpoint",
                                                       "dma_reads_qemu",     "dma_reads_unclaimed",
                                                       "loads_in_circle",    "dma_refused_by_qemu",
                                                       "interrupts_sent",    "interrupts_kept",
                                                       "interrupts_dropped", "dma_maps",
                                                       "dma_unmaps",         "messages",
                                                       "connections",        "resets"};
static_assert(!kNames.back().empty());

}  // namespace

std::string_view counter_name(Count count) { return kNames.at(static_cast<std::size_t>(count)); }

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
