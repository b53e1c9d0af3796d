// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "fabric/ntb/fence_page.h"
#include "fabric/ntb/register_file.h"
#include "fabric/ntb/store_tally.h"
#include "fabric/ntb/wire.h"
#include "fabric/ntb/write_combining.h"
#include "fabric/ntb/write_gate.h"
#include "fabric/pci/function.h"

namespace smartio::ntb {

enum class Side : std::uint8_t { primary, secondary };

/// One side of an NTB: a PCI function of one host. BAR0 holds the registers of the family's RegisterFile. An access to
/// BAR2 or BAR4 comes out on the peer's host, as an access by the peer's function. Its address follows the translation
/// that the peer's driver has set. Cable makes both sides and joins them.
///
/// Threads: any, as pci::Function says. A register write that shuts or moves a window, a reset and a cable pull drain:
/// they return when the writes that passed the window before have landed. After kDrainLimit they log a warning and
/// return all the same. So no caller of these may hold a lock that the peer's Port::write takes.
class NtbFunction final : public pci::Function {
 public:
  NtbFunction(Wire& wire, Side side, const pci::FunctionDescription& description,
              std::unique_ptr<RegisterFile> registers);

  [[nodiscard]] const pci::FunctionDescription& description() const override { return description_; }
  void bind(pci::Port& port) override { port_ = &port; }
  pci::Outcome bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> data,
                        pci::Transaction transaction) override;
  pci::Outcome bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> data,
                         pci::Transaction transaction) override;
  void bar_write_many(unsigned bar, std::span<const pci::Store> stores, pci::Transaction transaction) override;
  void bars_placed(std::span<const pci::BusAddress> addresses, bool decoded) override;
  void connected() override;
  void disconnected() override;
  void reset(pci::ResetCause cause) override;

  [[nodiscard]] SideStatus status() const;
  /// From now on stores of this side's CPUs to the peer's memory are combined, with choices that follow `seed`. The
  /// address of the fence register is kept in `fence`. To be called before anything else happens.
  void combine_stores(std::uint64_t seed, FencePage::Address& fence);
  /// None if stores are not combined.
  [[nodiscard]] std::optional<WriteCombining::Counts> combined() const;

 private:
  friend class Cable;

  /// Interrupts for both sides, gathered under the lock and sent after it.
  struct Signals {
    Vectors own = 0;
    Vectors peer = 0;
  };
  struct Place {
    NtbFunction& owner;
    std::uint64_t offset;
  };

  // With wire_.registers held:
  Place locate(std::uint64_t offset);
  [[nodiscard]] std::uint32_t read_word(std::uint64_t offset, bool& crossed, Vectors& own);
  Vectors follow_link();
  [[nodiscard]] bool link_is_up() const;
  [[nodiscard]] bool loss_pending() const { return registers_->loss_pending(); }
  [[nodiscard]] bool link_enabled() const { return registers_->link_enabled(); }

  // Without:
  void leave_link();
  void read_registers(std::uint64_t offset, std::span<std::byte> data);
  pci::Outcome write_registers(std::uint64_t offset, std::span<const std::byte> data);
  pci::Outcome read_window(unsigned window, std::uint64_t offset, std::span<std::byte> data,
                           pci::Transaction transaction);
  pci::Outcome write_window(unsigned window, std::uint64_t offset, std::span<const std::byte> data,
                            pci::Transaction transaction);
  void store_window(unsigned window, std::span<const pci::Store> stores, pci::Transaction transaction);
  void fence(pci::Transaction transaction);
  [[nodiscard]] std::optional<pci::BusAddress> translate(unsigned window, std::uint64_t offset, std::uint64_t size,
                                                         pci::Transaction transaction) const;
  void send(Signals signals);
  void interrupt(Vectors vectors);
  void drain_writes();

  [[nodiscard]] ledger::Direction direction() const {
    return side_ == Side::primary ? ledger::Direction::from_primary : ledger::Direction::from_secondary;
  }

  Wire& wire_;
  const Side side_;
  const pci::FunctionDescription description_;
  NtbFunction* peer_ = nullptr;  ///< set by Cable before anything else happens
  std::atomic<pci::Port*> port_{nullptr};

  const std::unique_ptr<RegisterFile> registers_;
  bool connected_ = false;
  bool link_seen_ = false;                                 ///< the last state that this side's driver was notified of
  std::chrono::steady_clock::time_point loss_handled_at_;  ///< when it had last dealt with the loss of its link
  std::chrono::steady_clock::time_point link_enabled_at_;  ///< when it last began to want the link, or ceased to

  WriteGate incoming_;  ///< writes that come out on this side
  CombiningBuffer combining_;
  std::unique_ptr<WriteCombining> buffers_;  ///< none: stores are not combined
  FencePage::Address* fence_ = nullptr;      ///< where the plugin looks for the fence register
};

}  // namespace smartio::ntb
