// SPDX-License-Identifier: GPL-2.0
// The driver's headers, which are C.
#pragma once

extern "C" {
#include "config_table.h"
#include "proto_check.h"
}
