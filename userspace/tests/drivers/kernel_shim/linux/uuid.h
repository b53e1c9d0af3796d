/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/types.h>

typedef struct {
  u8 b[16];
} uuid_t;
