// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace smartio::nvme {

/// A counter that one thread adds to and any thread reads: no locked instruction.
class Counter {
 public:
  void add(std::uint64_t count = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// The queue engine's counters since the drive was made. Written by its worker only.
struct EngineCounters {
  std::array<Counter, 256> admin_opcodes;  ///< commands fetched, by opcode
  std::array<Counter, 256> io_opcodes;
  Counter completions;  ///< completion queue entries written
  Counter errors;       ///< of those, with a status other than Success
  Counter interrupts;   ///< signalled to the host
  Counter fetches;      ///< DMA reads of submission queue entries
  Counter doorbells;    ///< doorbell values that the worker took up
  Counter invalid_doorbells;
  Counter held;  ///< commands and completions that a fault rule held
  Counter delayed;
  Counter failed;
  Counter dropped;  ///< completions that a fault rule swallowed
  Counter duplicated;
  Counter aborted;    ///< held commands ended by Abort or by deletion of their queue
  Counter discarded;  ///< held commands and completions that a reset threw away
  Counter full;       ///< completions that had to wait for room in their queue
  Counter controller_resets;
  Counter fatal;  ///< times CSTS.CFS was set
};

/// A copy of EngineCounters at one moment.
struct EngineSnapshot {
  std::array<std::uint64_t, 256> admin_opcodes{};
  std::array<std::uint64_t, 256> io_opcodes{};
  std::uint64_t completions = 0;
  std::uint64_t errors = 0;
  std::uint64_t interrupts = 0;
  std::uint64_t fetches = 0;
  std::uint64_t doorbells = 0;
  std::uint64_t invalid_doorbells = 0;
  std::uint64_t held = 0;
  std::uint64_t delayed = 0;
  std::uint64_t failed = 0;
  std::uint64_t dropped = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t aborted = 0;
  std::uint64_t discarded = 0;
  std::uint64_t full = 0;
  std::uint64_t controller_resets = 0;
  std::uint64_t fatal = 0;
};

inline EngineSnapshot snapshot(const EngineCounters& from) {
  EngineSnapshot to;
  for (std::size_t opcode = 0; opcode < 256; ++opcode) {
    to.admin_opcodes[opcode] = from.admin_opcodes[opcode].value();
    to.io_opcodes[opcode] = from.io_opcodes[opcode].value();
  }
  to.completions = from.completions.value();
  to.errors = from.errors.value();
  to.interrupts = from.interrupts.value();
  to.fetches = from.fetches.value();
  to.doorbells = from.doorbells.value();
  to.invalid_doorbells = from.invalid_doorbells.value();
  to.held = from.held.value();
  to.delayed = from.delayed.value();
  to.failed = from.failed.value();
  to.dropped = from.dropped.value();
  to.duplicated = from.duplicated.value();
  to.aborted = from.aborted.value();
  to.discarded = from.discarded.value();
  to.full = from.full.value();
  to.controller_resets = from.controller_resets.value();
  to.fatal = from.fatal.value();
  return to;
}

}  // namespace smartio::nvme
