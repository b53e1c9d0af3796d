// SPDX-License-Identifier: GPL-2.0
#include "fabric/ntb/ntb_function.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace smartio::ntb {

namespace {

using pci::AccessKind;
using pci::Delivery;
using pci::Outcome;
using pci::Transaction;

constexpr std::chrono::milliseconds kDrainLimit{1000};
constexpr Outcome kUnclaimed{.delivery = Delivery::unclaimed};
constexpr Outcome kRegister{.delivery = Delivery::endpoint, .kind = AccessKind::control};

/// A CPU's stores and loads have at most 8 bytes, of an unknown kind; a device names the kind.
bool from_cpu(std::size_t size, Transaction transaction) {
  return size <= 8 && transaction.kind == AccessKind::message;
}

Transaction onward(Transaction transaction) {
  transaction.hops++;
  return transaction;
}

std::optional<unsigned> window_of(unsigned bar) {
  if (bar == 2) return 0;
  if (bar == 4) return 1;
  return std::nullopt;
}

}  // namespace

NtbFunction::NtbFunction(Wire& wire, Side side, const pci::FunctionDescription& description,
                         std::unique_ptr<RegisterFile> registers)
    : wire_(wire), side_(side), description_(description), registers_(std::move(registers)) {}

// ---- registers ----------------------------------------------------------------------------------------------------

/// The side that holds a register, and its offset there.
NtbFunction::Place NtbFunction::locate(std::uint64_t offset) {
  const auto [peer, at] = registers_->locate(offset);
  return {peer ? *peer_ : *this, at};
}

std::uint32_t NtbFunction::read_word(std::uint64_t offset, bool& crossed, Vectors& own) {
  const auto [owner, at] = locate(offset);
  if (&owner != this) {
    if (wire_.state.load() == LinkState::down) return owner.registers_->read_over_no_link(at);
    crossed = true;
  }
  const auto value = owner.registers_->read(at);
  if (&owner == this) own |= registers_->loaded(at);
  return value;
}

void NtbFunction::read_registers(std::uint64_t offset, std::span<std::byte> data) {
  bool crossed = false;
  Vectors own = 0;
  combining_.flush();
  if (const auto pause = wire_.window_pause.load(); pause > pause.zero() && registers_->steers_window(offset))
    std::this_thread::sleep_for(pause);
  {
    const std::scoped_lock lock(wire_.registers);
    for (std::size_t done = 0; done < data.size();) {
      const std::uint64_t at = offset + done;
      const std::uint32_t word = read_word(at & ~3ULL, crossed, own);
      const std::size_t lane = at & 3;
      const std::size_t count = std::min<std::size_t>(4 - lane, data.size() - done);
      const std::uint32_t shifted = word >> (8 * lane);
      std::memcpy(data.data() + done, &shifted, count);
      done += count;
    }
  }
  interrupt(own);
  if (crossed) wire_.ledger.non_posted(direction(), AccessKind::control, 1, data.size());
}

Outcome NtbFunction::write_registers(std::uint64_t offset, std::span<const std::byte> data) {
  Signals signals;
  bool crossed = false;
  bool lost = false;
  bool drain_own = false;
  bool drain_peer = false;
  bool link_enables_changed = false;
  combining_.flush();
  {
    const std::scoped_lock lock(wire_.registers);
    const bool reachable = wire_.state.load() == LinkState::up;
    // Eight bytes at a time, so that a 64-bit register that is stored to at once changes at once.
    for (std::size_t done = 0; done < data.size();) {
      const std::uint64_t at = offset + done;
      const std::size_t lane = at & 7;
      const std::size_t count = std::min<std::size_t>(8 - lane, data.size() - done);
      std::uint64_t value = 0;
      std::memcpy(&value, data.data() + done, count);
      const std::uint64_t mask = count == 8 ? ~0ULL : ((1ULL << (8 * count)) - 1);
      done += count;
      if (const auto window = registers_->steers_window(at); window && *window == wire_.stuck_window.load()) continue;
      const auto [owner, first] = locate(at & ~7ULL);
      if (&owner != this) {
        if (!reachable) {
          lost = true;
          continue;
        }
        crossed = true;
      }
      std::uint64_t lanes = mask << (8 * lane);
      if (&owner != this) lanes &= owner.registers_->writable_by_peer(first);
      const bool before = owner.link_enabled();
      const auto effects = owner.registers_->write(first, value << (8 * lane), lanes);
      if (owner.link_enabled() != before) {
        owner.link_enabled_at_ = std::chrono::steady_clock::now();
        link_enables_changed = true;
      }
      (&owner == this ? signals.own : signals.peer) |= effects.own;
      (&owner == this ? drain_own : drain_peer) |= effects.window_narrowed;
      if (effects.loss_handled) owner.loss_handled_at_ = std::chrono::steady_clock::now();
      if (effects.doorbells != 0) {
        if (!reachable) {
          lost = true;
        } else {
          crossed = true;
          NtbFunction& rung = *owner.peer_;
          (&rung == this ? signals.own : signals.peer) |= rung.registers_->ring(effects.doorbells);
        }
      }
    }
  }
  if (link_enables_changed) wire_.link_enables_changed();
  if (drain_own) drain_writes();
  if (drain_peer) peer_->drain_writes();
  send(signals);
  if (crossed) wire_.ledger.posted(direction(), AccessKind::control, 1, data.size());
  if (lost) wire_.ledger.dropped(direction(), 1);
  return lost && !crossed ? kUnclaimed : kRegister;
}

// ---- write combining ----------------------------------------------------------------------------------------------

void NtbFunction::combine_stores(std::uint64_t seed, FencePage::Address& fence) {
  fence_ = &fence;
  buffers_ = std::make_unique<WriteCombining>(
      [this](unsigned window, std::span<const pci::Store> writes) { store_window(window, writes, {}); }, seed);
}

std::optional<WriteCombining::Counts> NtbFunction::combined() const {
  return buffers_ ? std::optional(buffers_->counts()) : std::nullopt;
}

/// An access of this side's CPUs that is ordered behind their stores. One that came through an NTB is another host's.
void NtbFunction::fence(Transaction transaction) {
  if (buffers_ && transaction.hops == 0) buffers_->fence();
}

// ---- windows ------------------------------------------------------------------------------------------------------

std::optional<pci::BusAddress> NtbFunction::translate(unsigned window, std::uint64_t offset, std::uint64_t size,
                                                      Transaction transaction) const {
  if (wire_.state.load() != LinkState::up || transaction.hops >= pci::kMaxHops) return std::nullopt;
  const Inbound& inbound = peer_->registers_->inbound(window);
  const std::uint64_t limit = inbound.limit.load();
  if (size > limit || offset > limit - size) return std::nullopt;
  const std::uint64_t base = inbound.translation.load();
  if (base + offset < base || base + offset + size < base) return std::nullopt;
  // A window that became narrower may lead elsewhere now, where it never was so wide.
  if (inbound.limit.load() != limit) return translate(window, offset, size, transaction);
  return pci::BusAddress{base + offset};
}

Outcome NtbFunction::write_window(unsigned window, std::uint64_t offset, std::span<const std::byte> data,
                                  Transaction transaction) {
  if (data.empty()) return kUnclaimed;
  if (buffers_ && transaction.hops == 0 && from_cpu(data.size(), transaction)) {
    const auto address = translate(window, offset, data.size(), transaction);
    pci::Port* port = peer_->port_.load();
    if (address && port && port->leads_to_memory(*address, data.size())) {
      pci::Store store{.offset = offset, .size = static_cast<std::uint32_t>(data.size()), .data = 0};
      std::memcpy(&store.data, data.data(), data.size());
      buffers_->store(window, store);
      return {.delivery = Delivery::memory};
    }
    buffers_->fence();
  }
  Outcome outcome = kUnclaimed;
  {
    const WriteGate::Pass pass(peer_->incoming_);
    pci::Port* port = peer_->port_.load();
    const auto address = translate(window, offset, data.size(), transaction);
    if (address && port) outcome = port->write(*address, data, onward(transaction));
  }
  if (from_cpu(data.size(), transaction)) {
    StoreTally tally(combining_, window, wire_.ledger, direction());
    if (outcome.delivery == Delivery::unclaimed)
      tally.dropped();
    else
      tally.landed(offset, static_cast<std::uint32_t>(data.size()), outcome.kind);
  } else if (outcome.delivery == Delivery::unclaimed) {
    wire_.ledger.dropped(direction(), 1);
  } else {
    wire_.ledger.posted(direction(), outcome.kind,
                        ledger::LinkLedger::split(offset, data.size(), ledger::LinkLedger::kMaxPayload), data.size());
  }
  return outcome;
}

void NtbFunction::store_window(unsigned window, std::span<const pci::Store> stores, Transaction transaction) {
  constexpr std::size_t kBatch = 256;  // a WRITE_MULTI message of QEMU carries at most 200
  std::array<pci::BusStore, kBatch> onto_bus;
  std::array<Outcome, kBatch> outcomes;
  std::array<std::uint64_t, kBatch> offsets;
  StoreTally tally(combining_, window, wire_.ledger, direction());
  const WriteGate::Pass pass(peer_->incoming_);
  pci::Port* port = peer_->port_.load();
  while (!stores.empty()) {
    const auto batch = stores.first(std::min(stores.size(), kBatch));
    stores = stores.subspan(batch.size());
    std::size_t count = 0;
    const auto flush = [&] {
      if (count == 0) return;
      port->write_many(std::span(onto_bus).first(count), onward(transaction), std::span(outcomes).first(count));
      for (std::size_t i = 0; i < count; i++) {
        if (outcomes[i].delivery == Delivery::unclaimed)
          tally.dropped();
        else
          tally.landed(offsets[i], onto_bus[i].size, outcomes[i].kind);
      }
      count = 0;
    };
    for (const auto& store : batch) {
      const auto address = translate(window, store.offset, store.size, transaction);
      if (!address || !port || store.size == 0) {
        flush();  // so that the tally sees landed and dropped stores in their order
        tally.dropped();
        continue;
      }
      offsets[count] = store.offset;
      onto_bus[count++] = {.address = *address, .size = store.size, .data = store.data};
    }
    flush();
  }
}

Outcome NtbFunction::read_window(unsigned window, std::uint64_t offset, std::span<std::byte> data,
                                 Transaction transaction) {
  if (data.empty()) return kUnclaimed;
  const bool cpu = from_cpu(data.size(), transaction);
  if (cpu) combining_.flush();
  Outcome outcome = kUnclaimed;
  pci::Port* port = peer_->port_.load();
  if (const auto address = translate(window, offset, data.size(), transaction); address && port)
    outcome = port->read(*address, data, onward(transaction));
  if (outcome.delivery == Delivery::unclaimed) {
    std::ranges::fill(data, std::byte{0xff});
    wire_.ledger.dropped(direction(), 1);
    return kUnclaimed;
  }
  const auto requests = cpu ? 1 : ledger::LinkLedger::split(offset, data.size(), ledger::LinkLedger::kMaxReadRequest);
  wire_.ledger.non_posted(direction(), outcome.kind, requests, data.size());
  return outcome;
}

// ---- pci::Function ------------------------------------------------------------------------------------------------

Outcome NtbFunction::bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> data, Transaction transaction) {
  fence(transaction);
  if (const auto window = window_of(bar)) return read_window(*window, offset, data, transaction);
  if (bar != 0) {
    std::ranges::fill(data, std::byte{0xff});
    return kUnclaimed;
  }
  read_registers(offset, data);
  return kRegister;
}

Outcome NtbFunction::bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> data,
                               Transaction transaction) {
  if (bar == 0) {
    fence(transaction);
    if (buffers_ && offset == kFenceRegister) return kRegister;
    return write_registers(offset, data);
  }
  if (const auto window = window_of(bar)) return write_window(*window, offset, data, transaction);
  return kUnclaimed;
}

void NtbFunction::bar_write_many(unsigned bar, std::span<const pci::Store> stores, Transaction transaction) {
  if (const auto window = window_of(bar); window && !buffers_) return store_window(*window, stores, transaction);
  for (const auto& store : stores) {
    const auto bytes = std::as_bytes(std::span(&store.data, 1));
    bar_write(bar, store.offset, bytes.first(std::min<std::size_t>(store.size, bytes.size())), transaction);
  }
}

void NtbFunction::bars_placed(std::span<const pci::BusAddress> addresses, bool decoded) {
  if (fence_) fence_->store(decoded && addresses[0].value != 0 ? addresses[0].value + kFenceRegister : 0);
  const std::scoped_lock lock(wire_.registers);
  for (unsigned window = 0; window < kWindows; window++)
    registers_->place_window(window, addresses[2 + 2 * window].value);
}

// ---- link, reset --------------------------------------------------------------------------------------------------

bool NtbFunction::link_is_up() const { return wire_.state.load() != LinkState::down && peer_->connected_; }

/// Reports a change of the link to this side's driver, if there is one. While the link is silent nothing is reported.
Vectors NtbFunction::follow_link() {
  if (wire_.state.load() == LinkState::silent || link_is_up() == link_seen_) return 0;
  link_seen_ = !link_seen_;
  if (!connected_) return 0;
  return registers_->report_link(link_seen_);
}

void NtbFunction::connected() {
  Signals signals;
  {
    const std::scoped_lock lock(wire_.registers);
    connected_ = true;
    // A driver that finds no event takes the peer's READY for the link: its present state needs no event.
    link_seen_ = link_is_up();
    signals.peer = peer_->follow_link();
  }
  send(signals);
}

/// Before registers are reset, which may open windows.
void NtbFunction::leave_link() {
  {
    const std::scoped_lock lock(wire_.registers);
    const bool before = link_enabled();
    registers_->leave_link();
    if (link_enabled() == before) return;
    link_enabled_at_ = std::chrono::steady_clock::now();
    link_seen_ = false;  // no driver is left on this side to be notified
  }
  wire_.link_enables_changed();
}

void NtbFunction::disconnected() {
  Signals signals;
  if (buffers_) buffers_->forget();
  leave_link();
  {
    const std::scoped_lock lock(wire_.registers);
    connected_ = false;
    registers_->reset();
    signals.peer = peer_->follow_link();
  }
  drain_writes();
  send(signals);
}

void NtbFunction::reset(pci::ResetCause cause) {
  Signals signals;
  if (buffers_) buffers_->forget();
  leave_link();
  {
    const std::scoped_lock lock(wire_.registers);
    const bool had_driver = registers_->ready();
    registers_->reset();
    // A hard reset of the host removes its driver without notice. To the peer the link is lost and returns, after
    // which the peer's driver waits for READY.
    if (cause != pci::ResetCause::disconnect && had_driver && wire_.state.load() == LinkState::up && peer_->link_seen_)
      signals.peer = peer_->registers_->report_link(false) | peer_->registers_->report_link(true);
  }
  drain_writes();
  send(signals);
}

void NtbFunction::drain_writes() {
  if (!incoming_.synchronize(kDrainLimit))
    spdlog::warn("ntb: writes through a window that was shut have not ended after {} ms", kDrainLimit.count());
}

void NtbFunction::send(Signals signals) {
  interrupt(signals.own);
  peer_->interrupt(signals.peer);
}

void NtbFunction::interrupt(Vectors vectors) {
  pci::Port* port = port_.load();
  if (!port) return;
  for (; vectors != 0; vectors &= vectors - 1) port->interrupt(static_cast<unsigned>(std::countr_zero(vectors)));
}

SideStatus NtbFunction::status() const {
  const std::scoped_lock lock(wire_.registers);
  SideStatus status{.connected = connected_};
  registers_->describe(status);
  for (unsigned window = 0; window < kWindows; window++) {
    status.translation[window] = registers_->inbound(window).translation.load();
    status.limit[window] = registers_->inbound(window).limit.load();
  }
  return status;
}

}  // namespace smartio::ntb
