/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/types.h>

struct kref {
  unsigned int references;
};

void kref_init(struct kref* kref);
void kref_get(struct kref* kref);
int kref_put(struct kref* kref, void (*release)(struct kref* kref));
