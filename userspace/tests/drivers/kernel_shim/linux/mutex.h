/* SPDX-License-Identifier: GPL-2.0 */
/* Tests have one thread: a wait for a mutex would last for ever, so it ends the test. */
#pragma once

#include <linux/lockdep.h>
#include <linux/types.h>

struct mutex {
  bool held;
};

#define DEFINE_MUTEX(name) struct mutex name = {false}

static inline void mutex_init(struct mutex* mutex) { mutex->held = false; }
void mutex_lock(struct mutex* mutex);
bool mutex_trylock(struct mutex* mutex);
void mutex_unlock(struct mutex* mutex);
