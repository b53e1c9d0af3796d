// SPDX-License-Identifier: GPL-2.0
// For tests, benchmarks and the fuzzer: a host without a guest. HostMemory is a Port over a plain array. TestHost does
// a driver's work with a controller, in the caller's thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "fabric/nvme/controller.h"

namespace smartio::nvme {

/// Memory from bus address `base`; every other access is unclaimed. Accesses of 8 aligned bytes are atomic, so that a
/// test's thread may poll memory that the worker writes.
class HostMemory final : public pci::Port {
 public:
  explicit HostMemory(std::uint64_t size, std::uint64_t base = 0) : base_(base), words_(size / 8) {}

  pci::Outcome write(pci::BusAddress address, std::span<const std::byte> data, pci::Transaction transaction) override {
    ++writes;
    if (!inside(address, data.size())) {
      ++refused;
      return {pci::Delivery::unclaimed, transaction.kind};
    }
    std::byte* to = bytes() + (address.value - base_);
    std::size_t at = 0;
    if ((address.value & 7) == 0 && data.size() <= 64) {
      for (; at + 8 <= data.size(); at += 8) {
        std::uint64_t value = 0;
        std::memcpy(&value, data.data() + at, 8);
        std::atomic_ref(words_[(address.value - base_ + at) / 8]).store(value, std::memory_order_release);
      }
    }
    std::memcpy(to + at, data.data() + at, data.size() - at);
    return {pci::Delivery::memory, transaction.kind};
  }
  void write_many(std::span<const pci::BusStore> stores, pci::Transaction transaction,
                  std::span<pci::Outcome> outcomes) override {
    for (std::size_t index = 0; index < stores.size(); ++index) {
      const auto bytes_of = std::as_bytes(std::span(&stores[index].data, 1)).first(stores[index].size);
      const pci::Outcome outcome = write(stores[index].address, bytes_of, transaction);
      if (!outcomes.empty()) outcomes[index] = outcome;
    }
  }
  pci::Outcome read(pci::BusAddress address, std::span<std::byte> data, pci::Transaction transaction) override {
    ++reads[static_cast<std::size_t>(transaction.kind)];
    if (unanswered || !inside(address, data.size())) {
      ++refused;
      std::ranges::fill(data, std::byte{0xFF});
      return {pci::Delivery::unclaimed, transaction.kind};
    }
    std::memcpy(data.data(), bytes() + (address.value - base_), data.size());
    return {pci::Delivery::memory, transaction.kind};
  }
  void interrupt(unsigned vector) override { interrupts[vector % interrupts.size()].fetch_add(1); }
  std::uint64_t tag(pci::BusAddress address, std::uint64_t size, pci::AccessKind kind) override {
    if (!inside(address, size)) return 0;
    tags.emplace(++last_tag_, kind);
    return last_tag_;
  }
  void untag(std::uint64_t id) override { tags.erase(id); }
  [[nodiscard]] bool bus_master() const override { return true; }

  [[nodiscard]] std::byte* bytes() { return reinterpret_cast<std::byte*>(words_.data()); }
  /// The bytes at a bus address; throws std::out_of_range where there is no memory.
  std::span<std::byte> at(std::uint64_t address, std::uint64_t size) {
    if (!inside({address}, size)) throw std::out_of_range("no memory there");
    return {bytes() + (address - base_), size};
  }
  std::atomic_ref<std::uint64_t> word(std::uint64_t address) { return std::atomic_ref(words_[(address - base_) / 8]); }

  std::array<std::atomic<unsigned>, 2048> interrupts{};
  std::array<std::atomic<unsigned>, pci::kAccessKinds> reads{};
  std::atomic<unsigned> writes{0};
  std::atomic<unsigned> refused{0};
  std::atomic<bool> unanswered{false};  ///< no read gets an answer
  std::map<std::uint64_t, pci::AccessKind> tags;

 private:
  [[nodiscard]] bool inside(pci::BusAddress address, std::uint64_t size) const {
    const std::uint64_t bytes = words_.size() * 8;
    return address.value >= base_ && address.value - base_ <= bytes && size <= bytes - (address.value - base_);
  }
  const std::uint64_t base_;
  std::vector<std::uint64_t> words_;
  std::uint64_t last_tag_ = 0;
};

/// A driver: registers, an admin queue, I/O queues, in a HostMemory. It checks only the conditions that a test asks
/// for.
class TestHost {
 public:
  static constexpr std::uint64_t kAdminSq = 0x10000;
  static constexpr std::uint64_t kAdminCq = 0x14000;
  static constexpr std::uint32_t kAdminEntries = 32;
  static constexpr std::uint64_t kQueues = 0x20000;  ///< I/O queue n: SQ at + n * 0x4000, CQ 0x2000 behind
  static constexpr std::uint64_t kData = 0x200000;
  static constexpr std::uint64_t kMemory = 0x800000;
  static constexpr std::uint32_t kCc = 6U << 16 | 4U << 20;

  struct Ring {
    std::uint64_t sq = 0;
    std::uint64_t cq = 0;
    std::uint32_t sq_size = 0;
    std::uint32_t cq_size = 0;
    std::uint32_t tail = 0;
    std::uint32_t head = 0;
    bool phase = true;
    unsigned cq_id = 0;
  };

  TestHost(Controller& controller, HostMemory& memory) : controller_(controller), memory_(memory) {}

  void write32(std::uint64_t offset, std::uint32_t value) {
    controller_.bar_write(0, offset, std::as_bytes(std::span(&value, 1)), {});
  }
  void write64(std::uint64_t offset, std::uint64_t value) {
    controller_.bar_write(0, offset, std::as_bytes(std::span(&value, 1)), {});
  }
  std::uint32_t read32(std::uint64_t offset) {
    std::uint32_t value = 0;
    controller_.bar_read(0, offset, std::as_writable_bytes(std::span(&value, 1)), {});
    return value;
  }
  std::uint64_t read64(std::uint64_t offset) {
    std::uint64_t value = 0;
    controller_.bar_read(0, offset, std::as_writable_bytes(std::span(&value, 1)), {});
    return value;
  }
  std::uint32_t csts() { return read32(reg::kCsts); }

  void run() {
    while (controller_.process_once()) {
    }
  }

  /// Writes the admin queue's registers and CC; does not run the worker.
  void write_enable(std::uint32_t cc = kCc) {
    admin = {kAdminSq, kAdminCq, kAdminEntries, kAdminEntries, 0, 0, true, 0};
    std::ranges::fill(memory_.at(kAdminCq, kAdminEntries * 16), std::byte{0});
    write32(reg::kAqa, (kAdminEntries - 1) << 16 | (kAdminEntries - 1));
    write64(reg::kAsq, kAdminSq);
    write64(reg::kAcq, kAdminCq);
    write32(reg::kCc, cc | 1);
  }
  void enable(std::uint32_t cc = kCc) {
    write_enable(cc);
    run();
  }
  void disable() {
    write32(reg::kCc, kCc);
    run();
    io.clear();
  }

  /// Puts an entry into the ring and rings its doorbell, unless `ring_doorbell` is false.
  void submit(unsigned queue, const SubmissionEntry& entry, bool ring_doorbell = true) {
    Ring& ring = ring_of(queue);
    std::memcpy(memory_.at(ring.sq + ring.tail * 64ULL, 64).data(), &entry, 64);
    ring.tail = (ring.tail + 1) % ring.sq_size;
    if (ring_doorbell) sq_doorbell(queue, ring.tail);
  }
  void sq_doorbell(unsigned queue, std::uint32_t value) { write32(reg::kDoorbells + 8ULL * queue, value); }
  void cq_doorbell(unsigned queue, std::uint32_t value) { write32(reg::kDoorbells + 8ULL * queue + 4, value); }

  /// The next completion of a CQ if there is one. Consumes it, and tells the controller if `ring_doorbell`.
  std::optional<CompletionEntry> poll(unsigned queue, bool ring_doorbell = true) {
    Ring& ring = ring_of(queue);
    const std::uint64_t at = ring.cq + ring.head * 16ULL;
    CompletionEntry entry;
    const std::uint64_t high = memory_.word(at + 8).load(std::memory_order_acquire);
    const std::uint64_t low = memory_.word(at).load(std::memory_order_acquire);
    std::memcpy(&entry, &low, 8);
    std::memcpy(reinterpret_cast<std::byte*>(&entry) + 8, &high, 8);
    if ((entry.status & 1) != (ring.phase ? 1 : 0)) return std::nullopt;
    if (++ring.head == ring.cq_size) {
      ring.head = 0;
      ring.phase = !ring.phase;
    }
    if (ring_doorbell) cq_doorbell(queue, ring.head);
    return entry;
  }

  /// One admin command, to its end. nullopt: no completion.
  std::optional<CompletionEntry> command(SubmissionEntry entry) {
    submit(0, entry);
    run();
    return poll(0);
  }
  SubmissionEntry create_cq_entry(unsigned id, std::uint32_t entries, std::uint64_t base, unsigned vector) {
    SubmissionEntry entry{};
    entry.opcode = 0x05;
    entry.cid = next_cid++;
    entry.prp1 = base;
    entry.cdw10 = id | (entries - 1) << 16;
    entry.cdw11 = 3 | vector << 16;
    return entry;
  }
  SubmissionEntry create_sq_entry(unsigned id, std::uint32_t entries, std::uint64_t base, unsigned cq) {
    SubmissionEntry entry{};
    entry.opcode = 0x01;
    entry.cid = next_cid++;
    entry.prp1 = base;
    entry.cdw10 = id | (entries - 1) << 16;
    entry.cdw11 = 1 | cq << 16;
    return entry;
  }
  SubmissionEntry delete_entry(std::uint8_t opcode, unsigned id) {
    SubmissionEntry entry{};
    entry.opcode = opcode;
    entry.cid = next_cid++;
    entry.cdw10 = id;
    return entry;
  }
  /// Makes I/O queue pair `id`. True if both commands succeeded.
  bool create_pair(unsigned id, std::uint32_t entries = 64, std::uint32_t cq_entries = 0) {
    if (cq_entries == 0) cq_entries = entries;
    Ring ring{kQueues + id * 0x4000ULL, kQueues + id * 0x4000ULL + 0x2000, entries, cq_entries, 0, 0, true, id};
    std::ranges::fill(memory_.at(ring.cq, cq_entries * 16ULL), std::byte{0});
    io[id] = ring;
    const auto cq = command(create_cq_entry(id, cq_entries, ring.cq, id));
    const auto sq = command(create_sq_entry(id, entries, ring.sq, id));
    return cq && sq && cq->status >> 1 == 0 && sq->status >> 1 == 0;
  }

  /// A read or write of `bytes` at kData by PRPs of one page each, or none.
  SubmissionEntry io_entry(IoOpcode opcode, std::uint64_t lba = 0, std::uint16_t blocks = 8,
                           std::uint64_t data = kData) {
    SubmissionEntry entry{};
    entry.opcode = static_cast<std::uint8_t>(opcode);
    entry.cid = next_cid++;
    entry.nsid = 1;
    entry.prp1 = data;
    entry.cdw10 = static_cast<std::uint32_t>(lba);
    entry.cdw11 = static_cast<std::uint32_t>(lba >> 32);
    entry.cdw12 = blocks - 1U;
    return entry;
  }

  Ring& ring_of(unsigned queue) { return queue == 0 ? admin : io.at(queue); }

  Ring admin;
  std::map<unsigned, Ring> io;
  std::uint16_t next_cid = 1;

 private:
  Controller& controller_;
  HostMemory& memory_;
};

/// Stands in for the command set: one namespace of RAM with 512-byte blocks, and a record of its calls.
class FakeCommands final : public CommandExecutor {
 public:
  explicit FakeCommands(std::uint64_t bytes = 1 << 20) : media(bytes) {}

  Status execute_admin(CommandContext& command) override {
    ++admin_commands;
    if (command.entry().opcode != static_cast<std::uint8_t>(AdminOpcode::identify)) return status::kInvalidOpcode;
    const std::vector<std::byte> page(4096, std::byte{0x1D});
    if (const Status status = command.map_data(page.size()); !status.ok()) return status;
    return command.write_host(0, page);
  }
  Status execute_io(CommandContext& command) override {
    const SubmissionEntry& entry = command.entry();
    executed.push_back(entry.cid);
    if (during) during(command);
    const auto opcode = static_cast<IoOpcode>(entry.opcode);
    if (opcode == IoOpcode::flush) return status::kSuccess;
    if (opcode != IoOpcode::read && opcode != IoOpcode::write) return status::kInvalidOpcode;
    const auto part = range(entry);
    if (part.empty()) return status::kLbaOutOfRange;
    if (const Status status = command.map_data(part.size()); !status.ok()) return status;
    return opcode == IoOpcode::read ? command.write_host(0, part) : command.read_host(0, part);
  }
  Status execute_fused(CommandContext& compare, CommandContext& write, Status& compare_status) override {
    executed.push_back(compare.entry().cid);
    executed.push_back(write.entry().cid);
    const auto part = range(compare.entry());
    std::vector<std::byte> seen(part.size());
    compare_status = compare.map_data(seen.size());
    if (compare_status.ok()) compare_status = compare.read_host(0, seen);
    if (compare_status.ok() && !std::ranges::equal(seen, part)) compare_status = status::kCompareFailure;
    if (!compare_status.ok()) return status::kAbortedFailedFused;
    const auto target = range(write.entry());
    if (const Status status = write.map_data(target.size()); !status.ok()) return status;
    return write.read_host(0, target);
  }
  std::size_t write_bytes(const SubmissionEntry& entry) override {
    return entry.opcode == static_cast<std::uint8_t>(IoOpcode::write) ? range(entry).size() : 0;
  }
  void controller_reset() override { ++resets; }
  void shutdown() override { ++shutdowns; }
  void power_cut() override { ++power_cuts; }
  void record_error(const EngineError& error) override { errors.push_back(error); }

  std::span<std::byte> range(const SubmissionEntry& entry) {
    const std::uint64_t lba = entry.cdw10 | std::uint64_t{entry.cdw11} << 32;
    const std::uint64_t blocks = (entry.cdw12 & 0xFFFF) + 1;
    if (lba >= media.size() / 512 || blocks > media.size() / 512 - lba) return {};
    return std::span(media).subspan(lba * 512, blocks * 512);
  }

  std::vector<std::byte> media;
  std::vector<std::uint16_t> executed;
  std::function<void(CommandContext&)> during;
  std::vector<EngineError> errors;
  int admin_commands = 0;
  int resets = 0;
  int shutdowns = 0;
  int power_cuts = 0;
};

}  // namespace smartio::nvme
