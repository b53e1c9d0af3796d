// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts of whole functions of the peer that drivers of this host use.
 * The PCI core makes a domain for each such function, as for any. Its parent is
 * one of ours, whose parent is the NTB's. The core sees the messages as they
 * arrive here. The function's table is the peer's, so the creator of the domain
 * gets the entry for the table by a callback.
 */
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/msi.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "link.h"

/**
 * struct link_msi - the domain of one function
 * @link: its link
 * @ops: callbacks for new messages
 * @context: for @ops
 * @node: of @domain
 * @domain: the parent of the function's own
 * @prepare: the PCI core's function for a new interrupt of MSI-X
 */
struct link_msi {
	struct ntb_link *link;
	const struct smartio_msi_ops *ops;
	void *context;
	struct fwnode_handle *node;
	struct irq_domain *domain;
	void (*prepare)(struct irq_domain *domain, msi_alloc_info_t *info,
			struct msi_desc *desc);
};

/* ---- the function's own domain, as the PCI core made it ---- */

static unsigned int link_msi_index(struct irq_data *data)
{
	struct msi_desc *desc = irq_data_get_msi_desc(data);

	return desc->msi_index + data->irq - desc->irq;
}

static struct link_msi *link_msi_of(struct irq_data *data)
{
	return data->parent_data->chip_data;
}

/* Does the same as the PCI core, but for the write to the function. */
static void link_msi_write(struct irq_data *data, struct msi_msg *message)
{
	struct msi_desc *desc = irq_data_get_msi_desc(data);
	struct link_msi *msi = link_msi_of(data);

	desc->msg = *message;
	msi->ops->write(msi->context, link_msi_index(data),
			data->irq,
			(u64)message->address_hi << 32 | message->address_lo,
			message->data);
}

static void link_msi_mask(struct irq_data *data)
{
	struct link_msi *msi = link_msi_of(data);

	msi->ops->mask(msi->context, link_msi_index(data), true);
}

static void link_msi_unmask(struct irq_data *data)
{
	struct link_msi *msi = link_msi_of(data);

	msi->ops->mask(msi->context, link_msi_index(data), false);
}

static void link_msi_lock(struct irq_data *data)
{
}

/*
 * An interrupt may arrive as soon as it is requested. The kernel also calls
 * this for a driver that disables one in atomic context.
 */
static void link_msi_unlock(struct irq_data *data)
{
	struct link_msi *msi = link_msi_of(data);

	if (preemptible())
		msi->ops->settle(msi->context);
}

/*
 * The table is the peer's. For this host's PCI core the vector is a virtual
 * one, which has no entry to write.
 */
static void link_msi_prepare(struct irq_domain *domain, msi_alloc_info_t *info,
			     struct msi_desc *desc)
{
	struct link_msi *msi = domain->parent->host_data;

	if (msi->prepare)
		msi->prepare(domain, info, desc);
	desc->pci.msi_attrib.is_virtual = 1;
}

/*
 * Fills @info as the NTB's parent requires for any function below it, but for
 * the affinity. Without remapping the parent's function for that composes
 * messages itself, past us. Left empty it becomes the generic one, which asks
 * the hierarchy.
 */
static bool link_msi_init(struct device *dev, struct irq_domain *domain,
			  struct irq_domain *real_parent,
			  struct msi_domain_info *info)
{
	struct irq_domain *parent = domain->parent;
	struct link_msi *msi = domain->host_data;

	if (!parent->msi_parent_ops->init_dev_msi_info(dev, parent, parent,
						       info))
		return false;
	info->chip->irq_set_affinity = NULL;
	/* newer kernels' own go past irq_unmask and irq_mask */
	info->chip->irq_startup = NULL;
	info->chip->irq_shutdown = NULL;
	info->chip->irq_write_msi_msg = link_msi_write;
	info->chip->irq_mask = link_msi_mask;
	info->chip->irq_unmask = link_msi_unmask;
	info->chip->irq_bus_lock = link_msi_lock;
	info->chip->irq_bus_sync_unlock = link_msi_unlock;
	if (info->bus_token == DOMAIN_BUS_PCI_DEVICE_MSIX) {
		msi->prepare = info->ops->prepare_desc;
		info->ops->prepare_desc = link_msi_prepare;
	}
	return true;
}

/* NO_MASK: nor does it load or store masks there. */
static const struct msi_parent_ops link_msi_parent_ops = {
	.supported_flags = MSI_GENERIC_FLAGS_MASK | MSI_FLAG_NO_MASK |
		MSI_FLAG_PCI_MSIX |
		MSI_FLAG_PCI_MSIX_ALLOC_DYN | MSI_FLAG_MULTI_PCI_MSI,
	.prefix = "smartio-",
	.init_dev_msi_info = link_msi_init,
};

/* ---- ours, below it ---- */

static void link_msi_compose(struct irq_data *data, struct msi_msg *message)
{
	struct irq_data *parent = data->parent_data;

	parent->chip->irq_compose_msi_msg(parent, message);
}

static struct irq_chip link_msi_chip = {
	.name = "smartio",
	.irq_ack = irq_chip_ack_parent,
	.irq_mask = irq_chip_mask_parent,
	.irq_unmask = irq_chip_unmask_parent,
	.irq_set_affinity = irq_chip_set_affinity_parent,
	.irq_compose_msi_msg = link_msi_compose,
	.irq_retrigger = irq_chip_retrigger_hierarchy,
};

/* To remapping, what comes over the link is the NTB's. */
static int link_msi_alloc(struct irq_domain *domain, unsigned int virq,
			  unsigned int count, void *arg)
{
	struct irq_alloc_info info = *(struct irq_alloc_info *)arg;
	struct link_msi *msi = domain->host_data;
	struct msi_desc desc = *info.desc;
	unsigned int i;
	int ret;

	desc.dev = msi->link->base.dma;
	info.desc = &desc;
	ret = irq_domain_alloc_irqs_parent(domain, virq, count, &info);
	for (i = 0; !ret && i < count; i++)
		irq_domain_set_hwirq_and_chip(domain, virq + i, virq + i,
					      &link_msi_chip, msi);
	return ret;
}

static const struct irq_domain_ops link_msi_domain_ops = {
	.alloc = link_msi_alloc,
	.free = irq_domain_free_irqs_common,
};

/* Returns 0; -EOPNOTSUPP; -ENOSPC: no window leads to interrupts; -ENOMEM. */
int link_msi_create(struct ntb_link *link, const struct smartio_msi_ops *ops,
		    void *context, struct irq_domain **domain)
{
	struct irq_domain *parent = dev_get_msi_domain(link->base.dma);
	struct link_msi *msi;
	int ret;

	if (!parent || !irq_domain_is_msi_parent(parent))
		return -EOPNOTSUPP;
	ret = link_window_need(link, LINK_MSI_BASE, LINK_MSI_SIZE,
			       "interrupts");
	if (ret)
		return ret;
	ret = -ENOMEM;
	msi = kzalloc(sizeof(*msi), GFP_KERNEL);
	if (!msi)
		goto done;
	msi->link = link;
	msi->ops = ops;
	msi->context = context;
	msi->node = irq_domain_alloc_named_id_fwnode(link->base.name,
						     atomic_inc_return(&link->msi_number));
	if (!msi->node)
		goto free;
	msi->domain = irq_domain_create_hierarchy(parent, 0, 0, msi->node,
						  &link_msi_domain_ops, msi);
	if (!msi->domain)
		goto free_node;
	msi->domain->flags |= IRQ_DOMAIN_FLAG_MSI_PARENT;
	msi->domain->msi_parent_ops = &link_msi_parent_ops;
	irq_domain_update_bus_token(msi->domain, DOMAIN_BUS_VMD_MSI);
	*domain = msi->domain;
	return 0;

free_node:
	irq_domain_free_fwnode(msi->node);
free:
	kfree(msi);
done:
	link_window_done(link, LINK_MSI_BASE, LINK_MSI_SIZE);
	return ret;
}

/* No function has an interrupt of it any more. */
void link_msi_remove(struct ntb_link *link, struct irq_domain *domain)
{
	struct link_msi *msi = domain->host_data;

	irq_domain_remove(domain);
	irq_domain_free_fwnode(msi->node);
	kfree(msi);
	link_window_done(link, LINK_MSI_BASE, LINK_MSI_SIZE);
}
