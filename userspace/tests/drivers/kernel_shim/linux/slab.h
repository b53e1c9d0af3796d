/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/mm.h>

#define kzalloc(size, gfp) shim_alloc(1, size, gfp)
#define kcalloc(count, size, gfp) shim_alloc(count, size, gfp)
#define kfree(memory) shim_free(memory)
