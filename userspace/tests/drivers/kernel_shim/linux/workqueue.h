/* SPDX-License-Identifier: GPL-2.0 */
/* Work runs when a thread waits, for it or for anything else. */
#pragma once

#include <linux/list.h>

struct work_struct {
  struct list_head entry;
  void (*run)(struct work_struct* work);
  bool queued;
};
struct delayed_work {
  struct work_struct work;
};
struct workqueue_struct;

#define WQ_UNBOUND 1
#define WQ_MEM_RECLAIM 2

#define INIT_WORK(work, function) ((work)->run = (function), (work)->queued = false)

struct workqueue_struct* alloc_workqueue(const char* name, unsigned int flags, int max_active);
void destroy_workqueue(struct workqueue_struct* queue);
bool queue_work(struct workqueue_struct* queue, struct work_struct* work);
bool flush_work(struct work_struct* work);
