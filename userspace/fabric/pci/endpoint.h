// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "fabric/pci/config_space.h"
#include "fabric/pci/counters.h"
#include "fabric/pci/function.h"
#include "fabric/pci/guest_link.h"
#include "fabric/pci/memory_map.h"
#include "fabric/pci/types.h"
#include "fabric/pci/vector_table.h"

namespace smartio::pci {

class Host;

/// A function's place on its host's bus. Towards the function it is a Port: it carries the function's accesses to
/// (1) guest memory that its DMA_MAP ranges hold, (2) on a host without IOMMU a BAR of an endpoint of that host,
/// (3) the guest's QEMU. Towards the guest's connection it is the device: configuration space, BARs, memory map and
/// interrupt vectors. Thread-safe.
class Endpoint final : public Port {
 public:
  Endpoint(Host& host, std::string name, Function& function);
  ~Endpoint() override;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// "host.name", for logs.
  [[nodiscard]] const std::string& full_name() const { return full_name_; }
  [[nodiscard]] Host& host() { return host_; }
  [[nodiscard]] Function& function() { return function_; }
  [[nodiscard]] Counters& counters() { return counters_; }
  [[nodiscard]] MemoryMap& memory() { return memory_; }
  [[nodiscard]] VectorTable& vectors() { return vectors_; }
  [[nodiscard]] const FunctionDescription& description() const { return function_.description(); }

  // ---- Port ---------------------------------------------------------------------------------------------------
  Outcome write(BusAddress address, std::span<const std::byte> data, Transaction transaction) override;
  void write_many(std::span<const BusStore> stores, Transaction transaction, std::span<Outcome> outcomes) override;
  Outcome read(BusAddress address, std::span<std::byte> data, Transaction transaction) override;
  void settle() override;
  void interrupt(unsigned vector) override;
  std::uint64_t tag(BusAddress address, std::uint64_t size, AccessKind kind) override;
  void untag(std::uint64_t id) override;
  [[nodiscard]] bool leads_to_memory(BusAddress address, std::uint64_t size) const override;
  [[nodiscard]] bool bus_master() const override { return enabled_.load(std::memory_order_acquire); }

  // ---- the guest's side, called by its connection -------------------------------------------------------------
  /// A guest's QEMU is there. `link` is used until detach().
  void attach(std::shared_ptr<GuestLink> link);
  /// The guest's QEMU has ended: its memory is unmapped (after copies into it), its vectors are closed, the function is
  /// notified and reset. Does nothing if no guest is attached.
  void detach();
  [[nodiscard]] bool attached() const;

  void config_read(std::uint64_t offset, std::span<std::byte> data);
  void config_write(std::uint64_t offset, std::span<const std::byte> data);
  /// BAR accesses of the guest; the caller has checked that they lie inside the BAR.
  void bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> data);
  void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> data);
  void bar_write_many(unsigned bar, std::span<const Store> stores);
  /// VFIO_USER_DEVICE_RESET.
  void device_reset();
  /// QEMU answered a posted write with an error: its IOMMU refused it, or there is nothing at that address.
  void refused_by_qemu();

  // ---- peers ---------------------------------------------------------------------------------------------------
  Outcome peer_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> data, Transaction transaction);
  Outcome peer_read(unsigned bar, std::uint64_t offset, std::span<std::byte> data, Transaction transaction);

  // ---- the control socket ---------------------------------------------------------------------------------------
  /// Surprise removal. false: configuration space and BARs read as all ones; writes, DMA and interrupts are dropped;
  /// the function sees its guest detached. true: the device is back, in the state after power-on.
  void set_present(bool present);
  [[nodiscard]] bool present() const { return present_.load(std::memory_order_acquire); }

 private:
  void unready_until_settled();
  void refresh_locked();
  void reset_config(bool keep_bars);
  void notify_function();
  [[nodiscard]] bool refuses(Transaction transaction) const;
  void unclaimed(Count count, const char* what, BusAddress address, std::uint64_t size);
  std::shared_ptr<GuestLink> link() const;
  Outcome write_elsewhere(BusAddress address, std::span<const std::byte> data, Transaction transaction,
                          std::uint64_t& length);
  Outcome read_elsewhere(BusAddress address, std::span<std::byte> data, Transaction transaction, std::uint64_t& length);
  /// Reads through the guest's QEMU, if the transaction may wait for it.
  bool ask_qemu(BusAddress address, std::span<std::byte> data, Transaction transaction);
  void signal(unsigned vector);

  Host& host_;
  std::string name_;
  std::string full_name_;
  Function& function_;
  Counters counters_;
  MemoryMap memory_;
  VectorTable vectors_;

  mutable std::mutex
      config_mutex_;  // protects config_, and the order in which the host is notified of changes of decoding
  ConfigSpace config_;
  std::atomic<bool> present_{true};
  std::atomic<bool> enabled_{false};  // present and bus master

  mutable std::mutex link_mutex_;  // protects link_
  std::shared_ptr<GuestLink> link_;

  std::mutex reported_mutex_;  // protects reported_, and the order in which the function is notified of guests
  bool reported_ = false;      // connected() was the last call of the function

  std::atomic<bool> ready_{true};              // not between a reset and the end of the writes before it
  std::atomic<std::uint64_t> last_reset_{0};   // counts resets
  std::atomic<bool> unclaimed_logged_{false};  // once for each guest that attaches
};

}  // namespace smartio::pci
