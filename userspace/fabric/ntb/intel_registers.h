// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <cstdint>

#include "fabric/ntb/intel.h"
#include "fabric/ntb/register_file.h"

namespace smartio::ntb {

/// One side of Intel's NTB. Ice Lake and Sapphire Rapids differ in how a translation has to be aligned, and in a bit.
///
/// The drivers control the link: it trains when both have started the training and not disabled the link. A window's
/// limit is an address in this side's own BAR. So it means something only with the address that the guest gave that
/// BAR.
class IntelRegisters final : public RegisterFile {
 public:
  enum class Model : std::uint8_t { icx, spr };
  struct Config {
    Model model = Model::spr;
    bool downstream = false;                             ///< the secondary side
    std::array<std::uint64_t, kWindows> windows{};       ///< bytes of BAR2 and BAR4
    std::array<std::uint64_t, kWindows> peer_windows{};  ///< of the other side: as much can be open
    std::uint8_t link_speed = 0;                         ///< what LINK_STATUS says of a link that is up
    std::uint8_t link_width = 0;
  };
  explicit IntelRegisters(const Config& config) : config_(config) { IntelRegisters::reset(); }

  /// No link, everything masked. Windows are open in full then (323103-001, 3.21.1.5), which no access gets to.
  void reset() override;
  [[nodiscard]] Place locate(std::uint64_t offset) const override;
  [[nodiscard]] std::uint32_t read(std::uint64_t offset) const override;
  Vectors loaded(std::uint64_t offset) override;
  Effects write(std::uint64_t offset, std::uint64_t value, std::uint64_t mask) override;
  Vectors ring(std::uint32_t bits) override;
  Vectors report_link(bool up) override;
  [[nodiscard]] bool link_enabled() const override;
  void leave_link() override { ppd0_ = 0; }
  [[nodiscard]] bool loss_pending() const override;
  [[nodiscard]] bool ready() const override { return link_enabled(); }
  [[nodiscard]] std::optional<unsigned> steers_window(std::uint64_t offset) const override;
  void place_window(unsigned window, std::uint64_t address) override;
  void describe(SideStatus& status) const override;

 private:
  struct Window {
    std::uint64_t base = 0;   ///< XBASE
    std::uint64_t limit = 0;  ///< XLMT, as written
    std::uint64_t place = 0;  ///< of this side's own BAR
  };

  Effects write32(std::uint64_t offset, std::uint32_t value, std::uint32_t mask);
  Effects write_interrupts(std::uint64_t offset, std::uint64_t value, std::uint64_t mask);
  [[nodiscard]] std::uint64_t read64(std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t bytes_open(unsigned window) const;
  [[nodiscard]] std::uint64_t limit_seen(unsigned window) const;
  bool apply(unsigned window);
  /// The status bits that interrupt now: those that are not disabled. A doorbell waits until the driver is notified of
  /// its link. Else a host that stands still takes the two interrupts in any order, and clients forget the doorbell.
  [[nodiscard]] std::uint64_t asserted() const {
    return status_ & ~disabled_ & (link_up_pending_ ? intel::kLinkBit : ~0ULL);
  }
  /// The vectors of the bits that are asserted now and were not `before`.
  [[nodiscard]] Vectors raised(std::uint64_t before) const;

  const Config config_;
  std::array<Window, kWindows> windows_;
  std::uint32_t control_ = 0;
  std::uint64_t status_ = 0;
  std::uint64_t disabled_ = 0;
  std::array<std::uint8_t, intel::kSources> vectors_{};
  std::uint32_t base_indices_ = 0;
  std::array<std::uint32_t, intel::kScratchpads> scratchpads_{};
  std::array<std::uint32_t, 3> latency_{};  ///< LTR_SWSEL, LTR_ACTIVE, LTR_IDLE
  std::uint32_t link_control_ = 0;
  bool link_ = false;             ///< LINK_STATUS
  bool link_changed_ = false;     ///< SLOTSTS
  bool link_up_pending_ = false;  ///< it came up, and the driver has not read LINK_STATUS since
  std::uint32_t ppd0_ = 0;
};

}  // namespace smartio::ntb
