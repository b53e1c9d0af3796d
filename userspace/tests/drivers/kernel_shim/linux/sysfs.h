/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/types.h>

int sysfs_emit_at(char* buffer, int at, const char* format, ...);
