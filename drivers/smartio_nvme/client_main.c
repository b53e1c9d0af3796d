// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_nvme.ko: NVMe drives that other hosts lend, and this host's own lent
 * ones, as ordinary NVMe disks. This file: the driver on the bus "smartio",
 * and the module's parameters.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "client.h"

#define CREATE_TRACE_POINTS
#include "client_trace.h"

static char *dma_mode = "iommu";
module_param(dma_mode, charp, 0444);
MODULE_PARM_DESC(dma_mode,
		 "iommu: data is mapped for the device; bounce: data is copied through memory made for it");

static char *sq_placement = "lender";
module_param(sq_placement, charp, 0444);
MODULE_PARM_DESC(sq_placement,
		 "where submission queues are: lender, borrower, cmb");

static unsigned int queues;
module_param(queues, uint, 0444);
MODULE_PARM_DESC(queues,
		 "queue pairs with an interrupt, at most; 0: one for each CPU");

static unsigned int poll_queues;
module_param(poll_queues, uint, 0444);
MODULE_PARM_DESC(poll_queues, "queue pairs that are polled");

static unsigned int queue_entries = 128;
module_param(queue_entries, uint, 0444);
MODULE_PARM_DESC(queue_entries, "entries of a queue");

static unsigned int max_kib = 128;
module_param(max_kib, uint, 0444);
MODULE_PARM_DESC(max_kib, "largest request, in KiB (4 to 2048)");

static unsigned int bounce_kib = 1024;
module_param(bounce_kib, uint, 0444);
MODULE_PARM_DESC(bounce_kib, "memory of a drive to copy data through, in KiB");

static unsigned int sgl_threshold = 8192;
module_param(sgl_threshold, uint, 0644);
MODULE_PARM_DESC(sgl_threshold,
		 "use an SGL for data in one piece of at least so many bytes that needs more than two PRPs; 0: never");

static int dev_loss_tmo = -1;
module_param(dev_loss_tmo, int, 0644);
MODULE_PARM_DESC(dev_loss_tmo,
		 "seconds after which I/O of a lost path fails; -1: never (fast_io_fail_tmo in sysfs)");

static bool path_iostats;
module_param(path_iostats, bool, 0644);
MODULE_PARM_DESC(path_iostats,
		 "count I/O for each path's hidden disk (nvmeXcYnZ), too, from when it appears; for the disk it always is");

static const char * const dma_modes[] = {
	[SNVME_DMA_MAP] = "iommu",
	[SNVME_DMA_BOUNCE] = "bounce",
};

static const char * const placements[] = {
	[SNVME_SQ_SEGMENT] = "lender",
	[SNVME_SQ_BORROWER] = "borrower",
	[SNVME_SQ_CMB] = "cmb",
};

/**
 * snvme_config_get() - the parameters of now, within their limits
 * @config: filled in
 *
 * Context: any.
 */
void snvme_config_get(struct snvme_config *config)
{
	*config = (struct snvme_config){
		.dma_mode = sysfs_match_string(dma_modes, dma_mode),
		.placement = sysfs_match_string(placements, sq_placement),
		.queues = queues,
		.poll_queues = min(poll_queues, num_online_cpus()),
		.entries = clamp(queue_entries, 2U, 4096U),
		.max_bytes = round_down(clamp(max_kib, 4U, 2048U) * SZ_1K,
					NVME_CTRL_PAGE_SIZE),
		.bounce_bytes = clamp(bounce_kib, 4U, 65536U) * SZ_1K,
		.sgl_threshold = READ_ONCE(sgl_threshold),
		.dev_loss_tmo = max(READ_ONCE(dev_loss_tmo), -1),
		.path_iostats = READ_ONCE(path_iostats),
	};
}

static int snvme_config_check(void)
{
	if (sysfs_match_string(dma_modes, dma_mode) < 0) {
		pr_err("smartio_nvme: dma_mode=%s is neither iommu nor bounce\n",
		       dma_mode);
		return -EINVAL;
	}
	if (sysfs_match_string(placements, sq_placement) < 0) {
		pr_err("smartio_nvme: sq_placement=%s is none of lender, borrower, cmb\n",
		       sq_placement);
		return -EINVAL;
	}
	return 0;
}

static int snvme_probe(struct smartio_device *sdev)
{
	struct snvme_client *client;

	client = kzalloc(sizeof(*client), GFP_KERNEL);
	if (!client)
		return -ENOMEM;
	client->sdev = sdev;
	snvme_client_init(client);
	/* Names of workqueues are short. */
	client->wq = alloc_ordered_workqueue("smartio_nvme-%s", WQ_MEM_RECLAIM,
					     sdev->link_name);
	client->calls = alloc_workqueue("smartio_nvme-c-%s",
					WQ_MEM_RECLAIM | WQ_UNBOUND, 0,
					sdev->link_name);
	if (!client->wq || !client->calls) {
		if (client->wq)
			destroy_workqueue(client->wq);
		kfree(client);
		return -ENOMEM;
	}
	dev_set_drvdata(&sdev->dev, client);
	snvme_drive_add(client);
	/* If it can be had already; else SMARTIO_READY says when. */
	if (smartio_link_up(sdev))
		snvme_client_kick(client);
	return 0;
}

static void snvme_remove(struct smartio_device *sdev)
{
	struct snvme_client *client = dev_get_drvdata(&sdev->dev);
	struct snvme_path *path;

	client->removing = true;
	/* Whatever a join waits for now fails. */
	path = snvme_client_path(client);
	if (path) {
		snvme_path_lose(path, SNVME_LOSS_REMOVED);
		nvme_put_ctrl(&path->ctrl);
	}
	cancel_delayed_work_sync(&client->join_work);
	path = snvme_client_path(client);
	if (path) {
		/* Fails if a user deletes it already: wait for that one. */
		nvme_delete_ctrl(&path->ctrl);
		while (!wait_event_timeout(client->gone,
					   !READ_ONCE(client->path), 60 * HZ))
			dev_warn(&sdev->dev,
				 "waiting for the removal of nvme%d\n",
				 path->ctrl.instance);
		flush_work(&path->ctrl.delete_work);
		nvme_put_ctrl(&path->ctrl);
		/* who deleted it has let go of the client, too */
		spin_lock(&client->lock);
		spin_unlock(&client->lock);
	}
	snvme_drive_remove(client);
	cancel_delayed_work_sync(&client->join_work);
	destroy_workqueue(client->calls);
	destroy_workqueue(client->wq);
	kfree(client);
}

static void snvme_event(struct smartio_device *sdev, enum smartio_event event)
{
	struct snvme_client *client = dev_get_drvdata(&sdev->dev);
	struct snvme_path *path;

	if (event == SMARTIO_READY) {
		snvme_client_kick(client);
		return;
	}
	path = snvme_client_path(client);
	if (!path)
		return;
	snvme_path_lose(path, smartio_link_up(sdev) ?
			SNVME_LOSS_LENDER : SNVME_LOSS_LINK);
	nvme_put_ctrl(&path->ctrl);
}

static void snvme_notify(struct smartio_device *sdev, const void *message,
			 size_t size)
{
	struct snvme_client *client = dev_get_drvdata(&sdev->dev);
	const struct snvme_event_note *note = message;
	struct snvme_path *path;

	BUILD_BUG_ON(sizeof(struct snvme_access_note) != sizeof(*note));
	if (size < sizeof(*note))
		return;
	path = snvme_client_path(client);
	if (!path)
		return;
	switch (le16_to_cpu(note->note)) {
	case SNVME_NOTE_EVENT:
		snvme_path_event(path, le32_to_cpu(note->result));
		break;
	case SNVME_NOTE_ACCESS:
		snvme_access_changed(path);
		break;
	default:	/* of a later version: nothing depends on it */
		break;
	}
	nvme_put_ctrl(&path->ctrl);
}

static struct smartio_driver snvme_driver = {
	.driver = {
		.name = "smartio_nvme",
		.owner = THIS_MODULE,
	},
	.service = SNVME_SERVICE,
	.probe = snvme_probe,
	.remove = snvme_remove,
	.event = snvme_event,
	.notify = snvme_notify,
};

static int __init snvme_init(void)
{
	int ret = snvme_config_check();

	if (ret)
		return ret;
	snvme_host_init();
	return smartio_register_driver(&snvme_driver);
}

static void __exit snvme_exit(void)
{
	smartio_unregister_driver(&snvme_driver);
	snvme_paths_wait();
	snvme_drives_exit();
}

module_init(snvme_init);
module_exit(snvme_exit);

MODULE_DESCRIPTION("NVMe drives of other hosts over PCIe NTBs: the client");
MODULE_ALIAS("smartio:" SNVME_SERVICE);
MODULE_LICENSE("GPL");
