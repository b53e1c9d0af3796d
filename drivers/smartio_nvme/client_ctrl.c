// SPDX-License-Identifier: GPL-2.0
/*
 * A path as nvme-core sees it: a controller with registers (in memory), events
 * (from the manager), and functions that reset and delete it; its parameters,
 * and its counters in sysfs.
 */
#include <linux/dmi.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "client.h"

/* How long a reset by a user waits for the path to come back. */
#define SNVME_RESET_S	30

static struct nvmf_host snvme_host;	/* hostnqn and hostid in sysfs */
static atomic_t snvme_paths = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(snvme_paths_gone);

/* ---- module parameters ---- */

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
MODULE_PARM_DESC(bounce_kib, "memory of a path to copy data through, in KiB");

static unsigned int sgl_threshold = 8192;
module_param(sgl_threshold, uint, 0644);
MODULE_PARM_DESC(sgl_threshold,
		 "use an SGL for data in one piece of at least so many bytes that needs more than two PRPs; 0: never");

static int dev_loss_tmo = -1;
module_param(dev_loss_tmo, int, 0644);
MODULE_PARM_DESC(dev_loss_tmo,
		 "seconds after which I/O of a lost path fails, for new paths; -1: never (of a path: fast_io_fail_tmo)");

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

/* The parameters of now, within their limits. */
static void snvme_config_get(struct snvme_config *config)
{
	*config = (struct snvme_config){
		.dma_mode = sysfs_match_string(dma_modes, dma_mode),
		.placement = sysfs_match_string(placements, sq_placement),
		.queues = queues,
		.poll_queues = min(poll_queues, num_present_cpus()),
		.entries = clamp(queue_entries, 2U, 4096U),
		.max_bytes = round_down(clamp(max_kib, 4U, 2048U) * SZ_1K,
					NVME_CTRL_PAGE_SIZE),
		.bounce_bytes = clamp(bounce_kib, 4U, 65536U) * SZ_1K,
		.sgl_threshold = READ_ONCE(sgl_threshold),
		/* nvme-core has it in jiffies, in an int */
		.dev_loss_tmo = clamp(READ_ONCE(dev_loss_tmo), -1, INT_MAX / HZ),
		.path_iostats = READ_ONCE(path_iostats),
	};
}

/* Checks the parameters that are words, and logs a wrong one. */
int snvme_config_check(void)
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

/* ---- registers ---- */

static int snvme_reg_read32(struct nvme_ctrl *ctrl, u32 off, u32 *val)
{
	struct snvme_path *path = to_snvme_path(ctrl);

	switch (off) {
	case NVME_REG_VS:
		*val = path->limits.vs;
		return 0;
	case NVME_REG_CSTS:
		/* A lost path reads as a device that was removed. */
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

/*
 * An event of the manager's; @result: dword 0 of the completion. One that comes
 * while nvme-core has no request out waits for the next, as the controller
 * would do it; one of a kind is enough.
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

/* ---- /sys/class/nvme/nvmeN/smartio/ ---- */

static struct snvme_path *snvme_from_dev(struct device *dev)
{
	struct nvme_ctrl *ctrl = dev_get_drvdata(dev);

	return to_snvme_path(ctrl);
}

static ssize_t path_state_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	struct snvme_path *path = snvme_from_dev(dev);

	return sysfs_emit(buf, "%s\n",
			  snvme_state_names[READ_ONCE(path->state)]);
}
static DEVICE_ATTR_RO(path_state);

static ssize_t dma_mode_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	struct snvme_path *path = snvme_from_dev(dev);

	return sysfs_emit(buf, "%s\n",
			  path->config.dma_mode == SNVME_DMA_BOUNCE ?
			  "bounce" : "iommu");
}
static DEVICE_ATTR_RO(dma_mode);

/* One line for each queue pair that is open. */
static ssize_t queues_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct snvme_path *path = snvme_from_dev(dev);
	const char *how;
	unsigned int i;
	int len = 0;

	for (i = 0; i < path->max_queues; i++) {
		struct snvme_queue *q = &path->queues[i];

		if (!READ_ONCE(q->qid))
			continue;
		how = q->polled ? "poll" : q->timed ? "timer" :
		      q->irq.way == SMARTIO_IRQ_DOORBELL ? "doorbell" : "irq";
		len += sysfs_emit_at(buf, len,
				     "queue=%u qid=%u entries=%u sq=%s completions=%s virq=%u interrupts=%llu submitted=%llu completed=%llu\n",
				     i, q->qid, q->entries,
				     placements[path->config.placement],
				     how, q->polled || q->timed ? 0 : q->irq.virq,
				     READ_ONCE(q->interrupts),
				     READ_ONCE(q->submitted),
				     READ_ONCE(q->completed));
	}
	return len;
}
static DEVICE_ATTR_RO(queues);

struct snvme_stat_attribute {
	struct device_attribute attr;
	enum snvme_stat stat;
};

static ssize_t snvme_stat_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	struct snvme_stat_attribute *a =
		container_of(attr, struct snvme_stat_attribute, attr);

	return sysfs_emit(buf, "%ld\n",
			  snvme_counted(snvme_from_dev(dev), a->stat));
}

#define SNVME_STAT(_name, _stat)					\
	static struct snvme_stat_attribute snvme_attr_##_name = {	\
		.attr = __ATTR(_name, 0444, snvme_stat_show, NULL),	\
		.stat = _stat,						\
	}

SNVME_STAT(losses, SNVME_STAT_LOSSES);
SNVME_STAT(joins, SNVME_STAT_JOINS);
SNVME_STAT(held, SNVME_STAT_HELD);
SNVME_STAT(reaped_late, SNVME_STAT_REAPED_LATE);
SNVME_STAT(given_back, SNVME_STAT_CANCELLED);
SNVME_STAT(failed, SNVME_STAT_FAILED);
SNVME_STAT(flushes_elsewhere, SNVME_STAT_FLUSHES_ELSEWHERE);
SNVME_STAT(timeouts, SNVME_STAT_TIMEOUTS);
SNVME_STAT(timeouts_held, SNVME_STAT_TIMEOUTS_HELD);
SNVME_STAT(timeouts_reaped, SNVME_STAT_TIMEOUTS_REAPED);
SNVME_STAT(aborts, SNVME_STAT_ABORTS);
SNVME_STAT(bounced_requests, SNVME_STAT_BOUNCED);
SNVME_STAT(bounced_bytes, SNVME_STAT_BOUNCED_BYTES);
SNVME_STAT(bounce_full, SNVME_STAT_BOUNCE_FULL);
SNVME_STAT(prp_lists, SNVME_STAT_LISTS);
SNVME_STAT(sgls, SNVME_STAT_SGLS);
SNVME_STAT(async_events, SNVME_STAT_EVENTS);

static struct attribute *snvme_stats_attrs[] = {
	&dev_attr_path_state.attr,
	&dev_attr_dma_mode.attr,
	&dev_attr_queues.attr,
	&snvme_attr_losses.attr.attr,
	&snvme_attr_joins.attr.attr,
	&snvme_attr_held.attr.attr,
	&snvme_attr_reaped_late.attr.attr,
	&snvme_attr_given_back.attr.attr,
	&snvme_attr_failed.attr.attr,
	&snvme_attr_flushes_elsewhere.attr.attr,
	&snvme_attr_timeouts.attr.attr,
	&snvme_attr_timeouts_held.attr.attr,
	&snvme_attr_timeouts_reaped.attr.attr,
	&snvme_attr_aborts.attr.attr,
	&snvme_attr_bounced_requests.attr.attr,
	&snvme_attr_bounced_bytes.attr.attr,
	&snvme_attr_bounce_full.attr.attr,
	&snvme_attr_prp_lists.attr.attr,
	&snvme_attr_sgls.attr.attr,
	&snvme_attr_async_events.attr.attr,
	NULL
};

static const struct attribute_group snvme_stats_group = {
	.name = "smartio",
	.attrs = snvme_stats_attrs,
};

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
	if (!snvme_core_wait_state(ctrl,
				   nvme_ctrl_state(ctrl) == NVME_CTRL_LIVE ||
				   nvme_state_terminal(ctrl),
				   SNVME_RESET_S * HZ))
		dev_warn(ctrl->device,
			 "reset: not back after %u s, still trying\n",
			 SNVME_RESET_S);
}

static void snvme_stop_ctrl(struct nvme_ctrl *ctrl)
{
	struct snvme_path *path = to_snvme_path(ctrl);

	path->drive->leave(path);
}

/* The mirror of snvme_path_memory(), after an error, too. */
static void snvme_path_memory_free(struct snvme_path *path)
{
	unsigned int i;

	for (i = 0; i < path->max_queues; i++) {
		snvme_slots_free(&path->queues[i]);
		snvme_queue_free(&path->queues[i]);
	}
	snvme_bounce_exit(path);
}

static void snvme_path_release(struct snvme_path *path)
{
	struct nvme_ctrl *ctrl = &path->ctrl;

	snvme_io_exit(path);
	if (ctrl->tagset) {
		nvme_remove_io_tag_set(ctrl);
		ctrl->tagset = NULL;
	}
	if (ctrl->admin_tagset) {
		nvme_remove_admin_tag_set(ctrl);
		ctrl->admin_tagset = NULL;
	}
	snvme_path_memory_free(path);
}

static void snvme_delete_ctrl(struct nvme_ctrl *ctrl)
{
	struct snvme_path *path = to_snvme_path(ctrl);

	/* of events since nvme_stop_ctrl() flushed it; there are no more now */
	snvme_core_flush_events(ctrl);
	snvme_path_release(path);
	path->drive->gone(path);
	nvme_put_ctrl(ctrl);
}

static void snvme_path_free(struct snvme_path *path)
{
	snvme_access_exit(path);
	free_percpu(path->stats);
	kfree(path);
}

/* NULL: out of memory. */
static struct snvme_path *snvme_path_alloc(void)
{
	struct snvme_path *path = kzalloc(sizeof(*path), GFP_KERNEL);

	if (!path)
		return NULL;
	path->stats = alloc_percpu(struct snvme_stats);
	if (!snvme_access_init(path) && path->stats)
		return path;
	snvme_path_free(path);
	return NULL;
}

static void snvme_free_ctrl(struct nvme_ctrl *ctrl)
{
	struct snvme_path *path = to_snvme_path(ctrl);

	kvfree(path->queues);
	snvme_path_free(path);
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
	SNVME_CORE_VIRT_BOUNDARY
};

/* ---- creation ---- */

/* What stays between sessions: 0 or -ENOMEM. */
static int snvme_path_memory(struct snvme_path *path)
{
	unsigned int i, entries;
	int ret;

	entries = min_t(unsigned int, path->config.entries,
			path->limits.max_entries);
	entries = min_t(unsigned int, entries,
			NVME_CAP_MQES(path->limits.cap) + 1);
	entries = snvme_queue_entries(entries, path->max_bytes);
	for (i = 0; i < path->max_queues; i++) {
		ret = snvme_queue_alloc(&path->queues[i], path, i, entries,
					&snvme_io_queue_ops);
		if (ret)
			return ret;
	}
	if (path->config.dma_mode == SNVME_DMA_BOUNCE)
		return snvme_bounce_init(path);
	for (i = 0; i < path->max_queues; i++)
		snvme_slots_alloc(&path->queues[i]);
	return 0;
}

/*
 * The pool of a host without an IOMMU had no room: for the queues, or beside
 * them for the data. Return: whether less is worth an attempt.
 */
static bool snvme_path_smaller(struct snvme_path *path)
{
	bool queues_fit = path->queues[path->max_queues - 1].cq;
	unsigned int entries = path->queues[0].entries / 2;

	if (queues_fit && path->max_bytes / 2 >= SNVME_BYTES_MIN) {
		path->max_bytes = round_down(path->max_bytes / 2,
					     NVME_CTRL_PAGE_SIZE);
		path->small_requests = true;
		return true;
	}
	if (entries < SNVME_ENTRIES_MIN)
		return false;
	path->config.entries = entries;
	path->small_queues = true;
	return true;
}

/* 0; -ENOMEM; -ENOBUFS: not even the smallest sizes fit into the pool. */
static int snvme_path_resources(struct snvme_path *path)
{
	struct snvme_config *config = &path->config;
	unsigned int max;
	bool again;
	int ret;

	/*
	 * CPUs that are offline may come. A guest's possible CPUs are often far
	 * more than it ever has, and queue pairs are for other hosts, too.
	 */
	max = config->queues ?: num_present_cpus();
	max = min(max, num_present_cpus()) + config->poll_queues;
	path->queues = kvcalloc(max, sizeof(*path->queues), GFP_KERNEL);
	if (!path->queues)
		return -ENOMEM;
	path->max_queues = max;
	for (;;) {
		ret = snvme_path_memory(path);
		if (ret != -ENOMEM || smartio_dma_scattered(path->sdev))
			return ret;
		again = snvme_path_smaller(path);
		snvme_path_memory_free(path);
		if (!again)
			return -ENOBUFS;
	}
}

/*
 * Makes a controller for a session that was granted and is open. May sleep; on
 * client->wq. Return: it, or an ERR_PTR.
 */
struct snvme_path *snvme_path_create(struct snvme_client *client,
				     const struct snvme_drive_ops *drive,
				     const struct snvme_limits *limits)
{
	struct smartio_device *sdev = client->sdev;
	struct snvme_path *path;
	struct nvme_ctrl *ctrl;
	int ret;

	path = snvme_path_alloc();
	if (!path)
		return ERR_PTR(-ENOMEM);
	ctrl = &path->ctrl;
	path->client = client;
	path->drive = drive;
	path->wq = client->wq;
	path->calls = client->calls;
	path->sdev = sdev;
	path->limits = *limits;
	path->era = sdev->era;
	path->dma_dev = smartio_dma_device(sdev);
	snvme_config_get(&path->config);
	if (client->entries && client->entries < path->config.entries) {
		path->config.entries = client->entries;
		path->small_queues = true;
	}
	path->max_bytes = min3(path->config.max_bytes, limits->max_bytes,
			       (u32)SNVME_MAX_BYTES);
	snvme_io_init(path);
	snvme_path_init(path);
	INIT_WORK(&ctrl->reset_work, snvme_reset_work);
	strscpy(path->traddr, dev_name(&sdev->dev));
	snvme_core_options(ctrl, &path->opts, &snvme_host, path->traddr,
			   path->limits.subnqn, path->config.dev_loss_tmo);
	ret = nvme_init_ctrl(ctrl, &sdev->dev, &snvme_ctrl_ops,
			     limits->quirks);
	if (ret) {
		snvme_path_free(path);
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
	/* Before others see it: a NEW controller can't be deleted. */
	nvme_change_ctrl_state(ctrl, NVME_CTRL_CONNECTING);
	ret = nvme_add_ctrl(ctrl);
	if (!ret)
		return path;

release:
	snvme_path_release(path);
	nvme_put_ctrl(ctrl);
	return ERR_PTR(ret);
}

/*
 * Takes back a path that never was up: no user could do anything with it. It is
 * lost and revoked, or has never joined. May sleep; on client->wq.
 */
void snvme_path_discard(struct snvme_path *path)
{
	struct nvme_ctrl *ctrl = &path->ctrl;

	snvme_path_close(path);
	snvme_core_flush_events(ctrl);
	snvme_path_release(path);
	path->drive->gone(path);
	nvme_uninit_ctrl(ctrl);
	nvme_put_ctrl(ctrl);
}

/* ---- the module ---- */

/* This host's identity, for sysfs. */
void snvme_host_init(void)
{
	const char *uuid = dmi_get_system_info(DMI_PRODUCT_UUID);

	kref_init(&snvme_host.ref);
	if (!uuid || uuid_parse(uuid, &snvme_host.id))
		uuid_gen(&snvme_host.id);
	snprintf(snvme_host.nqn, sizeof(snvme_host.nqn),
		 "nqn.2014-08.org.nvmexpress:uuid:%pUb", &snvme_host.id);
}

/* Waits until the last path is freed, at module exit. */
void snvme_paths_wait(void)
{
	while (!wait_event_timeout(snvme_paths_gone,
				   !atomic_read(&snvme_paths), 30 * HZ))
		pr_warn("smartio_nvme: %d controllers are still referenced\n",
			atomic_read(&snvme_paths));
}
