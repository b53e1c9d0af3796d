// SPDX-License-Identifier: GPL-2.0
#include "fabric/ntb/cable.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <stdexcept>
#include <utility>

namespace smartio::ntb {

namespace {

/// How often a link that may not come up yet looks whether it may.
constexpr std::chrono::milliseconds kLook{2};

const Cable::Config& checked(const Cable::Config& config) {
  for (const auto size : config.windows)
    if (!std::has_single_bit(size) || size < 4096)
      throw std::invalid_argument(
          fmt::format("{}: a window of {} bytes; it must be a power of two, 4096 or more", config.name, size));
  if (config.vectors < kMinVectors || config.vectors > kMaxVectors)
    throw std::invalid_argument(fmt::format("{}: {} MSI-X vectors; an NTB has {} to {}", config.name, config.vectors,
                                            kMinVectors, kMaxVectors));
  return config;
}

pci::FunctionDescription describe(const Cable::Config& config) {
  pci::FunctionDescription description{
      .vendor = kVendor,
      .device = kDevice,
      .subsystem_vendor = kVendor,
      .subsystem = kDevice,
      .class_code = 0x068000,  // bridge, other
      .msix_vectors = static_cast<std::uint16_t>(config.vectors),
      .msix_bar = 0,
      .msix_table_offset = kMsixTable,
      .msix_pba_offset = kMsixPba,
      .link_speed = config.link_speed,
      .link_width = config.link_width,
  };
  description.bars[0] = {.size = kBar0Size};
  description.bars[2] = {.size = config.windows[0], .is64 = true, .prefetchable = true};
  description.bars[4] = {.size = config.windows[1], .is64 = true, .prefetchable = true};
  return description;
}

}  // namespace

Cable::Cable(Config config)
    : config_(std::move(config)),
      primary_(wire_, Side::primary, describe(checked(config_))),
      secondary_(wire_, Side::secondary, describe(config_)) {
  primary_.peer_ = &secondary_;
  secondary_.peer_ = &primary_;
}

void Cable::change(LinkState state) {
  Vectors to_primary = 0;
  Vectors to_secondary = 0;
  {
    const std::scoped_lock lock(wire_.registers);
    if (wire_.state.exchange(state) == state) return;
    if (state == LinkState::down) down_at_ = std::chrono::steady_clock::now();
    to_primary = primary_.follow_link();
    to_secondary = secondary_.follow_link();
  }
  spdlog::info("link {}: {}", name(), name_of(state));
  if (state != LinkState::up) {
    primary_.drain_writes();
    secondary_.drain_writes();
  }
  primary_.interrupt(to_primary);
  secondary_.interrupt(to_secondary);
}

void Cable::set(LinkState state) {
  const std::scoped_lock lock(orders_);
  rise_ = {};  // stops and joins it
  change(state);
}

bool Cable::may_rise() {
  const std::scoped_lock lock(wire_.registers);
  if (wire_.state.load() != LinkState::down) return true;
  const auto heard_at = std::max({down_at_, primary_.heard_at_, secondary_.heard_at_});
  return !primary_.loss_unheard() && !secondary_.loss_unheard() &&
         std::chrono::steady_clock::now() >= heard_at + config_.training;
}

void Cable::rise_after(std::chrono::nanoseconds duration) {
  rise_ = std::jthread([this, duration](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock wait(mutex);
    auto stopped = [&] { return stop.stop_requested(); };
    if (wake.wait_for(wait, stop, duration, stopped)) return;
    while (!may_rise()) {
      if (wake.wait_for(wait, stop, kLook, stopped)) return;
    }
    change(LinkState::up);
  });
}

void Cable::up() {
  const std::scoped_lock lock(orders_);
  rise_ = {};
  if (may_rise())
    change(LinkState::up);
  else
    rise_after({});
}

void Cable::down() { set(LinkState::down); }
void Cable::silent() { set(LinkState::silent); }

void Cable::flap(std::chrono::nanoseconds duration) {
  const std::scoped_lock lock(orders_);
  rise_ = {};
  change(LinkState::down);
  rise_after(duration);
}

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
