// SPDX-License-Identifier: GPL-2.0
/*
 * A path as nvme-core sees it: a controller with registers (in memory), events
 * (from the manager) and a way to be reset and deleted.
 *
 * It isn't a fabrics controller (no Connect, no keep-alive), but has options
 * as one has: deletion by a user and the time-outs in sysfs need them.
 */
#include <linux/dmi.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "client.h"

/* How long a reset by a user waits for the path to come back. */
#define SNVME_RESET_S	30
/* How soon a module reference goes after the last user of a disk. */
#define SNVME_PIN_MS	50

static struct nvmf_host snvme_host;	/* hostnqn and hostid in sysfs */
static atomic_t snvme_paths = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(snvme_paths_gone);

/**
 * snvme_host_init() - who this host is, for sysfs
 *
 * Context: module initialisation.
 */
void snvme_host_init(void)
{
	const char *uuid = dmi_get_system_info(DMI_PRODUCT_UUID);

	kref_init(&snvme_host.ref);
	if (!uuid || uuid_parse(uuid, &snvme_host.id))
		uuid_gen(&snvme_host.id);
	snprintf(snvme_host.nqn, sizeof(snvme_host.nqn),
		 "nqn.2014-08.org.nvmexpress:uuid:%pUb", &snvme_host.id);
}

/**
 * snvme_paths_wait() - until the last path is freed
 *
 * Context: module exit, after the driver was unregistered.
 */
void snvme_paths_wait(void)
{
	while (!wait_event_timeout(snvme_paths_gone,
				   !atomic_read(&snvme_paths), 30 * HZ))
		pr_warn("smartio_nvme: %d controllers are still referenced\n",
			atomic_read(&snvme_paths));
}

/* ---- registers ---- */

static int snvme_reg_read32(struct nvme_ctrl *ctrl, u32 off, u32 *val)
{
	struct snvme_path *path = to_snvme_path(ctrl);

	switch (off) {
	case NVME_REG_VS:
		*val = path->limits.vs;
		return 0;
	case NVME_REG_CSTS:
		/* A way that is lost reads as a device that is gone does. */
		if (READ_ONCE(path->state) == SNVME_LOST)
			*val = ~0;
		else if (path->cc & NVME_CC_ENABLE)
			*val = NVME_CSTS_RDY;
		else
			*val = 0;
		if (*val != ~0 && path->cc & NVME_CC_SHN_MASK)
			*val |= NVME_CSTS_SHST_CMPLT;
		return 0;
	}
	*val = 0;
	return 0;
}

static int snvme_reg_read64(struct nvme_ctrl *ctrl, u32 off, u64 *val)
{
	*val = off == NVME_REG_CAP ? to_snvme_path(ctrl)->limits.cap : 0;
	return 0;
}

static int snvme_reg_write32(struct nvme_ctrl *ctrl, u32 off, u32 val)
{
	if (off == NVME_REG_CC)
		to_snvme_path(ctrl)->cc = val;
	return 0;
}

static int snvme_get_address(struct nvme_ctrl *ctrl, char *buf, int size)
{
	return scnprintf(buf, size, "traddr=%s\n",
			 to_snvme_path(ctrl)->traddr);
}

/* ---- events ---- */

static void snvme_event_deliver(struct snvme_path *path, u32 result)
{
	union nvme_result res = { .u32 = cpu_to_le32(result) };

	snvme_count(path, SNVME_STAT_EVENTS, 1);
	nvme_complete_async_event(&path->ctrl, 0, &res);
}

/* Nothing is sent: the manager has the real request out. */
static void snvme_submit_async_event(struct nvme_ctrl *ctrl)
{
	struct snvme_path *path = to_snvme_path(ctrl);
	unsigned long flags;
	bool deliver = false;
	u32 result = 0;

	spin_lock_irqsave(&path->lock, flags);
	if (path->events_count) {
		deliver = true;
		result = path->events[0];
		path->events_count--;
		memmove(path->events, path->events + 1,
			path->events_count * sizeof(path->events[0]));
	} else {
		path->aer_armed = true;
	}
	spin_unlock_irqrestore(&path->lock, flags);
	if (deliver)
		snvme_event_deliver(path, result);
}

/**
 * snvme_path_event() - an event that the manager tells of
 * @path: for which
 * @result: dword 0 of the completion
 *
 * One that comes while nvme-core has no request out waits for the next, as
 * the controller would do it; one of a kind is enough.
 *
 * Context: process.
 */
void snvme_path_event(struct snvme_path *path, u32 result)
{
	bool deliver = false;
	unsigned long flags;
	unsigned int i;

	/* Firmware activation: the manager ends the sessions for it. */
	if ((result & 7) == NVME_AER_NOTICE &&
	    (result & 0xff00) >> 8 == NVME_AER_NOTICE_FW_ACT_STARTING)
		return;
	spin_lock_irqsave(&path->lock, flags);
	if (path->aer_armed) {
		path->aer_armed = false;
		deliver = true;
	} else {
		for (i = 0; i < path->events_count; i++)
			if (path->events[i] == result)
				break;
		if (i == path->events_count && i < SNVME_EVENTS)
			path->events[path->events_count++] = result;
	}
	spin_unlock_irqrestore(&path->lock, flags);
	if (deliver)
		snvme_event_deliver(path, result);
}

/* ---- a module reference while the disk is in use ---- */

/*
 * nvme-core's multipath disk holds none on us, and nobody tells us when it is
 * mounted: so I/O to a disk that somebody has claimed (a file system, a volume
 * manager, swap) takes one, and it goes soon after the last such user. See
 * docs/decisions.md.
 */
static bool snvme_path_in_use(struct snvme_path *path)
{
	struct nvme_ctrl *ctrl = &path->ctrl;
	struct nvme_ns *ns;
	bool used = false;
	int idx;

	idx = srcu_read_lock(&ctrl->srcu);
	list_for_each_entry_srcu(ns, &ctrl->namespaces, list,
				 srcu_read_lock_held(&ctrl->srcu))
		used |= snvme_ns_claimed(ns);
	srcu_read_unlock(&ctrl->srcu, idx);
	return used;
}

static void snvme_path_unpin(struct snvme_path *path)
{
	if (test_and_clear_bit(0, &path->pinned))
		module_put(THIS_MODULE);
}

static void snvme_pin_work(struct work_struct *work)
{
	struct snvme_path *path = container_of(to_delayed_work(work),
					       struct snvme_path, pin_work);

	if (snvme_path_in_use(path))
		schedule_delayed_work(&path->pin_work,
				      msecs_to_jiffies(SNVME_PIN_MS));
	else
		snvme_path_unpin(path);
}

/**
 * snvme_path_pin() - I/O goes to a claimed disk over a path that has no
 * reference on this module
 * @path: the path
 *
 * Context: any.
 */
void snvme_path_pin(struct snvme_path *path)
{
	if (test_and_set_bit(0, &path->pinned))
		return;
	if (try_module_get(THIS_MODULE))
		schedule_delayed_work(&path->pin_work,
				      msecs_to_jiffies(SNVME_PIN_MS));
	else
		clear_bit(0, &path->pinned);
}

/* ---- reset, deletion ---- */

/*
 * sysfs waits for this, and wants the controller live then; deletion waits for
 * it too. So it has an end.
 */
static void snvme_reset_work(struct work_struct *work)
{
	struct nvme_ctrl *ctrl = container_of(work, struct nvme_ctrl,
					      reset_work);

	snvme_path_lose(to_snvme_path(ctrl), SNVME_LOSS_RESET);
	if (!wait_event_timeout(ctrl->state_wq,
				nvme_ctrl_state(ctrl) == NVME_CTRL_LIVE ||
				nvme_state_terminal(ctrl), SNVME_RESET_S * HZ))
		dev_warn(ctrl->device,
			 "reset: not back after %u s, still trying\n",
			 SNVME_RESET_S);
}

static void snvme_stop_ctrl(struct nvme_ctrl *ctrl)
{
	snvme_path_leave(to_snvme_path(ctrl));
}

static void snvme_path_release(struct snvme_path *path)
{
	struct nvme_ctrl *ctrl = &path->ctrl;
	unsigned int i;

	cancel_delayed_work_sync(&path->pin_work);
	snvme_path_unpin(path);
	if (ctrl->tagset) {
		nvme_remove_io_tag_set(ctrl);
		ctrl->tagset = NULL;
	}
	if (ctrl->admin_tagset) {
		nvme_remove_admin_tag_set(ctrl);
		ctrl->admin_tagset = NULL;
	}
	for (i = 0; i < path->max_queues; i++)
		snvme_queue_free(&path->queues[i]);
	snvme_bounce_exit(path);
}

/* Then the client may make a new one; nothing of @path->sdev is used here. */
static void snvme_path_detach(struct snvme_path *path)
{
	struct snvme_client *client = path->client;

	/* all of it under the lock: once it is free the client may be, too */
	spin_lock(&client->lock);
	client->path = NULL;
	if (path->expelled && !client->removing)
		snvme_client_kick(client);
	wake_up_all(&client->gone);
	spin_unlock(&client->lock);
}

static void snvme_delete_ctrl(struct nvme_ctrl *ctrl)
{
	struct snvme_path *path = to_snvme_path(ctrl);
	struct snvme_client *client = path->client;

	snvme_path_release(path);
	if (!path->expelled)
		client->detached = true;
	snvme_path_detach(path);
	nvme_put_ctrl(ctrl);
}

static void snvme_free_ctrl(struct nvme_ctrl *ctrl)
{
	struct snvme_path *path = to_snvme_path(ctrl);

	snvme_access_exit(path);
	kvfree(path->queues);
	kfree(path);
	if (atomic_dec_and_test(&snvme_paths))
		wake_up_all(&snvme_paths_gone);
}

static const struct attribute_group *snvme_dev_attr_groups[] = {
	&nvme_dev_attrs_group,
	&snvme_stats_group,
	NULL
};

static const struct nvme_ctrl_ops snvme_ctrl_ops = {
	.name = "smartio",
	.module = THIS_MODULE,
	.dev_attr_groups = snvme_dev_attr_groups,
	.reg_read32 = snvme_reg_read32,
	.reg_write32 = snvme_reg_write32,
	.reg_read64 = snvme_reg_read64,
	.free_ctrl = snvme_free_ctrl,
	.submit_async_event = snvme_submit_async_event,
	.delete_ctrl = snvme_delete_ctrl,
	.stop_ctrl = snvme_stop_ctrl,
	.get_address = snvme_get_address,
};

/* ---- creation ---- */

static int snvme_path_resources(struct snvme_path *path)
{
	struct snvme_config *config = &path->config;
	unsigned int i, max, entries;
	int ret = 0;

	max = config->queues ?: num_online_cpus();
	max = min(max, num_online_cpus()) + config->poll_queues;
	entries = min_t(unsigned int, config->entries,
			path->limits.max_entries);
	entries = min_t(unsigned int, entries,
			NVME_CAP_MQES(path->limits.cap) + 1);
	path->queues = kvcalloc(max, sizeof(*path->queues), GFP_KERNEL);
	if (!path->queues)
		return -ENOMEM;
	path->max_queues = max;
	for (i = 0; i < max && !ret; i++)
		ret = snvme_queue_alloc(&path->queues[i], path, i, entries);
	if (!ret && config->dma_mode == SNVME_DMA_BOUNCE)
		ret = snvme_bounce_init(path);
	return ret;
}

static void snvme_path_options(struct snvme_path *path)
{
	strscpy(path->traddr, dev_name(&path->sdev->dev));
	path->opts = (struct nvmf_ctrl_options){
		.transport = "smartio",
		.traddr = path->traddr,
		.subsysnqn = path->limits.subnqn,
		.host = &snvme_host,
		.max_reconnects = -1,
		.reconnect_delay = 1,
		.fast_io_fail_tmo = path->config.dev_loss_tmo,
	};
	path->ctrl.opts = &path->opts;
}

/**
 * snvme_path_create() - a controller for a session that was granted
 * @client: has none; a session is open
 * @limits: of the session
 *
 * Context: process, may sleep; on client->wq.
 * Return: it, in client->path; or an ERR_PTR.
 */
struct snvme_path *snvme_path_create(struct snvme_client *client,
				     const struct snvme_limits *limits)
{
	struct smartio_device *sdev = client->sdev;
	struct snvme_path *path;
	struct nvme_ctrl *ctrl;
	int ret;

	path = kzalloc(sizeof(*path), GFP_KERNEL);
	if (!path)
		return ERR_PTR(-ENOMEM);
	ctrl = &path->ctrl;
	path->client = client;
	path->sdev = sdev;
	path->limits = *limits;
	path->era = sdev->era;
	path->dma_dev = smartio_dma_device(sdev);
	snvme_config_get(&path->config);
	path->max_bytes = min3(path->config.max_bytes, limits->max_bytes,
			       (u32)SNVME_MAX_BYTES);
	snvme_path_init(path);
	INIT_DELAYED_WORK(&path->pin_work, snvme_pin_work);
	INIT_WORK(&ctrl->reset_work, snvme_reset_work);
	snvme_path_options(path);
	ret = nvme_init_ctrl(ctrl, &sdev->dev, &snvme_ctrl_ops,
			     limits->quirks);
	if (ret) {
		kfree(path);
		return ERR_PTR(ret);
	}
	atomic_inc(&snvme_paths);
	ctrl->numa_node = dev_to_node(path->dma_dev);
	if (path->config.dma_mode == SNVME_DMA_MAP &&
	    !smartio_dma_scattered(sdev)) {
		dev_info(&sdev->dev,
			 "no IOMMU here: data is copied through memory made for it\n");
		path->config.dma_mode = SNVME_DMA_BOUNCE;
	}
	ret = snvme_path_resources(path);
	if (ret)
		goto release;
	/* Before anybody sees it: what is NEW can't be deleted. */
	nvme_change_ctrl_state(ctrl, NVME_CTRL_CONNECTING);
	ret = nvme_add_ctrl(ctrl);
	if (ret)
		goto release;
	spin_lock(&client->lock);
	client->path = path;
	spin_unlock(&client->lock);
	return path;

release:
	snvme_path_release(path);
	nvme_put_ctrl(ctrl);
	return ERR_PTR(ret);
}

/**
 * snvme_path_discard() - take back a path that never was up
 * @path: lost and revoked, or never joined; no user could do anything with it
 *
 * Context: process, may sleep; on client->wq.
 */
void snvme_path_discard(struct snvme_path *path)
{
	struct nvme_ctrl *ctrl = &path->ctrl;

	snvme_path_close(path);
	flush_work(&ctrl->async_event_work);
	snvme_path_release(path);
	snvme_path_detach(path);
	nvme_uninit_ctrl(ctrl);
	nvme_put_ctrl(ctrl);
}
