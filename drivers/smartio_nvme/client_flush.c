// SPDX-License-Identifier: GPL-2.0
/*
 * The block layer's own flush, on a path that is lost.
 *
 * It has no bio that nvme-core could send over another path, so
 * nvme_failover_req() would just call it done. But a flush over any path makes
 * durable what was written over all of them: another path of the namespace
 * gets a flush command in its place, and its result is the request's.
 *
 * That other path may be lost, too: then the request is queued again, until
 * some path has done it or the controller goes. A lost path's requests are
 * cancelled by nvme-core; those that are elsewhere are taken from there first,
 * so that only one completes them. A path whose request is elsewhere can't go
 * before that has ended; once it was taken back nothing here knows the path.
 */
#include <linux/slab.h>

#include "client.h"

/* Until a flush that came to nothing is tried again. */
#define SNVME_FLUSH_AGAIN_MS	3

/* Flushes that are elsewhere: struct snvme_flush, path->flushes and _held. */
static DEFINE_SPINLOCK(snvme_flush_lock);

/**
 * struct snvme_flush - a flush that another path does
 * @entry: in path->flushes
 * @rq: NULL once it was cancelled
 */
struct snvme_flush {
	struct list_head entry;
	struct request *rq;
};

static bool snvme_is_flush(struct request *rq)
{
	return req_op(rq) == REQ_OP_FLUSH && !rq->bio;
}

/**
 * snvme_flush_is_elsewhere() - whether another path does it
 * @rq: a request that was started
 *
 * Context: any.
 */
bool snvme_flush_is_elsewhere(struct request *rq)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);

	return iod->relayed && snvme_is_flush(rq);
}

static enum rq_end_io_ret snvme_flush_end(struct request *clone,
					  blk_status_t error)
{
	struct snvme_flush *flush = clone->end_io_data;
	u16 status = nvme_req(clone)->status;
	union nvme_result result = { };
	struct request *rq;
	unsigned long flags;
	bool here = false;

	if (error && !status)
		status = NVME_SC_HOST_PATH_ERROR;
	/* that path's end is not this one's */
	if (nvme_is_path_error(status))
		status &= ~NVME_STATUS_DNR;
	spin_lock_irqsave(&snvme_flush_lock, flags);
	rq = flush->rq;
	if (rq) {
		list_del(&flush->entry);
		/* from here on nobody cancels it */
		here = !nvme_try_complete_req(rq, cpu_to_le16(status << 1),
					      result);
	}
	spin_unlock_irqrestore(&snvme_flush_lock, flags);
	if (here)
		snvme_complete_rq(rq);
	kfree(flush);
	return RQ_END_IO_FREE;
}

/*
 * A request of another path of the namespace that is up. NULL: there is none;
 * @later: one may come soon. @coming: so may one of a path that is not up yet.
 */
static struct request *snvme_flush_clone(struct nvme_ns *ns, bool coming,
					 bool *later)
{
	struct nvme_command cmd = {
		.common.opcode = nvme_cmd_flush,
		.common.nsid = cpu_to_le32(ns->head->ns_id),
	};
	struct request *clone = NULL;
	enum nvme_ctrl_state state;
	struct nvme_ns *other;
	int idx;

	*later = false;
	idx = srcu_read_lock(&ns->head->srcu);
	list_for_each_entry_srcu(other, &ns->head->list, siblings,
				 srcu_read_lock_held(&ns->head->srcu)) {
		if (other == ns)
			continue;
		state = nvme_ctrl_state(other->ctrl);
		if (state != NVME_CTRL_LIVE ||
		    !test_bit(NVME_NS_READY, &other->flags)) {
			*later |= coming && (state == NVME_CTRL_LIVE ||
					     state == NVME_CTRL_RESETTING ||
					     state == NVME_CTRL_CONNECTING);
			continue;
		}
		*later = true;
		clone = blk_mq_alloc_request(other->queue, REQ_OP_DRV_IN,
					     BLK_MQ_REQ_NOWAIT);
		if (!IS_ERR(clone))
			break;
		clone = NULL;
	}
	srcu_read_unlock(&ns->head->srcu, idx);
	if (clone)
		nvme_init_request(clone, &cmd);
	return clone;
}

static bool snvme_flush_start(struct snvme_path *path,
			      struct snvme_flush *flush, struct request *rq)
{
	unsigned long flags;
	bool may;

	spin_lock_irqsave(&snvme_flush_lock, flags);
	may = !path->flushes_held;
	if (may) {
		flush->rq = rq;
		list_add_tail(&flush->entry, &path->flushes);
		nvme_start_request(rq);
	}
	spin_unlock_irqrestore(&snvme_flush_lock, flags);
	return may;
}

static bool snvme_flush_send(struct snvme_path *path, struct request *rq,
			     struct request *clone)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);
	struct snvme_flush *flush = kzalloc(sizeof(*flush), GFP_ATOMIC);

	if (!flush)
		return false;
	if (nvme_setup_cmd(rq->q->queuedata, rq)) {
		kfree(flush);
		return false;
	}
	iod->relayed = true;
	iod->mapped = SNVME_MAPPED_NONE;
	clone->end_io = snvme_flush_end;
	clone->end_io_data = flush;
	if (!snvme_flush_start(path, flush, rq)) {
		nvme_cleanup_cmd(rq);
		kfree(flush);
		return false;
	}
	snvme_count(path, SNVME_STAT_FLUSHES_ELSEWHERE, 1);
	/* at the head: then it isn't put into the plug that is being emptied */
	blk_execute_rq_nowait(clone, true);
	return true;
}

/**
 * snvme_flush_elsewhere() - let another path do a flush
 * @path: not ready
 * @rq: a request for it
 *
 * A path that goes waits a while for one that may come up, as its other
 * requests do at the multipath disk.
 *
 * Context: of queue_rq.
 * Return: whether that will complete @rq, or it should be tried again.
 */
enum snvme_flush_way snvme_flush_elsewhere(struct snvme_path *path,
					   struct request *rq)
{
	struct request *clone;
	bool coming, later;

	if (!snvme_is_flush(rq) || READ_ONCE(path->fenced))
		return SNVME_FLUSH_NONE;
	coming = !READ_ONCE(path->leaving) ||
		 time_before(jiffies, path->leave_by);
	clone = snvme_flush_clone(rq->q->queuedata, coming, &later);
	if (clone && snvme_flush_send(path, rq, clone))
		return SNVME_FLUSH_SENT;
	if (clone)
		blk_mq_free_request(clone);
	return later ? SNVME_FLUSH_LATER : SNVME_FLUSH_NONE;
}

/**
 * snvme_flush_again() - a request has failed: is it a flush to be tried again?
 * @rq: complete
 *
 * A path that is lost is no error of the drive, and doesn't count as an
 * attempt.
 *
 * Context: any.
 * Return: whether it was queued again.
 */
bool snvme_flush_again(struct request *rq)
{
	u16 status = nvme_req(rq)->status;

	if (!snvme_is_flush(rq) || !nvme_is_path_error(status) ||
	    status & NVME_STATUS_DNR || blk_noretry_request(rq))
		return false;
	nvme_cleanup_cmd(rq);
	blk_mq_requeue_request(rq, false);
	blk_mq_delay_kick_requeue_list(rq->q, SNVME_FLUSH_AGAIN_MS);
	return true;
}

/**
 * snvme_flush_hold() - requests of a path are about to be cancelled
 * @path: lost
 *
 * None of its flushes is elsewhere from here until snvme_flush_release().
 *
 * Context: process.
 */
void snvme_flush_hold(struct snvme_path *path)
{
	struct snvme_flush *flush, *next;

	spin_lock_irq(&snvme_flush_lock);
	path->flushes_held = true;
	list_for_each_entry_safe(flush, next, &path->flushes, entry) {
		struct snvme_iod *iod = blk_mq_rq_to_pdu(flush->rq);

		iod->relayed = false;
		list_del(&flush->entry);
		flush->rq = NULL;
	}
	spin_unlock_irq(&snvme_flush_lock);
}

/**
 * snvme_flush_release() - requests of a path were cancelled
 * @path: the path
 *
 * Context: process.
 */
void snvme_flush_release(struct snvme_path *path)
{
	spin_lock_irq(&snvme_flush_lock);
	path->flushes_held = false;
	spin_unlock_irq(&snvme_flush_lock);
}
