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
  unsigned long due;
};
struct workqueue_struct;

#define system_wq ((struct workqueue_struct*)NULL)
#define system_unbound_wq ((struct workqueue_struct*)NULL)

#define WQ_UNBOUND 1
#define WQ_MEM_RECLAIM 2

#define INIT_WORK(work, function) ((work)->run = (function), (work)->queued = false)
#define INIT_DELAYED_WORK(delayed, function) INIT_WORK(&(delayed)->work, function)
#define to_delayed_work(pointer) container_of(pointer, struct delayed_work, work)

struct workqueue_struct* alloc_workqueue(const char* name, unsigned int flags, int max_active);
void destroy_workqueue(struct workqueue_struct* queue);
bool queue_work(struct workqueue_struct* queue, struct work_struct* work);
bool queue_delayed_work(struct workqueue_struct* queue, struct delayed_work* work, unsigned long ticks);
bool flush_work(struct work_struct* work);
bool cancel_work_sync(struct work_struct* work);
bool cancel_delayed_work_sync(struct delayed_work* work);
