// SPDX-License-Identifier: GPL-2.0
/*
 * The admin queue of a path has no hardware: each command is sent to the
 * manager with its data, and the manager's answer completes it. So are the
 * reservation commands of the I/O queues, which are the manager's to execute.
 *
 * When the path is lost, whatever is under way fails at once. A relay may be
 * waiting in smartio_call() then: whoever takes the request from it, under
 * path->lock, completes the request, so nvme_cancel_admin_tagset() must never
 * be used on this queue.
 */
#include <linux/blk-integrity.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "client.h"

/**
 * struct snvme_admin_iod - an admin request
 * @req: nvme-core's part; comes first
 * @cmd: the command
 */
struct snvme_admin_iod {
	struct nvme_request req;
	struct nvme_command cmd;
};

/**
 * struct snvme_relay - an admin command on its way to the manager and back
 * @work: on client->calls
 * @entry: in path->relays
 * @path: a reference
 * @rq: under path->lock; NULL once it was failed without us: its pages may be
 *	anybody's then
 * @cmd: the command
 * @len: bytes of data
 * @write: to the controller
 * @op: SNVME_ADMIN or SNVME_RESERVATION
 * @timeout_ms: of the request
 */
struct snvme_relay {
	struct work_struct work;
	struct list_head entry;
	struct snvme_path *path;
	struct request *rq;
	struct nvme_command cmd;
	u32 len;
	bool write;
	u16 op;
	unsigned int timeout_ms;
};

size_t snvme_admin_cmd_size(void)
{
	return sizeof(struct snvme_admin_iod);
}

static void snvme_rq_copy(struct request *rq, void *buf, u32 len, bool to_rq)
{
	struct req_iterator it;
	struct bio_vec bv;
	u32 at = 0;

	rq_for_each_segment(bv, rq, it) {
		if (bv.bv_len > len - at)
			break;
		if (to_rq)
			memcpy_to_bvec(&bv, buf + at);
		else
			memcpy_from_bvec(buf + at, &bv);
		at += bv.bv_len;
	}
}

/* @status is as in struct nvme_request, without the phase bit. */
static void snvme_relay_complete(struct request *rq, u16 status,
				 union nvme_result result)
{
	if (!nvme_try_complete_req(rq, cpu_to_le16(status << 1), result))
		nvme_complete_rq(rq);
}

/**
 * snvme_relay_fail_all() - end the admin commands under way
 * @path: the path
 *
 * With exactly "host path error": core takes any other for an answer.
 * Context: under path->lock.
 */
void snvme_relay_fail_all(struct snvme_path *path)
{
	struct snvme_relay *relay, *next;

	lockdep_assert_held(&path->lock);
	list_for_each_entry_safe(relay, next, &path->relays, entry) {
		struct request *rq = relay->rq;

		list_del(&relay->entry);
		relay->rq = NULL;
		snvme_relay_complete(rq, NVME_SC_HOST_PATH_ERROR,
				     (union nvme_result){ });
	}
}

/*
 * Sends the command. Failures of the way are "host path error", never with
 * DNR: that would remove namespaces.
 */
static u16 snvme_relay_call(struct snvme_relay *relay,
			    struct snvme_admin_req *req,
			    struct snvme_admin_reply *reply,
			    union nvme_result *result)
{
	size_t room = sizeof(*reply) + (relay->write ? 0 : relay->len);
	size_t size = sizeof(*req) + (relay->write ? relay->len : 0);
	u32 len;
	int ret;

	req->op = cpu_to_le16(relay->op);
	req->flags = cpu_to_le16(relay->write ? SNVME_ADMIN_WRITE : 0);
	req->data_len = cpu_to_le32(relay->len);
	memcpy(req->sqe, &relay->cmd, sizeof(req->sqe));
	ret = smartio_call(relay->path->sdev, req, size, reply, &room,
			   relay->timeout_ms);
	if (ret == -ETIMEDOUT)
		dev_warn(relay->path->ctrl.device,
			 "the manager did not answer %s command %#x within %u ms\n",
			 relay->op == SNVME_ADMIN ? "admin" : "reservation",
			 relay->cmd.common.opcode, relay->timeout_ms);
	if (ret || room < sizeof(*reply))
		return NVME_SC_HOST_PATH_ERROR;
	len = le32_to_cpu(reply->data_len);
	if (len > room - sizeof(*reply) || (!relay->write && len > relay->len))
		return NVME_SC_HOST_PATH_ERROR;
	result->u64 = reply->result;
	return le16_to_cpu(reply->status) & 0x7fff;
}

/* May this host be allowed less after this command than before? */
static bool snvme_relay_narrows(const struct snvme_relay *relay)
{
	const struct nvme_command *cmd = &relay->cmd;

	return relay->op == SNVME_RESERVATION ||
	       (cmd->common.opcode == nvme_admin_set_features &&
		(le32_to_cpu(cmd->common.cdw10) & 0xff) == NVME_FEAT_HOST_ID);
}

static void snvme_relay_work(struct work_struct *work)
{
	struct snvme_relay *relay = container_of(work, struct snvme_relay, work);
	struct snvme_path *path = relay->path;
	struct snvme_admin_reply *reply;
	union nvme_result result = { };
	struct snvme_admin_req *req;
	u16 status = NVME_SC_HOST_PATH_ERROR;

	req = kvzalloc(struct_size(req, data, relay->write ? relay->len : 0),
		       GFP_NOIO);
	reply = kvzalloc(struct_size(reply, data,
				     relay->write ? 0 : relay->len), GFP_NOIO);
	spin_lock_irq(&path->lock);
	if (relay->rq && relay->write && req)
		snvme_rq_copy(relay->rq, req->data, relay->len, false);
	spin_unlock_irq(&path->lock);
	if (req && reply)
		status = snvme_relay_call(relay, req, reply, &result);
	/* This host's own command may have taken something from it. */
	if (snvme_relay_narrows(relay) && READ_ONCE(path->admin_live))
		snvme_access_fetch(path);
	/* The last that core asks before a namespace's new path is used. */
	if (relay->cmd.common.opcode == nvme_admin_identify)
		snvme_drive_may_wait(path->client);
	spin_lock_irq(&path->lock);
	if (relay->rq) {
		list_del(&relay->entry);
		/* of this join: those of a loss were failed by that */
		if (status == NVME_SC_HOST_PATH_ERROR)
			path->unanswered = true;
		if (!status && !relay->write && relay->len)
			snvme_rq_copy(relay->rq, reply->data, relay->len, true);
		snvme_relay_complete(relay->rq, status, result);
	}
	spin_unlock_irq(&path->lock);
	kvfree(req);
	kvfree(reply);
	kfree(relay);
	nvme_put_ctrl(&path->ctrl);
}

/**
 * snvme_refuse_rq() - complete from queue_rq with a status of our own
 * @rq: set up, not started
 * @status: NVMe status
 *
 * Context: of queue_rq.
 * Return: for queue_rq.
 */
blk_status_t snvme_refuse_rq(struct request *rq, u16 status)
{
	nvme_req(rq)->status = status;
	blk_mq_set_request_complete(rq);
	nvme_complete_rq(rq);
	return BLK_STS_OK;
}

/**
 * snvme_relay_rq() - let the manager execute a command
 * @path: the path
 * @rq: set up, not started
 * @op: SNVME_ADMIN or SNVME_RESERVATION
 *
 * Context: of queue_rq.
 * Return: for queue_rq.
 */
blk_status_t snvme_relay_rq(struct snvme_path *path, struct request *rq,
			    enum snvme_op op)
{
	u32 len = blk_rq_nr_phys_segments(rq) ? blk_rq_bytes(rq) : 0;
	struct snvme_relay *relay;
	unsigned long flags;

	if (len > SNVME_ADMIN_DATA_MAX || blk_integrity_rq(rq))
		return snvme_refuse_rq(rq, NVME_SC_INVALID_FIELD |
				       NVME_STATUS_DNR);
	relay = kzalloc(sizeof(*relay), GFP_ATOMIC);
	if (!relay) {
		nvme_cleanup_cmd(rq);
		return BLK_STS_RESOURCE;
	}
	INIT_WORK(&relay->work, snvme_relay_work);
	relay->path = path;
	relay->rq = rq;
	relay->cmd = *nvme_req(rq)->cmd;
	/* This host's addresses are of no use there. */
	relay->cmd.common.metadata = 0;
	memset(&relay->cmd.common.dptr, 0, sizeof(relay->cmd.common.dptr));
	relay->len = len;
	relay->write = rq_data_dir(rq) == WRITE;
	relay->op = op;
	relay->timeout_ms = jiffies_to_msecs(rq->timeout ?: NVME_ADMIN_TIMEOUT);
	nvme_start_request(rq);

	spin_lock_irqsave(&path->lock, flags);
	if (path->admin_live) {
		list_add_tail(&relay->entry, &path->relays);
		nvme_get_ctrl(&path->ctrl);
		queue_work(path->client->calls, &relay->work);
		relay = NULL;
	} else {
		/* Lost since the check: nobody else would fail it. */
		snvme_relay_complete(rq, NVME_SC_HOST_PATH_ERROR,
				     (union nvme_result){ });
	}
	spin_unlock_irqrestore(&path->lock, flags);
	kfree(relay);
	return BLK_STS_OK;
}

static blk_status_t snvme_admin_queue_rq(struct blk_mq_hw_ctx *hctx,
					 const struct blk_mq_queue_data *bd)
{
	struct snvme_path *path = hctx->driver_data;
	struct request *rq = bd->rq;
	blk_status_t ret;

	if (!nvme_check_ready(&path->ctrl, rq, READ_ONCE(path->admin_live)))
		return nvme_fail_nonready_command(&path->ctrl, rq);
	ret = nvme_setup_cmd(NULL, rq);
	if (ret)
		return ret;
	return snvme_relay_rq(path, rq, SNVME_ADMIN);
}

/* smartio_call() has the same deadline. */
static enum blk_eh_timer_return snvme_admin_timeout(struct request *rq)
{
	return BLK_EH_RESET_TIMER;
}

static int snvme_admin_init_hctx(struct blk_mq_hw_ctx *hctx, void *data,
				 unsigned int index)
{
	hctx->driver_data = to_snvme_path(data);
	return 0;
}

static int snvme_admin_init_request(struct blk_mq_tag_set *set,
				    struct request *rq, unsigned int index,
				    unsigned int node)
{
	struct snvme_admin_iod *iod = blk_mq_rq_to_pdu(rq);

	nvme_req(rq)->ctrl = set->driver_data;
	nvme_req(rq)->cmd = &iod->cmd;
	return 0;
}

const struct blk_mq_ops snvme_admin_mq_ops = {
	.queue_rq = snvme_admin_queue_rq,
	.complete = nvme_complete_rq,
	.init_hctx = snvme_admin_init_hctx,
	.init_request = snvme_admin_init_request,
	.timeout = snvme_admin_timeout,
};
