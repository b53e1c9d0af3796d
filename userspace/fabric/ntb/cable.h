// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "fabric/ntb/amd_ntb.h"
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
    std::array<std::uint64_t, kWindows> windows{};  ///< bytes of BAR2 and BAR4, powers of two
    unsigned vectors = 64;                          ///< MSI-X entries, kMinVectors to kMaxVectors
    std::uint8_t link_speed = 3;                    ///< Current Link Speed encoding: 3 is 8 GT/s
    std::uint8_t link_width = 4;
    std::chrono::nanoseconds training = kTraining;  ///< from the drivers' hearing of a loss to the link's return
  };
  /// Throws std::invalid_argument where `config` breaks the limits it states.
  explicit Cable(Config config);

  [[nodiscard]] const std::string& name() const { return config_.name; }
  [[nodiscard]] AmdNtb& function(Side side) { return side == Side::primary ? primary_ : secondary_; }
  [[nodiscard]] const AmdNtb& function(Side side) const { return side == Side::primary ? primary_ : secondary_; }

  /// Each ends what up() and flap() have begun. After down() and silent() nothing comes out of a window any more.
  ///
  /// After down() up() takes Config::training from the moment on in which both drivers, those that listen, have dealt
  /// with the event, without the caller waiting. A real link trains for longer than an interrupt takes; an emulated
  /// host may be stopped for longer than that, and must not get data again over a link that it doesn't know to have
  /// been out.
  void up();
  void down();
  void silent();
  /// Down now, and up after `duration`, without the caller waiting.
  void flap(std::chrono::nanoseconds duration);
  /// Each load of a translation or a limit takes so long from now on, on both sides: what a driver does to its windows,
  /// one after the other, has time to go wrong.
  void slow_windows(std::chrono::nanoseconds pause) { wire_.window_pause = pause; }

  [[nodiscard]] LinkState state() const { return wire_.state.load(); }
  [[nodiscard]] bool is_up() const { return state() == LinkState::up; }

  [[nodiscard]] ledger::LinkLedger& ledger() { return wire_.ledger; }
  [[nodiscard]] const ledger::LinkLedger& ledger() const { return wire_.ledger; }

 private:
  void set(LinkState state);
  void change(LinkState state);
  [[nodiscard]] bool may_rise();
  void rise_after(std::chrono::nanoseconds duration);  ///< with orders_ held

  const Config config_;
  Wire wire_;
  AmdNtb primary_;
  AmdNtb secondary_;
  std::chrono::steady_clock::time_point down_at_;  ///< guarded by wire_.registers
  std::mutex orders_;                              ///< one order at a time; guards rise_
  std::jthread rise_;                              ///< brings the link back up
};

/// "up", "down" or "silent".
std::string_view name_of(LinkState state);

}  // namespace smartio::ntb
