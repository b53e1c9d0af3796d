// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/guests/symbols.h"

namespace smartio::bench_compare {

/// The work of a host that doesn't depend on its speed. Calls are counted where the functions begin.
enum class Count : std::size_t {
  instructions,       ///< of all its vCPUs, but for those that spin
  spinning,           ///< instructions that wait for a lock or a timer of another CPU: grows with how long that takes
  user_instructions,  ///< of them those of processes
  interrupts,         ///< all: of devices, timers, other CPUs
  device_interrupts,  ///< common_interrupt()
  context_switches,   ///< __switch_to_asm()
  dma_maps,           ///< calls that map a page, or a list, for a device
  dma_unmaps,
  iommu_commands,  ///< qi_submit_sync(): invalidations that the CPU waits for
  copied_bytes,    ///< by the kernel's string moves
  with_copies,     ///< instructions, and one more for each kCopyStep bytes copied
  timer_ticks,     ///< tick_nohz_handler(): pass with time, not with work
};
inline constexpr std::size_t kCounts = 12;
/// The plugin counts a repeated string move as one instruction, however long it is. A copy without string moves takes a
/// load and a store for each 32 bytes. It uses the widest registers that all x86-64 servers have. So there is one
/// instruction for 16 bytes.
inline constexpr double kCopyStep = 16;
/// "instructions", "DMA maps", …
std::string_view name_of(Count count);

/// One number for each Count.
class Tally {
 public:
  [[nodiscard]] double operator[](Count count) const { return values_[static_cast<std::size_t>(count)]; }
  double& operator[](Count count) { return values_[static_cast<std::size_t>(count)]; }

  Tally& operator-=(const Tally& other);
  Tally& operator*=(double factor);
  friend Tally operator-(Tally one, const Tally& other) { return one -= other; }
  friend Tally operator*(Tally one, double factor) { return one *= factor; }

 private:
  std::array<double, kCounts> values_{};
};

/// Each count's median.
Tally median(const std::vector<Tally>& all);

/// Sums a plugin's answers to "blocks" up, for one running kernel with the modules that it has now.
class Tallier {
 public:
  explicit Tallier(const bench::Symbols& symbols);

  /// Since the host's QEMU has started.
  [[nodiscard]] Tally operator()(const nlohmann::json& blocks) const;

 private:
  [[nodiscard]] bool spins(std::uint64_t address) const;

  std::unordered_map<std::uint64_t, std::vector<Count>> by_address_;
  std::map<std::uint64_t, std::uint64_t> spinning_;  ///< the functions that wait for another CPU: begin, end
};

}  // namespace smartio::bench_compare
