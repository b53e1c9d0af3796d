/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

struct irq_data;
struct irq_data* irq_get_irq_data(unsigned int irq);
