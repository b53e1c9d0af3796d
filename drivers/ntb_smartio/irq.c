// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts that the device itself sends over a link: vectors of our own,
 * added to the MSI-X table of the NTB after those of its driver. What the
 * device writes is an MSI message like that of any device of this host.
 */
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/module.h>
#include <linux/msi.h>
#include <linux/pci.h>

#include "link.h"

/*
 * See smartio_irq_alloc(). Returns 0; -ENOSPC: the NTB's table has no room, or
 * no window is left that could lead to the interrupt controller; another
 * negative error.
 */
int link_irq_alloc(struct ntb_link *link, const struct cpumask *cpus,
		   const char *name, struct smartio_irq *irq)
{
	struct pci_dev *pdev = to_pci_dev(link->base.dma);
	struct irq_affinity_desc affinity = {};
	struct msi_msg message;
	struct msi_map map;
	int ret;

	ret = link_window_need(link, LINK_MSI_BASE, LINK_MSI_SIZE,
			       "interrupts");
	if (ret)
		return ret;
	/*
	 * The affinity has to be right before the interrupt is requested:
	 * without interrupt remapping it is part of the message, and nothing
	 * may change that while a device has it.
	 */
	if (cpus)
		cpumask_and(&affinity.mask, cpus, cpu_online_mask);
	map = pci_msix_alloc_irq_at(pdev, MSI_ANY_INDEX,
				    cpumask_empty(&affinity.mask) ? NULL :
				    &affinity);
	if (map.index < 0) {
		dev_warn_once(link->base.dma, "%s: no MSI-X vector to add: %d\n",
			      link->base.name, map.index);
		ret = -ENOSPC;
		goto done;
	}
	ret = request_irq(map.virq, irq->handler, 0, name, irq->context);
	if (ret) {
		pci_msix_free_irq(pdev, map);
		goto done;
	}
	irq_set_status_flags(map.virq, IRQ_NO_BALANCING);
	get_cached_msi_msg(map.virq, &message);
	irq->virq = map.virq;
	irq->index = map.index;
	irq->addr = (u64)message.address_hi << 32 | message.address_lo;
	irq->data = message.data;
	if (irq->addr >= LINK_MSI_BASE &&
	    irq->addr < LINK_MSI_BASE + LINK_MSI_SIZE)
		return 0;
	dev_err(link->base.dma, "%s: interrupts of this host go to %#llx, which is not supported\n",
		link->base.name, irq->addr);
	link_irq_free(link, irq);
	return -ENOSPC;

done:
	link_window_done(link, LINK_MSI_BASE, LINK_MSI_SIZE);
	return ret;
}

/* See smartio_irq_free(). */
void link_irq_free(struct ntb_link *link, struct smartio_irq *irq)
{
	struct msi_map map = { .index = irq->index, .virq = irq->virq };

	irq_clear_status_flags(irq->virq, IRQ_NO_BALANCING);
	free_irq(irq->virq, irq->context);
	pci_msix_free_irq(to_pci_dev(link->base.dma), map);
	link_window_done(link, LINK_MSI_BASE, LINK_MSI_SIZE);
}
