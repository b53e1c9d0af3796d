// SPDX-License-Identifier: GPL-2.0
// The control socket's commands for any PCIe device: its counters, surprise removal.
#pragma once

#include <vector>

#include "fabric/control/commands.h"
#include "fabric/pci/host.h"

namespace smartio::fabric {

/// Adds `device …`. The hosts outlive `commands`.
void add_commands(control::Commands& commands, std::vector<pci::Host*> hosts);

}  // namespace smartio::fabric
