// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace smartio::ntb {

inline constexpr unsigned kWindows = 2;  ///< BAR2 and BAR4

/// The translation of one window, held by the side that the window leads into.
struct Inbound {
  std::atomic<std::uint64_t> translation{0};  ///< bus address of the window's first byte on the receiving host
  std::atomic<std::uint64_t> limit{0};        ///< bytes that are open; 0: shut
};

/// Vectors to signal, one bit each.
using Vectors = std::uint64_t;

/// A side's state at one moment, for status output and tests. The registers' names are those of the family.
struct SideStatus {
  bool connected = false;           ///< a guest is attached
  bool ready = false;               ///< its driver is at work on the link
  std::uint32_t event = 0;          ///< events of the link, reported to the driver, and not yet cleared by it
  std::size_t waiting_events = 0;   ///< to be reported after that
  std::uint32_t doorbells = 0;      ///< rung, and not yet cleared
  std::uint32_t event_mask = 0;     ///< 1: such an event does not interrupt
  std::uint32_t doorbell_mask = 0;  ///< 1: this doorbell does not interrupt
  std::array<std::uint64_t, kWindows> translation{};
  std::array<std::uint64_t, kWindows> limit{};
};

/// The registers of one side of a bridge, and the effects of a write to them, as plain state. The families of NTBs
/// differ only here. NtbFunction decides who may reach the registers, and has the way to the peer. Not thread-safe,
/// except that any thread may read inbound() at any time. Methods that change something return the interrupts that
/// follow; the caller sends them after it has released its lock.
class RegisterFile {
 public:
  RegisterFile() = default;
  RegisterFile(const RegisterFile&) = delete;
  RegisterFile& operator=(const RegisterFile&) = delete;
  virtual ~RegisterFile() = default;

  /// The state after power-on.
  virtual void reset() = 0;

  /// Where an access at an offset of BAR0 ends: in this side's registers or in the peer's, and at which of their
  /// offsets.
  struct Place {
    bool peer;
    std::uint64_t offset;
  };
  [[nodiscard]] virtual Place locate(std::uint64_t offset) const = 0;

  /// The 32-bit register at `offset` (a multiple of 4). A register that is not modelled reads 0.
  [[nodiscard]] virtual std::uint32_t read(std::uint64_t offset) const = 0;
  /// The value that the peer reads there while the link is down.
  [[nodiscard]] virtual std::uint32_t read_over_no_link(std::uint64_t /*offset*/) const { return ~0U; }

  /// The interrupts to this side that a load of that register causes.
  virtual Vectors loaded(std::uint64_t /*offset*/) { return 0; }

  struct Effects {
    Vectors own = 0;               ///< interrupts to this side
    std::uint32_t doorbells = 0;   ///< bits of the peer to ring
    bool window_narrowed = false;  ///< an open window was moved or shut: writes in flight must end first
    bool loss_handled = false;     ///< the driver has dealt with the loss of its link
  };
  /// Writes the bytes of `value` that `mask` selects to the 8 bytes at `offset` (a multiple of 8). A 64-bit register
  /// changes at once.
  virtual Effects write(std::uint64_t offset, std::uint64_t value, std::uint64_t mask) = 0;
  /// The bits of the 8 bytes at `offset` that the peer may write.
  [[nodiscard]] virtual std::uint64_t writable_by_peer(std::uint64_t /*offset*/) const { return ~0ULL; }

  /// The peer rings doorbells.
  virtual Vectors ring(std::uint32_t bits) = 0;
  /// The link came up or went down, to be reported to the driver.
  virtual Vectors report_link(bool up) = 0;

  /// Whether the driver has the link trained. A family whose driver has no say always does.
  [[nodiscard]] virtual bool link_enabled() const { return true; }
  /// The side is about to be reset: it no longer wants the link, if it has a say.
  virtual void leave_link() {}

  /// A driver that wants to hear of lost links has not dealt with the loss of its link yet.
  [[nodiscard]] virtual bool loss_pending() const = 0;
  [[nodiscard]] virtual bool ready() const = 0;
  /// The window of which a register of BAR0 says where it comes out, or how much of it is open.
  [[nodiscard]] virtual std::optional<unsigned> steers_window(std::uint64_t offset) const = 0;
  /// The guest has given the BAR of a window its place on this side's bus.
  virtual void place_window(unsigned /*window*/, std::uint64_t /*address*/) {}
  /// Everything of `status` that registers hold.
  virtual void describe(SideStatus& status) const = 0;

  [[nodiscard]] const Inbound& inbound(unsigned window) const { return inbound_[window]; }

 protected:
  std::array<Inbound, kWindows> inbound_;
};

}  // namespace smartio::ntb
