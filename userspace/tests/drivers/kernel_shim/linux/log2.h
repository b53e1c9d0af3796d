/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/types.h>

/* Of a value that is not 0. */
static inline int ilog2(u64 value) { return 63 - __builtin_clzll(value); }
