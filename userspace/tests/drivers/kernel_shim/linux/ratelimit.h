/* SPDX-License-Identifier: GPL-2.0 */
/* Nothing is left out of the log. */
#pragma once

struct ratelimit_state {
  int interval;
  int burst;
};

static inline void ratelimit_state_init(struct ratelimit_state* state, int interval, int burst) {
  state->interval = interval;
  state->burst = burst;
}

static inline int __ratelimit(struct ratelimit_state* state) { return state->burst > 0; }
