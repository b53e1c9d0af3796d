// SPDX-License-Identifier: GPL-2.0
// The accesses of the stock ntb_hw_intel to one side's BAR0 (drivers/ntb/hw/intel/ntb_hw_gen4.c of Linux 6.12).
#pragma once

#include <array>
#include <bit>
#include <optional>

#include "fabric/ntb/intel.h"
#include "fabric/ntb/ntb_test_support.h"

namespace smartio::ntb::test {

class IntelDriver : public Driver {
 public:
  /// The guest places the windows' BARs at `first` and `second`.
  IntelDriver(NtbFunction& function, std::uint64_t first, std::uint64_t second)
      : Driver(function), places_{first, second}, revision_(function.description().revision) {
    std::array<pci::BusAddress, 6> bars{};
    bars[2].value = first;
    bars[4].value = second;
    function.bars_placed(bars, true);
    for (unsigned window = 0; window < kWindows; window++)
      sizes_[window] = function.description().bars[2 + 2 * window].size;
  }

  /// gen4_init_dev(): vectors as they are numbered, all doorbells masked, no link.
  void probe() {
    for (unsigned source = 0; source < intel::kSources; source++) write(intel::reg::INTVEC + source, source, 1);
    write(intel::reg::INT_DISABLE, 0xffffffff, 8);
    write(intel::reg::LINK_CTRL, read(intel::reg::LINK_CTRL, 2) | intel::kLinkDisable, 2);
    poll_link();
  }
  void enable_link() {
    write(intel::reg::LINK_CTRL, read(intel::reg::LINK_CTRL, 2) & ~std::uint64_t{intel::kLinkDisable}, 2);
    write(intel::reg::PPD0, read(intel::reg::PPD0) | intel::kTrain);
  }
  void disable_link() { write(intel::reg::LINK_CTRL, read(intel::reg::LINK_CTRL, 2) | intel::kLinkDisable, 2); }
  /// gen4_poll_link(): what LINK_STATUS is, after the event was taken.
  std::uint64_t poll_link() {
    write(intel::reg::SLOTSTS + 2, intel::kLinkChanged >> 16, 2);
    write(intel::reg::INT_STATUS, intel::kLinkBit, 8);
    return link_status();
  }
  std::uint64_t link_status() { return read(intel::reg::LINK_CTRL + 2, 2); }
  bool link() { return (link_status() & intel::kLinkActive >> 16) != 0; }

  /// intel_ntb4_mw_set_trans() without its checks of alignment: false if a register does not read back.
  bool set_trans(unsigned window, std::uint64_t address, std::optional<std::uint64_t> size = {}) {
    const std::uint64_t at = intel::reg::IM23XBASE + 0x10 * window;
    write(at, address, 8);
    if (read(at, 8) != address) {
      write(at, 0, 8);
      return false;
    }
    const std::uint64_t limit = places_[window] + size.value_or(sizes_[window]);
    write(at + 8, limit, 8);
    if (read(at + 8, 8) == limit && index(window, size.value_or(sizes_[window]))) return true;
    write(at + 8, places_[window], 8);
    write(at, 0, 8);
    return false;
  }
  pci::Outcome ring(unsigned doorbell) { return write(intel::reg::IM_DOORBELL + 4 * doorbell, 1); }

 private:
  /// Ice Lake's: the log2 of the size, of which there is none for 0.
  bool index(unsigned window, std::uint64_t size) {
    if (revision_ != intel::kRevisionIcx) return true;
    const std::uint64_t at = intel::reg::IM23XBASEIDX + 2 * window;
    const std::uint64_t value = size == 0 ? 0xffffU : static_cast<unsigned>(std::bit_width(size)) - 1U;
    write(at, value, 2);
    if (read(at, 2) == value) return true;
    write(at, 0, 2);
    return false;
  }

  std::array<std::uint64_t, kWindows> places_;
  std::array<std::uint64_t, kWindows> sizes_{};
  std::uint8_t revision_;
};

}  // namespace smartio::ntb::test
