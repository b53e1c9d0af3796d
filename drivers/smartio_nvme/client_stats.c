// SPDX-License-Identifier: GPL-2.0
/* /sys/class/nvme/nvmeN/smartio/: what a path has been through. */
#include "client.h"

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

static const char * const snvme_placements[] = {
	[SNVME_SQ_SEGMENT] = "lender",
	[SNVME_SQ_BORROWER] = "borrower",
	[SNVME_SQ_CMB] = "cmb",
};

/* One line a queue pair that is open. */
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
		how = q->polled ? "poll" : q->timed ? "timer" : "irq";
		len += sysfs_emit_at(buf, len,
				     "queue=%u qid=%u entries=%u sq=%s completions=%s virq=%u interrupts=%llu submitted=%llu completed=%llu\n",
				     i, q->qid, q->entries,
				     snvme_placements[path->config.placement],
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
			  atomic_long_read(&snvme_from_dev(dev)->stats[a->stat]));
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

const struct attribute_group snvme_stats_group = {
	.name = "smartio",
	.attrs = snvme_stats_attrs,
};
