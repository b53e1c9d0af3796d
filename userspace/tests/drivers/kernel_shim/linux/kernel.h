/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <linux/types.h>

#ifndef __cplusplus
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define min_t(type, a, b) ((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#endif
#define lower_32_bits(value) ((u32)(value))
#define upper_32_bits(value) ((u32)((u64)(value) >> 32))
#define WARN_ON(condition) shim_assert(!(condition), "WARN_ON(" #condition ")")
#define U32_MAX ((u32)~0U)
