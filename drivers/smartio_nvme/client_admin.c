// SPDX-License-Identifier: GPL-2.0
/*
 * Commands that the manager executes.
 *
 * The admin queue of a path has no hardware. Each command is sent to the
 * manager with its data, and the manager's answer completes it. The same goes
 * for the reservation commands of the I/O queues.
 *
 * When the path is lost, all commands in flight fail at once. A relay may be
 * waiting in smartio_call_in() then. The side that takes the request from it,
 * under path->lock, completes it. So nvme_cancel_admin_tagset() must never be
 * used on this queue.
 *
 * The drive knows nothing of reservations. So the client refuses commands that
 * they forbid here. It asks the manager for those when a session begins, after
 * its own reservation commands, and after SNVME_NOTE_ACCESS. A reservation that
 * restricts a host ends its session, so that no command is judged by an old
 * answer.
 */
#include <linux/blk-integrity.h>
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/smartio_recovery.h>

#include "client.h"

/* The most commands that the manager has of a path at a time. */
#define SNVME_RELAYS		64
/* Until a lender that has too much to do is asked again. */
#define SNVME_ACCESS_AGAIN_MS	50

/* ---- what reservations forbid ---- */

#define SNVME_ACCESS_BYTES \
	struct_size_t(struct snvme_access_reply, entries, SNVME_ACCESS_MAX)

/* Under access_lock. */
static void snvme_access_set(struct snvme_path *path,
			     struct snvme_access *access)
{
	struct snvme_access *old;

	old = rcu_replace_pointer(path->access, access,
				  lockdep_is_held(&path->access_lock));
	if (old)
		kfree_rcu(old, rcu);
}

/* The reply as it came; NULL: this host may do all. */
static int snvme_access_check(const struct snvme_access_reply *reply,
			      size_t size, struct snvme_access **access)
{
	struct snvme_access *new;
	u32 count, i;

	*access = NULL;
	if (size < sizeof(*reply))
		return -EPROTO;
	count = le32_to_cpu(reply->count);
	if (count > SNVME_ACCESS_MAX ||
	    size != struct_size(reply, entries, count))
		return -EPROTO;
	if (!count && !reply->others)
		return 0;
	new = kzalloc(struct_size(new, entries, count), GFP_NOIO);
	if (!new)
		return -ENOMEM;
	new->others = le32_to_cpu(reply->others);
	new->count = count;
	for (i = 0; i < count; i++) {
		new->entries[i].nsid = le32_to_cpu(reply->entries[i].nsid);
		new->entries[i].flags = le32_to_cpu(reply->entries[i].flags);
	}
	*access = new;
	return 0;
}

/*
 * Asks the manager for the commands that reservations forbid to this host.
 * Without an answer the path has to be lost: the last one may be wrong. May
 * sleep. Return: 0, -EPROTO, -ENOMEM, or that of smartio_call().
 */
int snvme_access_fetch(struct snvme_path *path)
{
	struct snvme_access_req request = {
		.op = cpu_to_le16(SNVME_ACCESS),
	};
	unsigned long until = jiffies + msecs_to_jiffies(SNVME_CALL_MS);
	struct snvme_access *access;
	size_t size = SNVME_ACCESS_BYTES;
	int ret;

	/* Answers count in the order of their questions. */
	mutex_lock(&path->access_lock);
	while ((ret = smartio_call(path->sdev, &request, sizeof(request),
				   path->access_reply, &size,
				   SNVME_CALL_MS)) == -EBUSY &&
	       time_before(jiffies, until)) {
		msleep(SNVME_ACCESS_AGAIN_MS);
		size = SNVME_ACCESS_BYTES;
	}
	if (!ret)
		ret = snvme_access_check(path->access_reply, size, &access);
	if (!ret)
		snvme_access_set(path, access);
	mutex_unlock(&path->access_lock);
	return ret;
}

/* Of a path that was up, or is about to be. */
static void snvme_access_renew(struct snvme_path *path)
{
	int ret;

	if (!READ_ONCE(path->admin_live))
		return;
	ret = snvme_access_fetch(path);
	if (ret && ret != -ENOLINK)
		path->lose(path, SNVME_LOSS_ACCESS);
}

static void snvme_access_work(struct work_struct *work)
{
	struct snvme_path *path = container_of(work, struct snvme_path,
					       access_work);
	unsigned int flags = smartio_recovery_begin();

	snvme_access_renew(path);
	nvme_put_ctrl(&path->ctrl);
	smartio_recovery_end(flags);
}

/* The manager says that this host may do more. Any context. */
void snvme_access_changed(struct snvme_path *path)
{
	nvme_get_ctrl(&path->ctrl);
	if (!queue_work(path->calls, &path->access_work))
		nvme_put_ctrl(&path->ctrl);
}

/*
 * Whether the command, set up, ends with Reservation Conflict. Any context.
 */
bool snvme_access_forbids(struct snvme_path *path, struct request *rq)
{
	const struct nvme_command *cmd = nvme_req(rq)->cmd;
	u8 needs = resv_needs(cmd->common.opcode);
	u32 nsid = le32_to_cpu(cmd->common.nsid);
	const struct snvme_access *access;
	bool found = false;
	u8 flags = 0;
	u32 i;

	rcu_read_lock();
	access = rcu_dereference(path->access);
	for (i = 0; access && i < access->count; i++) {
		if (access->entries[i].nsid != nsid && nsid != NVME_NSID_ALL)
			continue;
		flags |= access->entries[i].flags;
		found = true;
	}
	if (access && !found)
		flags = access->others;
	rcu_read_unlock();
	return flags & needs;
}

/* Its counterpart after an error, too, is snvme_access_exit(). */
int snvme_access_init(struct snvme_path *path)
{
	mutex_init(&path->access_lock);
	INIT_WORK(&path->access_work, snvme_access_work);
	path->access_reply = kvzalloc(SNVME_ACCESS_BYTES, GFP_KERNEL);
	return path->access_reply ? 0 : -ENOMEM;
}

/* The path is not in use any more. */
void snvme_access_exit(struct snvme_path *path)
{
	kfree(rcu_dereference_protected(path->access, true));
	kvfree(path->access_reply);
}

/* ---- relayed commands ---- */

/* An admin request. nvme-core's part comes first. */
struct snvme_admin_iod {
	struct nvme_request req;
	struct nvme_command cmd;
};

/**
 * struct snvme_relay - a command in flight to the manager and back
 * @work: on path->calls
 * @entry: in path->relays
 * @path: a reference
 * @rq: under path->lock; NULL once it has failed without us: its pages may
 *	belong to others then
 * @session: in which it is sent, if that is not over
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
	u64 session;
	struct nvme_command cmd;
	u32 len;
	bool write;
	u16 op;
	unsigned int timeout_ms;
};

/* Its request has been completed, here or elsewhere. */
static void snvme_relay_free(struct snvme_relay *relay)
{
	atomic_dec(&relay->path->relays_out);
	kfree(relay);
}

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

/*
 * Ends the commands in flight. With exactly "host path error": core takes any
 * other for an answer. Under path->lock.
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
 * Whether the request still waits. One that has failed must not be executed:
 * the session of now may be another one, and its data is not here.
 */
static bool snvme_relay_waits(struct snvme_relay *relay)
{
	bool waits;

	spin_lock_irq(&relay->path->lock);
	waits = relay->rq;
	spin_unlock_irq(&relay->path->lock);
	return waits;
}

/*
 * Sends the command. Failures of the path are "host path error", never with
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
	/* Failed with its path: not even in its own session, which may last. */
	if (!snvme_relay_waits(relay))
		return NVME_SC_HOST_PATH_ERROR;
	ret = smartio_call_in(relay->path->sdev, relay->session, req, size,
			      reply, &room, relay->timeout_ms);
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

/* May the command forbid something to this host? */
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
	unsigned int flags = smartio_recovery_begin();
	struct snvme_path *path = relay->path;
	struct snvme_admin_reply *reply;
	union nvme_result result = { };
	struct snvme_admin_req *req;
	u16 status = NVME_SC_HOST_PATH_ERROR;
	size_t size;

	/* A join has no large ones, but waits for all. */
	size = struct_size(req, data, relay->write ? relay->len : 0);
	req = kvzalloc(size, smartio_recovery_gfp(size));
	size = struct_size(reply, data, relay->write ? 0 : relay->len);
	reply = kvzalloc(size, smartio_recovery_gfp(size));
	spin_lock_irq(&path->lock);
	if (relay->rq && relay->write && req)
		snvme_rq_copy(relay->rq, req->data, relay->len, false);
	spin_unlock_irq(&path->lock);
	if (req && reply)
		status = snvme_relay_call(relay, req, reply, &result);
	/* This host's own command may have narrowed its access. */
	if (snvme_relay_narrows(relay))
		snvme_access_renew(path);
	/* core's last command before it uses a namespace's new path */
	if (relay->cmd.common.opcode == nvme_admin_identify)
		path->drive->may_wait(path);
	spin_lock_irq(&path->lock);
	if (relay->rq) {
		list_del(&relay->entry);
		/* of this join: those of a loss have failed already */
		if (status == NVME_SC_HOST_PATH_ERROR)
			path->unanswered = true;
		if (!status && !relay->write && relay->len)
			snvme_rq_copy(relay->rq, reply->data, relay->len, true);
		snvme_relay_complete(relay->rq, status, result);
	}
	spin_unlock_irq(&path->lock);
	kvfree(req);
	kvfree(reply);
	snvme_relay_free(relay);
	nvme_put_ctrl(&path->ctrl);
	smartio_recovery_end(flags);
}

/* Completes a request, set up and not started, from queue_rq. */
blk_status_t snvme_refuse_rq(struct request *rq, u16 status)
{
	nvme_req(rq)->status = status;
	blk_mq_set_request_complete(rq);
	nvme_complete_rq(rq);
	return BLK_STS_OK;
}

/* Lets the manager execute a request, set up and not started, from queue_rq. */
blk_status_t snvme_relay_rq(struct snvme_path *path, struct request *rq,
			    enum snvme_op op)
{
	u32 len = blk_rq_nr_phys_segments(rq) ? blk_rq_bytes(rq) : 0;
	struct snvme_relay *relay;
	unsigned long flags;

	if (len > SNVME_ADMIN_DATA_MAX || blk_integrity_rq(rq))
		return snvme_refuse_rq(rq, NVME_SC_INVALID_FIELD |
				       NVME_STATUS_DNR);
	/* the lender has a limited number of requests of a link at a time */
	relay = atomic_inc_return(&path->relays_out) > SNVME_RELAYS ?
		NULL : kzalloc(sizeof(*relay), GFP_ATOMIC);
	if (!relay) {
		atomic_dec(&path->relays_out);
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
	/* without a time-out of its own it has its queue's, once it starts */
	relay->timeout_ms = jiffies_to_msecs(rq->timeout ?: rq->q->rq_timeout);
	nvme_start_request(rq);

	spin_lock_irqsave(&path->lock, flags);
	if (path->admin_live) {
		relay->session = READ_ONCE(path->session);
		list_add_tail(&relay->entry, &path->relays);
		nvme_get_ctrl(&path->ctrl);
		queue_work(path->calls, &relay->work);
		relay = NULL;
	} else {
		/* Lost since the check: snvme_relay_fail_all() missed it. */
		snvme_relay_complete(rq, NVME_SC_HOST_PATH_ERROR,
				     (union nvme_result){ });
	}
	spin_unlock_irqrestore(&path->lock, flags);
	if (relay)
		snvme_relay_free(relay);
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
				    compat_node_t node)
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
