// SPDX-License-Identifier: GPL-2.0
#include "fabric/ledger/ledger.h"

#include <utility>

namespace smartio::ledger {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::size_t index(Direction direction) { return std::to_underlying(direction); }

void copy(const auto& cells, auto& into) {
  for (std::size_t direction = 0; direction < 2; direction++)
    for (std::size_t kind = 0; kind < pci::kAccessKinds; kind++)
      into[direction][kind] = {.transactions = cells[direction][kind].transactions.load(kRelaxed),
                               .bytes = cells[direction][kind].bytes.load(kRelaxed)};
}

void clear(auto& cells) {
  for (auto& row : cells) {
    for (auto& cell : row) {
      cell.transactions.store(0, kRelaxed);
      cell.bytes.store(0, kRelaxed);
    }
  }
}

}  // namespace

void LinkLedger::posted(Direction direction, pci::AccessKind kind, std::uint64_t transactions, std::uint64_t bytes) {
  auto& cell = posted_[index(direction)][std::to_underlying(kind)];
  cell.transactions.fetch_add(transactions, kRelaxed);
  cell.bytes.fetch_add(bytes, kRelaxed);
}

void LinkLedger::non_posted(Direction direction, pci::AccessKind kind, std::uint64_t transactions,
                            std::uint64_t bytes) {
  auto& cell = non_posted_[index(direction)][std::to_underlying(kind)];
  cell.transactions.fetch_add(transactions, kRelaxed);
  cell.bytes.fetch_add(bytes, kRelaxed);
}

void LinkLedger::dropped(Direction direction, std::uint64_t accesses) {
  dropped_[index(direction)].fetch_add(accesses, kRelaxed);
  dropped_ever_[index(direction)].fetch_add(accesses, kRelaxed);
}

Snapshot LinkLedger::snapshot() const {
  Snapshot snapshot;
  copy(posted_, snapshot.posted);
  copy(non_posted_, snapshot.non_posted);
  for (std::size_t direction = 0; direction < 2; direction++)
    snapshot.dropped[direction] = dropped_[direction].load(kRelaxed);
  return snapshot;
}

std::array<std::uint64_t, 2> LinkLedger::dropped_ever() const {
  return {dropped_ever_[0].load(kRelaxed), dropped_ever_[1].load(kRelaxed)};
}

void LinkLedger::reset() {
  clear(posted_);
  clear(non_posted_);
  for (auto& count : dropped_) count.store(0, kRelaxed);
}

std::uint64_t LinkLedger::split(std::uint64_t address, std::uint64_t bytes, std::uint64_t boundary) {
  if (bytes == 0) return 0;
  const std::uint64_t lead = address & (boundary - 1);
  // The first TLP ends at the boundary, however far the access goes: no sum here can overflow for real sizes.
  const std::uint64_t first = boundary - lead;
  if (bytes <= first) return 1;
  return 1 + (bytes - first - 1) / boundary + 1;
}

}  // namespace smartio::ledger
