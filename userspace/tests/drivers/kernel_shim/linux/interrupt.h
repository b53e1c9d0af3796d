/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/types.h>

typedef int irqreturn_t;
typedef irqreturn_t (*irq_handler_t)(int irq, void* context);
struct cpumask;
