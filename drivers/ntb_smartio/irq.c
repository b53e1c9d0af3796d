// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts that a device of the peer itself sends to this host: MSI messages
 * like those of any device of this host. A domain of our own, above the one
 * that the NTB's own MSI-X table uses, makes them. So no entry of that table is
 * needed, and there are as many as this host has vectors.
 *
 * Where there is no interrupt remapping, the message names the CPU. It changes
 * when the interrupt moves; the core then informs the device's host. Until then
 * the old message works: x86 gives the old vector up at the first interrupt
 * that comes with the new one. That does not hold for a CPU that goes offline,
 * so its interrupts move, and the device's host knows, before it does.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/idr.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/module.h>
#include <linux/msi.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/smartio_compat.h>

#include "link.h"

/* Of one link; each takes a vector of a CPU while it is in use. */
#define LINK_IRQS_MAX	1024

/**
 * struct link_irq - an interrupt of a link
 * @entry: in link->irqs
 * @link: its link
 * @irq: the core's part of it
 * @hwirq: number in the link's domain
 * @virq: Linux interrupt number
 * @cpus: where it was asked to come
 * @moved: where it is meant to come, as some of @cpus are offline
 */
struct link_irq {
	struct list_head entry;
	struct ntb_link *link;
	struct smartio_irq *irq;
	int hwirq;
	unsigned int virq;
	struct cpumask cpus;
	struct cpumask moved;
};

static enum cpuhp_state link_cpuhp;

/* ---- the domain ---- */

/* The message that the device has to send now. Under the descriptor's lock. */
static void link_irq_compose(struct irq_data *data)
{
	struct link_irq *li = irq_data_get_irq_chip_data(data);
	struct msi_msg message = {};
	struct irq_data *parent;

	for (parent = data->parent_data; parent; parent = parent->parent_data) {
		if (!parent->chip || !parent->chip->irq_compose_msi_msg)
			continue;
		parent->chip->irq_compose_msi_msg(parent, &message);
		break;
	}
	smartio_irq_set(li->irq, (u64)message.address_hi << 32 |
			message.address_lo, message.data);
}

static int link_irq_set_affinity(struct irq_data *data,
				 const struct cpumask *cpus, bool force)
{
	struct irq_data *parent = data->parent_data;
	int ret;

	ret = parent->chip->irq_set_affinity(parent, cpus, force);
	if (ret < 0)
		return ret;
	link_irq_compose(data);
	return ret;
}

/*
 * The table entry is the peer's, so nothing is masked here; an interrupt that
 * is disabled stays pending. The kernel calls both around a move.
 */
static void link_irq_mask(struct irq_data *data)
{
}

static struct irq_chip link_irq_chip = {
	.name = "smartio",
	.irq_mask = link_irq_mask,
	.irq_unmask = link_irq_mask,
	.irq_ack = irq_chip_ack_parent,
	.irq_set_affinity = link_irq_set_affinity,
	.irq_retrigger = irq_chip_retrigger_hierarchy,
	.flags = IRQCHIP_SKIP_SET_WAKE | IRQCHIP_AFFINITY_PRE_STARTUP,
};

/*
 * Interrupt remapping asks whose interrupt it is, and takes the requester from
 * there: messages that come over the link are the NTB's.
 */
static int link_domain_alloc(struct irq_domain *domain, unsigned int virq,
			     unsigned int count, void *arg)
{
	struct irq_fwspec *fwspec = arg;
	struct ntb_link *link = domain->host_data;
	struct msi_desc desc = { .dev = link->base.dma };
	struct irq_alloc_info info = {
		.type = X86_IRQ_ALLOC_TYPE_PCI_MSIX,
		.desc = &desc,
	};
	int ret;

	ret = irq_domain_alloc_irqs_parent(domain, virq, count, &info);
	if (ret)
		return ret;
	irq_domain_set_info(domain, virq, fwspec->param[0], &link_irq_chip,
			    NULL, handle_edge_irq, NULL, "edge");
	/* the message is not in the device: it may move at any time */
	compat_irq_moves_at_once(virq);
	return 0;
}

static int link_domain_translate(struct irq_domain *domain,
				 struct irq_fwspec *fwspec,
				 unsigned long *hwirq, unsigned int *type)
{
	*hwirq = fwspec->param[0];
	*type = IRQ_TYPE_NONE;
	return 0;
}

static int link_domain_activate(struct irq_domain *domain,
				struct irq_data *data, bool reserve)
{
	if (!reserve)
		link_irq_compose(data);
	return 0;
}

static const struct irq_domain_ops link_domain_ops = {
	.alloc = link_domain_alloc,
	.free = irq_domain_free_irqs_parent,
	.translate = link_domain_translate,
	.activate = link_domain_activate,
};

/* ---- CPUs that come and go ---- */

/* Chooses CPUs for @li, as @cpu goes offline. */
static void link_irq_move(struct link_irq *li, unsigned int cpu)
{
	cpumask_and(&li->moved, &li->cpus, cpu_online_mask);
	cpumask_clear_cpu(cpu, &li->moved);
	if (cpumask_empty(&li->moved)) {
		cpumask_copy(&li->moved, cpu_online_mask);
		cpumask_clear_cpu(cpu, &li->moved);
	}
	if (irq_set_affinity(li->virq, &li->moved))
		cpumask_clear(&li->moved);
}

static int link_cpu_offline(unsigned int cpu, struct hlist_node *node)
{
	struct ntb_link *link = hlist_entry(node, struct ntb_link, cpuhp);
	const struct cpumask *effective;
	struct link_irq *li;
	bool moved = false;

	/* x86 moves one only when its last move is over */
	smartio_irq_settle();
	mutex_lock(&link->irqs_lock);
	list_for_each_entry(li, &link->irqs, entry) {
		effective = irq_data_get_effective_affinity_mask(irq_get_irq_data(li->virq));
		if (!cpumask_test_cpu(cpu, effective))
			continue;
		link_irq_move(li, cpu);
		moved = true;
	}
	mutex_unlock(&link->irqs_lock);
	if (moved)
		smartio_irq_settle();
	return 0;
}

/* Moves interrupts back to the CPUs asked for, unless they were moved since. */
static int link_cpu_online(unsigned int cpu, struct hlist_node *node)
{
	struct ntb_link *link = hlist_entry(node, struct ntb_link, cpuhp);
	struct link_irq *li;

	mutex_lock(&link->irqs_lock);
	list_for_each_entry(li, &link->irqs, entry) {
		const struct cpumask *now =
			irq_data_get_affinity_mask(irq_get_irq_data(li->virq));

		if (!cpumask_test_cpu(cpu, &li->cpus) ||
		    !cpumask_equal(now, &li->moved))
			continue;
		cpumask_and(&li->moved, &li->cpus, cpu_online_mask);
		irq_set_affinity(li->virq, &li->moved);
	}
	mutex_unlock(&link->irqs_lock);
	return 0;
}

/* ---- for a link ---- */

/* An NTB without interrupts by messages makes none. Returns 0 or -ENOMEM. */
int link_irqs_init(struct ntb_link *link)
{
	struct irq_domain *parent = dev_get_msi_domain(link->base.dma);
	int ret;

	INIT_LIST_HEAD(&link->irqs);
	mutex_init(&link->irqs_lock);
	ida_init(&link->irq_numbers);
	if (!parent)
		return 0;
	link->irq_node = irq_domain_alloc_named_fwnode(link->base.name);
	if (!link->irq_node)
		return -ENOMEM;
	link->irq_domain = irq_domain_create_hierarchy(parent, 0, LINK_IRQS_MAX,
						       link->irq_node,
						       &link_domain_ops, link);
	ret = -ENOMEM;
	if (!link->irq_domain)
		goto free_node;
	ret = cpuhp_state_add_instance_nocalls(link_cpuhp, &link->cpuhp);
	if (ret)
		goto remove;
	return 0;

remove:
	irq_domain_remove(link->irq_domain);
	link->irq_domain = NULL;
free_node:
	irq_domain_free_fwnode(link->irq_node);
	return ret;
}

/* The mirror of link_irqs_init(); no interrupt is left. */
void link_irqs_exit(struct ntb_link *link)
{
	if (!link->irq_domain)
		return;
	cpuhp_state_remove_instance_nocalls(link_cpuhp, &link->cpuhp);
	irq_domain_remove(link->irq_domain);
	irq_domain_free_fwnode(link->irq_node);
	ida_destroy(&link->irq_numbers);
}

static int link_irq_create(struct link_irq *li)
{
	struct ntb_link *link = li->link;
	struct irq_fwspec fwspec = {
		.fwnode = link->irq_node,
		.param_count = 1,
	};

	if (!link->irq_domain)
		return -ENOSPC;
	li->hwirq = ida_alloc_max(&link->irq_numbers, LINK_IRQS_MAX - 1,
				  GFP_KERNEL);
	if (li->hwirq < 0)
		return -ENOSPC;
	fwspec.param[0] = li->hwirq;
	li->virq = irq_create_fwspec_mapping(&fwspec);
	if (!li->virq) {
		ida_free(&link->irq_numbers, li->hwirq);
		return -ENOSPC;
	}
	irq_set_chip_data(li->virq, li);
	return 0;
}

static void link_irq_destroy(struct link_irq *li)
{
	irq_dispose_mapping(li->virq);
	ida_free(&li->link->irq_numbers, li->hwirq);
}

static int link_irq_request(struct link_irq *li, const char *name)
{
	struct smartio_irq_message message;
	int ret;

	/* if all of them are offline, it comes anywhere until they are back */
	cpumask_and(&li->moved, &li->cpus, cpu_online_mask);
	if (cpumask_empty(&li->moved))
		cpumask_copy(&li->moved, cpu_online_mask);
	irq_set_affinity(li->virq, &li->moved);
	ret = request_irq(li->virq, li->irq->handler, 0, name,
			  li->irq->context);
	if (ret)
		return ret;
	smartio_irq_message(li->irq, &message);
	if (message.addr >= LINK_MSI_BASE &&
	    message.addr < LINK_MSI_BASE + LINK_MSI_SIZE)
		return 0;
	dev_err(li->link->base.dma,
		"%s: interrupts of this host go to %#llx, which is not supported\n",
		li->link->base.name, message.addr);
	free_irq(li->virq, li->irq->context);
	return -ENOSPC;
}

/*
 * By a message. Returns 0; -ENOSPC: this host has no vector left, or no window
 * that could lead to the interrupt controller; another negative error.
 */
static int link_irq_by_message(struct ntb_link *link,
			       const struct cpumask *cpus, const char *name,
			       struct smartio_irq *irq)
{
	struct link_irq *li;
	int ret;

	ret = link_window_need(link, LINK_MSI_BASE, LINK_MSI_SIZE,
			       "interrupts");
	if (ret)
		return ret;
	ret = -ENOMEM;
	li = kzalloc(sizeof(*li), GFP_KERNEL);
	if (!li)
		goto done;
	li->link = link;
	li->irq = irq;
	ret = link_irq_create(li);
	if (ret)
		goto free;
	irq->virq = li->virq;
	/* no CPU goes meanwhile */
	cpus_read_lock();
	mutex_lock(&link->irqs_lock);
	if (cpus)
		cpumask_copy(&li->cpus, cpus);
	ret = link_irq_request(li, name);
	if (!ret)
		list_add(&li->entry, &link->irqs);
	mutex_unlock(&link->irqs_lock);
	cpus_read_unlock();
	if (ret)
		goto destroy;
	irq->private = li;
	return 0;

destroy:
	link_irq_destroy(li);
free:
	kfree(li);
done:
	link_window_done(link, LINK_MSI_BASE, LINK_MSI_SIZE);
	return ret;
}

/*
 * See smartio_irq_alloc(). Returns 0; -ENOSPC: there is neither a message nor a
 * doorbell left; another negative error.
 */
int link_irq_alloc(struct ntb_link *link, const struct cpumask *cpus,
		   const char *name, struct smartio_irq *irq)
{
	int ret = link_irq_by_message(link, cpus, name, irq);

	if (ret == -ENOSPC)
		ret = link_doorbell_alloc(link, irq);
	return ret;
}

/* See smartio_irq_free(). */
void link_irq_free(struct ntb_link *link, struct smartio_irq *irq)
{
	struct link_irq *li = irq->private;

	if (irq->way == SMARTIO_IRQ_DOORBELL) {
		link_doorbell_free(link, irq);
		return;
	}
	mutex_lock(&link->irqs_lock);
	list_del(&li->entry);
	mutex_unlock(&link->irqs_lock);
	free_irq(li->virq, irq->context);
	link_irq_destroy(li);
	kfree(li);
	link_window_done(link, LINK_MSI_BASE, LINK_MSI_SIZE);
}

/* See smartio_irq_over(). */
void link_irq_over(struct ntb_link *link, struct smartio_irq *irq)
{
	if (irq->way == SMARTIO_IRQ_DOORBELL)
		link_doorbell_over(link);
	else
		synchronize_irq(irq->virq);
}

/*
 * The device's host knows the new message: only now the old one may go. The
 * message of a doorbell never changes.
 */
void link_irq_settled(struct ntb_link *link, struct smartio_irq *irq)
{
	struct link_irq *li = irq->private;

	if (irq->way == SMARTIO_IRQ_DOORBELL)
		return;
	irq_chip_retrigger_hierarchy(irq_get_irq_data(li->virq));
}

int __init link_irq_init(void)
{
	int ret = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN,
					  "ntb_smartio:online",
					  link_cpu_online, link_cpu_offline);

	if (ret < 0)
		return ret;
	link_cpuhp = ret;
	return 0;
}

void link_irq_exit(void)
{
	cpuhp_remove_multi_state(link_cpuhp);
}
