// SPDX-License-Identifier: GPL-2.0
// The two interfaces between a device model and the fabric: Function, which a model implements, and Port, which
// it uses. Models (ntb/, nvme/) know nothing of sockets or vfio-user; pci/ and vfio_user/ know nothing of queues
// and windows. Tests put a fake Port under a model and a fake Function under the fabric.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fabric/pci/types.h"

namespace smartio::pci {

/// One base address register of a function.
struct BarDescription {
  std::uint64_t size = 0;  ///< bytes, a power of two; 0: no such BAR
  bool is64 = false;       ///< takes the next BAR's slot as well
  bool prefetchable = false;
};

/// The configuration space of a function. Fixed for the life of the function.
struct FunctionDescription {
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  std::uint16_t subsystem_vendor = 0;
  std::uint16_t subsystem = 0;
  std::uint8_t revision = 0;
  std::uint32_t class_code = 0;  ///< 24 bits: base class, subclass, programming interface
  std::array<BarDescription, 6> bars{};
  std::uint16_t msix_vectors = 0;  ///< 0: no MSI-X capability
  std::uint8_t msix_bar = 0;       ///< where QEMU lays the table and the PBA over the BAR
  std::uint32_t msix_table_offset = 0;
  std::uint32_t msix_pba_offset = 0;
  std::uint8_t link_speed = 3;  ///< PCIe capability, Current Link Speed encoding (3: 8 GT/s)
  std::uint8_t link_width = 4;
  std::uint64_t serial = 0;  ///< Device Serial Number extended capability; 0: none

  /// Where the capabilities lie.
  struct Capabilities {
    std::uint8_t power = 0x40;
    std::uint8_t msix = 0x50;
    std::uint8_t express = 0x60;
  };
  Capabilities capabilities{};
  /// A read-only register of the vendor's own.
  struct ConfigByte {
    std::uint16_t offset;
    std::uint8_t value;
  };
  std::vector<ConfigByte> config_bytes{};
};

/// The way a function reaches its own host's bus as a requester. Thread-safe: every call from any thread.
class Port {
 public:
  virtual ~Port() = default;

  /// A posted write. Never fails visibly, as on PCIe: an unclaimed one is dropped, counted, and logged once. Aligned
  /// pieces of up to 8 bytes land as single atomic stores, in ascending order. With `transaction.may_wait` it stays
  /// behind the function's earlier writes (PCI Express 6.0, 2.4.1), and may wait for QEMU. Else it never blocks.
  virtual Outcome write(BusAddress address, std::span<const std::byte> data, Transaction transaction) = 0;

  /// Many small posted writes, in order: the drain of a guest's store queue. `outcomes`, if not empty, is as
  /// long as `stores` and gets each one's outcome. Takes the memory map's lock once for all of them.
  virtual void write_many(std::span<const BusStore> stores, Transaction transaction, std::span<Outcome> outcomes) = 0;

  /// A read. With `transaction.may_wait` it may wait for the guest's QEMU (seconds at worst): only on a thread
  /// that nothing else waits for. With `transaction.load` it may wait, too, but for a host that waits for the loading
  /// one. With neither, what only QEMU could answer is `unclaimed`. `unclaimed` fills all ones.
  virtual Outcome read(BusAddress address, std::span<std::byte> data, Transaction transaction) = 0;

  /// Waits, as a read may, until the writes so far have arrived: for a function that says it is idle.
  virtual void settle() {}

  /// Signals an MSI-X vector of the function. Vectors that the guest has off are kept pending and sent when it
  /// switches them on; vectors beyond the table are ignored.
  virtual void interrupt(unsigned vector) = 0;

  /// Declares [address, address + size) of the host's memory to be of `kind` (a submission queue: command). So a CPU's
  /// stores there, by any path, stand in the right column of the ledger. Returns an id for untag(), 0 if the range is
  /// not memory.
  virtual std::uint64_t tag(BusAddress address, std::uint64_t size, AccessKind kind) = 0;
  virtual void untag(std::uint64_t id) = 0;

  /// Whether all of [address, address + size) is guest memory that a write reaches without QEMU.
  [[nodiscard]] virtual bool leads_to_memory(BusAddress /*address*/, std::uint64_t /*size*/) const { return false; }

  /// Whether the guest set Bus Master Enable. While it is off, writes and interrupts are dropped and reads give
  /// all ones; a model need not ask.
  [[nodiscard]] virtual bool bus_master() const = 0;
};

/// Why a function is reset.
enum class ResetCause : std::uint8_t {
  power_on,    ///< before the first guest attaches, and when a removed device is put back
  function,    ///< function level reset, or VFIO_USER_DEVICE_RESET: the guest's firmware or a bus reset
  disconnect,  ///< the guest's QEMU has ended
};

/// A PCI function model. Calls come from any thread (the guest's connection, a peer endpoint's worker), several at
/// a time, and none may wait for a guest: a function that has to wait does so on a thread of its own.
class Function {
 public:
  virtual ~Function() = default;

  [[nodiscard]] virtual const FunctionDescription& description() const = 0;

  /// Called once, before anything else; `port` outlives the function's last use of it.
  virtual void bind(Port& port) = 0;

  /// A load from a BAR. `data` is 1 to 8 bytes from a CPU, up to 4 KiB from a peer. Fills all of it. Returns where it
  /// ended: `unclaimed` is what PCIe calls an unsupported request, which a peer notices, and a CPU sees as all ones.
  virtual Outcome bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> data, Transaction transaction) = 0;
  /// A store to a BAR; the fabric has checked that it lies inside. Returns where it ended.
  virtual Outcome bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> data,
                            Transaction transaction) = 0;
  /// Many stores of a guest to one BAR, in order. The default calls bar_write for each.
  virtual void bar_write_many(unsigned bar, std::span<const Store> stores, Transaction transaction);

  /// The guest has written BARs: what each of the six holds now, while it is being sized too, and whether they answer
  /// (`decoded`). Not to call a Port.
  virtual void bars_placed(std::span<const BusAddress> /*addresses*/, bool /*decoded*/) {}

  /// A guest attached, or its QEMU has ended (followed by reset(disconnect)).
  virtual void connected() {}
  virtual void disconnected() {}

  /// Back to the state after power-on. Returns at once; work that still runs must not touch the guest after it
  /// noticed, which it must do within a command's time.
  virtual void reset(ResetCause cause) = 0;
};

}  // namespace smartio::pci
