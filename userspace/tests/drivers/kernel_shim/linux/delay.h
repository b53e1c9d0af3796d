/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/jiffies.h>

static inline void msleep(unsigned int ms) { shim_pause(ms); }
