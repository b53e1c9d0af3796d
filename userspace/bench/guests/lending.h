// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/guests/guests.h"

namespace smartio::bench {

/// The host that has the drive.
inline constexpr const char* kLender = "lender";

/// The drive of the lender is lent to these hosts (which are the lender and others), over links that are up.
void lend(Guests& guests, const std::vector<std::string>& hosts);
/// The lender's drive is lent to `host` as a whole PCI function, whose stock driver has it. How long that took from the
/// order to borrow until the disk could be read, in seconds.
double lend_whole(Guests& guests, const std::string& host);
/// And back: how long from the order to return it until the lender's own driver had it.
double take_back_whole(Guests& guests, const std::string& host);
/// No fio and no NVMe driver is left on a host, and nothing of it is lent: borrowers first, the lender last.
void unlend(Guests& guests, const std::string& host);
/// A bash expression for the PCI address of the lender's drive.
inline constexpr const char* kDriveAddress = "$(grep -l 0x010802 /sys/bus/pci/devices/*/class | head -1 | cut -d/ -f6)";
/// Waits for the one NVMe disk of a host that can be read, and gives its path: /dev/nvmeXnY. If a drive is named, of
/// the disks of that drive of the fabric (by its serial number, which begins with the name).
std::string one_disk(Guests& guests, const std::string& host, const std::string& drive = "");

}  // namespace smartio::bench
