// SPDX-License-Identifier: GPL-2.0
#include "bench/compare/tally.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "bench/guests/spread.h"

namespace smartio::bench_compare {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, kCounts> kNames{
    "instructions", "spinning",   "of processes",   "interrupts",   "device interrupts",        "context switches",
    "DMA maps",     "DMA unmaps", "IOMMU commands", "bytes copied", "instructions with copies", "timer ticks"};

/// They loop until another CPU has given a lock back, or has run a timer.
constexpr std::array<std::string_view, 6> kSpinning{"native_queued_spin_lock_slowpath",
                                                    "hrtimer_try_to_cancel",
                                                    "hrtimer_active",
                                                    "do_nanosleep",
                                                    "__timer_delete_sync",
                                                    "lock_timer_base"};

std::vector<Count> counts_of(std::string_view function) {
  if (function == "common_interrupt") return {Count::interrupts, Count::device_interrupts};
  if (function.starts_with("sysvec_")) return {Count::interrupts};
  if (function == "__switch_to_asm") return {Count::context_switches};
  if (function == "qi_submit_sync") return {Count::iommu_commands};
  if (function == "tick_nohz_handler") return {Count::timer_ticks};
  for (const char* map : {"dma_map_page_attrs", "dma_map_sg_attrs", "dma_map_sgtable", "dma_map_resource"}) {
    if (function == map) return {Count::dma_maps};
  }
  // smartio_nvme maps a page at an address of its own by iommu_map(), which the DMA API calls, too. Only smartio_nvme
  // calls iommu_unmap() for an I/O.
  if (function.starts_with("snvme_map_slot")) return {Count::dma_maps};
  for (const char* unmap : {"dma_unmap_page_attrs", "dma_unmap_sg_attrs", "dma_unmap_resource", "iommu_unmap"}) {
    if (function == unmap) return {Count::dma_unmaps};
  }
  return {};
}

}  // namespace

std::string_view name_of(Count count) { return kNames.at(static_cast<std::size_t>(count)); }

Tally& Tally::operator-=(const Tally& other) {
  for (std::size_t i = 0; i < kCounts; ++i) values_[i] -= other.values_[i];
  return *this;
}

Tally& Tally::operator*=(double factor) {
  for (double& value : values_) value *= factor;
  return *this;
}

Tally median(const std::vector<Tally>& all) {
  Tally result;
  for (std::size_t i = 0; i < kCounts; ++i) {
    std::vector<double> values;
    for (const Tally& one : all) values.push_back(one[static_cast<Count>(i)]);
    result[static_cast<Count>(i)] = bench::spread_of(std::move(values)).median;
  }
  return result;
}

Tallier::Tallier(const bench::Symbols& symbols) {
  const auto& functions = symbols.functions();
  for (auto at = functions.begin(); at != functions.end(); ++at) {
    const auto& [address, name] = *at;
    // A part that the compiler cuts off is FUNCTION.part.0.
    if (std::ranges::contains(kSpinning, std::string_view(name).substr(0, name.find('.'))) &&
        std::next(at) != functions.end()) {
      spinning_.emplace(address, std::next(at)->first);
    }
    if (auto counts = counts_of(name); !counts.empty()) by_address_.emplace(address, std::move(counts));
  }
}

bool Tallier::spins(std::uint64_t address) const {
  const auto after = spinning_.upper_bound(address);
  return after != spinning_.begin() && address < std::prev(after)->second;
}

Tally Tallier::operator()(const json& blocks) const {
  Tally tally;
  tally[Count::user_instructions] = blocks.at("user");
  tally[Count::copied_bytes] = blocks.at("copied");
  tally[Count::instructions] = tally[Count::user_instructions] + blocks.at("other").get<double>();
  for (const json& block : blocks.at("kernel")) {
    const auto address = block.at(0).get<std::uint64_t>();
    tally[spins(address) ? Count::spinning : Count::instructions] += block.at(1).get<double>();
    const auto found = by_address_.find(address);
    if (found == by_address_.end()) continue;
    for (const Count count : found->second) tally[count] += block.at(2).get<double>();
  }
  tally[Count::with_copies] = tally[Count::instructions] + tally[Count::copied_bytes] / kCopyStep;
  return tally;
}

}  // namespace smartio::bench_compare
