/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#define HZ 1000

/* Passes only while a thread waits (shim_pause()). */
extern unsigned long jiffies;

#define msecs_to_jiffies(ms) ((unsigned long)(ms) * HZ / 1000)
#define jiffies_to_msecs(ticks) ((unsigned int)((ticks) * 1000 / HZ))
#define time_before(a, b) time_after(b, a)
#define time_after(a, b) ((long)((b) - (a)) < 0)

/* A little time passes: one queued work runs, and then the test's shim::meanwhile. */
unsigned long shim_pause(unsigned long ticks);
