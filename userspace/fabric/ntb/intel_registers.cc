// SPDX-License-Identifier: GPL-2.0
#include "fabric/ntb/intel_registers.h"

#include <utility>

namespace smartio::ntb {

using namespace intel;

namespace {

/// The registers of windows: XBASE and XLMT of the first, then of the second one.
bool is_translation(std::uint64_t offset) { return offset >= reg::IM23XBASE && offset < reg::IM45XLMT + 8; }
unsigned window_at(std::uint64_t offset) { return offset >= reg::IM45XBASE ? 1 : 0; }
bool is_limit(std::uint64_t offset) { return (offset & 8) != 0; }

}  // namespace

void IntelRegisters::reset() {
  for (unsigned window = 0; window < kWindows; window++) {
    windows_[window].base = 0;
    windows_[window].limit = 0;
    apply(window);
  }
  control_ = 0;
  status_ = 0;
  disabled_ = kAllSources;  // 3.21.1.16
  // The link interrupts by the first vector, doorbells by the others; the driver sets them as they are numbered.
  for (unsigned source = 0; source < kDoorbells; source++) vectors_[source] = static_cast<std::uint8_t>(source + 1);
  vectors_[kLinkSource] = 0;
  base_indices_ = 0;
  scratchpads_.fill(0);
  latency_.fill(0);
  link_control_ = 0;
  link_ = false;
  link_changed_ = false;
  link_up_pending_ = false;
  ppd0_ = 0;
}

RegisterFile::Place IntelRegisters::locate(std::uint64_t offset) const {
  if (offset >= reg::EM_SPAD && offset < reg::EM_SPAD_END) return {true, offset - reg::EM_SPAD + reg::IM_SPAD};
  return {false, offset};
}

// ---- windows ------------------------------------------------------------------------------------------------------

/// A limit that lies outside of the BAR has no effect: the whole window of the other side is open. The BAR's own
/// address shuts it (3.21.1.5).
std::uint64_t IntelRegisters::bytes_open(unsigned window) const {
  const auto& [base, limit, place] = windows_[window];
  return limit < place || limit - place > config_.windows[window] || limit == 0 ? config_.peer_windows[window]
                                                                                : limit - place;
}

/// "Hardware will force the value to be zero" if it lies outside. Not when it is written, since that may be in two
/// halves.
std::uint64_t IntelRegisters::limit_seen(unsigned window) const {
  const auto& [base, limit, place] = windows_[window];
  return limit < place || limit - place > config_.windows[window] ? 0 : limit;
}

/// Has accesses follow the registers. True if a window that was open is not as it was. No more of one base is open
/// than before or after: a window becomes wider at its new base, and narrower at its old one.
bool IntelRegisters::apply(unsigned window) {
  auto& [translation, limit] = inbound_[window];
  const std::uint64_t open = bytes_open(window);
  const std::uint64_t base = windows_[window].base;
  const std::uint64_t open_before = limit;
  const std::uint64_t base_before = translation;
  if (open < open_before) limit = open;
  translation = base;
  limit = open;
  return open_before != 0 && (open_before != open || base_before != base);
}

void IntelRegisters::place_window(unsigned window, std::uint64_t address) {
  windows_[window].place = address;
  apply(window);
}

// ---- reads --------------------------------------------------------------------------------------------------------

std::uint64_t IntelRegisters::read64(std::uint64_t offset) const {
  if (is_translation(offset)) {
    const unsigned window = window_at(offset);
    return is_limit(offset) ? limit_seen(window) : windows_[window].base;
  }
  return offset == reg::INT_STATUS ? status_ : disabled_;
}

std::uint32_t IntelRegisters::read(std::uint64_t offset) const {
  if (const auto wide = offset & ~7ULL; is_translation(wide) || wide == reg::INT_STATUS || wide == reg::INT_DISABLE)
    return static_cast<std::uint32_t>(read64(wide) >> (offset % 8 * 8));
  if (offset >= reg::IM_SPAD && offset < reg::IM_SPAD_END) return scratchpads_[(offset - reg::IM_SPAD) / 4];
  if (offset >= reg::INTVEC && offset < reg::INTVEC + kSources) {
    std::uint32_t word = 0;
    for (unsigned lane = 0; lane < 4; lane++)
      if (const auto source = offset - reg::INTVEC + lane; source < kSources)
        word |= std::uint32_t{vectors_[source]} << (8 * lane);
    return word;
  }
  switch (offset) {
    case reg::NTBCNTL:
      return control_;
    case reg::IM23XBASEIDX:
      return base_indices_;
    case reg::LTR_SWSEL:
    case reg::LTR_ACTIVE:
    case reg::LTR_IDLE:
      return latency_[(offset - reg::LTR_SWSEL) / 4];
    case reg::LINK_CTRL:
      return link_control_ |
             (link_ ? kLinkActive | std::uint32_t{config_.link_speed} << 16 | std::uint32_t{config_.link_width} << 20
                    : 0);
    case reg::SLOTSTS:
      return link_changed_ ? kLinkChanged : 0;
    case reg::PPD0:
      return ppd0_;
    case reg::PPD1: {
      const auto downstream = config_.model == Model::icx ? kDownstreamIcx : kDownstreamSpr;
      return kConnectionB2b | (config_.downstream ? downstream : 0);
    }
    default:
      return 0;
  }
}

// ---- writes -------------------------------------------------------------------------------------------------------

Vectors IntelRegisters::raised(std::uint64_t before) const {
  Vectors vectors = 0;
  const std::uint64_t raised = asserted() & ~before;
  for (unsigned source = 0; source < kSources; source++)
    if ((raised >> source & 1) != 0 && vectors_[source] < kVectors) vectors |= 1ULL << vectors_[source];
  return vectors;
}

RegisterFile::Effects IntelRegisters::write(std::uint64_t offset, std::uint64_t value, std::uint64_t mask) {
  if (is_translation(offset)) {
    const unsigned window = window_at(offset);
    auto& target = is_limit(offset) ? windows_[window].limit : windows_[window].base;
    target = (target & ~mask) | (value & mask);
    // The bits below the granularity are not there, nor are Ice Lake's below the BAR's size (3.21.1.8).
    const bool whole = !is_limit(offset) && config_.model == Model::icx;
    target &= ~((whole ? config_.windows[window] : kPage) - 1);
    return {.window_narrowed = apply(window)};
  }
  if (offset == reg::INT_STATUS || offset == reg::INT_DISABLE) return write_interrupts(offset, value, mask);
  Effects effects;
  for (unsigned half = 0; half < 2; half++) {
    const auto half_mask = static_cast<std::uint32_t>(mask >> (32 * half));
    if (half_mask == 0) continue;
    effects.doorbells |=
        write32(offset + 4 * half, static_cast<std::uint32_t>(value >> (32 * half)), half_mask).doorbells;
  }
  return effects;
}

RegisterFile::Effects IntelRegisters::write_interrupts(std::uint64_t offset, std::uint64_t value, std::uint64_t mask) {
  const auto before = asserted();
  if (offset == reg::INT_DISABLE) {
    disabled_ = ((disabled_ & ~mask) | (value & mask)) & kAllSources;
    return {.own = raised(before)};
  }
  std::uint64_t cleared = status_ & value & mask;
  // The link's bit stands as long as SLOTSTS says that the link has changed.
  if (link_changed_) cleared &= ~kLinkBit;
  status_ &= ~cleared;
  return {.loss_handled = (cleared & kLinkBit) != 0 && !link_};
}

RegisterFile::Effects IntelRegisters::write32(std::uint64_t offset, std::uint32_t value, std::uint32_t mask) {
  const auto merge = [&](std::uint32_t& target, std::uint32_t bits = ~0U) {
    target = ((target & ~mask) | (value & mask)) & bits;
  };
  value &= mask;
  if (offset >= reg::IM_SPAD && offset < reg::IM_SPAD_END) {
    merge(scratchpads_[(offset - reg::IM_SPAD) / 4]);
    return {};
  }
  if (offset >= reg::IM_DOORBELL && offset < reg::IM_DOORBELL_END)
    return {.doorbells = (value & 1) << ((offset - reg::IM_DOORBELL) / 4)};
  if (offset >= reg::INTVEC && offset < reg::INTVEC + kSources) {
    for (unsigned lane = 0; lane < 4; lane++)
      if (const auto source = offset - reg::INTVEC + lane; source < kSources && (mask >> (8 * lane) & 0xff) != 0)
        vectors_[source] = static_cast<std::uint8_t>(value >> (8 * lane));
    return {};
  }
  switch (offset) {
    case reg::NTBCNTL:
      merge(control_);
      break;
    case reg::IM23XBASEIDX:
      merge(base_indices_, intel::kBaseIndex << 16 | intel::kBaseIndex);
      break;
    case reg::LTR_SWSEL:
    case reg::LTR_ACTIVE:
    case reg::LTR_IDLE:
      merge(latency_[(offset - reg::LTR_SWSEL) / 4]);
      break;
    case reg::LINK_CTRL:
      merge(link_control_, 0xffff);
      break;
    case reg::SLOTSTS:
      if ((value & kLinkChanged) != 0) link_changed_ = false;
      break;
    case reg::PPD0:
      merge(ppd0_, kTrain);
      break;
    default:
      break;
  }
  return {};
}

// ---- doorbells, the link ------------------------------------------------------------------------------------------

Vectors IntelRegisters::ring(std::uint32_t bits) {
  const auto before = asserted();
  status_ |= bits;
  return raised(before);
}

Vectors IntelRegisters::report_link(bool up) {
  const auto before = asserted();
  link_ = up;
  status_ |= kLinkBit;
  link_up_pending_ = up && (disabled_ & kLinkBit) == 0;
  Vectors vectors = raised(before);
  // Each change of SLOTSTS interrupts, even with its status bit set: a change may come between the driver's clearing of
  // the two.
  if (!std::exchange(link_changed_, true) && (disabled_ & kLinkBit) == 0 && vectors_[kLinkSource] < kVectors)
    vectors |= 1ULL << vectors_[kLinkSource];
  return vectors;
}

Vectors IntelRegisters::loaded(std::uint64_t offset) {
  if (offset != reg::LINK_CTRL || !link_up_pending_ || link_changed_) return 0;
  const auto before = asserted();
  link_up_pending_ = false;
  return raised(before);
}

bool IntelRegisters::link_enabled() const { return (ppd0_ & kTrain) != 0 && (link_control_ & kLinkDisable) == 0; }

bool IntelRegisters::loss_pending() const { return link_enabled() && !link_ && (asserted() & kLinkBit) != 0; }

std::optional<unsigned> IntelRegisters::steers_window(std::uint64_t offset) const {
  if (!is_translation(offset)) return std::nullopt;
  return window_at(offset);
}

void IntelRegisters::describe(SideStatus& status) const {
  status.ready = ready();
  status.event = static_cast<std::uint32_t>(status_ >> kLinkSource);
  status.doorbells = static_cast<std::uint32_t>(status_);
  status.event_mask = static_cast<std::uint32_t>(disabled_ >> kLinkSource);
  status.doorbell_mask = static_cast<std::uint32_t>(disabled_);
}

}  // namespace smartio::ntb
