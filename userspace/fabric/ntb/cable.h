// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "fabric/ntb/family.h"
#include "fabric/ntb/ntb_function.h"
#include "fabric/ntb/wire.h"

namespace smartio::ntb {

/// How long a link trains that was down: the least that hosts may count on (PCIe Base Specification, 6.6.1).
inline constexpr std::chrono::milliseconds kTraining{100};

/// A link: two NTB functions and the cable between them, which can be pulled, flapped, or made to lose everything
/// without a word. Owns both functions; outlives their endpoints. Any thread.
class Cable {
 public:
  struct Config {
    std::string name;
    std::array<std::uint64_t, kWindows> windows{};            ///< bytes of BAR2 and BAR4, powers of two
    std::array<std::uint64_t, kWindows> secondary_windows{};  ///< of the secondary side; 0: as the primary's
    Family family = Family::amd;
    unsigned vectors = 0;         ///< MSI-X entries; 0: the family's default, as with the next two
    std::uint8_t link_speed = 0;  ///< Current Link Speed encoding: 3 is 8 GT/s
    std::uint8_t link_width = 0;
    std::chrono::nanoseconds training = kTraining;  ///< from the drivers' hearing of a loss to the link's return
  };
  /// Throws std::invalid_argument where `config` breaks the limits it states.
  explicit Cable(const Config& config);
  ~Cable();
  Cable(const Cable&) = delete;
  Cable& operator=(const Cable&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Family family() const { return primary_adapter_.family; }
  [[nodiscard]] NtbFunction& function(Side side) { return side == Side::primary ? primary_ : secondary_; }
  [[nodiscard]] const NtbFunction& function(Side side) const { return side == Side::primary ? primary_ : secondary_; }

  /// Each replaces the order before it. After down() and silent() nothing comes out of a window any more.
  ///
  /// up() after down() returns at once. The link is up Config::training after both drivers, those that listen, have
  /// dealt with the event. A real link trains for longer than an interrupt takes. An emulated host may be stopped for
  /// longer than that. It must not get data over the link before its driver knows of the loss.
  ///
  /// Where the drivers control the link (RegisterFile::link_enabled), it comes up only if both enable it. Training
  /// takes as long then.
  void up();
  void down();
  void silent();
  /// Down now, and up after `duration`, without the caller waiting.
  void flap(std::chrono::nanoseconds duration);
  /// After this each load of a translation or a limit takes `pause`, on both sides: a driver's accesses to its windows,
  /// one after the other, have time to go wrong.
  void slow_windows(std::chrono::nanoseconds pause) { wire_.window_pause = pause; }
  /// After this the link loses stores to the translation and the limit of this window, on both sides; none: of none.
  void stick_window(std::optional<unsigned> window) { wire_.stuck_window = window.value_or(kWindows); }

  /// The cable calls `plugged` with false when it is pulled, and with true when it is in again, in that order. It holds
  /// no lock then that the functions of pci::Function take. To be called before anything else happens.
  void follow_plug(std::function<void(bool in)> plugged) { plugged_ = std::move(plugged); }

  [[nodiscard]] LinkState state() const { return wire_.state.load(); }
  [[nodiscard]] bool is_up() const { return state() == LinkState::up; }

  [[nodiscard]] ledger::LinkLedger& ledger() { return wire_.ledger; }
  [[nodiscard]] const ledger::LinkLedger& ledger() const { return wire_.ledger; }

 private:
  using Clock = std::chrono::steady_clock;
  /// A change of the link, before both sides are notified of it.
  struct Change {
    std::optional<LinkState> to;  ///< none: there was no change
    Vectors to_primary = 0;
    Vectors to_secondary = 0;
  };

  // With wire_.registers held:
  Change set(LinkState state);
  [[nodiscard]] bool enabled_by_both() const;
  [[nodiscard]] std::optional<Clock::time_point> may_rise_at() const;
  Change rise_if_due();

  // Without:
  void order(LinkState order, std::optional<std::chrono::nanoseconds> flap = {});
  void apply_link_enables();
  void finish(const Change& change);
  void plug_if_due();
  void train(const std::stop_token& stop);

  const std::string name_;
  const std::chrono::nanoseconds training_;
  const Adapter primary_adapter_;
  const Adapter secondary_adapter_;
  Wire wire_;
  NtbFunction primary_;
  NtbFunction secondary_;

  // Guarded by wire_.registers:
  LinkState order_ = LinkState::up;  ///< as state, but of the cable: the link may not have come up yet
  Clock::time_point not_before_;     ///< a flapping cable is in again
  Clock::time_point down_at_;
  unsigned changes_ = 0;        ///< changes when the trainer has to look again
  bool to_be_plugged_ = false;  ///< a flapping cable: plugged_ is to be called at not_before_

  std::mutex plug_;  ///< the order of calls of plugged_; taken before wire_.registers
  std::function<void(bool in)> plugged_;

  std::condition_variable_any wake_;
  std::jthread trainer_;  ///< brings the link up
};

/// "up", "down" or "silent".
std::string_view name_of(LinkState state);

}  // namespace smartio::ntb
