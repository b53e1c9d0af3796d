// SPDX-License-Identifier: GPL-2.0
// A View as text for people.
#pragma once

#include <string>
#include <vector>

#include "smartioctl/view.h"

namespace smartio::ctl {

/// Rows of cells as left-aligned columns; the first row is the heading. An empty cell shows as "-".
std::string table(const std::vector<std::vector<std::string>>& rows);
/// Bytes with a unit: "4 GiB", "64 KiB", "100 B".
std::string size_text(std::uint64_t bytes);

/// Hosts, links, devices, borrowers, queue pairs.
std::string list_text(const View& view);
/// The health of everything, in detail, and the remedies.
std::string status_text(const View& view);
/// A tree: this host, the devices that it lends and their borrowers, its links, the devices that it has over them.
std::string topology_text(const View& view);

}  // namespace smartio::ctl
