// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>

#include "fabric/ledger/ledger.h"
#include "fabric/ntb/register_file.h"

namespace smartio::ntb {

enum class LinkState : std::uint8_t {
  up,
  down,    ///< the cable is out, or the link has not trained: both drivers get an event
  silent,  ///< writes are lost without an event: registers still read as if all were well
};

/// The state that the two sides of a bridge share.
struct Wire {
  /// Guards both sides' registers, connected flags, and changes of `state`. A leaf: nothing is called while it is
  /// held, so it may be taken on any path, also on one that came through this very bridge.
  std::mutex registers;
  /// Read without the lock by window accesses.
  std::atomic<LinkState> state{LinkState::up};
  /// How long each load of a translation or a limit takes besides.
  std::atomic<std::chrono::nanoseconds> window_pause{};
  /// The window whose translation and limit keep their values, on both sides; kWindows: none.
  std::atomic<unsigned> stuck_window{kWindows};
  /// Called when a side begins or ceases to want the link, without `registers` held. Set by Cable.
  std::function<void()> link_enables_changed;
  ledger::LinkLedger ledger;
};

}  // namespace smartio::ntb
