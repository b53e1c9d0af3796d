// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "fabric/ntb/registers.h"

namespace smartio::ntb {

/// The translation of one window, held by the side that the window leads into.
struct Inbound {
  std::atomic<std::uint64_t> translation{0};  ///< bus address of the window's first byte on the receiving host
  std::atomic<std::uint64_t> limit{0};        ///< bytes that are open; 0: shut
};

/// Vectors to signal, one bit each.
using Vectors = std::uint32_t;

/// The registers that one side of the bridge holds, and what a write to them makes happen, as plain state: who may
/// reach them, and the way to the peer, is AmdNtb's business. Not thread-safe, except that inbound() may be read by
/// anyone at any time. Methods that change something return the interrupts that follow; the caller sends them after
/// it has let go of its lock.
class RegisterFile {
 public:
  explicit RegisterFile(bool secondary) : secondary_(secondary) { reset(); }

  /// The state after power-on: windows shut, everything masked, no event pending.
  void reset();

  /// The 32-bit register at `offset` (a multiple of 4). What is not modelled reads 0.
  [[nodiscard]] std::uint32_t read(std::uint64_t offset) const;

  struct Effects {
    Vectors own = 0;               ///< interrupts to this side
    std::uint32_t doorbells = 0;   ///< bits of the peer to ring
    bool window_narrowed = false;  ///< an open window was moved or shut: writes in flight must end first
    bool heard_of_loss = false;    ///< the driver has dealt with a LINK_DOWN event
  };
  /// Writes the bytes of `value` that `mask` selects to the 8 bytes at `offset` (a multiple of 8). A 64-bit register
  /// changes at once.
  Effects write(std::uint64_t offset, std::uint64_t value, std::uint64_t mask);

  /// The peer rings doorbells.
  Vectors ring(std::uint32_t bits);

  /// kLinkUpEvent or kLinkDownEvent. The driver understands one bit in INTSTAT at a time, so others wait until it
  /// is cleared; of a long up-and-down only the last change is kept.
  Vectors event(std::uint32_t bit);

  /// Events that wait until the one in INTSTAT is cleared.
  [[nodiscard]] std::size_t waiting_events() const { return waiting_events_.size(); }
  /// A driver that wants to hear of lost links has not dealt with a LINK_DOWN event yet.
  [[nodiscard]] bool loss_unheard() const;
  [[nodiscard]] bool ready() const { return (sideinfo_ & kSideReady) != 0; }
  [[nodiscard]] const Inbound& inbound(unsigned window) const { return inbound_[window]; }

 private:
  Effects write32(std::uint64_t offset, std::uint32_t value, std::uint32_t mask);
  Vectors next_event();
  std::atomic<std::uint64_t>* wide(std::uint64_t offset);

  const bool secondary_;
  std::uint32_t control_ = 0;
  std::uint32_t sideinfo_ = 0;
  std::uint32_t doorbell_mask_ = 0;
  std::uint32_t doorbell_status_ = 0;
  std::uint32_t event_mask_ = 0;
  std::uint32_t event_status_ = 0;
  std::uint32_t smu_ack_ = 0;
  std::array<std::uint32_t, kScratchpads> scratchpads_{};  ///< this side's eight are used
  std::array<Inbound, kWindows> inbound_;
  std::vector<std::uint32_t> waiting_events_;
};

}  // namespace smartio::ntb
