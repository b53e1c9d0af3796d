// SPDX-License-Identifier: GPL-2.0
// Which hosts may borrow which device of this one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "smartioctl/outcome.h"
#include "smartioctl/rules.h"
#include "smartioctl/sysfs.h"

namespace smartio::ctl {

/// Changes who may borrow a device, now and at every boot. The core ends the sessions of all others, so the change is
/// refused while another host has one, unless forced. `hosts`: names or UUIDs of hosts, or "any" or "none" alone.
/// `report` gets each step that was done, a line at a time.
Outcome<void> allow(Sysfs& sysfs, const Rules& rules, const std::vector<std::string>& hosts, const std::string& device,
                    bool force, const std::function<void(const std::string&)>& report);

/// Puts all rules of the files in force. No host borrows a device whose file can't be read.
Outcome<void> enforce(Sysfs& sysfs, const Rules& rules, const std::function<void(const std::string&)>& report);

}  // namespace smartio::ctl
