// SPDX-License-Identifier: GPL-2.0
// The names by which a drive and its namespaces are known: the same for the same drive of the same host in every run,
// different for all others. Made of hashes of those names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fabric/nvme/drive_state.h"

namespace smartio::nvme {

/// At most 20 printable characters: the start of the drive's name, and a hash of host and name.
std::string serial_number(std::string_view host, std::string_view name);
/// An NQN in its UUID form (section 7.9).
std::string subsystem_nqn(std::string_view host, std::string_view name);
/// `incarnation` counts how often the NSID was given to a new namespace, so that identifiers are never used twice.
NamespaceIdentity namespace_identity(std::string_view serial, std::uint32_t nsid, std::uint32_t incarnation);

}  // namespace smartio::nvme
