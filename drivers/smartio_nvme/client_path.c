// SPDX-License-Identifier: GPL-2.0
/*
 * States of a path.
 *
 *            session granted              all queues created
 *   (none) ------------------> JOINING -----------------------> UP
 *                               ^   |                           |
 *            attached again     |   | lost                      | lost
 *                               |   v                           |
 *            REVOKED <------------ LOST <-----------------------+
 *         smartio_open(), smartio_revoke()
 *
 * Lost: the link is down, the lender ended the session, a command timed out
 * twice, or this host asked for a reset. After that nothing is sent, and
 * requests that were sent are held. The device may still work on them. So
 * neither may their memory be used again, nor may they be sent again by this or
 * another path.
 *
 * smartio_open() succeeds only when the lender has ended the old session. Over
 * another path to the drive, smartio_revoke() ends it, after this path's window
 * was shut. Then true completions are taken from the CQs, and all other
 * requests are given back to nvme-core, which sends them again.
 *
 * Losses and joins run on the client's ordered workqueue, one after another.
 */
#include <linux/delay.h>
#include <linux/group_cpus.h>
#include <linux/slab.h>
#include <linux/smartio_recovery.h>

#include "client.h"
#include "client_trace.h"

/* Until the first attempt after a loss. */
#define SNVME_RETRY_MS		100
/* Until the lender, which did not answer, is asked again. */
#define SNVME_REVOKE_AGAIN_S	1

const char * const snvme_state_names[] = {
	[SNVME_JOINING] = "joining",
	[SNVME_UP] = "up",
	[SNVME_LOST] = "lost",
	[SNVME_REVOKED] = "revoked",
};

static const char * const snvme_losses[] = {
	[SNVME_LOSS_LINK] = "the link is down",
	[SNVME_LOSS_LENDER] = "the lender ended the session",
	[SNVME_LOSS_TIMEOUT] = "a command timed out twice",
	[SNVME_LOSS_ACCESS] = "reservations are not known",
	[SNVME_LOSS_JOIN] = "it did not come up",
	[SNVME_LOSS_FENCED] = "this host is fenced",
	[SNVME_LOSS_RESET] = "reset by this host",
	[SNVME_LOSS_REMOVED] = "removed from this host",
};

/* Under path->lock. */
static void snvme_path_set(struct snvme_path *path, enum snvme_state state)
{
	lockdep_assert_held(&path->lock);
	trace_snvme_path_state(path, path->state, state,
			       state == SNVME_LOST ? path->why : "");
	WRITE_ONCE(path->state, state);
}

/* ---- loss ---- */

/*
 * The path can't be used any more. A join in progress fails soon; the rest is
 * left to lose_work. Any context.
 */
void snvme_path_lose(struct snvme_path *path, enum snvme_loss loss)
{
	unsigned long flags;

	spin_lock_irqsave(&path->lock, flags);
	if (path->closed) {
		spin_unlock_irqrestore(&path->lock, flags);
		return;
	}
	path->gen++;
	path->dropped = false;
	path->admin_live = false;
	/* After an attempt that failed snvme_join_later() does, with a pause. */
	path->rejoin |= loss != SNVME_LOSS_JOIN;
	if (path->state != SNVME_LOST) {
		path->why = snvme_losses[loss];
		path->requested = loss >= SNVME_LOSS_RESET;
		/* attempts that fail are no new losses */
		if (path->state == SNVME_UP || !path->started)
			path->lost_at = jiffies;
		snvme_count(path, SNVME_STAT_LOSSES, 1);
		snvme_path_set(path, SNVME_LOST);
	}
	snvme_relay_fail_all(path);
	queue_work(path->wq, &path->lose_work);
	spin_unlock_irqrestore(&path->lock, flags);
}

static bool snvme_count_started(struct request *rq, void *data)
{
	unsigned int *count = data;

	*count += blk_mq_request_started(rq) && !blk_mq_request_completed(rq);
	return true;
}

/* Number of requests that were sent and have no answer. */
unsigned int snvme_path_held(struct snvme_path *path)
{
	unsigned int count = 0;

	if (path->ctrl.tagset)
		blk_mq_tagset_busy_iter(path->ctrl.tagset, snvme_count_started,
					&count);
	return count;
}

/*
 * Does not wait for nvme-core's work for events, which may wait for memory. If
 * that work asks for an event only now, the next session has the request.
 * nvme-core flushes the work when the controller is deleted.
 */
static void snvme_drop_admin(struct snvme_path *path)
{
	struct nvme_ctrl *ctrl = &path->ctrl;

	if (ctrl->admin_tagset) {
		nvme_quiesce_admin_queue(ctrl);
		spin_lock_irq(&path->lock);
		snvme_relay_fail_all(path);
		spin_unlock_irq(&path->lock);
		blk_mq_tagset_wait_completed_request(ctrl->admin_tagset);
		nvme_unquiesce_admin_queue(ctrl);
	}
	spin_lock_irq(&path->lock);
	path->aer_armed = false;
	path->events_count = 0;
	spin_unlock_irq(&path->lock);
}

/*
 * Nothing is sent any more; requests that were sent are held. Those that
 * nvme-core has not started take another path by themselves from here on.
 *
 * The queues are not quiesced: a scan may add a namespace between quiesce and
 * unquiesce, at which blk-mq warns. The SQ's lock stops them. Then each running
 * queue_rq() is waited for: blk-mq calls it under rcu_read_lock(), since the tag
 * set has no BLK_MQ_F_BLOCKING. May sleep.
 */
void snvme_path_drop(struct snvme_path *path)
{
	struct nvme_ctrl *ctrl = &path->ctrl;
	unsigned int i;

	/* Fails unless LIVE. Before the queues stop being live. */
	nvme_change_ctrl_state(ctrl, NVME_CTRL_RESETTING);
	for (i = 0; i < path->max_queues; i++)
		snvme_queue_stop(&path->queues[i]);
	synchronize_rcu();
	snvme_drop_admin(path);
	/* Here, so that nvme-core's fast_io_fail_tmo counts from the loss. */
	nvme_change_ctrl_state(ctrl, NVME_CTRL_CONNECTING);
}

/*
 * This host's lender ends the session. The queues stop at once, and the loss
 * follows. Beside all other work of the path; doesn't wait for it.
 */
void snvme_path_stop(struct snvme_path *path)
{
	unsigned int i;

	for (i = 0; i < path->max_queues; i++)
		snvme_queue_end(&path->queues[i], true);
}

/* A session is about to be opened; the one before is closed. */
void snvme_path_may_start(struct snvme_path *path)
{
	unsigned int i;

	for (i = 0; i < path->max_queues; i++)
		snvme_queue_end(&path->queues[i], false);
}

/*
 * Once a loss: one that this host asked for is no warning. Of attempts that fail
 * one after another, the first.
 */
static void snvme_loss_log(struct snvme_path *path)
{
	unsigned int held = snvme_path_held(path);

	if (path->loss_logged)
		return;
	path->loss_logged = true;
	snvme_count(path, SNVME_STAT_HELD, held);
	if (!path->started)
		return;
	if (path->why == snvme_losses[SNVME_LOSS_JOIN]) {
		if (path->join_logged)
			return;
		path->join_logged = true;
	}
	dev_printk(path->requested ? KERN_INFO : KERN_WARNING, path->ctrl.device,
		   "path lost (%s), %u requests held\n", path->why, held);
}

/* ---- the end of held requests ---- */

static bool snvme_fail_request(struct request *rq, void *data)
{
	unsigned int *count = data;

	if (!blk_mq_request_started(rq) || blk_mq_request_completed(rq))
		return true;
	/* Another path does it; snvme_flush_hold() takes it back. */
	if (snvme_flush_is_elsewhere(rq))
		return true;
	nvme_req(rq)->status = NVME_SC_HOST_ABORTED_CMD | NVME_STATUS_DNR;
	nvme_req(rq)->flags |= NVME_REQ_CANCELLED;
	blk_mq_complete_request(rq);
	*count += 1;
	return true;
}

/* With errors that no path tries again. The window is shut. */
static void snvme_fail_held(struct snvme_path *path)
{
	unsigned int count = 0;

	if (!path->ctrl.tagset)
		return;
	snvme_flush_take_back(path);
	blk_mq_tagset_busy_iter(path->ctrl.tagset, snvme_fail_request, &count);
	blk_mq_tagset_wait_completed_request(path->ctrl.tagset);
	snvme_count(path, SNVME_STAT_FAILED, count);
	if (count)
		dev_warn(path->ctrl.device, "%u held requests failed\n", count);
}

/*
 * The device touches nothing of the old session any more. @retry: the lender
 * said so, so that another path may send again what is held; else that fails.
 * May sleep.
 */
void snvme_path_revoked(struct snvme_path *path, bool retry)
{
	unsigned int i, late = 0, held;

	retry &= !READ_ONCE(path->fenced);
	path->loss_logged = false;
	WRITE_ONCE(path->session, 0);
	cancel_delayed_work(&path->fail_work);
	for (i = 0; i < path->max_queues; i++)
		late += snvme_queue_reap_late(&path->queues[i]);
	held = snvme_path_held(path);
	snvme_count(path, SNVME_STAT_REAPED_LATE, late);
	snvme_flush_hold(path);
	if (retry) {
		snvme_count(path, SNVME_STAT_CANCELLED, held);
		snvme_core_may_wait(&path->ctrl);
		nvme_cancel_tagset(&path->ctrl);
	} else {
		snvme_fail_held(path);
	}
	snvme_flush_release(path);
	for (i = 0; i < path->max_queues; i++)
		snvme_queue_close(&path->queues[i]);
	spin_lock_irq(&path->lock);
	if (path->state == SNVME_LOST)
		snvme_path_set(path, SNVME_REVOKED);
	spin_unlock_irq(&path->lock);
	if (late || held)
		dev_info(path->ctrl.device,
			 "session over after %u ms: %u requests had completed, %u %s\n",
			 jiffies_to_msecs(jiffies - path->lost_at), late, held,
			 retry ? "given back" : "failed");
}

/*
 * Ends a lost path's session over another path: its own link may be down for
 * long. Its window is shut: lose_work has seen to it. May sleep for seconds.
 * Return: 0: the session is over, held requests were given back; else see
 * struct snvme_drive_ops.
 */
int snvme_path_revoke(struct snvme_path *path)
{
	int ret = path->ended ? 0 : path->drive->revoke(path);

	if (ret == -ESTALE) {
		WRITE_ONCE(path->fenced, true);
		snvme_path_lose(path, SNVME_LOSS_FENCED);
	} else if (ret) {
		return ret;
	}
	snvme_path_revoked(path, true);
	return 0;
}

static void snvme_revoke_do(struct work_struct *work)
{
	struct snvme_path *path = container_of(to_delayed_work(work),
					       struct snvme_path, revoke_work);
	int ret;

	if (!path->session || path->leaving || READ_ONCE(path->fenced) ||
	    READ_ONCE(path->state) != SNVME_LOST || !path->dropped)
		return;
	ret = snvme_path_revoke(path);
	if (ret && ret != -ENOLINK)
		mod_delayed_work(path->wq, &path->revoke_work,
				 SNVME_REVOKE_AGAIN_S * HZ);
}

static void snvme_revoke_work(struct work_struct *work)
{
	unsigned int flags = smartio_recovery_begin();

	snvme_revoke_do(work);
	smartio_recovery_end(flags);
}

/* Another path may be able to end a lost path's session. Any context. */
void snvme_path_failover(struct snvme_path *path)
{
	unsigned long flags;

	spin_lock_irqsave(&path->lock, flags);
	if (!path->closed)
		mod_delayed_work(path->wq, &path->revoke_work, 0);
	spin_unlock_irqrestore(&path->lock, flags);
}

/*
 * Held requests have waited long enough (dev_loss_tmo). They may only fail
 * when the device can't reach their memory: with the link up that is when the
 * lender has said so, which comes by smartio_open(). While the lender can be
 * asked over another path they wait for its answer: an application that sees a
 * write fail writes something newer, over that path.
 */
static void snvme_fail_do(struct work_struct *work)
{
	struct snvme_path *path = container_of(to_delayed_work(work),
					       struct snvme_path, fail_work);
	int ret = -ENOLINK;

	if (READ_ONCE(path->state) != SNVME_LOST || path->leaving)
		return;
	/* Lost again: lose_work is queued, and queues this after it. */
	if (!path->dropped)
		return;
	if (path->session)
		ret = snvme_path_revoke(path);
	if (!ret)
		return;
	if (ret != -ENOLINK || smartio_link_up(path->sdev))
		mod_delayed_work(path->wq, &path->fail_work, HZ);
	else
		snvme_fail_held(path);
}

static void snvme_fail_work(struct work_struct *work)
{
	unsigned int flags = smartio_recovery_begin();

	snvme_fail_do(work);
	smartio_recovery_end(flags);
}

/* Deletes the path, so that a new one may come; unless a user deletes it. */
void snvme_path_expel(struct snvme_path *path)
{
	if (!snvme_core_delete_begin(&path->ctrl))
		return;
	path->expelled = true;
	snvme_core_delete(&path->ctrl);
}

static void snvme_lose_do(struct work_struct *work)
{
	struct snvme_path *path = container_of(work, struct snvme_path,
					       lose_work);
	bool again, session, rejoin;
	unsigned int gen;
	int tmo;

	spin_lock_irq(&path->lock);
	gen = path->gen;
	again = path->state != SNVME_LOST && !path->fenced;
	spin_unlock_irq(&path->lock);
	if (again)
		return;
	snvme_path_drop(path);
	snvme_loss_log(path);
	session = smartio_session_id(path->sdev);
	smartio_close(path->sdev);
	path->ended = session && smartio_link_up(path->sdev);

	spin_lock_irq(&path->lock);
	if (gen == path->gen)
		path->dropped = true;
	rejoin = path->rejoin;
	path->rejoin = false;
	spin_unlock_irq(&path->lock);
	if (path->leaving)
		return;
	if (READ_ONCE(path->fenced)) {
		snvme_path_revoked(path, false);
		snvme_path_expel(path);
		return;
	}
	/* Lost again since: nothing was sent in between. */
	if (!path->session)
		snvme_path_revoked(path, true);
	snvme_path_failover(path);
	tmo = path->opts.fast_io_fail_tmo;
	if (tmo >= 0)
		mod_delayed_work(path->wq, &path->fail_work,
				 (unsigned long)tmo * HZ);
	if (rejoin)
		path->drive->rejoin(path, session ? 0 : SNVME_RETRY_MS);
}

static void snvme_lose_work(struct work_struct *work)
{
	unsigned int flags = smartio_recovery_begin();

	snvme_lose_do(work);
	smartio_recovery_end(flags);
}

/* @path: zeroed. */
void snvme_path_init(struct snvme_path *path)
{
	spin_lock_init(&path->lock);
	INIT_LIST_HEAD(&path->relays);
	INIT_WORK(&path->lose_work, snvme_lose_work);
	INIT_DELAYED_WORK(&path->revoke_work, snvme_revoke_work);
	INIT_DELAYED_WORK(&path->fail_work, snvme_fail_work);
	path->lose = snvme_path_lose;
	path->state = SNVME_JOINING;
	path->why = "";
}

/* No more losses; the last one is dealt with. May sleep; not in these works. */
void snvme_path_close(struct snvme_path *path)
{
	spin_lock_irq(&path->lock);
	path->closed = true;
	spin_unlock_irq(&path->lock);
	cancel_work_sync(&path->lose_work);
	cancel_delayed_work_sync(&path->revoke_work);
	cancel_delayed_work_sync(&path->fail_work);
}

/* ---- join; the order of steps is nvme-core's ---- */

static bool snvme_join_over(struct snvme_path *path, unsigned int gen)
{
	return gen != READ_ONCE(path->gen) || READ_ONCE(path->leaving);
}

/*
 * core's functions return the status of a command, or -EIO for any. If one got
 * no answer it is the path's loss, of which lose_work may not know yet.
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
 * How many queues of which kind. Fewer than before: the polled ones, which are
 * last in order, are dropped first, so that no queue changes its kind under a
 * request.
 */
static int snvme_join_count(struct snvme_path *path, unsigned int *queues,
			    unsigned int *poll)
{
	unsigned int granted = path->started ? path->nr_queues + path->nr_poll :
					       path->max_queues;
	int count = min_t(unsigned int, granted, path->limits.queue_pairs);
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

/*
 * The CPUs of each queue, those that blk-mq has for it, are found when their
 * number changes. Later kernels group CPUs otherwise while some are offline.
 * Interrupts would be made again then, which waits for CPU hotplug.
 */
static int snvme_join_queues(struct snvme_path *path, unsigned int queues,
			     unsigned int poll)
{
	bool same = path->started && queues == path->grouped;
	struct cpumask *masks = NULL;
	unsigned int i, made = 0;
	int ret = 0;

	if (!same) {
		masks = compat_group_cpus(queues, &made);
		path->grouped = 0;
	}
	for (i = 0; i < queues + poll && !ret; i++) {
		struct snvme_queue *q = &path->queues[i];
		const struct cpumask *cpus = NULL;

		if (i < queues && same)
			cpus = &q->irq_cpus;
		else if (i < queues && masks)
			cpus = &masks[i % made];
		ret = snvme_queue_open(q, i >= queues, cpus);
	}
	if (masks && !ret)
		path->grouped = queues;
	kfree(masks);
	return ret;
}

/*
 * blk-mq learns of another number of queues while no request is in any. The
 * flushes of those that the path has no more go through the others until then.
 * If blk-mq has no memory for that, its number stays. Then the path's stays,
 * too, so that the next attempt tries again: blk-mq would use queues that are
 * not open.
 */
static int snvme_join_renumber(struct snvme_path *path, unsigned int gen,
			       unsigned int queues, unsigned int poll)
{
	unsigned int old_queues = path->nr_queues, old_poll = path->nr_poll;
	struct nvme_ctrl *ctrl = &path->ctrl;
	int left = 0, tries, ret = 0;

	nvme_start_freeze(ctrl);
	for (tries = 0; tries < 50 && !left; tries++) {
		left = snvme_core_wait_freeze(ctrl, HZ / 10);
		if (snvme_join_over(path, gen))
			break;
	}
	/* Until the path is lost a flush may be on its way: as before. */
	if (left <= 0) {
		nvme_unfreeze(ctrl);
		if (!snvme_join_over(path, gen))
			dev_warn(ctrl->device,
				 "requests did not end, no new number of queues\n");
		return -EAGAIN;
	}
	WRITE_ONCE(path->renumbering, false);
	path->nr_queues = queues;
	path->nr_poll = poll;
	blk_mq_update_nr_hw_queues(ctrl->tagset, queues + poll);
	if (ctrl->tagset->nr_hw_queues != queues + poll) {
		path->nr_queues = old_queues;
		path->nr_poll = old_poll;
		ret = -ENOMEM;
	}
	nvme_unfreeze(ctrl);
	return ret;
}

static int snvme_join_io(struct snvme_path *path, unsigned int gen)
{
	struct nvme_ctrl *ctrl = &path->ctrl;
	unsigned int queues, poll, i;
	bool renumber;
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
		snvme_core_no_offline_wait(&path->io_tags);
	}
	renumber = queues != path->nr_queues || poll != path->nr_poll;
	WRITE_ONCE(path->renumbering, renumber);
	for (i = 0; i < queues + poll; i++)
		snvme_queue_start(&path->queues[i]);
	if (renumber)
		ret = snvme_join_renumber(path, gen, queues, poll);
	for (i = queues + poll; i < path->max_queues && !ret; i++)
		snvme_queue_unused(&path->queues[i]);
	return ret;
}

/*
 * Brings up a path, new or revoked, in an open session. @gen: from before that
 * was opened: a path that was lost since isn't joined. After an error the path
 * has to be lost, or discarded, as if it had been up. May sleep; on path->wq.
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
		ret = -EAGAIN;	/* other errors result from that */
	if (ret)
		return ret;
	path->drive->may_wait(path);
	/* Sleeps: with options it stops core's own time-outs. */
	if (!nvme_change_ctrl_state(ctrl, NVME_CTRL_LIVE))
		return -EAGAIN;
	spin_lock_irq(&path->lock);
	if (gen == path->gen)
		snvme_path_set(path, SNVME_UP);
	else
		ret = -EAGAIN;	/* lost just now, and that work finds us LIVE */
	spin_unlock_irq(&path->lock);
	if (!ret)
		path->join_logged = false;
	/* From LIVE on users may have it: it is deleted, never discarded. */
	path->started = true;
	if (ret)
		return ret;
	snvme_count(path, SNVME_STAT_JOINS, 1);
	nvme_start_ctrl(ctrl);
	if (!(snvme_core_events(ctrl) & NVME_AEN_CFG_NS_ATTR))
		snvme_core_request_event(ctrl);
	return 0;
}
