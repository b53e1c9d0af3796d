/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/types.h>

u32 get_random_u32(void);
u64 get_random_u64(void);
