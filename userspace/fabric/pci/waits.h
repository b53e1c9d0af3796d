// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace smartio::pci {

class Host;

/// A load of a host's CPU from a BAR, while it is carried out. The host's QEMU waits for its answer, and does nothing
/// else meanwhile.
struct Load {
  const Host& host;                             ///< whose CPU loads
  std::chrono::steady_clock::time_point until;  ///< then it has to be answered, with all ones if need be
};

/// Which hosts' QEMUs wait for each other. Hosts that waited in a circle would all stand still until QEMU gives up its
/// messages. So a wait that closes a circle is refused. One for the process. Thread-safe.
class Waits {
 public:
  /// Well below the 5 s after which QEMU takes a message for lost (x-msg-timeout of vfio-user-pci).
  static constexpr std::chrono::milliseconds kPatience{3000};

  explicit Waits(std::chrono::milliseconds patience = kPatience) : patience_(patience) {}
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  /// A load that begins now.
  [[nodiscard]] Load load(const Host& host) const { return {host, std::chrono::steady_clock::now() + patience_}; }

  /// One host waits for another one's QEMU until this is destroyed.
  class Wait {
   public:
    Wait(Wait&& other) noexcept
        : waits_(std::exchange(other.waits_, nullptr)), waiting_(other.waiting_), awaited_(other.awaited_) {}
    Wait& operator=(Wait&&) = delete;
    ~Wait();

   private:
    friend class Waits;
    Wait(Waits& waits, const Host& waiting, const Host& awaited)
        : waits_(&waits), waiting_(&waiting), awaited_(&awaited) {}
    Waits* waits_;
    const Host* waiting_;
    const Host* awaited_;
  };
  /// Nothing if `awaited` is `waiting`, or waits for it, directly or by others.
  [[nodiscard]] std::optional<Wait> begin(const Host& waiting, const Host& awaited);
  /// Whether `waiting` waits for `awaited` now, directly or by others.
  [[nodiscard]] bool waits(const Host& waiting, const Host& awaited) const;

 private:
  [[nodiscard]] bool leads(const Host* from, const Host* to) const;

  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;  // protects waiting_.
  // Pairs of a host that waits and the awaited one: few at a time, and without a circle. A pair may be there more than
  // once.
  std::vector<std::pair<const Host*, const Host*>> waiting_;
};

}  // namespace smartio::pci
