// SPDX-License-Identifier: GPL-2.0
/*
 * Bringing a path up in a session, for the first time or again. The order of
 * steps is nvme-core's: docs/ says what depends on it.
 */
#include <linux/delay.h>
#include <linux/group_cpus.h>
#include <linux/slab.h>

#include "client.h"

/**
 * snvme_limits_fit() - can a path go on in a session with these limits?
 * @path: was up once
 * @limits: of the new session
 *
 * Queue and request sizes are fixed when the path is made, since requests of
 * that size may wait. A queue pair less is no problem.
 *
 * Return: true or false.
 */
bool snvme_limits_fit(struct snvme_path *path,
		      const struct snvme_limits *limits)
{
	return !strcmp(limits->subnqn, path->limits.subnqn) &&
	       limits->max_bytes >= path->max_bytes &&
	       limits->max_entries >= path->queues[0].entries &&
	       NVME_CAP_MQES(limits->cap) + 1 >= path->queues[0].entries &&
	       limits->quirks == path->limits.quirks;
}

static bool snvme_join_over(struct snvme_path *path, unsigned int gen)
{
	return gen != READ_ONCE(path->gen) || READ_ONCE(path->leaving);
}

/*
 * What core's functions return is the status of a command, or -EIO whatever it
 * was. If one got no answer it is the path's loss, which lose_work may not have
 * heard of yet.
 */
static int snvme_join_error(struct snvme_path *path, int ret)
{
	if (ret <= 0 && ret != -EIO)
		return ret;
	return READ_ONCE(path->unanswered) ? -ENOLINK : -EIO;
}

static int snvme_join_admin(struct snvme_path *path, unsigned int gen)
{
	struct nvme_ctrl *ctrl = &path->ctrl;
	int ret;

	if (!ctrl->admin_tagset) {
		ret = nvme_alloc_admin_tag_set(ctrl, &path->admin_tags,
					       &snvme_admin_mq_ops,
					       snvme_admin_cmd_size());
		if (ret)
			return ret;
	}
	ret = nvme_enable_ctrl(ctrl);
	if (ret)
		return ret;
	spin_lock_irq(&path->lock);
	if (gen == path->gen && !path->leaving)
		path->admin_live = true;
	spin_unlock_irq(&path->lock);
	ctrl->sqsize = path->queues[0].entries - 1;
	ctrl->max_hw_sectors = path->max_bytes >> SECTOR_SHIFT;
	ctrl->max_segments = path->max_bytes / NVME_CTRL_PAGE_SIZE + 1;
	if (path->started) {
		ret = snvme_identity_check(path);
		if (ret)
			return ret;
	}
	return snvme_join_error(path, nvme_init_ctrl_finish(ctrl, false));
}

/*
 * How many queues of which kind. Fewer than before: first the polled ones, the
 * last in order, go, so that no queue changes its kind under a request.
 */
static int snvme_join_count(struct snvme_path *path, unsigned int *queues,
			    unsigned int *poll)
{
	int count = min_t(unsigned int, path->max_queues,
			  path->limits.queue_pairs);
	unsigned int granted;
	int ret;

	ret = nvme_set_queue_count(&path->ctrl, &count);
	if (ret)
		return snvme_join_error(path, ret);
	if (count <= 0)
		return -ENOSPC;
	granted = count;
	if (path->started) {
		*queues = min(granted, path->nr_queues);
		*poll = min(granted - *queues, path->nr_poll);
	} else {
		*poll = min(path->config.poll_queues, granted - 1);
		*queues = min(granted - *poll,
			      path->max_queues - path->config.poll_queues);
	}
	return 0;
}

static int snvme_join_queues(struct snvme_path *path, unsigned int queues,
			     unsigned int poll)
{
	struct cpumask *masks = group_cpus_evenly(queues);
	unsigned int i;
	int ret = 0;

	for (i = 0; i < queues + poll && !ret; i++)
		ret = snvme_queue_open(&path->queues[i], i >= queues,
				       masks && i < queues ? &masks[i] : NULL);
	kfree(masks);
	if (ret && !snvme_join_passes(ret))
		dev_err(path->ctrl.device, "queue pair %u of %u: %d\n", i,
			queues + poll, ret);
	return ret;
}

/* blk-mq learns of another number of queues while no request is in any. */
static int snvme_join_renumber(struct snvme_path *path, unsigned int gen,
			       unsigned int queues, unsigned int poll)
{
	struct nvme_ctrl *ctrl = &path->ctrl;
	int left = 0, tries;

	nvme_start_freeze(ctrl);
	for (tries = 0; tries < 50 && !left; tries++) {
		left = nvme_wait_freeze_timeout(ctrl, HZ / 10);
		if (snvme_join_over(path, gen))
			break;
	}
	if (left <= 0) {
		nvme_unfreeze(ctrl);
		if (!snvme_join_over(path, gen))
			dev_warn(ctrl->device,
				 "requests did not end, no new number of queues\n");
		return -EAGAIN;
	}
	path->nr_queues = queues;
	path->nr_poll = poll;
	blk_mq_update_nr_hw_queues(ctrl->tagset, queues + poll);
	nvme_unfreeze(ctrl);
	return 0;
}

static int snvme_join_io(struct snvme_path *path, unsigned int gen)
{
	struct nvme_ctrl *ctrl = &path->ctrl;
	unsigned int queues, poll, i;
	int ret;

	ret = snvme_access_fetch(path);
	if (!ret)
		ret = snvme_join_count(path, &queues, &poll);
	if (!ret)
		ret = snvme_join_queues(path, queues, poll);
	if (ret)
		return ret;
	ctrl->queue_count = queues + poll + 1;
	if (!ctrl->tagset) {
		path->nr_queues = queues;
		path->nr_poll = poll;
		ret = nvme_alloc_io_tag_set(ctrl, &path->io_tags,
					    &snvme_io_mq_ops,
					    path->config.poll_queues ?
					    HCTX_MAX_TYPES : 1,
					    snvme_io_cmd_size(path));
		if (ret)
			return ret;
	}
	for (i = 0; i < queues + poll; i++)
		snvme_queue_start(&path->queues[i]);
	if (queues != path->nr_queues || poll != path->nr_poll)
		return snvme_join_renumber(path, gen, queues, poll);
	return 0;
}

/**
 * snvme_path_join() - bring a path up
 * @path: new, or revoked; a session is open
 * @gen: of before that was opened: if it was lost since, it isn't joined
 * @limits: of the session
 *
 * On an error it has to be lost, or discarded, as if it had been up.
 *
 * Context: process, may sleep; on client->wq.
 * Return: 0; -ESTALE: it is another drive; another negative error.
 */
int snvme_path_join(struct snvme_path *path, unsigned int gen,
		    const struct snvme_limits *limits)
{
	struct nvme_ctrl *ctrl = &path->ctrl;
	int ret = 0;

	spin_lock_irq(&path->lock);
	if (gen == path->gen) {
		snvme_path_set(path, SNVME_JOINING);
		path->unanswered = false;
		path->limits = *limits;
	} else {
		ret = -EAGAIN;
	}
	spin_unlock_irq(&path->lock);
	if (ret)
		return ret;

	ret = snvme_join_admin(path, gen);
	if (!ret)
		ret = snvme_join_io(path, gen);
	if (snvme_join_over(path, gen) && ret != -ESTALE)
		ret = -EAGAIN;	/* whatever else failed, failed for that */
	if (ret)
		return ret;
	snvme_drive_may_wait(path->client);
	/* Sleeps: with options it stops core's own time-outs. */
	if (!nvme_change_ctrl_state(ctrl, NVME_CTRL_LIVE))
		return -EAGAIN;
	spin_lock_irq(&path->lock);
	if (gen == path->gen)
		snvme_path_set(path, SNVME_UP);
	else
		ret = -EAGAIN;	/* lost just now, and that work finds us LIVE */
	spin_unlock_irq(&path->lock);
	/* From LIVE on users may have it: it is deleted, never discarded. */
	path->started = true;
	if (ret)
		return ret;
	snvme_count(path, SNVME_STAT_JOINS, 1);
	nvme_start_ctrl(ctrl);
	/* core asks for events only if there are some that it can enable */
	if (!(ctrl->oaes & NVME_AEN_CFG_NS_ATTR))
		queue_work(nvme_wq, &ctrl->async_event_work);
	return 0;
}
