// SPDX-License-Identifier: GPL-2.0
#include "fabric/ntb/amd_registers.h"

#include <algorithm>

namespace smartio::ntb {

using namespace amd;

namespace {

/// Of a window: where it comes out, or how much of it is open.
bool is_translation(std::uint64_t offset) {
  const auto aligned = offset & ~7ULL;
  return aligned == reg::BAR23LMT || aligned == reg::BAR45LMT || aligned == reg::BAR23XLAT || aligned == reg::BAR45XLAT;
}

}  // namespace

void AmdRegisters::reset() {
  control_ = 0;
  sideinfo_ = secondary_ ? kSideSecondary : 0;
  doorbell_mask_ = kAllDoorbells;
  doorbell_status_ = 0;
  event_mask_ = kAllEvents;
  event_status_ = 0;
  smu_ack_ = 0;
  scratchpads_.fill(0);
  // The limit first: what still translates must not come out at the new base.
  for (auto& inbound : inbound_) {
    inbound.limit = 0;
    inbound.translation = 0;
  }
  waiting_events_.clear();
}

std::atomic<std::uint64_t>* AmdRegisters::wide(std::uint64_t offset) {
  switch (offset) {
    case reg::BAR23LMT:
      return &inbound_[0].limit;
    case reg::BAR45LMT:
      return &inbound_[1].limit;
    case reg::BAR23XLAT:
      return &inbound_[0].translation;
    case reg::BAR45XLAT:
      return &inbound_[1].translation;
    default:
      return nullptr;
  }
}

RegisterFile::Place AmdRegisters::locate(std::uint64_t offset) const {
  const bool peer_view = offset >= reg::PEER_VIEW_FIRST && offset < reg::PEER_VIEW_END;
  if (peer_view) offset -= reg::PEER_VIEW;
  if (offset >= reg::SPAD && offset < reg::SPAD_END) {
    const bool of_secondary = offset >= reg::SPAD + 4 * (kScratchpads / 2);
    return {of_secondary != secondary_, offset};
  }
  return {peer_view != is_translation(offset), offset};
}

std::uint32_t AmdRegisters::read(std::uint64_t offset) const {
  if (offset >= reg::SPAD && offset < reg::SPAD_END) return scratchpads_[(offset - reg::SPAD) / 4];
  if (const auto* value = const_cast<AmdRegisters*>(this)->wide(offset & ~7ULL))
    return static_cast<std::uint32_t>(value->load() >> (offset % 8 * 8));
  switch (offset) {
    case reg::CNTL:
      return control_;
    case reg::SIDEINFO:
      return sideinfo_;
    case reg::DBMASK:
      return doorbell_mask_;
    case reg::DBSTAT:
      return doorbell_status_;
    case reg::INTMASK:
      return event_mask_;
    case reg::INTSTAT:
      return event_status_;
    case reg::SMUACK:
      return smu_ack_;
    default:
      return 0;
  }
}

RegisterFile::Effects AmdRegisters::write(std::uint64_t offset, std::uint64_t value, std::uint64_t mask) {
  if (auto* wide_register = wide(offset)) {
    const bool was_open = inbound_[offset == reg::BAR23LMT || offset == reg::BAR23XLAT ? 0 : 1].limit != 0;
    const std::uint64_t before = wide_register->load();
    const std::uint64_t after = (before & ~mask) | (value & mask);
    wide_register->store(after);
    return {.window_narrowed = was_open && after != before};
  }
  Effects effects;
  for (unsigned half = 0; half < 2; half++) {
    const auto half_mask = static_cast<std::uint32_t>(mask >> (32 * half));
    if (half_mask == 0) continue;
    const auto [own, doorbells, narrowed, handled] =
        write32(offset + 4 * half, static_cast<std::uint32_t>(value >> (32 * half)), half_mask);
    effects.own |= own;
    effects.doorbells |= doorbells;
    effects.loss_handled |= handled;
  }
  return effects;
}

RegisterFile::Effects AmdRegisters::write32(std::uint64_t offset, std::uint32_t value, std::uint32_t mask) {
  const auto merge = [&](std::uint32_t& target) { target = (target & ~mask) | (value & mask); };
  value &= mask;
  if (offset >= reg::SPAD && offset < reg::SPAD_END) {
    merge(scratchpads_[(offset - reg::SPAD) / 4]);
    return {};
  }
  switch (offset) {
    case reg::CNTL:
      merge(control_);
      return {};
    case reg::SMUACK:
      merge(smu_ack_);
      return {};
    case reg::SIDEINFO:
      merge(sideinfo_);
      sideinfo_ = (sideinfo_ & kSideReady) | (secondary_ ? kSideSecondary : 0);
      return {};
    case reg::DBREQ:
      return {.doorbells = value & kAllDoorbells};
    case reg::DBSTAT:
      doorbell_status_ &= ~value;
      return {};
    case reg::DBMASK: {
      const auto before = doorbell_mask_;
      merge(doorbell_mask_);
      doorbell_mask_ &= kAllDoorbells;
      // A doorbell that was rung while masked interrupts now.
      return {.own = before & ~doorbell_mask_ & doorbell_status_};
    }
    case reg::INTSTAT: {
      const bool handled = (event_status_ & value & kLinkDownEvent) != 0;
      event_status_ &= ~value;
      return {.own = next_event(), .loss_handled = handled};
    }
    case reg::INTMASK: {
      const auto before = event_mask_;
      merge(event_mask_);
      event_mask_ &= kAllEvents;
      // An event that was signalled before its vector had a handler (a driver reloaded) is signalled again: the
      // driver would never clear it otherwise, and hear of no other.
      if ((before & ~event_mask_ & event_status_) != 0) return {.own = 1U << kEventVector};
      return {.own = next_event()};
    }
    default:
      return {};
  }
}

Vectors AmdRegisters::ring(std::uint32_t bits) {
  doorbell_status_ |= bits;
  return bits & ~doorbell_mask_;
}

Vectors AmdRegisters::report_link(bool up) {
  waiting_events_.push_back(up ? kLinkUpEvent : kLinkDownEvent);
  // Ups and downs alternate. Without a pair of them, the driver still sees a change and the last state.
  if (waiting_events_.size() > 2) waiting_events_.erase(waiting_events_.begin(), waiting_events_.begin() + 2);
  return next_event();
}

bool AmdRegisters::loss_pending() const {
  if (!ready() || (event_mask_ & kLinkDownEvent) != 0) return false;
  return (event_status_ & kLinkDownEvent) != 0 || std::ranges::contains(waiting_events_, kLinkDownEvent);
}

Vectors AmdRegisters::next_event() {
  if (waiting_events_.empty() || event_status_ != 0 || (event_mask_ & waiting_events_.front()) != 0) return 0;
  event_status_ = waiting_events_.front();
  waiting_events_.erase(waiting_events_.begin());
  return 1U << kEventVector;
}

// All ones would say READY, which the secondary's driver takes for the link.
std::uint32_t AmdRegisters::read_over_no_link(std::uint64_t offset) const { return offset == reg::SIDEINFO ? 0 : ~0U; }

// The primary's driver clears the peer's READY when it still believes in LINK_DOWN, and no driver sets it again: a
// short flap would end the link for good. So the peer's is read only.
std::uint64_t AmdRegisters::writable_by_peer(std::uint64_t offset) const {
  return offset == reg::SIDEINFO ? ~0xffffffffULL : ~0ULL;
}

std::optional<unsigned> AmdRegisters::steers_window(std::uint64_t offset) const {
  const auto aligned = locate(offset).offset & ~7ULL;
  if (!is_translation(aligned)) return std::nullopt;
  return aligned == reg::BAR23LMT || aligned == reg::BAR23XLAT ? 0 : 1;
}

void AmdRegisters::describe(SideStatus& status) const {
  status.ready = ready();
  status.event = event_status_;
  status.waiting_events = waiting_events_.size();
  status.doorbells = doorbell_status_;
  status.event_mask = event_mask_;
  status.doorbell_mask = doorbell_mask_;
}

}  // namespace smartio::ntb
