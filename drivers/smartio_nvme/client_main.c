// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_nvme.ko: NVMe drives that other hosts export, and this host's own
 * exported ones, as ordinary NVMe disks. This file: the driver on the bus
 * "smartio".
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "client.h"

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
		if (client->calls)
			destroy_workqueue(client->calls);
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
	/* A join that waits for something fails now. */
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
		snvme_core_delete_wait(&path->ctrl);
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

static void snvme_stop(struct smartio_device *sdev)
{
	struct snvme_client *client = dev_get_drvdata(&sdev->dev);
	struct snvme_path *path = snvme_client_path(client);

	if (!path)
		return;
	snvme_path_stop(path);
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
	.stop = snvme_stop,
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
