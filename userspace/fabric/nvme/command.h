// SPDX-License-Identifier: GPL-2.0
// The interface between the queue engine (engine.*) and the command set (admin_*, io_*). The engine fetches commands
// and posts completions. The command set carries commands out and knows nothing of queues, doorbells or PRPs.
#pragma once

#include <cstdint>
#include <span>

#include "fabric/nvme/spec.h"  // SubmissionEntry, Status and the rest of the wire formats

namespace smartio::nvme {

/// One command while it is carried out. Lives on the drive's worker thread.
class CommandContext {
 public:
  virtual ~CommandContext() = default;

  [[nodiscard]] virtual const SubmissionEntry& entry() const = 0;
  /// The submission queue that it came from: for the Error Information log.
  [[nodiscard]] virtual std::uint16_t sq_id() const = 0;

  /// Validates the data pointer for `length` bytes: call once, before the first transfer. Walks PRPs or SGLs and
  /// gives the status for a malformed one (PRP Offset Invalid, SGL Descriptor Type Invalid, Data SGL Length
  /// Invalid, …), Success otherwise. `length` 0 is fine and moves nothing.
  virtual Status map_data(std::uint64_t length) = 0;
  /// Moves host memory -> `into`, starting `offset` bytes into the command's data. Data Transfer Error when the
  /// host's bus refused it.
  virtual Status read_host(std::uint64_t offset, std::span<std::byte> into) = 0;
  /// Moves `from` -> host memory. Posted: a refused write is not noticed, as on PCIe.
  virtual Status write_host(std::uint64_t offset, std::span<const std::byte> from) = 0;

  /// Command-specific result, dwords 0 and 1 of the completion.
  virtual void set_result(std::uint64_t result) = 0;
};

}  // namespace smartio::nvme
