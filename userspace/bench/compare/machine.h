// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/compare/figures.h"
#include "bench/compare/rig.h"

namespace smartio::bench_compare {

/// Of a Debian package, from the text of /var/lib/dpkg/status; "?" if it is not there.
std::string package_version(std::string_view status, std::string_view package);
/// The first value of a key in /proc/cpuinfo or /proc/meminfo; "?" if it is not there.
std::string proc_value(std::string_view text, std::string_view key);

/// The machine, its load, and the versions of the programs in the run; the hosts of `rig` are asked for theirs.
std::vector<Fact> machine_facts(Rig& rig, const std::filesystem::path& tree, const std::string& commit);
/// The networks of NVMe-oF on this machine.
Fact network_fact(unsigned mtu);

}  // namespace smartio::bench_compare
