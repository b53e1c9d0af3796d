// SPDX-License-Identifier: GPL-2.0
/*
 * ntb_smartio: the transport of smartio over non-transparent bridges. Begin
 * with include/linux/smartio_transport.h, then link.h. Here is the NTB client:
 * it makes a link for each NTB that it is bound to, out of the parts in the
 * other files.
 */
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "link.h"

static DEFINE_IDA(link_ida);
static struct smartio_transport link_transport;

static struct ntb_link *link_new(struct ntb_dev *ntb)
{
	struct ntb_link *link = kzalloc(sizeof(*link), GFP_KERNEL);

	if (!link)
		return NULL;
	link->index = ida_alloc(&link_ida, GFP_KERNEL);
	if (link->index < 0) {
		kfree(link);
		return NULL;
	}
	link->base.ops = &link_ops;
	link->base.transport = &link_transport;
	link->base.dma = &ntb->pdev->dev;
	link->base.msi_base = LINK_MSI_BASE;
	link->base.msi_size = LINK_MSI_SIZE;
	snprintf(link->base.name, sizeof(link->base.name), "ntb%d",
		 link->index);
	link_life_init(link);
	xa_init_flags(&link->calls, XA_FLAGS_ALLOC1);
	init_waitqueue_head(&link->jobs_idle);
	link->ntb = ntb;
	link->rx.deliver = link_receive;
	return link;
}

static int link_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	u64 doorbells = ntb_db_valid_mask(ntb);
	struct ntb_link *link;
	int ret;

	/* A new client's first clear_mask must not open all doorbells. */
	ntb_db_set_mask(ntb, doorbells);
	if (ntb_spad_count(ntb) < WIRE_SPADS || !doorbells) {
		dev_err(&ntb->pdev->dev,
			"too few scratchpads (%d, %d are needed) or doorbells\n",
			ntb_spad_count(ntb), WIRE_SPADS);
		return -ENODEV;
	}
	if (ntb_peer_port_count(ntb) != 1) {
		dev_err(&ntb->pdev->dev, "only NTBs with one peer are supported\n");
		return -ENODEV;
	}
	link = link_new(ntb);
	if (!link)
		return -ENOMEM;
	link->db_message = __ffs64(doorbells);
	link_doorbells_init(link);
	ret = smartio_link_init(&link->base);
	if (ret)
		goto unregister;
	ret = -ENOMEM;
	link->wq = alloc_ordered_workqueue("smartio-%s",
					   WQ_MEM_RECLAIM | WQ_HIGHPRI,
					   link->base.name);
	if (!link->wq)
		goto unregister;
	ret = link_calls_init(link);
	if (ret)
		goto destroy;
	ret = link_spare_init(link);
	if (ret)
		goto exit_calls;
	ret = link_windows_init(link);
	if (ret)
		goto exit_calls;
	ret = link_memory_init(link);
	if (ret)
		goto exit_windows;
	ret = -ENOMEM;
	link->boot = link_alloc_low(link, PAGE_SIZE, &link->boot_dma);
	if (!link->boot)
		goto exit_memory;
	ret = link_ring_init(link);
	if (ret)
		goto free_boot;
	link_ring_reset(link);
	ret = link_irqs_init(link);
	if (ret)
		goto exit_ring;
	ret = link_sysfs_add(link);
	if (ret)
		goto exit_irqs;
	ret = ntb_set_ctx(ntb, link, &link_ctx_ops);
	if (ret)
		goto remove_sysfs;
	smartio_link_register(&link->base);
	ntb_db_clear(ntb, doorbells);
	ntb_db_clear_mask(ntb, BIT_ULL(link->db_message));
	/* Some say -EINVAL on the secondary side, and enable it. */
	ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	dev_info(link->base.dma, "%s: %s\n", link->base.name, link->base.scattered ?
		 "the other side reaches all memory mapped for the NTB" :
		 "no IOMMU: the other side reaches the memory pool only");
	link_life_begin(link);
	return 0;

remove_sysfs:
	link_sysfs_remove(link);
exit_irqs:
	link_irqs_exit(link);
exit_ring:
	link_ring_exit(link);
free_boot:
	link_free(link, PAGE_SIZE, link->boot, link->boot_dma);
exit_memory:
	link_memory_exit(link);
exit_windows:
	link_windows_exit(link);
exit_calls:
	link_calls_exit(link);
destroy:
	destroy_workqueue(link->wq);
unregister:
	smartio_link_unregister(&link->base);
	ida_free(&link_ida, link->index);
	smartio_link_put(&link->base);
	return ret;
}

static void link_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct ntb_link *link = ntb->ctx;

	link_life_end(link);
	ntb_db_set_mask(ntb, ntb_db_valid_mask(ntb));
	ntb_link_disable(ntb);
	ntb_clear_ctx(ntb);
	/* until then a fence has to find it */
	smartio_link_unregister(&link->base);
	/* asked for by a caller that had not yet seen the removal */
	cancel_delayed_work_sync(&link->tick);
	cancel_work_sync(&link->rx.work);
	link_unmap_device(link, NULL);
	link_sysfs_remove(link);
	link_irqs_exit(link);
	link_ring_exit(link);
	link_free(link, PAGE_SIZE, link->boot, link->boot_dma);
	link_memory_exit(link);
	link_windows_exit(link);
	link_calls_exit(link);
	destroy_workqueue(link->wq);
	xa_destroy(&link->calls);
	ida_free(&link_ida, link->index);
	smartio_link_put(&link->base);
}

static struct ntb_client link_client = {
	.ops = {
		.probe = link_probe,
		.remove = link_remove,
	},
};

static int __init ntb_smartio_init(void)
{
	int ret;

	if (!link_heartbeat_ms || link_timeout_ms < 3 * link_heartbeat_ms) {
		pr_err("heartbeat_timeout_ms has to be three times heartbeat_ms, or more\n");
		return -EINVAL;
	}
	ret = link_sysfs_init();
	if (ret)
		return ret;
	ret = link_irq_init();
	if (ret)
		goto exit_sysfs;
	ret = ntb_register_client(&link_client);
	if (ret)
		goto exit_irq;
	return 0;

exit_irq:
	link_irq_exit();
exit_sysfs:
	link_sysfs_exit();
	return ret;
}
module_init(ntb_smartio_init);

static void __exit ntb_smartio_exit(void)
{
	ntb_unregister_client(&link_client);
	smartio_transport_drain(&link_transport);
	link_irq_exit();
	link_sysfs_exit();
}
module_exit(ntb_smartio_exit);

MODULE_DESCRIPTION("Links between hosts over NTBs, for smartio");
MODULE_LICENSE("GPL");
