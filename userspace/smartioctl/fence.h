// SPDX-License-Identifier: GPL-2.0
#pragma once

#include <string>

#include "smartioctl/lend.h"
#include "smartioctl/sysfs.h"

namespace smartio::ctl {

/// The UUID of a host given by that or by its name. A name that two hosts have is refused.
Outcome<std::string> find_host(const Sysfs& sysfs, const std::string& host);

/// Returns when the kernel has done it: after a fence nothing of that host reaches a device of this one.
Outcome<std::string> fence(Sysfs& sysfs, const std::string& host);
Outcome<std::string> unfence(Sysfs& sysfs, const std::string& host);

}  // namespace smartio::ctl
