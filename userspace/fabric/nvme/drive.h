// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <memory>

#include "fabric/nvme/command_set.h"
#include "fabric/nvme/controller.h"
#include "fabric/nvme/drive_config.h"
#include "fabric/nvme/executor.h"

namespace smartio::nvme {

/// The command set of a drive as an executor.
class CommandSetExecutor final : public CommandExecutor {
 public:
  explicit CommandSetExecutor(CommandSet& commands) : commands_(commands) {}

  Status execute_admin(CommandContext& command) override { return commands_.execute_admin(command); }
  Status execute_io(CommandContext& command) override { return commands_.execute_io(command); }
  Status execute_fused(CommandContext& compare, CommandContext& write, Status& compare_status) override {
    return commands_.execute_fused(compare, write, compare_status);
  }
  std::size_t write_bytes(const SubmissionEntry& entry) override { return commands_.write_bytes(entry); }
  void controller_reset() override { commands_.controller_reset(); }
  void shutdown() override { commands_.shutdown(); }
  void power_cut() override { commands_.power_cut(); }
  void record_error(const EngineError& error) override { commands_.record_error(error); }

 private:
  CommandSet& commands_;
};

/// A whole drive: its command set and media, and the controller in front of them. Wires events both ways.
class Drive {
 public:
  /// Opens or makes the media. Throws std::runtime_error with a sentence for a person where that fails.
  explicit Drive(DriveConfig config);
  ~Drive();
  Drive(const Drive&) = delete;
  Drive& operator=(const Drive&) = delete;

  /// The PCI function, its faults and counters. Its worker is not started yet: bind() it, then start().
  [[nodiscard]] Controller& controller() { return controller_; }
  /// Media errors, health, namespaces.
  [[nodiscard]] CommandSet& commands() { return commands_; }

 private:
  CommandSet commands_;
  CommandSetExecutor executor_;
  Controller controller_;
};

/// The drive of a topology file; a relative backing path is taken from `state_folder`.
std::unique_ptr<Drive> make_drive(const topology::Drive& drive, const std::filesystem::path& state_folder);

}  // namespace smartio::nvme
