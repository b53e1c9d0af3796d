// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "fabric/ntb/amd.h"
#include "fabric/ntb/register_file.h"

namespace smartio::ntb {

/// One side of AMD's NTB.
class AmdRegisters final : public RegisterFile {
 public:
  explicit AmdRegisters(bool secondary) : secondary_(secondary) { AmdRegisters::reset(); }

  /// Windows shut, everything masked, no event pending.
  void reset() override;
  /// A translation is held by the side that it leads into: that side's driver sets it through its view of the peer, can
  /// shut it with the cable out, and loses it by reset.
  [[nodiscard]] Place locate(std::uint64_t offset) const override;
  [[nodiscard]] std::uint32_t read(std::uint64_t offset) const override;
  [[nodiscard]] std::uint32_t read_over_no_link(std::uint64_t offset) const override;
  Effects write(std::uint64_t offset, std::uint64_t value, std::uint64_t mask) override;
  [[nodiscard]] std::uint64_t writable_by_peer(std::uint64_t offset) const override;
  Vectors ring(std::uint32_t bits) override;
  /// The driver understands one bit in INTSTAT at a time, so the other bits wait until it is cleared. Of a long
  /// up-and-down only the last change is kept.
  Vectors report_link(bool up) override;
  [[nodiscard]] bool loss_pending() const override;
  [[nodiscard]] bool ready() const override { return (sideinfo_ & amd::kSideReady) != 0; }
  [[nodiscard]] std::optional<unsigned> steers_window(std::uint64_t offset) const override;
  void describe(SideStatus& status) const override;

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
  std::array<std::uint32_t, amd::kScratchpads> scratchpads_{};  ///< this side's eight are used
  std::vector<std::uint32_t> waiting_events_;
};

}  // namespace smartio::ntb
