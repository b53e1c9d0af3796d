// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "fabric/nvme/command.h"
#include "fabric/nvme/data_pointer.h"
#include "fabric/nvme/dma.h"
#include "fabric/nvme/queue.h"

namespace smartio::nvme {

/// One command as the engine hands it to the command set. Reused for every command, so that none allocates.
class EngineContext final : public CommandContext {
 public:
  /// `stopped` is asked before each transfer: after a reset a command must leave the host alone.
  EngineContext(const Dma& dma, std::function<bool()> stopped) : dma_(dma), stopped_(std::move(stopped)) {}

  void begin(QueueId sq, const SubmissionEntry& entry, DataMap::Options options) {
    sq_ = sq;
    entry_ = entry;
    options_ = options;
    result_ = 0;
    moved_ = 0;
    map_.clear();
    fetched_ = {};
  }
  /// The command's data was fetched before; the host's memory is left alone. It outlives the command. After begin().
  void use(std::span<const std::byte> fetched) { fetched_ = fetched; }

  [[nodiscard]] const SubmissionEntry& entry() const override { return entry_; }
  [[nodiscard]] std::uint16_t sq_id() const override { return sq_.value; }
  Status map_data(std::uint64_t length) override {
    if (!fetched_.empty()) return length == fetched_.size() ? status::kSuccess : status::kDataTransferError;
    const bool to_host = (entry_.opcode & 3) == 2;  // NVMe 1.4, 5: opcode bits 1:0 are the direction
    return map_.map(dma_, entry_, length, to_host, options_);
  }
  Status read_host(std::uint64_t offset, std::span<std::byte> into) override {
    if (stopped_()) return status::kAbortedPowerLoss;
    moved_ += into.size();
    if (!fetched_.empty()) {
      std::ranges::copy(fetched_.subspan(offset, into.size()), into.begin());
      return status::kSuccess;
    }
    return map_.read(dma_, offset, into);
  }
  Status write_host(std::uint64_t offset, std::span<const std::byte> from) override {
    if (stopped_()) return status::kAbortedPowerLoss;
    moved_ += from.size();
    return map_.write(dma_, offset, from);
  }
  void set_result(std::uint64_t result) override { result_ = result; }

  [[nodiscard]] std::uint64_t result() const { return result_; }
  /// Bytes of data moved.
  [[nodiscard]] std::uint64_t moved() const { return moved_; }

 private:
  const Dma& dma_;
  std::function<bool()> stopped_;
  DataMap map_;
  std::span<const std::byte> fetched_;
  QueueId sq_{0};
  SubmissionEntry entry_{};
  DataMap::Options options_;
  std::uint64_t result_ = 0;
  std::uint64_t moved_ = 0;
};

}  // namespace smartio::nvme
