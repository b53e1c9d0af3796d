// SPDX-License-Identifier: GPL-2.0
// The control socket's commands for the LAN.
#pragma once

#include "fabric/control/commands.h"
#include "fabric/lan/switch.h"

namespace smartio::lan {

/// Adds `lan …`. The switch outlives `commands`.
void add_commands(control::Commands& commands, Switch& lan);

}  // namespace smartio::lan
