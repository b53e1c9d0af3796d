// SPDX-License-Identifier: GPL-2.0
#include "fabric/nvme/drive.h"

#include <utility>

#include "base/text.h"

namespace smartio::nvme {
namespace {

ControllerConfig controller_config(const DriveConfig& config) {
  return {.name = config.name,
          .queue_pairs = config.queue_pairs,
          .cmb = config.cmb,
          .sgl = config.sgl,
          .vendor = config.pci_vendor,
          .subsystem_vendor = config.pci_subsystem_vendor,
          .serial = fnv1a(config.host + "/" + config.name) | 1};
}

}  // namespace

Drive::Drive(DriveConfig config)
    : commands_(std::move(config)),
      executor_(commands_),
      controller_(controller_config(commands_.config()), executor_) {
  commands_.set_event_sink([this](AsyncEvent event) { controller_.raise(event); });
  commands_.set_log_read_sink([this](LogId log) { controller_.log_read(log); });
}

// The command set outlives the controller, but no event may reach a destroyed controller.
Drive::~Drive() {
  controller_.stop();
  commands_.set_event_sink({});
  commands_.set_log_read_sink({});
}

std::unique_ptr<Drive> make_drive(const topology::Drive& drive, const std::filesystem::path& state_folder) {
  return std::make_unique<Drive>(DriveConfig::from(drive, state_folder));
}

}  // namespace smartio::nvme
