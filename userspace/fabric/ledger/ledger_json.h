// SPDX-License-Identifier: GPL-2.0
// The ledger as JSON, for the control socket and for tests that check the transactions across a link.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "fabric/ledger/ledger.h"

namespace smartio::ledger {

/// "command", "doorbell", …: the name of a column.
std::string_view kind_name(pci::AccessKind kind);

/// {"from_primary": {"posted": {"data": {"transactions": 1, "bytes": 256}, …}, "non_posted": {…}, "dropped": 0},
///  "from_secondary": {…}}: every kind is there, also those that are zero.
void to_json(nlohmann::json& json, const Snapshot& snapshot);

}  // namespace smartio::ledger
