// SPDX-License-Identifier: GPL-2.0
#include "fabric/ntb/cable.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace smartio::ntb {

namespace {

/// The trainer checks at this interval whether a link that is down may come up.
constexpr std::chrono::milliseconds kLook{2};

Adapter adapter_of(const Cable::Config& config, Side side) {
  std::array<std::uint64_t, kWindows> secondary = config.secondary_windows;
  for (unsigned window = 0; window < kWindows; window++)
    if (secondary[window] == 0) secondary[window] = config.windows[window];
  try {
    return completed({.family = config.family,
                      .windows = side == Side::primary ? config.windows : secondary,
                      .peer_windows = side == Side::primary ? secondary : config.windows,
                      .vectors = config.vectors,
                      .link_speed = config.link_speed,
                      .link_width = config.link_width});
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}: {}", config.name, error.what()));
  }
}

}  // namespace

Cable::Cable(const Config& config)
    : name_(config.name),
      training_(config.training),
      primary_adapter_(adapter_of(config, Side::primary)),
      secondary_adapter_(adapter_of(config, Side::secondary)),
      primary_(wire_, Side::primary, describe(primary_adapter_), make_registers(primary_adapter_, false)),
      secondary_(wire_, Side::secondary, describe(secondary_adapter_), make_registers(secondary_adapter_, true)) {
  primary_.peer_ = &secondary_;
  secondary_.peer_ = &primary_;
  if (!enabled_by_both()) wire_.state = LinkState::down;
  wire_.link_enables_changed = [this] { apply_link_enables(); };
  trainer_ = std::jthread([this](const std::stop_token& stop) { train(stop); });
}

Cable::~Cable() {
  // Either side's buffers write to the other side.
  primary_.buffers_.reset();
  secondary_.buffers_.reset();
}

bool Cable::enabled_by_both() const { return primary_.link_enabled() && secondary_.link_enabled(); }

Cable::Change Cable::set(LinkState state) {
  if (wire_.state.exchange(state) == state) return {};
  if (state == LinkState::down) down_at_ = Clock::now();
  return {.to = state, .to_primary = primary_.follow_link(), .to_secondary = secondary_.follow_link()};
}

void Cable::finish(const Change& change) {
  if (!change.to) return;
  spdlog::info("link {}: {}", name(), name_of(*change.to));
  if (*change.to != LinkState::up) {
    primary_.drain_writes();
    secondary_.drain_writes();
  }
  primary_.interrupt(change.to_primary);
  secondary_.interrupt(change.to_secondary);
}

/// When a link that is down may come up: not before both drivers enable it and have dealt with its loss.
std::optional<Cable::Clock::time_point> Cable::may_rise_at() const {
  if (order_ != LinkState::up || !enabled_by_both() || primary_.loss_pending() || secondary_.loss_pending())
    return std::nullopt;
  return std::max(not_before_, training_ + std::max({down_at_, primary_.loss_handled_at_, secondary_.loss_handled_at_,
                                                     primary_.link_enabled_at_, secondary_.link_enabled_at_}));
}

Cable::Change Cable::rise_if_due() {
  const auto at = may_rise_at();
  return at && Clock::now() >= *at ? set(LinkState::up) : Change{};
}

void Cable::order(LinkState order, std::optional<std::chrono::nanoseconds> flap) {
  Change change;
  const std::scoped_lock in_order(plug_);
  {
    const std::scoped_lock lock(wire_.registers);
    order_ = order;
    to_be_plugged_ = flap.has_value();
    not_before_ = flap ? Clock::now() + *flap : Clock::time_point{};
    changes_++;
    if (order == LinkState::down || flap)
      change = set(LinkState::down);
    else if (order == LinkState::silent)
      change = enabled_by_both() ? set(LinkState::silent) : Change{};
    else
      change = wire_.state.load() == LinkState::down ? rise_if_due() : set(LinkState::up);
  }
  wake_.notify_all();
  finish(change);
  if (plugged_) plugged_(order != LinkState::down && !flap);
}

/// A flapping cable is in again.
void Cable::plug_if_due() {
  const std::scoped_lock in_order(plug_);
  {
    const std::scoped_lock lock(wire_.registers);
    if (!to_be_plugged_ || Clock::now() < not_before_) return;
    to_be_plugged_ = false;
  }
  if (plugged_) plugged_(true);
}

void Cable::apply_link_enables() {
  Change change;
  {
    const std::scoped_lock lock(wire_.registers);
    changes_++;
    if (!enabled_by_both()) change = set(LinkState::down);
  }
  wake_.notify_all();
  finish(change);
}

void Cable::train(const std::stop_token& stop) {
  std::unique_lock lock(wire_.registers);
  while (!stop.stop_requested()) {
    const auto changed = [this, seen = changes_] { return changes_ != seen; };
    if (to_be_plugged_ && Clock::now() >= not_before_) {
      lock.unlock();
      plug_if_due();
      lock.lock();
    } else if (to_be_plugged_) {
      // a copy: the wait looks at its time without the lock
      const Clock::time_point until = not_before_;
      wake_.wait_until(lock, stop, until, changed);
    } else if (wire_.state.load() != LinkState::down || order_ != LinkState::up || !enabled_by_both()) {
      wake_.wait(lock, stop, changed);
    } else if (const Change change = rise_if_due(); change.to) {
      lock.unlock();
      finish(change);
      lock.lock();
    } else {
      wake_.wait_until(lock, stop, may_rise_at().value_or(Clock::now() + kLook), changed);
    }
  }
}

void Cable::up() { order(LinkState::up); }
void Cable::down() { order(LinkState::down); }
void Cable::silent() { order(LinkState::silent); }
void Cable::flap(std::chrono::nanoseconds duration) { order(LinkState::up, duration); }

std::string_view name_of(LinkState state) {
  switch (state) {
    case LinkState::up:
      return "up";
    case LinkState::down:
      return "down";
    case LinkState::silent:
      return "silent";
  }
  std::unreachable();
}

}  // namespace smartio::ntb
