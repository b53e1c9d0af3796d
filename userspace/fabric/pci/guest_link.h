// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>

#include "fabric/pci/types.h"

namespace smartio::pci {

/// The way from an endpoint to its guest's QEMU, which applies that guest's IOMMU, interrupt remapping and memory
/// map. vfio_user/ implements it by messages. Thread-safe.
class GuestLink {
 public:
  virtual ~GuestLink() = default;

  /// Hands a write over and returns at once. False: it was dropped, since the guest has ended or takes nothing.
  virtual bool post_write(BusAddress address, std::span<const std::byte> data) = 0;

  /// Calls `then` when QEMU has carried out all writes posted so far, but for interrupts: at once, or on the thread
  /// that receives QEMU's answers. An interrupt by eventfd would overtake them otherwise. False: the guest has ended,
  /// and `then` is not called.
  virtual bool after_writes(std::function<void()> then) = 0;

  /// Waits until QEMU has carried out all writes posted so far, but for interrupts, for seconds at worst. False: too
  /// late, or the guest has ended. Fails at once on the thread that receives the answers.
  virtual bool settle() = 0;

  /// Reads and waits for the answer, until `until` or else seconds at worst, but not longer than the guest lives.
  /// False: refused, too late, or the guest has ended; `data` is then undefined. Fails at once on the thread that would
  /// receive the answer.
  virtual bool read(BusAddress address, std::span<std::byte> data,
                    std::optional<std::chrono::steady_clock::time_point> until) = 0;
};

}  // namespace smartio::pci
