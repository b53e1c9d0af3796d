/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/jiffies.h>
#include <linux/list.h>

typedef struct {
  bool initialized;
} wait_queue_head_t;

#define DECLARE_WAIT_QUEUE_HEAD(name) wait_queue_head_t name = {true}

static inline void init_waitqueue_head(wait_queue_head_t* queue) { queue->initialized = true; }
static inline void wake_up(wait_queue_head_t* queue) { (void)queue; }
static inline void wake_up_all(wait_queue_head_t* queue) { wake_up(queue); }

#define wait_event_timeout(queue, condition, ticks)                                        \
  ({                                                                                       \
    long shim_left = (ticks);                                                              \
    bool shim_true;                                                                        \
                                                                                           \
    while (!(shim_true = (condition)) && shim_left > 0) shim_left -= (long)shim_pause(10); \
    shim_true ? (shim_left > 0 ? shim_left : 1) : 0;                                       \
  })
