// SPDX-License-Identifier: GPL-2.0
// The two kinds of queue as the engine keeps them. Plain state: engine.cc works on it. Worker only.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "fabric/nvme/spec.h"
#include "fabric/pci/types.h"

namespace smartio::nvme {

/// A queue identifier; 0 is the admin queue.
struct QueueId {
  std::uint16_t value = 0;
  auto operator<=>(const QueueId&) const = default;
};

/// Entries between two positions of a ring of `size`.
constexpr std::uint32_t ring_distance(std::uint32_t from, std::uint32_t to, std::uint32_t size) {
  return to >= from ? to - from : to + size - from;
}

struct SubmissionQueue {
  QueueId id;
  QueueId cq;
  pci::BusAddress base;
  std::uint32_t size = 0;  ///< entries
  std::uint32_t head = 0;  ///< next entry to fetch
  std::uint32_t tail = 0;  ///< as the doorbell said last
  std::uint32_t held = 0;  ///< commands and completions that a fault keeps back; at most `size`
  bool active = false;     ///< stands in the engine's list of queues to serve
  std::uint64_t tag = 0;   ///< Port::tag of its memory, 0: none
  std::optional<std::uint64_t> cmb_offset;
  /// First half of a fused pair whose second half comes with the next fetch.
  std::optional<SubmissionEntry> fused_first;

  [[nodiscard]] std::uint32_t available() const { return ring_distance(head, tail, size); }
};

struct CompletionQueue {
  QueueId id;
  pci::BusAddress base;
  std::uint32_t size = 0;
  std::uint32_t head = 0;  ///< as the doorbell said last
  std::uint32_t tail = 0;  ///< next entry to write
  bool phase = true;
  bool interrupts = false;
  std::uint16_t vector = 0;
  bool signal = false;                  ///< has entries that the host was not interrupted for
  bool stalled = false;                 ///< a submission queue waits for room here
  std::deque<CompletionEntry> pending;  ///< did not fit; posted in order as the host makes room
  std::vector<QueueId> submission_queues;

  [[nodiscard]] std::uint32_t used() const { return ring_distance(head, tail, size); }
  /// One entry always stays empty, or full would look like empty.
  [[nodiscard]] std::uint32_t room() const { return pending.empty() ? size - 1 - used() : 0; }
};

}  // namespace smartio::nvme
