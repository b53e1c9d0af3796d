// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <cstddef>

#include "fabric/nvme/command.h"
#include "fabric/nvme/command_set.h"
#include "fabric/nvme/spec.h"

namespace smartio::nvme {

/// The queue engine's interface to the executor of its commands: the command set of a drive, or a test's stand-in. All
/// functions but record_error() come from the worker thread.
class CommandExecutor {
 public:
  virtual ~CommandExecutor() = default;
  virtual Status execute_admin(CommandContext& command) = 0;
  virtual Status execute_io(CommandContext& command) = 0;
  virtual Status execute_fused(CommandContext& compare, CommandContext& write, Status& compare_status) = 0;
  /// Bytes that a Write command would fetch from the host; 0 for other commands, and for one that would be refused.
  virtual std::size_t write_bytes(const SubmissionEntry& entry) = 0;
  virtual void controller_reset() = 0;
  virtual void shutdown() = 0;
  virtual void power_cut() = 0;
  virtual void record_error(const EngineError& error) = 0;
};

}  // namespace smartio::nvme
