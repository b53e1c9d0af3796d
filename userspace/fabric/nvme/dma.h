// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstdint>
#include <span>

#include "fabric/nvme/cmb.h"
#include "fabric/pci/function.h"

namespace smartio::nvme {

/// How the drive's worker reaches memory: its own CMB where the address says so, its host's bus for all else.
/// Reads may wait for the guest's QEMU, so only the worker may use it.
class Dma {
 public:
  explicit Dma(Cmb& cmb) : cmb_(cmb) {}
  void bind(pci::Port& port) { port_ = &port; }
  [[nodiscard]] pci::Port& port() const { return *port_; }

  /// False when the bus refused the read: `into` is all ones then.
  bool read(pci::BusAddress address, std::span<std::byte> into, pci::AccessKind kind) const {
    if (const auto offset = cmb_.find(address, into.size())) {
      cmb_.read(*offset, into);
      return true;
    }
    const pci::Transaction transaction{.kind = kind, .hops = 0, .may_wait = true};
    return port_->read(address, into, transaction).delivery != pci::Delivery::unclaimed;
  }

  /// Posted: a refused write is not noticed. A completion stays behind the writes before it.
  void write(pci::BusAddress address, std::span<const std::byte> from, pci::AccessKind kind) const {
    if (const auto offset = cmb_.find(address, from.size())) {
      cmb_.write(*offset, from);
      return;
    }
    const bool behind = kind == pci::AccessKind::completion;
    port_->write(address, from, pci::Transaction{.kind = kind, .hops = 0, .may_wait = behind});
  }

 private:
  Cmb& cmb_;
  pci::Port* port_ = nullptr;
};

}  // namespace smartio::nvme
