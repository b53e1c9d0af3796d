// SPDX-License-Identifier: GPL-2.0
// The driver's headers, which are C. Structures of nvme.h are laid over bytes by the kernel's rules, as in the driver.
#pragma once

extern "C" {
#include "admin_identify.h"
#include "admin_table.h"
#include "proto_check.h"
#include "resv.h"
}
