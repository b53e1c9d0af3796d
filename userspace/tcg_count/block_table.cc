// SPDX-License-Identifier: GPL-2.0
#include "tcg_count/block_table.h"

namespace smartio::tcg_count {

std::size_t BlockTable::counter_of(std::uint64_t address) {
  if (address >> 63 == 0) return kUser;
  const std::uint64_t granule = address / kGranule;
  const std::scoped_lock lock(mutex_);
  if (const auto found = by_granule_.find(granule); found != by_granule_.end()) return found->second;
  if (addresses_.size() >= counters_) return kOverflow;
  by_granule_.emplace(granule, addresses_.size());
  addresses_.push_back(granule * kGranule);
  return addresses_.size() - 1;
}

std::size_t BlockTable::used() const {
  const std::scoped_lock lock(mutex_);
  return addresses_.size();
}

std::vector<std::pair<std::uint64_t, std::size_t>> BlockTable::kernel() const {
  std::vector<std::pair<std::uint64_t, std::size_t>> all;
  const std::scoped_lock lock(mutex_);
  all.reserve(addresses_.size());
  for (std::size_t counter = kOverflow; counter < addresses_.size(); ++counter) {
    all.emplace_back(addresses_[counter], counter);
  }
  return all;
}

}  // namespace smartio::tcg_count
