// SPDX-License-Identifier: GPL-2.0
// The driver's header, which is C.
#pragma once

#include <cstddef>

extern "C" {
#include "wire.h"
}
