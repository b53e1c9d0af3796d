// SPDX-License-Identifier: GPL-2.0
// A host for tests of the NTB: memory, the interrupts that came, and what went wrong on purpose.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <mutex>
#include <vector>

#include "fabric/ntb/amd.h"
#include "fabric/ntb/cable.h"

namespace smartio::ntb::test {

using namespace amd;

/// A host's bus: `size` bytes of memory at 0, MSI messages at 0xfee00000, nothing else unless a hook says so.
class FakeHost : public pci::Port {
 public:
  explicit FakeHost(std::size_t size = 1 << 16) : memory(size) {}

  pci::Outcome write(pci::BusAddress address, std::span<const std::byte> data, pci::Transaction transaction) override {
    if (on_write) {
      if (const auto outcome = on_write(address, data, transaction)) return *outcome;
    }
    const std::scoped_lock lock(mutex_);
    last = transaction;
    if (address.value >= 0xfee00000 && address.value < 0xfef00000)
      return {pci::Delivery::qemu, pci::AccessKind::interrupt};
    if (!inside(address, data.size())) return {};
    std::memcpy(memory.data() + address.value, data.data(), data.size());
    return {pci::Delivery::memory, transaction.kind == pci::AccessKind::message && tagged(address)
                                       ? pci::AccessKind::command
                                       : transaction.kind};
  }
  void write_many(std::span<const pci::BusStore> stores, pci::Transaction transaction,
                  std::span<pci::Outcome> outcomes) override {
    batches++;
    for (std::size_t i = 0; i < stores.size(); i++) {
      const auto outcome =
          write(stores[i].address, std::as_bytes(std::span(&stores[i].data, 1)).first(stores[i].size), transaction);
      if (!outcomes.empty()) outcomes[i] = outcome;
    }
  }
  pci::Outcome read(pci::BusAddress address, std::span<std::byte> data, pci::Transaction transaction) override {
    const std::scoped_lock lock(mutex_);
    last = transaction;
    if (!inside(address, data.size())) {
      std::ranges::fill(data, std::byte{0xff});
      return {};
    }
    std::memcpy(data.data(), memory.data() + address.value, data.size());
    return {pci::Delivery::memory, transaction.kind};
  }
  void interrupt(unsigned vector) override {
    const std::scoped_lock lock(mutex_);
    vectors.push_back(vector);
  }
  std::uint64_t tag(pci::BusAddress, std::uint64_t, pci::AccessKind) override { return 0; }
  void untag(std::uint64_t) override {}
  [[nodiscard]] bool bus_master() const override { return true; }
  [[nodiscard]] bool leads_to_memory(pci::BusAddress address, std::uint64_t size) const override {
    return inside(address, size);
  }

  /// The vectors signalled since the last call.
  std::vector<unsigned> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(vectors, {});
  }
  /// How many there are to take.
  [[nodiscard]] std::size_t interrupts() {
    const std::scoped_lock lock(mutex_);
    return vectors.size();
  }
  [[nodiscard]] std::uint64_t load(std::uint64_t address, std::size_t size = 8) const {
    std::uint64_t value = 0;
    std::memcpy(&value, memory.data() + address, size);
    return value;
  }

  std::vector<std::byte> memory;
  std::uint64_t queue_begin = 0, queue_end = 0;  ///< stores here are commands
  pci::Transaction last;
  unsigned batches = 0;
  std::function<std::optional<pci::Outcome>(pci::BusAddress, std::span<const std::byte>, pci::Transaction)> on_write;

 private:
  [[nodiscard]] bool inside(pci::BusAddress address, std::size_t size) const {
    return size <= memory.size() && address.value <= memory.size() - size;
  }
  [[nodiscard]] bool tagged(pci::BusAddress address) const {
    return address.value >= queue_begin && address.value < queue_end;
  }
  std::mutex mutex_;
  std::vector<unsigned> vectors;
};

/// The accesses of a driver to one side's BARs.
class Driver {
 public:
  explicit Driver(pci::Function& function) : function_(function) {}

  std::uint64_t read(std::uint64_t offset, std::size_t size = 4, unsigned bar = 0) {
    std::uint64_t value = 0;
    function_.bar_read(bar, offset, std::as_writable_bytes(std::span(&value, 1)).first(size), {});
    return value;
  }
  pci::Outcome write(std::uint64_t offset, std::uint64_t value, std::size_t size = 4, unsigned bar = 0) {
    return function_.bar_write(bar, offset, std::as_bytes(std::span(&value, 1)).first(size), {});
  }
  /// As ntb_mw_set_trans() of the stock driver: the translation, then the limit, in the view of the peer.
  void open(unsigned window, std::uint64_t address, std::uint64_t size) {
    write(reg::PEER_VIEW + reg::BAR23XLAT + 8 * window, address, 8);
    write(reg::PEER_VIEW + reg::BAR23LMT + 8 * window, size, 8);
  }
  void set_ready() { write(reg::SIDEINFO, read(reg::SIDEINFO) | kSideReady); }
  std::uint64_t peer_sideinfo() { return read(reg::PEER_VIEW + reg::SIDEINFO); }

 private:
  pci::Function& function_;
};

}  // namespace smartio::ntb::test
