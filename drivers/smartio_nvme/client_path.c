// SPDX-License-Identifier: GPL-2.0
/*
 * What happens to a path.
 *
 *            session granted              all queues created
 *   (none) ------------------> JOINING -----------------------> UP
 *                               ^   |                           |
 *            attached again     |   | lost                      | lost
 *                               |   v                           |
 *            REVOKED <------------ LOST <-----------------------+
 *         smartio_open(), smartio_revoke()
 *
 * Lost: the link went down, the lender ended the session, a command timed out
 * twice, or somebody wants a reset. From then on nothing is sent, and requests
 * that were are held: the device may still work on them, so neither may their
 * memory be used again, nor may they be sent again by this or another path.
 *
 * smartio_open() succeeds only when the lender has ended the old session; over
 * another way to the drive smartio_revoke() ends it, after this one's window
 * was shut. Then true completions are taken from the CQs, and all other
 * requests are given back to nvme-core, which sends them again.
 *
 * Losses and joins run on the client's ordered workqueue, one after another.
 */
#include "client.h"
#include "client_trace.h"

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
	[SNVME_LOSS_JOIN] = "it did not come up",
	[SNVME_LOSS_FENCED] = "this host is fenced",
	[SNVME_LOSS_RESET] = "reset by this host",
	[SNVME_LOSS_REMOVED] = "removed from this host",
};

/**
 * snvme_client_path() - the path of a client
 * @client: the client
 *
 * Context: any.
 * Return: it, with a reference for nvme_put_ctrl(), or NULL.
 */
struct snvme_path *snvme_client_path(struct snvme_client *client)
{
	struct snvme_path *path;

	spin_lock(&client->lock);
	path = client->path;
	if (path)
		nvme_get_ctrl(&path->ctrl);
	spin_unlock(&client->lock);
	return path;
}

/**
 * snvme_path_set() - note a new state
 * @path: the path
 * @state: its state
 *
 * Context: under path->lock.
 */
void snvme_path_set(struct snvme_path *path, enum snvme_state state)
{
	lockdep_assert_held(&path->lock);
	trace_snvme_path_state(path, path->state, state,
			       state == SNVME_LOST ? path->why : "");
	WRITE_ONCE(path->state, state);
}

/**
 * snvme_path_lose() - the path can't be used any more
 * @path: the path
 * @loss: why
 *
 * A join that is under way fails soon; the rest is left to lose_work.
 *
 * Context: any.
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
	if (path->state != SNVME_LOST) {
		path->why = snvme_losses[loss];
		path->wanted = loss >= SNVME_LOSS_RESET;
		/* attempts that fail are no new losses */
		if (path->state == SNVME_UP || !path->started)
			path->lost_at = jiffies;
		snvme_count(path, SNVME_STAT_LOSSES, 1);
		snvme_path_set(path, SNVME_LOST);
	}
	snvme_relay_fail_all(path);
	queue_work(path->client->wq, &path->lose_work);
	spin_unlock_irqrestore(&path->lock, flags);
}

static bool snvme_count_started(struct request *rq, void *data)
{
	unsigned int *count = data;

	*count += blk_mq_request_started(rq) && !blk_mq_request_completed(rq);
	return true;
}

/**
 * snvme_path_held() - requests that were sent and have no answer
 * @path: the path
 *
 * Context: process.
 * Return: how many.
 */
unsigned int snvme_path_held(struct snvme_path *path)
{
	unsigned int count = 0;

	if (path->ctrl.tagset)
		blk_mq_tagset_busy_iter(path->ctrl.tagset, snvme_count_started,
					&count);
	return count;
}

static void snvme_drop_admin(struct snvme_path *path)
{
	struct nvme_ctrl *ctrl = &path->ctrl;

	flush_work(&ctrl->async_event_work);
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

/**
 * snvme_path_drop() - nothing is sent any more; what was is held
 * @path: lost
 *
 * Requests that nvme-core has not started go elsewhere by themselves from here
 * on.
 *
 * The queues are not quiesced: a scan may add a namespace between quiesce and
 * unquiesce, at which blk-mq warns. The SQ's lock does it, and then a
 * queue_rq() that is under way is waited for.
 *
 * Context: process, may sleep.
 */
void snvme_path_drop(struct snvme_path *path)
{
	struct nvme_ctrl *ctrl = &path->ctrl;
	unsigned int i;

	/* Fails unless LIVE. Before the queues stop being live. */
	nvme_change_ctrl_state(ctrl, NVME_CTRL_RESETTING);
	for (i = 0; i < path->max_queues; i++)
		snvme_queue_stop(&path->queues[i]);
	if (ctrl->tagset)
		blk_mq_wait_quiesce_done(ctrl->tagset);
	snvme_drop_admin(path);
	/* Here, so that nvme-core's fast_io_fail_tmo counts from the loss. */
	nvme_change_ctrl_state(ctrl, NVME_CTRL_CONNECTING);
}

static bool snvme_fail_request(struct request *rq, void *data)
{
	unsigned int *count = data;

	if (!blk_mq_request_started(rq) || blk_mq_request_completed(rq))
		return true;
	/* Another path does it. One that goes gets it back: snvme_flush_hold() */
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
	blk_mq_tagset_busy_iter(path->ctrl.tagset, snvme_fail_request, &count);
	blk_mq_tagset_wait_completed_request(path->ctrl.tagset);
	snvme_count(path, SNVME_STAT_FAILED, count);
	if (count)
		dev_warn(path->ctrl.device, "%u held requests failed\n", count);
}

/**
 * snvme_path_revoked() - the device touches nothing of the old session any more
 * @path: dropped
 * @retry: it was the lender who said so, so that another path may send again
 *         what is held; else that fails
 *
 * Context: process, may sleep.
 */
void snvme_path_revoked(struct snvme_path *path, bool retry)
{
	unsigned int i, late = 0, held;

	retry &= !READ_ONCE(path->fenced);
	path->told = false;
	WRITE_ONCE(path->session, 0);
	cancel_delayed_work(&path->fail_work);
	for (i = 0; i < path->max_queues; i++)
		late += snvme_queue_reap_late(&path->queues[i]);
	held = snvme_path_held(path);
	snvme_count(path, SNVME_STAT_REAPED_LATE, late);
	snvme_flush_hold(path);
	if (retry) {
		snvme_count(path, SNVME_STAT_CANCELLED, held);
		snvme_path_may_wait(path);
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

/* Once a loss: what was asked for here is no warning. */
static void snvme_loss_log(struct snvme_path *path)
{
	unsigned int held = snvme_path_held(path);

	if (path->told)
		return;
	path->told = true;
	snvme_count(path, SNVME_STAT_HELD, held);
	if (!path->started)
		return;
	dev_printk(path->wanted ? KERN_INFO : KERN_WARNING, path->ctrl.device,
		   "path lost (%s), %u requests held\n", path->why, held);
}

/**
 * snvme_path_expel() - we delete it, so that a new one may come
 * @path: the path; unless a user deletes it already
 *
 * Context: process, may sleep.
 */
void snvme_path_expel(struct snvme_path *path)
{
	/* As nvme_delete_ctrl(), but whose deletion it is stands before it runs. */
	if (!nvme_change_ctrl_state(&path->ctrl, NVME_CTRL_DELETING))
		return;
	path->expelled = true;
	queue_work(nvme_delete_wq, &path->ctrl.delete_work);
}

static void snvme_lose_work(struct work_struct *work)
{
	struct snvme_path *path = container_of(work, struct snvme_path,
					       lose_work);
	struct snvme_client *client = path->client;
	bool again, session;
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
	spin_unlock_irq(&path->lock);
	if (path->leaving)
		return;
	if (READ_ONCE(path->fenced)) {
		snvme_path_revoked(path, false);
		snvme_path_expel(path);
		return;
	}
	/* lost again since: nothing was sent in between */
	if (!path->session)
		snvme_path_revoked(path, true);
	snvme_path_failover(path);
	tmo = path->opts.fast_io_fail_tmo;
	if (tmo >= 0)
		mod_delayed_work(client->wq, &path->fail_work, tmo * HZ);
	mod_delayed_work(client->wq, &client->join_work,
			 session ? 0 : msecs_to_jiffies(SNVME_RETRY_MS));
}

/**
 * snvme_path_revoke() - ends a lost path's session over another way
 * @path: dropped; its own link may be down for long
 *
 * Its window is shut: lose_work has seen to it.
 *
 * Context: process, may sleep for seconds.
 * Return: 0: it is over, and what was held is given back; -ENOLINK: there is no
 * other way that has a session now; else see smartio_revoke().
 */
int snvme_path_revoke(struct snvme_path *path)
{
	int ret = path->ended ? 0 : snvme_drive_revoke(path);

	if (ret == -ESTALE) {
		WRITE_ONCE(path->fenced, true);
		snvme_path_lose(path, SNVME_LOSS_FENCED);
	} else if (ret) {
		return ret;
	}
	snvme_path_revoked(path, true);
	return 0;
}

static void snvme_revoke_work(struct work_struct *work)
{
	struct snvme_path *path = container_of(to_delayed_work(work),
					       struct snvme_path, revoke_work);
	int ret;

	if (!path->session || path->leaving || READ_ONCE(path->fenced) ||
	    READ_ONCE(path->state) != SNVME_LOST || !path->dropped)
		return;
	ret = snvme_path_revoke(path);
	if (ret && ret != -ENOLINK)
		mod_delayed_work(path->client->wq, &path->revoke_work,
				 SNVME_REVOKE_AGAIN_S * HZ);
}

/**
 * snvme_path_failover() - another way may be able to end a lost path's session
 * @path: the path
 *
 * Context: any.
 */
void snvme_path_failover(struct snvme_path *path)
{
	unsigned long flags;

	spin_lock_irqsave(&path->lock, flags);
	if (!path->closed)
		mod_delayed_work(path->client->wq, &path->revoke_work, 0);
	spin_unlock_irqrestore(&path->lock, flags);
}

/*
 * Held requests have waited long enough (dev_loss_tmo). They may only fail
 * when the device can't reach their memory: with the link up that is when the
 * lender has said so, which comes by smartio_open(). While the lender can be
 * asked over another way they wait for its answer: who is told that a write
 * failed writes something newer, over that way.
 */
static void snvme_fail_work(struct work_struct *work)
{
	struct snvme_path *path = container_of(to_delayed_work(work),
					       struct snvme_path, fail_work);
	int ret = -ENOLINK;

	if (READ_ONCE(path->state) != SNVME_LOST || path->leaving)
		return;
	if (path->session && path->dropped)
		ret = snvme_path_revoke(path);
	if (!ret)
		return;
	if (ret != -ENOLINK || smartio_link_up(path->sdev))
		mod_delayed_work(path->client->wq, &path->fail_work, HZ);
	else
		snvme_fail_held(path);
}

/**
 * snvme_path_init() - what a new path needs for the above
 * @path: zeroed
 */
void snvme_path_init(struct snvme_path *path)
{
	spin_lock_init(&path->lock);
	INIT_LIST_HEAD(&path->relays);
	INIT_LIST_HEAD(&path->flushes);
	INIT_WORK(&path->lose_work, snvme_lose_work);
	INIT_DELAYED_WORK(&path->revoke_work, snvme_revoke_work);
	INIT_DELAYED_WORK(&path->fail_work, snvme_fail_work);
	snvme_access_init(path);
	path->state = SNVME_JOINING;
	path->why = "";
}

/**
 * snvme_path_close() - no more losses
 * @path: lost, and that was dealt with
 *
 * Context: process, may sleep; on client->wq only if lose_work isn't.
 */
void snvme_path_close(struct snvme_path *path)
{
	spin_lock_irq(&path->lock);
	path->closed = true;
	spin_unlock_irq(&path->lock);
	cancel_work_sync(&path->lose_work);
	cancel_delayed_work_sync(&path->revoke_work);
	cancel_delayed_work_sync(&path->fail_work);
}
