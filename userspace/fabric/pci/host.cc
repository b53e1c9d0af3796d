// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/host.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <shared_mutex>

namespace smartio::pci {

Endpoint& Host::add(std::string name, Function& function) {
  endpoints_.push_back(std::make_unique<Endpoint>(*this, std::move(name), function));
  Endpoint& endpoint = *endpoints_.back();
  function.bind(endpoint);
  function.reset(ResetCause::power_on);
  return endpoint;
}

Endpoint* Host::find(std::string_view name) const {
  for (const auto& endpoint : endpoints_) {
    if (endpoint->name() == name) return endpoint.get();
  }
  return nullptr;
}

Host::BarHit Host::find_bar(BusAddress address, std::uint64_t length) const {
  const std::shared_lock lock(lock_);
  const auto next = std::ranges::upper_bound(windows_, address.value, {}, &Window::begin);
  // A guest may lay BARs over each other: look at all that begin before, the nearest first.
  for (auto at = std::make_reverse_iterator(next); at != windows_.rend(); ++at) {
    const std::uint64_t into = address.value - at->begin;
    if (into < at->size) return {at->endpoint, at->bar, into, std::min(length, at->size - into)};
  }
  if (next != windows_.end()) length = std::min(length, next->begin - address.value);
  return {nullptr, 0, 0, length};
}

void Host::decode(Endpoint& endpoint, std::span<const ConfigSpace::DecodedBar> bars) {
  const std::unique_lock lock(lock_);
  std::erase_if(windows_, [&](const Window& window) { return window.endpoint == &endpoint; });
  for (const ConfigSpace::DecodedBar& bar : bars) {
    windows_.push_back({bar.address.value, bar.size, &endpoint, bar.bar});
  }
  std::ranges::stable_sort(windows_, {}, &Window::begin);
}

}  // namespace smartio::pci
