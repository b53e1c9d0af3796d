/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/types.h>

struct irq_data;
struct msi_msg {
  u32 address_lo;
  u32 address_hi;
  u32 data;
};
struct irq_data {
  struct msi_msg message;
  bool open;
};

void get_cached_msi_msg(unsigned int irq, struct msi_msg* message);
void pci_write_msi_msg(unsigned int irq, struct msi_msg* message);
static inline void pci_msi_mask_irq(struct irq_data* data) { data->open = false; }
static inline void pci_msi_unmask_irq(struct irq_data* data) { data->open = true; }
