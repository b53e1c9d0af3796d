// SPDX-License-Identifier: GPL-2.0
// The control socket's command for errors on the buses, found by any endpoint or cable. Tests read it at their end.
#pragma once

#include <vector>

#include "fabric/control/commands.h"
#include "fabric/ntb/cable.h"
#include "fabric/pci/host.h"

namespace smartio::fabric {

/// Adds `evidence`: each count above 0 of accesses that reached nothing, since the fabric started, as
/// {"HOST.DEVICE WHAT": N, "LINK dropped from_primary|from_secondary": N}. No command resets them. The hosts and
/// cables outlive `commands`.
void add_evidence(control::Commands& commands, std::vector<const pci::Host*> hosts,
                  std::vector<const ntb::Cable*> cables);

}  // namespace smartio::fabric
