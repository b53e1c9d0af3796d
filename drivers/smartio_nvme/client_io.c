// SPDX-License-Identifier: GPL-2.0
/*
 * blk-mq's I/O queues.
 *
 * A request that was started ends in one of three ways: the controller
 * completes it; the path is lost, and it is held until the lender has ended
 * the session, then given back; or the controller is removed. It never ends
 * before the device has done with its memory.
 */
#include <linux/blk-integrity.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/smartio_recovery.h>

#include "client.h"
#include "client_trace.h"

/* Aborts of a path that are in flight at once. */
#define SNVME_ABORTS		4
/* Time between looks at a claimed disk, to give the module reference back. */
#define SNVME_PIN_MS		50
/* Until a flush without success is tried again. */
#define SNVME_FLUSH_AGAIN_MS	3

/* Bytes that blk-mq reserves for a request. */
size_t snvme_io_cmd_size(struct snvme_path *path)
{
	struct snvme_iod *iod;

	return struct_size(iod, sg, path->max_bytes / NVME_CTRL_PAGE_SIZE + 1);
}

/* ---- a module reference while the disk is in use ---- */

/*
 * See snvme_core_claimed(): so I/O to a claimed disk takes a reference, and
 * pin_work gives it back soon after the last such user. See docs/decisions.md.
 */
static int snvme_pin_claimed(struct nvme_ns *ns, void *data)
{
	return snvme_core_claimed(ns);
}

static void snvme_unpin(struct snvme_path *path)
{
	if (test_and_clear_bit(0, &path->pinned))
		module_put(THIS_MODULE);
}

static void snvme_pin_work(struct work_struct *work)
{
	struct snvme_path *path = container_of(to_delayed_work(work),
					       struct snvme_path, pin_work);

	if (snvme_core_each_ns(&path->ctrl, snvme_pin_claimed, NULL))
		schedule_delayed_work(&path->pin_work,
				      msecs_to_jiffies(SNVME_PIN_MS));
	else
		snvme_unpin(path);
}

static noinline void snvme_pin(struct snvme_path *path)
{
	if (test_and_set_bit(0, &path->pinned))
		return;
	if (try_module_get(THIS_MODULE))
		schedule_delayed_work(&path->pin_work,
				      msecs_to_jiffies(SNVME_PIN_MS));
	else
		clear_bit(0, &path->pinned);
}

void snvme_io_init(struct snvme_path *path)
{
	INIT_LIST_HEAD(&path->flushes);
	INIT_DELAYED_WORK(&path->pin_work, snvme_pin_work);
}

void snvme_io_exit(struct snvme_path *path)
{
	cancel_delayed_work_sync(&path->pin_work);
	snvme_unpin(path);
}

/* ---- the block layer's own flush, on a path that is lost ---- */

/*
 * It has no bio that nvme-core could send over another path. But a flush over
 * any path makes durable all that was written over all of them: another path of
 * the namespace gets a flush command in its place, whose result is the
 * request's.
 *
 * A path may return with fewer queues. blk-mq learns that when the requests of
 * the queues that are gone have ended: one of the others sends their flushes.
 *
 * That other path may be lost, too: then the request is queued again, until
 * some path has done it or the controller is removed. nvme-core cancels a lost
 * path's requests. Its flushes that are elsewhere are taken back first, so that
 * only one side completes them. A path whose request is elsewhere stays until
 * that has ended; once it was taken back nothing here knows the path.
 */

/*
 * Flushes that are elsewhere: struct snvme_flush, path->flushes and _held,
 * queue->flush. Within cq_lock.
 */
static DEFINE_SPINLOCK(snvme_flush_lock);

/* A flush that another path does, in path->flushes; @rq: NULL: cancelled. */
struct snvme_flush {
	struct list_head entry;
	struct request *rq;
};

static void snvme_complete_rq(struct request *rq);

static bool snvme_is_flush(struct request *rq)
{
	return req_op(rq) == REQ_OP_FLUSH && !rq->bio;
}

bool snvme_flush_is_elsewhere(struct request *rq)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);

	return iod->relayed && snvme_is_flush(rq);
}

static enum rq_end_io_ret snvme_flush_end(struct request *clone,
					  COMPAT_END_IO_ERROR)
{
	struct snvme_flush *flush = clone->end_io_data;
	u16 status = nvme_req(clone)->status;
	union nvme_result result = { };
	struct request *rq;
	unsigned long flags;
	bool here = false;

	if (error && !status)
		status = NVME_SC_HOST_PATH_ERROR;
	/* The end of the other path is not the end of this one. */
	if (nvme_is_path_error(status))
		status &= ~NVME_STATUS_DNR;
	spin_lock_irqsave(&snvme_flush_lock, flags);
	rq = flush->rq;
	if (rq) {
		list_del(&flush->entry);
		/* from here on it is not cancelled */
		here = !nvme_try_complete_req(rq, cpu_to_le16(status << 1),
					      result);
	}
	spin_unlock_irqrestore(&snvme_flush_lock, flags);
	if (here)
		snvme_complete_rq(rq);
	kfree(flush);
	return RQ_END_IO_FREE;
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

/*
 * Through a queue that is live, in place of one that the path has no more. A
 * live queue's own flushes go this way, too, so that its SQ has room for one.
 * Return: false: to be tried again.
 */
static bool snvme_flush_send_own(struct snvme_queue *q, struct request *rq)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);
	struct nvme_command cmd;
	unsigned long flags;
	bool may;

	if (nvme_setup_cmd(rq->q->queuedata, rq))
		return false;
	cmd = *nvme_req(rq)->cmd;
	cmd.common.command_id = SNVME_FLUSH_CID;
	spin_lock_irqsave(&snvme_flush_lock, flags);
	may = !q->flush && !q->path->flushes_held;
	if (may) {
		q->flush = rq;
		iod->aborted = false;
		iod->relayed = true;
		iod->mapped = SNVME_MAPPED_NONE;
		nvme_start_request(rq);
	}
	spin_unlock_irqrestore(&snvme_flush_lock, flags);
	if (may)
		snvme_queue_submit(q, &cmd, true);
	else
		nvme_cleanup_cmd(rq);
	return may;
}

static bool snvme_flush_own(struct snvme_path *path, struct request *rq)
{
	struct snvme_queue *q;
	unsigned int i;

	if (!READ_ONCE(path->renumbering))
		return false;
	for (i = 0; i < path->max_queues; i++) {
		q = &path->queues[i];
		if (READ_ONCE(q->live) && !READ_ONCE(q->flush) &&
		    READ_ONCE(q->submitted) - READ_ONCE(q->completed) + 1 <
		    q->entries)
			return snvme_flush_send_own(q, rq);
	}
	return false;
}

/*
 * The completion of one, under cq_lock. @end: the request, if the caller is to
 * end it. Beside the path of each I/O: that one keeps its lists in registers
 * as long as no other function has their address. Return: whether there was
 * one.
 */
static noinline bool snvme_flush_own_end(struct snvme_queue *q, __le16 status,
					 union nvme_result result,
					 struct request **end)
{
	struct request *rq;

	*end = NULL;
	spin_lock(&snvme_flush_lock);
	rq = q->flush;
	q->flush = NULL;
	if (rq && !nvme_try_complete_req(rq, status, result))
		*end = rq;
	spin_unlock(&snvme_flush_lock);
	if (rq)
		q->completed++;
	return rq;
}

enum snvme_flush_result {
	SNVME_FLUSH_SENT,
	SNVME_FLUSH_LATER,
	SNVME_FLUSH_NONE,
};

/*
 * Lets another path do a flush; this one is not ready. A path that leaves waits
 * a while for one that may come up, as its other requests do at the multipath
 * disk. Out of line, as most requests find their path ready.
 */
static noinline enum snvme_flush_result
snvme_flush_elsewhere(struct snvme_path *path, struct request *rq)
{
	struct request *clone;
	bool coming, later;

	if (!snvme_is_flush(rq) || READ_ONCE(path->fenced))
		return SNVME_FLUSH_NONE;
	if (snvme_flush_own(path, rq))
		return SNVME_FLUSH_SENT;
	coming = !READ_ONCE(path->leaving) ||
		 time_before(jiffies, path->leave_by);
	clone = snvme_core_flush_clone(rq->q->queuedata, coming, &later);
	if (clone && snvme_flush_send(path, rq, clone))
		return SNVME_FLUSH_SENT;
	if (clone)
		blk_mq_free_request(clone);
	return later ? SNVME_FLUSH_LATER : SNVME_FLUSH_NONE;
}

/*
 * A request has failed: is it a flush to be tried again? A path that is lost is
 * no error of the drive, and doesn't count as an attempt.
 */
static bool snvme_flush_again(struct request *rq)
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

/* Under snvme_flush_lock. */
static void snvme_flush_own_back(struct snvme_path *path)
{
	struct snvme_queue *q;
	struct snvme_iod *iod;
	unsigned int i;

	for (i = 0; i < path->max_queues; i++) {
		q = &path->queues[i];
		if (!q->flush)
			continue;
		iod = blk_mq_rq_to_pdu(q->flush);
		iod->relayed = false;
		q->flush = NULL;
	}
}

/*
 * A lost path's requests are about to fail: its own queues end no flush any
 * more, and those that they had fail, too. Another path may still end one.
 */
void snvme_flush_take_back(struct snvme_path *path)
{
	spin_lock_irq(&snvme_flush_lock);
	snvme_flush_own_back(path);
	spin_unlock_irq(&snvme_flush_lock);
}

/*
 * A lost path's requests are about to be cancelled: none of its flushes is
 * elsewhere from here until snvme_flush_release().
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
	snvme_flush_own_back(path);
	spin_unlock_irq(&snvme_flush_lock);
}

void snvme_flush_release(struct snvme_path *path)
{
	spin_lock_irq(&snvme_flush_lock);
	path->flushes_held = false;
	spin_unlock_irq(&snvme_flush_lock);
}

/* ---- submission ---- */

/*
 * Up to nvme_start_request(), which comes with the submission: until then a
 * completion is not taken for this request's. Inlined where it is used, as the
 * others here that each I/O passes.
 */
static __always_inline blk_status_t snvme_prepare(struct snvme_queue *q,
						  struct request *rq)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);
	struct nvme_ns *ns = rq->q->queuedata;
	blk_status_t ret;

	iod->aborted = false;
	iod->relayed = false;
	ret = nvme_setup_cmd(ns, rq);
	if (ret)
		return ret;
	ret = blk_integrity_rq(rq) ? BLK_STS_NOTSUPP : snvme_map(q, rq);
	if (ret) {
		nvme_cleanup_cmd(rq);
		return ret;
	}
	if (!test_bit(0, &q->path->pinned) && snvme_core_claimed(ns))
		snvme_pin(q->path);
	return BLK_STS_OK;
}

/*
 * Reservations are the manager's to execute, and this host may not be allowed
 * to do all: such requests are dealt with by themselves.
 */
static __always_inline bool snvme_is_special(struct snvme_path *path,
					     struct request *rq)
{
	return unlikely(rcu_access_pointer(path->access)) ||
	       (blk_rq_is_passthrough(rq) &&
		resv_is_command(nvme_req(rq)->cmd->common.opcode));
}

/* Return: false: it is as any other. @ret is for queue_rq. */
static bool snvme_queue_special(struct snvme_path *path, struct request *rq,
				blk_status_t *ret)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);

	if (blk_rq_is_passthrough(rq) &&
	    resv_is_command(nvme_req(rq)->cmd->common.opcode)) {
		*ret = nvme_setup_cmd(rq->q->queuedata, rq);
		if (*ret)
			return true;
		iod->relayed = true;
		iod->mapped = SNVME_MAPPED_NONE;
		*ret = snvme_relay_rq(path, rq, SNVME_RESERVATION);
		return true;
	}
	*ret = nvme_setup_cmd(rq->q->queuedata, rq);
	if (*ret)
		return true;
	if (snvme_access_forbids(path, rq)) {
		*ret = snvme_refuse_rq(rq, NVME_SC_RESERVATION_CONFLICT |
				       NVME_STATUS_DNR);
		return true;
	}
	nvme_cleanup_cmd(rq);
	return false;
}

static blk_status_t snvme_not_ready(struct snvme_path *path, struct request *rq)
{
	switch (snvme_flush_elsewhere(path, rq)) {
	case SNVME_FLUSH_SENT:
		return BLK_STS_OK;
	case SNVME_FLUSH_LATER:
		return BLK_STS_RESOURCE;
	case SNVME_FLUSH_NONE:
		break;
	}
	return nvme_fail_nonready_command(&path->ctrl, rq);
}

static blk_status_t snvme_queue_rq(struct blk_mq_hw_ctx *hctx,
				   const struct blk_mq_queue_data *bd)
{
	struct snvme_queue *q = hctx->driver_data;
	struct request *rq = bd->rq;
	blk_status_t ret;

	if (req_op(rq) == REQ_OP_FLUSH && !rq->bio) {
		snvme_core_flush_stays(rq);
		if (READ_ONCE(q->path->renumbering))
			return snvme_not_ready(q->path, rq);
	}
	if (!nvme_check_ready(&q->path->ctrl, rq, READ_ONCE(q->live)))
		return snvme_not_ready(q->path, rq);
	if (snvme_is_special(q->path, rq) &&
	    snvme_queue_special(q->path, rq, &ret)) {
		/* those before it wait for the doorbell */
		if (bd->last)
			snvme_queue_ring(q);
		return ret;
	}
	ret = snvme_prepare(q, rq);
	if (ret)
		return ret;
	nvme_start_request(rq);
	snvme_queue_submit(q, nvme_req(rq)->cmd, bd->last);
	return BLK_STS_OK;
}

static void snvme_commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	snvme_queue_ring(hctx->driver_data);
}

/* Return: whether it was prepared: the rest is sent one by one. */
static __always_inline bool snvme_prepare_now(struct snvme_queue *q,
					      struct request *rq)
{
	return nvme_check_ready(&q->path->ctrl, rq, READ_ONCE(q->live)) &&
	       !snvme_is_special(q->path, rq) && !snvme_prepare(q, rq);
}

/* @rq, and those of @list, for one doorbell. */
static noinline void snvme_queue_several(struct request *rq,
					 struct rq_list *list)
{
	struct rq_list later = { }, now = { };
	struct snvme_queue *q = NULL;

	do {
		if (q && q != rq->mq_hctx->driver_data)
			snvme_queue_submit_list(q, &now);
		q = rq->mq_hctx->driver_data;
		if (snvme_prepare_now(q, rq))
			rq_list_add_tail(&now, rq);
		else
			rq_list_add_tail(&later, rq);
	} while ((rq = rq_list_pop(list)));
	snvme_queue_submit_list(q, &now);
	*list = later;
}

/* Sends all that it can. Mostly that is one request: then without lists. */
static void snvme_queue_rqs(struct rq_list *list)
{
	struct request *rq = rq_list_pop(list);
	struct snvme_queue *q;

	if (!rq)
		return;
	if (!rq_list_empty(list)) {
		snvme_queue_several(rq, list);
		return;
	}
	q = rq->mq_hctx->driver_data;
	if (snvme_prepare_now(q, rq)) {
		nvme_start_request(rq);
		snvme_queue_submit(q, nvme_req(rq)->cmd, true);
	} else {
		rq_list_add_tail(list, rq);
	}
}

/* ---- completion ---- */

static void snvme_unmap_rq(struct request *rq)
{
	snvme_unmap(to_snvme_path(nvme_req(rq)->ctrl), rq);
}

static void snvme_complete_rq(struct request *rq)
{
	struct snvme_queue *q = rq->mq_hctx->driver_data;

	lockdep_assert_not_held(&q->cq_lock);
	snvme_unmap_rq(rq);
	if (unlikely(nvme_req(rq)->status) && snvme_flush_again(rq))
		return;
	nvme_complete_rq(rq);
}

static void snvme_complete_batch(struct io_comp_batch *iob)
{
	nvme_complete_batch(iob, snvme_unmap_rq);
}

/*
 * "Aborted, SQ deleted" is generic status: core would retry on this path, or
 * fail the request. As the queue was deleted, the path is lost, or about to be.
 * The request is left to that loss. When no more completions will arrive, the
 * same goes for commands that were ended with the queue under another status.
 */
static bool snvme_left_to_loss(u16 status, bool late)
{
	switch (status & NVME_SCT_SC_MASK) {
	case NVME_SC_ABORT_QUEUE:
		return true;
	case NVME_SC_ABORT_REQ:
	case NVME_SC_INTERNAL:
		return late;
	}
	return false;
}

/* Always inlined, as in each I/O; snvme_io_queue_ops has a copy. */
static __always_inline void snvme_cqe(struct snvme_queue *q,
				      struct nvme_completion *cqe,
				      struct snvme_done *done, bool late)
{
	u16 cid = READ_ONCE(cqe->command_id);
	struct request *rq;

	trace_snvme_complete(q, cqe);
	if (snvme_left_to_loss(le16_to_cpu(cqe->status) >> 1, late))
		return;
	if (unlikely(cid == SNVME_FLUSH_CID)) {
		struct request *end;

		if (snvme_flush_own_end(q, cqe->status, cqe->result, &end)) {
			if (end)
				rq_list_add_tail(&done->others, end);
			return;
		}
	}
	rq = nvme_find_rq(q->path->io_tags.tags[q->index], cid);
	/* The lender could write here, too: one that is over stays so. */
	if (!rq || blk_mq_rq_state(rq) != MQ_RQ_IN_FLIGHT ||
	    ((struct snvme_iod *)blk_mq_rq_to_pdu(rq))->relayed) {
		dev_warn_ratelimited(q->path->ctrl.device,
				     "queue %u: completion of command %#x, which is not in flight\n",
				     q->qid, cid);
		return;
	}
	q->completed++;
	if (!nvme_try_complete_req(rq, cqe->status, cqe->result) &&
	    !blk_mq_add_to_batch(rq, done->batch,
				 nvme_req(rq)->status != NVME_SC_SUCCESS,
				 snvme_complete_batch))
		rq_list_add_tail(&done->others, rq);
}

/*
 * Ends what snvme_cqe() has collected. Not under cq_lock with interrupts off:
 * the ends of bios belong to file systems.
 */
static void snvme_end(struct snvme_done *done)
{
	struct request *rq;

	while ((rq = rq_list_pop(&done->others)))
		snvme_complete_rq(rq);
}

static unsigned int snvme_reap_now(struct snvme_queue *q,
				   struct io_comp_batch *iob)
{
	struct snvme_done done = { .batch = iob };
	unsigned int found;
	unsigned long flags;

	spin_lock_irqsave(&q->cq_lock, flags);
	found = snvme_cq_take(q, &done, snvme_cqe);
	spin_unlock_irqrestore(&q->cq_lock, flags);
	if (!rq_list_empty(&done.others))
		snvme_end(&done);
	return found;
}

static irqreturn_t snvme_irq(int irq, void *context)
{
	struct snvme_queue *q = context;
	DEFINE_IO_COMP_BATCH(iob);
	struct snvme_done done = { .batch = &iob };
	unsigned int found;

	spin_lock(&q->cq_lock);	/* interrupts are off */
	found = snvme_cq_take(q, &done, snvme_cqe);
	spin_unlock(&q->cq_lock);
	if (!rq_list_empty(&done.others))
		snvme_end(&done);
	if (!rq_list_empty(&iob.req_list))
		snvme_complete_batch(&iob);
	/* Only this handler counts, and it runs on one CPU at a time. */
	WRITE_ONCE(q->interrupts, q->interrupts + 1);
	return found ? IRQ_HANDLED : IRQ_NONE;
}

static void snvme_reap(struct snvme_queue *q)
{
	DEFINE_IO_COMP_BATCH(iob);

	snvme_reap_now(q, &iob);
	if (!rq_list_empty(&iob.req_list))
		snvme_complete_batch(&iob);
}

const struct snvme_queue_ops snvme_io_queue_ops = {
	.interrupt = snvme_irq,
	.reap = snvme_reap,
	.complete = snvme_cqe,
	.end = snvme_end,
};

static int snvme_poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *iob)
{
	struct snvme_queue *q = hctx->driver_data;

	if (!q->polled || !snvme_queue_pending(q))
		return 0;
	return snvme_reap_now(q, iob);
}

/* ---- time-outs ---- */

struct snvme_abort {
	struct work_struct work;
	struct snvme_path *path;
	u64 session;
	u16 qid;
	u16 cid;
};

static void snvme_abort_work(struct work_struct *work)
{
	struct snvme_abort *abort = container_of(work, struct snvme_abort,
						 work);
	unsigned int flags = smartio_recovery_begin();
	struct snvme_path *path = abort->path;
	struct snvme_abort_req request = {
		.op = cpu_to_le16(SNVME_ABORT),
		.qid = cpu_to_le16(abort->qid),
		.cid = cpu_to_le16(abort->cid),
	};

	/* Best effort: if it doesn't help, the next time-out ends the session. */
	smartio_call_in(path->sdev, abort->session, &request, sizeof(request),
			NULL, NULL, SNVME_CALL_MS);
	atomic_dec(&path->aborts);
	nvme_put_ctrl(&path->ctrl);
	kfree(abort);
	smartio_recovery_end(flags);
}

/* Asks the manager for the abort of a command; doesn't wait. */
static void snvme_abort(struct snvme_path *path, u16 qid, u16 cid)
{
	struct snvme_abort *abort;

	if (atomic_inc_return(&path->aborts) > SNVME_ABORTS)
		goto none;
	abort = kzalloc(sizeof(*abort), GFP_ATOMIC);
	if (!abort)
		goto none;
	INIT_WORK(&abort->work, snvme_abort_work);
	abort->path = path;
	abort->session = READ_ONCE(path->session);
	abort->qid = qid;
	abort->cid = cid;
	nvme_get_ctrl(&path->ctrl);
	snvme_count(path, SNVME_STAT_ABORTS, 1);
	queue_work(path->calls, &abort->work);
	return;

none:
	atomic_dec(&path->aborts);
}

/*
 * First the CQ: maybe only the interrupt is missing. Then an abort; then the
 * path is lost, which ends the session. On a lost path requests are held, and
 * only the end of the session ends them.
 */
static enum blk_eh_timer_return snvme_timeout(struct request *rq)
{
	struct snvme_path *path = to_snvme_path(nvme_req(rq)->ctrl);
	struct snvme_queue *q = rq->mq_hctx->driver_data;
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);
	u16 cid = nvme_cid(rq);		/* another one once it is through */

	/* smartio_call() has the same deadline. */
	if (iod->relayed)
		return BLK_EH_RESET_TIMER;
	if (READ_ONCE(path->state) != SNVME_UP) {
		snvme_count(path, SNVME_STAT_TIMEOUTS_HELD, 1);
		return BLK_EH_RESET_TIMER;
	}
	snvme_reap_now(q, NULL);
	if (blk_mq_rq_state(rq) != MQ_RQ_IN_FLIGHT) {
		snvme_count(path, SNVME_STAT_TIMEOUTS_REAPED, 1);
		dev_warn_ratelimited(path->ctrl.device,
				     "queue %u: a completion came without an interrupt\n",
				     q->qid);
		return BLK_EH_DONE;
	}
	snvme_count(path, SNVME_STAT_TIMEOUTS, 1);
	if (!iod->aborted) {
		iod->aborted = true;
		dev_warn_ratelimited(path->ctrl.device,
				     "queue %u: command %#x (opcode %#x) timed out, asking for its abort\n",
				     q->qid, cid, iod->cmd.common.opcode);
		snvme_abort(path, q->qid, cid);
		return BLK_EH_RESET_TIMER;
	}
	path->lose(path, SNVME_LOSS_TIMEOUT);
	return BLK_EH_RESET_TIMER;
}

/* ---- set-up ---- */

static void snvme_map_queues(struct blk_mq_tag_set *set)
{
	struct snvme_path *path = to_snvme_path(set->driver_data);
	unsigned int nr[HCTX_MAX_TYPES] = {
		[HCTX_TYPE_DEFAULT] = path->nr_queues,
		[HCTX_TYPE_POLL] = path->nr_poll,
	};
	unsigned int i, offset = 0;

	for (i = 0; i < set->nr_maps; i++) {
		struct blk_mq_queue_map *map = &set->map[i];

		map->nr_queues = nr[i];
		map->queue_offset = offset;
		if (nr[i])
			blk_mq_map_queues(map);
		offset += nr[i];
	}
}

static int snvme_init_hctx(struct blk_mq_hw_ctx *hctx, void *data,
			   unsigned int index)
{
	struct snvme_path *path = to_snvme_path(data);

	if (WARN_ON_ONCE(index >= path->max_queues))
		return -EINVAL;
	hctx->driver_data = &path->queues[index];
	if (!path->config.path_iostats)
		snvme_core_no_iostats(hctx->queue);
	return 0;
}

static int snvme_init_request(struct blk_mq_tag_set *set, struct request *rq,
			      unsigned int index, compat_node_t node)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);

	nvme_req(rq)->ctrl = set->driver_data;
	nvme_req(rq)->cmd = &iod->cmd;
	return 0;
}

const struct blk_mq_ops snvme_io_mq_ops = {
	.queue_rq = snvme_queue_rq,
	.queue_rqs = snvme_queue_rqs,
	.commit_rqs = snvme_commit_rqs,
	.complete = snvme_complete_rq,
	.init_hctx = snvme_init_hctx,
	.init_request = snvme_init_request,
	.map_queues = snvme_map_queues,
	.poll = snvme_poll,
	.timeout = snvme_timeout,
};
