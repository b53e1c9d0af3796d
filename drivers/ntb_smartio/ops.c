// SPDX-License-Identifier: GPL-2.0
/*
 * struct smartio_link_ops: passes calls of the core to the files that implement
 * them.
 */
#include <linux/slab.h>

#include "link.h"

static void ops_release(struct smartio_link *base)
{
	struct ntb_link *link = to_ntb_link(base);

	link_spare_exit(link);
	kfree(link);
}

static int ops_send(struct smartio_link *base, u32 generation,
		    const struct wire_message *message, const void *payload)
{
	return link_send(to_ntb_link(base), generation, message, payload);
}

static int ops_call(struct smartio_link *base,
		    const struct wire_message *message, const void *payload,
		    void *reply, size_t *reply_size, unsigned int timeout_ms)
{
	return link_call(to_ntb_link(base), message, payload, reply, reply_size,
			 timeout_ms);
}

static void ops_restart(struct smartio_link *base, const char *why)
{
	link_restart(to_ntb_link(base), why);
}

static void ops_settle(struct smartio_link *base)
{
	struct ntb_link *link = to_ntb_link(base);

	link_settle(link);
	/* the window was shut under this lock when the link was taken down */
	mutex_lock(&link->window_lock);
	mutex_unlock(&link->window_lock);
}

static void ops_recheck(struct smartio_link *base)
{
	struct ntb_link *link = to_ntb_link(base);

	WRITE_ONCE(link->fence_new, true);
	link_settle(link);
}

static void ops_rejoin(struct smartio_link *base, bool ask)
{
	struct ntb_link *link = to_ntb_link(base);

	if (!ask && !READ_ONCE(link->rejoin))
		return;
	WRITE_ONCE(link->rejoin, ask);
	link_settle(link);
}

static void *ops_alloc(struct smartio_link *base, size_t size, dma_addr_t *dma,
		       gfp_t gfp)
{
	return link_alloc(to_ntb_link(base), size, dma, gfp);
}

static void ops_free(struct smartio_link *base, size_t size, void *cpu,
		     dma_addr_t dma)
{
	link_free(to_ntb_link(base), size, cpu, dma);
}

static int ops_peer_phys(struct smartio_link *base, u64 addr, u64 size,
			 phys_addr_t *phys)
{
	return link_window_phys(to_ntb_link(base), addr, size, phys);
}

static int ops_irq_alloc(struct smartio_link *base, const struct cpumask *cpus,
			 const char *name, struct smartio_irq *irq)
{
	return link_irq_alloc(to_ntb_link(base), cpus, name, irq);
}

static void ops_irq_free(struct smartio_link *base, struct smartio_irq *irq)
{
	link_irq_free(to_ntb_link(base), irq);
}

static void ops_irq_over(struct smartio_link *base, struct smartio_irq *irq)
{
	link_irq_over(to_ntb_link(base), irq);
}

static void ops_irq_settled(struct smartio_link *base, struct smartio_irq *irq)
{
	link_irq_settled(to_ntb_link(base), irq);
}

static struct page *ops_pages_alloc(struct smartio_link *base, u32 owner,
				    size_t size, dma_addr_t *dma)
{
	return link_pages_alloc(to_ntb_link(base), owner, size, dma);
}

static void ops_pages_free(struct smartio_link *base, size_t size,
			   struct page *page, dma_addr_t dma,
			   const struct smartio_holder *holder)
{
	link_release_pages(to_ntb_link(base), size, page, dma, holder);
}

static void ops_pages_forget(struct smartio_link *base, u32 owner)
{
	link_kept_forget(&to_ntb_link(base)->kept, owner);
}

static int ops_expose(struct smartio_link *base,
		      const struct smartio_registers *registers,
		      u64 *peer_addr)
{
	return link_expose(to_ntb_link(base), registers, peer_addr);
}

static void ops_conceal(struct smartio_link *base,
			const struct smartio_registers *registers,
			u64 peer_addr, const struct smartio_holder *holder)
{
	link_conceal(to_ntb_link(base), registers, peer_addr, holder);
}

static void ops_stopped(struct smartio_link *base,
			const struct smartio_holder *holder)
{
	link_holder_stopped(to_ntb_link(base), holder);
}

static int ops_map(struct smartio_link *base, struct device *dev, u64 addr,
		   u64 size, u64 *device_addr)
{
	struct ntb_link *link = to_ntb_link(base);
	unsigned int mw;
	dma_addr_t dma;
	u64 offset;
	int ret;

	ret = link_window_reach(link, addr, size, &mw, &offset);
	if (!ret)
		ret = link_map_device(link, dev, mw, &dma);
	if (!ret)
		*device_addr = dma + offset;
	return ret;
}

static int ops_map_memory(struct smartio_link *base, struct device *dev,
			  u64 *offset)
{
	struct ntb_link *link = to_ntb_link(base);
	unsigned int mw;
	dma_addr_t dma;
	u64 first;
	int ret;

	spin_lock(&link->base.lock);
	mw = link->peer_own[0].mw;
	first = link->peer_own[0].base;
	spin_unlock(&link->base.lock);
	ret = link_map_device(link, dev, mw, &dma);
	if (!ret)
		*offset = dma - first;
	return ret;
}

static int ops_map_irq(struct smartio_link *base, struct device *dev, u64 addr,
		       u64 *device_addr)
{
	if (addr < LINK_MSI_BASE || addr >= LINK_MSI_BASE + LINK_MSI_SIZE ||
	    addr % 4)
		return -EINVAL;
	return ops_map(base, dev, addr, 4, device_addr);
}

static int ops_map_doorbell(struct smartio_link *base, struct device *dev,
			    u32 number, u64 *device_addr, u32 *data)
{
	return link_map_doorbell(to_ntb_link(base), dev, number, device_addr,
				 data);
}

static void ops_unmap(struct smartio_link *base, struct device *dev)
{
	link_unmap_device(to_ntb_link(base), dev);
}

static int ops_space_alloc(struct smartio_link *base,
			   struct smartio_space *space)
{
	return link_space_alloc(to_ntb_link(base), space);
}

static void ops_space_free(struct smartio_link *base,
			   struct smartio_space *space)
{
	link_space_free(to_ntb_link(base), space);
}

static int ops_space_map(struct smartio_link *base,
			 struct smartio_space *space, u64 addr,
			 phys_addr_t phys, size_t size, int prot, gfp_t gfp)
{
	return link_space_map(to_ntb_link(base), space, addr, phys, size, prot,
			      gfp);
}

static size_t ops_space_unmap(struct smartio_link *base,
			      struct smartio_space *space, u64 addr,
			      size_t size)
{
	return link_space_unmap(to_ntb_link(base), space, addr, size);
}

static phys_addr_t ops_space_phys(struct smartio_link *base, u64 addr)
{
	return link_space_phys(to_ntb_link(base), addr);
}

static int ops_nest(struct smartio_link *base, struct resource *resource)
{
	return link_nest(to_ntb_link(base), resource);
}

static void ops_unnest(struct smartio_link *base, struct resource *resource)
{
	link_unnest(to_ntb_link(base), resource);
}

static int ops_msi_create(struct smartio_link *base,
			  const struct smartio_msi_ops *ops, void *context,
			  struct irq_domain **domain)
{
	return link_msi_create(to_ntb_link(base), ops, context, domain);
}

static void ops_msi_remove(struct smartio_link *base,
			   struct irq_domain *domain)
{
	link_msi_remove(to_ntb_link(base), domain);
}

const struct smartio_link_ops link_ops = {
	.owner = THIS_MODULE,
	.release = ops_release,
	.send = ops_send,
	.call = ops_call,
	.restart = ops_restart,
	.settle = ops_settle,
	.recheck = ops_recheck,
	.rejoin = ops_rejoin,
	.alloc = ops_alloc,
	.free = ops_free,
	.peer_phys = ops_peer_phys,
	.irq_alloc = ops_irq_alloc,
	.irq_free = ops_irq_free,
	.irq_over = ops_irq_over,
	.irq_settled = ops_irq_settled,
	.pages_alloc = ops_pages_alloc,
	.pages_free = ops_pages_free,
	.pages_forget = ops_pages_forget,
	.expose = ops_expose,
	.conceal = ops_conceal,
	.stopped = ops_stopped,
	.map = ops_map,
	.map_memory = ops_map_memory,
	.map_irq = ops_map_irq,
	.map_doorbell = ops_map_doorbell,
	.unmap = ops_unmap,
	.space_alloc = ops_space_alloc,
	.space_free = ops_space_free,
	.space_map = ops_space_map,
	.space_unmap = ops_space_unmap,
	.space_phys = ops_space_phys,
	.nest = ops_nest,
	.unnest = ops_unnest,
	.msi_create = ops_msi_create,
	.msi_remove = ops_msi_remove,
};
