/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/types.h>

#define NOTIFY_DONE 0
#define NOTIFY_OK 1
#define NOTIFY_STOP_MASK 0x8000
#define NOTIFY_STOP (NOTIFY_OK | NOTIFY_STOP_MASK)

struct notifier_block {
  int (*notifier_call)(struct notifier_block* notifier, unsigned long event, void* data);
  struct notifier_block* next;
};
struct blocking_notifier_head {
  struct notifier_block* first;
};

#define BLOCKING_NOTIFIER_HEAD(name) struct blocking_notifier_head name

int blocking_notifier_chain_register(struct blocking_notifier_head* head, struct notifier_block* notifier);
int blocking_notifier_chain_unregister(struct blocking_notifier_head* head, struct notifier_block* notifier);
int blocking_notifier_call_chain(struct blocking_notifier_head* head, unsigned long event, void* data);
