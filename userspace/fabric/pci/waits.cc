// SPDX-License-Identifier: GPL-2.0
#include "fabric/pci/waits.h"

#include <algorithm>

namespace smartio::pci {

std::optional<Waits::Wait> Waits::begin(const Host& waiting, const Host& awaited) {
  const std::scoped_lock lock(mutex_);
  if (leads(&awaited, &waiting)) return std::nullopt;
  waiting_.emplace_back(&waiting, &awaited);
  return Wait(*this, waiting, awaited);
}

bool Waits::waits(const Host& waiting, const Host& awaited) const {
  const std::scoped_lock lock(mutex_);
  return leads(&waiting, &awaited);
}

/// Whether `from` is `to` or waits for it. Ends, since there is no circle.
bool Waits::leads(const Host* from, const Host* to) const {
  if (from == to) return true;
  return std::ranges::any_of(waiting_, [&](const auto& wait) { return wait.first == from && leads(wait.second, to); });
}

Waits::Wait::~Wait() {
  if (waits_ == nullptr) return;
  const std::scoped_lock lock(waits_->mutex_);
  waits_->waiting_.erase(std::ranges::find(waits_->waiting_, std::pair(waiting_, awaited_)));
}

}  // namespace smartio::pci
