// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/endpoint.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/pci/guest_copy.h"
#include "fabric/pci/host.h"

namespace smartio::pci {
namespace {

constexpr std::size_t kMaxPeerRead = 4096;  // Function::bar_read's limit

/// As many of `length` bytes at `address` as lie before the end of the address space and on one side of the
/// interrupt range's borders.
std::uint64_t until_border(BusAddress address, std::uint64_t length) {
  const std::uint64_t at = address.value;
  length = std::min(length, std::numeric_limits<std::uint64_t>::max() - at + (at == 0 ? 0 : 1));
  if (at < kInterruptBegin) return std::min(length, kInterruptBegin - at);
  if (at < kInterruptEnd) return std::min(length, kInterruptEnd - at);
  return length;
}

/// Whether eight bytes in a row are: a load that no device answers returns them.
bool has_all_ones(std::span<const std::byte> data) {
  constexpr std::size_t kLoad = 8;
  std::size_t run = 0;
  for (const auto byte : data) {
    run = byte == std::byte{0xff} ? run + 1 : 0;
    if (run >= std::min(kLoad, data.size())) return true;
  }
  return false;
}

/// The outcome of an access of several pieces: unclaimed if any piece was, else that of the first one.
struct Sum {
  std::optional<Outcome> total;
  void add(Outcome piece) {
    if (!total || (piece.delivery == Delivery::unclaimed && total->delivery != Delivery::unclaimed)) total = piece;
  }
};

}  // namespace

Endpoint::Endpoint(Host& host, std::string name, Function& function)
    : host_(host),
      name_(std::move(name)),
      full_name_(host.name() + "." + name_),
      function_(function),
      memory_(host.files()),
      vectors_(function.description().msix_vectors),
      config_(function.description()) {}

Endpoint::~Endpoint() { host_.decode(*this, {}); }

// ---- the function's accesses ------------------------------------------------------------------------------------

bool Endpoint::refuses(Transaction transaction) const { return !bus_master() || transaction.hops >= kMaxHops; }

void Endpoint::unclaimed(Count count, const char* what, BusAddress address, std::uint64_t size) {
  counters_.add(count);
  if (unclaimed_logged_.exchange(true, std::memory_order_relaxed)) return;
  const char* why = !present()      ? "the device is removed"
                    : !bus_master() ? "bus mastering is off"
                    : !attached()   ? "no guest is attached"
                                    : "nothing answers there";
  spdlog::warn("{}: DMA {} at {:#x} +{:#x} is unclaimed ({}); further ones are only counted", full_name_, what,
               address.value, size, why);
}

std::shared_ptr<GuestLink> Endpoint::link() const {
  const std::scoped_lock lock(link_mutex_);
  return link_;
}

Outcome Endpoint::write(BusAddress address, std::span<const std::byte> data, Transaction transaction) {
  if (refuses(transaction)) {
    unclaimed(Count::dma_writes_unclaimed, "write", address, data.size());
    return {Delivery::unclaimed, transaction.kind};
  }
  // Its earlier writes may still be on their way through QEMU.
  if (transaction.may_wait && host_.iommu() && leads_to_memory(address, data.size())) settle();
  Sum sum;
  while (!data.empty()) {
    std::uint64_t length = until_border(address, data.size());
    if (!is_interrupt(address)) {
      const MemoryMap::Piece piece = [&] {
        MemoryMap::Reader reader(memory_);
        const MemoryMap::Piece found = reader.find(address, length, MemoryMap::Right::write);
        if (found.memory != nullptr) copy_to_guest(found.memory, data.first(found.length));
        return found;
      }();
      length = piece.length;
      if (piece.memory != nullptr) {
        counters_.add(Count::dma_writes_memory);
        AccessKind kind = transaction.kind;
        if (kind == AccessKind::message) kind = MemoryTags::Lookup(host_.tags()).kind(piece.memory, kind);
        sum.add({Delivery::memory, kind});
      }
      if (piece.memory == nullptr) sum.add(write_elsewhere(address, data.first(length), transaction, length));
    } else {
      if (transaction.kind == AccessKind::message) transaction.kind = AccessKind::interrupt;
      sum.add(write_elsewhere(address, data.first(length), transaction, length));
    }
    address = address + length;
    data = data.subspan(length);
    if (address.value == 0 && !data.empty()) {  // past the end of the address space
      unclaimed(Count::dma_writes_unclaimed, "write", address, data.size());
      sum.add({Delivery::unclaimed, transaction.kind});
      break;
    }
  }
  return sum.total.value_or(Outcome{Delivery::unclaimed, transaction.kind});
}

Outcome Endpoint::write_elsewhere(BusAddress address, std::span<const std::byte> data, Transaction transaction,
                                  std::uint64_t& length) {
  if (!host_.iommu()) {
    const Host::BarHit hit = host_.find_bar(address, length);
    length = hit.length;
    if (hit.endpoint != nullptr) {
      counters_.add(Count::dma_writes_endpoint);
      return hit.endpoint->peer_write(hit.bar, hit.offset, data.first(length), transaction);
    }
  }
  if (const auto qemu = link(); qemu && qemu->post_write(address, data.first(length))) {
    counters_.add(Count::dma_writes_qemu);
    return {Delivery::qemu, transaction.kind};
  }
  unclaimed(Count::dma_writes_unclaimed, "write", address, length);
  return {Delivery::unclaimed, transaction.kind};
}

void Endpoint::write_many(std::span<const BusStore> stores, Transaction transaction, std::span<Outcome> outcomes) {
  if (refuses(transaction)) {
    if (!stores.empty()) {
      unclaimed(Count::dma_writes_unclaimed, "write", stores[0].address, stores[0].size);
      counters_.add(Count::dma_writes_unclaimed, stores.size() - 1);
    }
    std::ranges::fill(outcomes, Outcome{Delivery::unclaimed, transaction.kind});
    return;
  }
  std::uint64_t to_memory = 0;
  std::size_t i = 0;
  while (i < stores.size()) {
    {
      MemoryMap::Reader reader(memory_);
      MemoryTags::Lookup tags(host_.tags());
      for (; i < stores.size(); ++i) {
        const BusStore& store = stores[i];
        if (is_interrupt(store.address)) break;
        const MemoryMap::Piece piece = reader.find(store.address, store.size, MemoryMap::Right::write);
        if (piece.memory == nullptr || piece.length < store.size) break;
        store_to_guest(piece.memory, store.data, store.size);
        if (!outcomes.empty()) {
          const AccessKind kind = transaction.kind;
          outcomes[i] = {Delivery::memory, kind == AccessKind::message ? tags.kind(piece.memory, kind) : kind};
        }
        ++to_memory;
      }
    }
    if (i < stores.size()) {  // with the map's lock released: this may lead anywhere
      const BusStore& store = stores[i];
      const Outcome outcome =
          write(store.address, std::as_bytes(std::span(&store.data, 1)).first(store.size), transaction);
      if (!outcomes.empty()) outcomes[i] = outcome;
      ++i;
    }
  }
  if (to_memory > 0) counters_.add(Count::dma_writes_memory, to_memory);
}

Outcome Endpoint::read(BusAddress address, std::span<std::byte> data, Transaction transaction) {
  if (refuses(transaction)) {
    std::ranges::fill(data, std::byte{0xff});
    unclaimed(Count::dma_reads_unclaimed, "read", address, data.size());
    return {Delivery::unclaimed, transaction.kind};
  }
  Sum sum;
  while (!data.empty()) {
    std::uint64_t length = until_border(address, data.size());
    const MemoryMap::Piece piece = [&] {
      if (is_interrupt(address)) return MemoryMap::Piece{nullptr, length};
      MemoryMap::Reader reader(memory_);
      const MemoryMap::Piece found = reader.find(address, length, MemoryMap::Right::read);
      if (found.memory != nullptr) copy_from_guest(data.first(found.length), found.memory);
      return found;
    }();
    length = piece.length;
    if (piece.memory != nullptr) {
      counters_.add(Count::dma_reads_memory);
      AccessKind kind = transaction.kind;
      if (kind == AccessKind::message) kind = MemoryTags::Lookup(host_.tags()).kind(piece.memory, kind);
      sum.add({Delivery::memory, kind});
    } else {
      sum.add(read_elsewhere(address, data.first(length), transaction, length));
    }
    address = address + length;
    data = data.subspan(length);
    if (address.value == 0 && !data.empty()) {
      std::ranges::fill(data, std::byte{0xff});
      unclaimed(Count::dma_reads_unclaimed, "read", address, data.size());
      sum.add({Delivery::unclaimed, transaction.kind});
      break;
    }
  }
  return sum.total.value_or(Outcome{Delivery::unclaimed, transaction.kind});
}

Outcome Endpoint::read_elsewhere(BusAddress address, std::span<std::byte> data, Transaction transaction,
                                 std::uint64_t& length) {
  if (!host_.iommu()) {
    const Host::BarHit hit = host_.find_bar(address, std::min<std::uint64_t>(length, kMaxPeerRead));
    if (hit.endpoint != nullptr) {
      length = hit.length;
      counters_.add(Count::dma_reads_endpoint);
      return hit.endpoint->peer_read(hit.bar, hit.offset, data.first(length), transaction);
    }
    length = host_.find_bar(address, length).length;
  }
  if (ask_qemu(address, data.first(length), transaction)) {
    counters_.add(Count::dma_reads_qemu);
    return {Delivery::qemu, transaction.kind};
  }
  std::ranges::fill(data.first(length), std::byte{0xff});
  unclaimed(Count::dma_reads_unclaimed, "read", address, length);
  return {Delivery::unclaimed, transaction.kind};
}

bool Endpoint::ask_qemu(BusAddress address, std::span<std::byte> data, Transaction transaction) {
  const Load* load = transaction.load;
  if (load == nullptr && !transaction.may_wait) return false;
  const auto wait = load != nullptr ? host_.waits().begin(load->host, host_) : std::nullopt;
  if (load != nullptr && !wait) {
    counters_.add(Count::loads_in_circle);
    return false;
  }
  const auto qemu = link();
  const auto before = host_.loads_unclaimed();
  if (!qemu || !qemu->read(address, data, load != nullptr ? std::optional(load->until) : std::nullopt)) return false;
  // QEMU reports success, too, where a BAR of this host gave it all ones: then the read failed.
  return host_.loads_unclaimed() == before || !has_all_ones(data);
}

bool Endpoint::leads_to_memory(BusAddress address, std::uint64_t size) const {
  if (!bus_master() || size == 0 || is_interrupt(address) || until_border(address, size) != size) return false;
  const MemoryMap::Piece piece = MemoryMap::Reader(memory_).find(address, size, MemoryMap::Right::write);
  return piece.memory != nullptr && piece.length == size;
}

void Endpoint::settle() {
  if (const auto qemu = link()) qemu->settle();
}

void Endpoint::interrupt(unsigned vector) {
  if (!bus_master()) {
    counters_.add(Count::interrupts_dropped);
    return;
  }
  // Behind the writes before it, as on PCIe, where both are posted writes of one requester.
  const auto qemu = link();
  if (!qemu || !qemu->after_writes([this, vector] { signal(vector); })) signal(vector);
}

void Endpoint::signal(unsigned vector) {
  switch (vectors_.signal(vector)) {
    case VectorTable::Signalled::sent:
      counters_.add(Count::interrupts_sent);
      break;
    case VectorTable::Signalled::kept:
      counters_.add(Count::interrupts_kept);
      break;
    case VectorTable::Signalled::ignored:
      counters_.add(Count::interrupts_dropped);
      break;
  }
}

std::uint64_t Endpoint::tag(BusAddress address, std::uint64_t size, AccessKind kind) {
  std::vector<MemoryTags::Interval> intervals;
  MemoryMap::Reader reader(memory_);
  while (size > 0) {
    const MemoryMap::Piece piece = reader.find(address, size, MemoryMap::Right::read);
    if (piece.memory == nullptr) break;
    intervals.push_back({piece.memory, piece.length});
    address = address + piece.length;
    size -= piece.length;
  }
  return intervals.empty() ? 0 : host_.tags().add(intervals, kind);
}

void Endpoint::untag(std::uint64_t id) { host_.tags().remove(id); }

// ---- the guest's side -------------------------------------------------------------------------------------------

void Endpoint::refresh_locked() {
  const bool present = present_.load(std::memory_order_relaxed);
  enabled_.store(present && config_.bus_master(), std::memory_order_release);
  const auto decoded = present ? config_.decoded() : std::vector<ConfigSpace::DecodedBar>{};
  host_.decode(*this, decoded);
  std::array<BusAddress, 6> bars;
  for (unsigned bar = 0; bar < bars.size(); ++bar) bars[bar] = config_.bar_address(bar);
  function_.bars_placed(bars, !decoded.empty());
}

void Endpoint::reset_config(bool keep_bars) {
  const std::scoped_lock lock(config_mutex_);
  if (keep_bars) {
    config_.reset_function();
  } else {
    config_.reset();
  }
  refresh_locked();
}

void Endpoint::attach(std::shared_ptr<GuestLink> link) {
  {
    const std::scoped_lock lock(link_mutex_);
    link_ = std::move(link);
  }
  unclaimed_logged_.store(false, std::memory_order_relaxed);
  counters_.add(Count::connections);
  notify_function();
}

/// A function has a guest while one is attached and the device is in its slot.
void Endpoint::notify_function() {
  const std::scoped_lock lock(reported_mutex_);
  const bool now = present() && attached();
  if (now == reported_) return;
  reported_ = now;
  if (now) {
    function_.connected();
  } else {
    function_.disconnected();
  }
}

void Endpoint::detach() {
  std::shared_ptr<GuestLink> gone;
  {
    const std::scoped_lock lock(link_mutex_);
    gone = std::exchange(link_, nullptr);
  }
  // Ranges may be there without a link: a client that sent DMA_MAP and nothing else.
  ++last_reset_;
  ready_ = true;
  reset_config(false);
  memory_.clear();
  vectors_.remove_all();
  vectors_.forget_pending();
  if (!gone) return;
  notify_function();
  function_.reset(ResetCause::disconnect);
}

bool Endpoint::attached() const {
  const std::scoped_lock lock(link_mutex_);
  return link_ != nullptr;
}

void Endpoint::config_read(std::uint64_t offset, std::span<std::byte> data) {
  counters_.add(Count::config_reads);
  if (!present()) return std::ranges::fill(data, std::byte{0xff}), void();
  {
    const std::scoped_lock lock(config_mutex_);
    config_.read(offset, data);
  }
  // A device that is not ready after a reset asks for a retry (PCI Express 6.0, 2.3.1): all ones, for software that
  // waits for it. Only in the IDs and the command: QEMU reads other registers for itself.
  constexpr std::uint64_t kWaitedFor = 8;
  if (!ready_.load() && offset < kWaitedFor) std::ranges::fill(data, std::byte{0xff});
}

/// Writes that the function made before its reset may still be on their way through QEMU. On PCIe they have arrived,
/// or never will.
void Endpoint::unready_until_settled() {
  const auto reset = ++last_reset_;
  const auto qemu = host_.iommu() ? link() : nullptr;
  if (!qemu) return;
  ready_ = false;
  const auto then = [this, reset] {
    if (last_reset_ == reset) ready_ = true;
  };
  if (!qemu->after_writes(then)) ready_ = true;
}

void Endpoint::config_write(std::uint64_t offset, std::span<const std::byte> data) {
  counters_.add(Count::config_writes);
  if (!present()) return;
  bool reset = false;
  {
    const std::scoped_lock lock(config_mutex_);
    const ConfigSpace::Change change = config_.write(offset, data);
    reset = change.function_level_reset;
    if (reset) config_.reset_function();
    refresh_locked();
  }
  if (!reset) return;
  spdlog::info("{}: function level reset", full_name_);
  counters_.add(Count::resets);
  unready_until_settled();
  vectors_.forget_pending();
  function_.reset(ResetCause::function);
}

void Endpoint::device_reset() {
  spdlog::info("{}: reset", full_name_);
  counters_.add(Count::resets);
  reset_config(false);
  unready_until_settled();
  vectors_.forget_pending();
  if (present()) function_.reset(ResetCause::function);
}

void Endpoint::bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> data) {
  counters_.add(Count::register_reads);
  if (!present()) {
    std::ranges::fill(data, std::byte{0xff});
    host_.load_unclaimed();
    return;
  }
  const FunctionDescription& d = description();
  // QEMU leaves the Pending Bit Array to this process, since it alone knows the pending vectors.
  if (d.msix_vectors > 0 && bar == d.msix_bar && offset - d.msix_pba_offset < vectors_.pending_bytes()) {
    return vectors_.read_pending(offset - d.msix_pba_offset, data);
  }
  const Load load = host_.waits().load(host_);
  while (!data.empty()) {
    const auto piece = data.first(std::min(data.size(), kMaxPeerRead));
    if (function_.bar_read(bar, offset, piece, {.load = &load}).delivery == Delivery::unclaimed) host_.load_unclaimed();
    offset += piece.size();
    data = data.subspan(piece.size());
  }
}

void Endpoint::bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> data) {
  counters_.add(Count::register_writes);
  if (!present()) return;
  function_.bar_write(bar, offset, data, {});
}

void Endpoint::bar_write_many(unsigned bar, std::span<const Store> stores) {
  counters_.add(Count::register_writes, stores.size());
  if (!present()) return;
  function_.bar_write_many(bar, stores, {});
}

void Endpoint::refused_by_qemu() {
  counters_.add(Count::dma_refused_by_qemu);
  if (unclaimed_logged_.exchange(true, std::memory_order_relaxed)) return;
  spdlog::warn("{}: the guest refused a DMA write; further ones are only counted", full_name_);
}

// ---- peers and the control socket ---------------------------------------------------------------------------------

Outcome Endpoint::peer_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> data,
                             Transaction transaction) {
  if (!present()) return {Delivery::unclaimed, transaction.kind};
  counters_.add(Count::peer_writes);
  return function_.bar_write(bar, offset, data, transaction);
}

Outcome Endpoint::peer_read(unsigned bar, std::uint64_t offset, std::span<std::byte> data, Transaction transaction) {
  if (!present()) {
    std::ranges::fill(data, std::byte{0xff});
    return {Delivery::unclaimed, transaction.kind};
  }
  counters_.add(Count::peer_reads);
  return function_.bar_read(bar, offset, data, transaction);
}

void Endpoint::set_present(bool present) {
  {
    const std::scoped_lock lock(config_mutex_);
    if (present_.exchange(present, std::memory_order_acq_rel) == present) return;
    if (present) config_.reset();
    refresh_locked();
  }
  spdlog::info("{}: {}", full_name_, present ? "put back" : "removed");
  if (present) {
    unclaimed_logged_.store(false, std::memory_order_relaxed);
    vectors_.forget_pending();
    function_.reset(ResetCause::power_on);
  }
  notify_function();
}

}  // namespace smartio::pci
