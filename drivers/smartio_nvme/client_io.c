// SPDX-License-Identifier: GPL-2.0
/*
 * What blk-mq calls for the I/O queues.
 *
 * A request that was started ends in one of three ways: the controller
 * completes it; the path is lost, and it is held until the lender has ended
 * the session, then given back; or the controller goes. It never ends before
 * the device has done with its memory.
 */
#include <linux/blk-integrity.h>

#include "client.h"

/**
 * snvme_io_cmd_size() - bytes a request needs
 * @path: the path
 */
size_t snvme_io_cmd_size(struct snvme_path *path)
{
	struct snvme_iod *iod;

	return struct_size(iod, sg, path->max_bytes / NVME_CTRL_PAGE_SIZE + 1);
}

/* Inlined where it is used, as the others here that each I/O passes. */
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
	if (!test_bit(0, &q->path->pinned) && snvme_ns_claimed(ns))
		snvme_path_pin(q->path);
	nvme_start_request(rq);
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

	/* See client_flush.c. */
	if (req_op(rq) == REQ_OP_FLUSH && !rq->bio)
		rq->cmd_flags &= ~REQ_NVME_MPATH;
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
	snvme_queue_submit(q, nvme_req(rq)->cmd, bd->last);
	return BLK_STS_OK;
}

static void snvme_commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	snvme_queue_ring(hctx->driver_data);
}

/* Several at once, for one doorbell. What can't go now goes one by one. */
static void snvme_queue_rqs(struct rq_list *list)
{
	struct rq_list later = { }, now = { };
	struct snvme_queue *q = NULL;
	struct request *rq;

	while ((rq = rq_list_pop(list))) {
		if (q && q != rq->mq_hctx->driver_data)
			snvme_queue_submit_list(q, &now);
		q = rq->mq_hctx->driver_data;
		if (nvme_check_ready(&q->path->ctrl, rq, READ_ONCE(q->live)) &&
		    !snvme_is_special(q->path, rq) && !snvme_prepare(q, rq))
			rq_list_add_tail(&now, rq);
		else
			rq_list_add_tail(&later, rq);
	}
	if (q)
		snvme_queue_submit_list(q, &now);
	*list = later;
}

static void snvme_unmap_rq(struct request *rq)
{
	snvme_unmap(to_snvme_path(nvme_req(rq)->ctrl), rq);
}

/**
 * snvme_complete_rq() - a request is through
 * @rq: the request
 *
 * Context: any.
 */
void snvme_complete_rq(struct request *rq)
{
	snvme_unmap_rq(rq);
	if (unlikely(nvme_req(rq)->status) && snvme_flush_again(rq))
		return;
	nvme_complete_rq(rq);
}

/**
 * snvme_complete_batch() - several requests are through, without error
 * @iob: them
 *
 * Context: any.
 */
void snvme_complete_batch(struct io_comp_batch *iob)
{
	nvme_complete_batch(iob, snvme_unmap_rq);
}

static int snvme_poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *iob)
{
	struct snvme_queue *q = hctx->driver_data;

	if (!q->polled || !snvme_queue_pending(q))
		return 0;
	return snvme_queue_reap_now(q, iob);
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
	snvme_queue_reap_now(q, NULL);
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
	snvme_path_lose(path, SNVME_LOSS_TIMEOUT);
	return BLK_EH_RESET_TIMER;
}

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
	/*
	 * nvme-core counts for the disk itself, and blk-mq would do so a
	 * second time for this queue. Only as it is made: nobody else has it.
	 */
	if (!path->config.path_iostats && blk_queue_io_stat(hctx->queue) &&
	    !blk_queue_registered(hctx->queue))
		hctx->queue->limits.features &= ~BLK_FEAT_IO_STAT;
	return 0;
}

static int snvme_init_request(struct blk_mq_tag_set *set, struct request *rq,
			      unsigned int index, unsigned int node)
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
