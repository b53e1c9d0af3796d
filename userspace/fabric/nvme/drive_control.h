// SPDX-License-Identifier: GPL-2.0
// The control socket's commands for drives: faults, media errors, power, and counters.
#pragma once

#include <string>
#include <vector>

#include "fabric/control/commands.h"
#include "fabric/nvme/drive.h"
#include "fabric/pci/endpoint.h"

namespace smartio::nvme {

/// A drive as people name it, in its slot.
struct ControlledDrive {
  std::string name;
  Drive* drive = nullptr;
  pci::Endpoint* endpoint = nullptr;
};

/// Adds `drive …`. Drives and endpoints outlive `commands`.
void add_commands(control::Commands& commands, std::vector<ControlledDrive> drives);

}  // namespace smartio::nvme
