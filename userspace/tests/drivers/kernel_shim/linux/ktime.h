/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/types.h>

static inline u64 ktime_get_real_ns(void) { return 1700000000ULL * 1000000000ULL; }
