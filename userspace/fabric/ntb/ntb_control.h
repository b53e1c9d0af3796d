// SPDX-License-Identifier: GPL-2.0
// The control socket's commands for links and their ledgers.
#pragma once

#include <string>
#include <vector>

#include "fabric/control/commands.h"
#include "fabric/ntb/cable.h"

namespace smartio::ntb {

/// A link as people name it.
struct ControlledLink {
  Cable* cable = nullptr;
  std::string primary;  ///< the host on the primary side
  std::string secondary;
  bool surprise_removal = false;  ///< the NTB of the secondary side leaves its host with the cable
};

/// Adds `link …` and `ledger …`. The cables outlive `commands`.
void add_commands(control::Commands& commands, std::vector<ControlledLink> links);

}  // namespace smartio::ntb
