// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/unique_fd.h"

namespace smartio::pci {

/// The MSI-X vectors of one function: the eventfd that signals each, and which are pending. QEMU removes all vectors
/// whenever it adds or moves one. So an interrupt without an eventfd is kept, and sent as soon as there is one again.
/// Thread-safe; signal() never blocks.
class VectorTable {
 public:
  explicit VectorTable(unsigned vectors) : vectors_(vectors) {}

  enum class Signalled : std::uint8_t { sent, kept, ignored };
  /// Vectors beyond the table are ignored.
  Signalled signal(unsigned vector);

  /// Gives vectors [first, first + fds.size()) new eventfds, closes the old ones and sends pending interrupts. The
  /// caller has checked the range, and that they are eventfds. Returns the number of pending interrupts that it sent.
  unsigned assign(unsigned first, std::span<UniqueFd> fds);
  /// Removes the eventfds of [first, first + count).
  void remove(unsigned first, unsigned count);
  /// Removes all eventfds; pending interrupts stay pending.
  void remove_all();
  /// The function was reset: nothing is pending any more.
  void forget_pending();

  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(vectors_.size()); }
  [[nodiscard]] unsigned assigned() const;

  /// The Pending Bit Array as a guest reads it, `offset` bytes into it; zero beyond its end.
  void read_pending(std::uint64_t offset, std::span<std::byte> data) const;
  /// Bytes of the Pending Bit Array: whole 64-bit words.
  [[nodiscard]] std::uint64_t pending_bytes() const { return (vectors_.size() + 63) / 64 * 8; }

 private:
  struct Vector {
    UniqueFd fd;
    bool pending = false;
  };

  static void send(const UniqueFd& fd);

  mutable std::mutex mutex_;  // protects the vectors; held while an eventfd is written, so that it stays open
  std::vector<Vector> vectors_;
};

/// Whether `fd` is an eventfd, the only thing a vector can be signalled by without danger of blocking. Makes it
/// non-blocking.
bool prepare_eventfd(int fd);

}  // namespace smartio::pci
