/* SPDX-License-Identifier: GPL-2.0 */
/* Tests have one thread: a wait for a lock would last for ever, so it ends the test. */
#pragma once

#include <linux/lockdep.h>
#include <linux/types.h>

typedef struct {
  bool held;
} spinlock_t;
typedef spinlock_t raw_spinlock_t;

#define DEFINE_SPINLOCK(name) spinlock_t name = {false}

static inline void spin_lock_init(spinlock_t* lock) { lock->held = false; }
void spin_lock(spinlock_t* lock);
void spin_unlock(spinlock_t* lock);
