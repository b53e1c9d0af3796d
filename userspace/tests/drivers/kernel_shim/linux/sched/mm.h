/* SPDX-License-Identifier: GPL-2.0 */
/* Scopes of allocations have no effect here. */
#pragma once

#define PF_MEMALLOC 1U
#define PF_MEMALLOC_NOIO 2U

struct task_struct {
  unsigned int flags;
};

static inline struct task_struct* shim_task(void) {
  static struct task_struct task;
  return &task;
}
#define current shim_task()

static inline unsigned int memalloc_flags_save(unsigned int flags) {
  unsigned int old = ~current->flags & flags;
  current->flags |= flags;
  return old;
}

static inline void memalloc_flags_restore(unsigned int flags) { current->flags &= ~flags; }
