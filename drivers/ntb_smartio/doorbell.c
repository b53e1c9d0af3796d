// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts of the peer's devices by the NTB's doorbells, for a host whose
 * windows do not lead to its interrupt controller. A device of the peer writes
 * to the register by which the peer rings a doorbell of this host. Each
 * interrupt has a doorbell of its own. Its host chooses the number and the
 * peer the address, since the register is the peer's.
 *
 * The NTB's driver has to know the registers' addresses: ntb_peer_db_addr().
 */
#include <linux/dma-mapping.h>
#include <linux/limits.h>
#include <linux/module.h>

#include "link.h"

static int doorbells = -1;
module_param(doorbells, int, 0444);
MODULE_PARM_DESC(doorbells, "1: devices of this host may ring doorbells of linked hosts that no other interrupt reaches; 0: they may not; -1: if no IOMMU keeps them from the NTB's registers anyway");

void link_doorbells_init(struct ntb_link *link)
{
	spin_lock_init(&link->doorbells_lock);
}

/* ---- this host is interrupted ---- */

/* The bits of those that the peer's devices ring. */
u64 link_doorbells(struct ntb_link *link)
{
	return READ_ONCE(link->doorbells);
}

/* Returns 0; -ENOSPC: the peer's devices can't ring any, or none is left. */
int link_doorbell_alloc(struct ntb_link *link, struct smartio_irq *irq)
{
	unsigned int number;
	unsigned long flags;
	u64 free;

	if (!READ_ONCE(link->peer_rings))
		return -ENOSPC;
	spin_lock_irqsave(&link->doorbells_lock, flags);
	free = ntb_db_valid_mask(link->ntb) & ~link->doorbells &
	       ~BIT_ULL(link->db_message);
	if (!free) {
		spin_unlock_irqrestore(&link->doorbells_lock, flags);
		return -ENOSPC;
	}
	number = __ffs64(free);
	link->doorbell_irqs[number] = irq;
	WRITE_ONCE(link->doorbells, link->doorbells | BIT_ULL(number));
	spin_unlock_irqrestore(&link->doorbells_lock, flags);
	irq->virq = 0;
	irq->way = SMARTIO_IRQ_DOORBELL;
	irq->private = (void *)(unsigned long)number;
	smartio_irq_set(irq, SMARTIO_DOORBELL_ADDR, number);
	/* it may have been rung for an earlier owner */
	ntb_db_clear(link->ntb, BIT_ULL(number));
	ntb_db_clear_mask(link->ntb, BIT_ULL(number));
	return 0;
}

/* The mirror of link_doorbell_alloc(). */
void link_doorbell_free(struct ntb_link *link, struct smartio_irq *irq)
{
	unsigned int number = (unsigned long)irq->private;
	unsigned long flags;

	ntb_db_set_mask(link->ntb, BIT_ULL(number));
	spin_lock_irqsave(&link->doorbells_lock, flags);
	link->doorbell_irqs[number] = NULL;
	WRITE_ONCE(link->doorbells, link->doorbells & ~BIT_ULL(number));
	spin_unlock_irqrestore(&link->doorbells_lock, flags);
}

/* A handler that runs has returned when this does. */
void link_doorbell_over(struct ntb_link *link)
{
	unsigned long flags;

	spin_lock_irqsave(&link->doorbells_lock, flags);
	spin_unlock_irqrestore(&link->doorbells_lock, flags);
}

/*
 * These were rung. In interrupt context, with interrupts off. The NTB's core
 * lets one event of a link run at a time anyway.
 */
void link_doorbells_rung(struct ntb_link *link, u64 bits)
{
	struct smartio_irq *irq;

	spin_lock(&link->doorbells_lock);
	for (; bits; bits &= bits - 1) {
		irq = link->doorbell_irqs[__ffs64(bits)];
		if (irq)
			irq->handler(irq->virq, irq->context);
	}
	spin_unlock(&link->doorbells_lock);
}

/* ---- devices of this host interrupt the peer ---- */

/*
 * The register that rings a doorbell of the peer, and what to write there. A
 * device's message has 32 bits. Returns 0 or -EOPNOTSUPP.
 */
static int link_doorbell_register(struct ntb_link *link, unsigned int number,
				  phys_addr_t *phys, u32 *value)
{
	resource_size_t size = 0;
	u64 data = 0;

	if (ntb_peer_db_addr(link->ntb, phys, &size, &data, number) ||
	    size != sizeof(u32) || *phys % size || data > U32_MAX)
		return -EOPNOTSUPP;
	*value = data;
	return 0;
}

/*
 * With an IOMMU, devices reach the page of registers only for this. It may have
 * those of windows, too.
 */
static bool link_doorbells_allowed(struct ntb_link *link)
{
	return doorbells > 0 || (doorbells < 0 && !link->iommu);
}

/* Whether devices of this host can ring doorbells of the peer. */
bool link_doorbells_offered(struct ntb_link *link)
{
	phys_addr_t phys;
	u32 value;

	return link_doorbells_allowed(link) &&
	       !link_doorbell_register(link, link->db_message, &phys, &value);
}

/*
 * Where, and by what, a device of this host rings a doorbell of the peer. The
 * page of the register is mapped for it, until link_unmap_device(). Returns 0;
 * -EINVAL: the peer has no such doorbell, or needs it for messages of this
 * host; -EOPNOTSUPP; -EIO; -ENOMEM.
 */
int link_map_doorbell(struct ntb_link *link, struct device *dev, u32 number,
		      u64 *device_addr, u32 *data)
{
	phys_addr_t phys;
	dma_addr_t dma;
	int ret;

	if (!link_doorbells_allowed(link) ||
	    (doorbells < 0 && link_translated(dev)))
		return -EOPNOTSUPP;
	if (!wire_doorbell_ok(number, ntb_db_valid_mask(link->ntb),
			      link->peer_doorbell))
		return -EINVAL;
	ret = link_doorbell_register(link, number, &phys, data);
	if (ret)
		return ret;
	ret = link_map_range(link, dev, phys & PAGE_MASK, PAGE_SIZE,
			     DMA_FROM_DEVICE, &dma);
	if (ret == -EIO)
		dev_err(dev, "doorbells of %s can't be mapped for it\n",
			link->base.name);
	if (!ret)
		*device_addr = dma + offset_in_page(phys);
	return ret;
}
