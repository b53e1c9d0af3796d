/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/wait.h>

struct completion {
  bool done;
};

static inline void init_completion(struct completion* completion) { completion->done = false; }
static inline void complete_all(struct completion* completion) { completion->done = true; }
unsigned long wait_for_completion_timeout(struct completion* completion, unsigned long ticks);
