// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/guests.h"

namespace smartio::bench {

/// The host that has the drive.
inline constexpr const char* kLender = "lender";

/// The drive of the lender is lent to these hosts (which are the lender and others), over links that are up.
Result<void> lend(Guests& guests, const std::vector<std::string>& hosts);
/// Waits for the one NVMe disk of a host that can be read, and gives its path: /dev/nvmeXnY.
Result<std::string> one_disk(Guests& guests, const std::string& host);

}  // namespace smartio::bench
