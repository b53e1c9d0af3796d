// SPDX-License-Identifier: GPL-2.0
/*
 * Messages to the manager, but for admin commands (client_admin.c). What it
 * answers is checked before it is used.
 */
#include <linux/slab.h>

#include "client.h"

/*
 * struct snvme_attach_reply as it came, to struct snvme_limits.
 * Return: 0, -EPROTO, or -ENOSPC: no queue pair left.
 */
static int snvme_limits_check(const struct snvme_attach_reply *r,
			      struct snvme_limits *limits)
{
	limits->cntlid = le16_to_cpu(r->cntlid);
	limits->queue_pairs = le16_to_cpu(r->queue_pairs);
	limits->max_entries = le16_to_cpu(r->max_entries);
	limits->cap = le64_to_cpu(r->cap);
	limits->vs = le32_to_cpu(r->vs);
	limits->max_bytes = le32_to_cpu(r->max_bytes) &
			    ~(NVME_CTRL_PAGE_SIZE - 1);
	limits->sgls = le32_to_cpu(r->sgls);
	limits->db_offset = le32_to_cpu(r->db_offset);
	limits->db_stride = le32_to_cpu(r->db_stride);
	limits->incarnation = le64_to_cpu(r->incarnation);
	limits->quirks = le64_to_cpu(r->quirks);
	if (strscpy(limits->subnqn, r->subnqn) <= 0)
		return -EPROTO;
	/* No subsystem reset, no CRTO: there are no such registers here. */
	limits->cap &= ~(BIT_ULL(36) | BIT_ULL(59) | BIT_ULL(60));
	if (le16_to_cpu(r->version) != SNVME_VERSION ||
	    limits->max_entries < 2 || !limits->max_bytes ||
	    limits->db_stride < 4 || limits->db_stride > SZ_128K ||
	    !is_power_of_2(limits->db_stride) || limits->db_offset % 4)
		return -EPROTO;
	if (!limits->queue_pairs)
		return -ENOSPC;
	return 0;
}

/**
 * snvme_attach() - the first message of a session
 * @sdev: with a session open
 * @limits: what the manager grants
 *
 * Context: process, may sleep.
 * Return: 0; -EPROTO: another version, or nonsense; -ENOSPC: no queue pair
 * left; what smartio_call() returns.
 */
int snvme_attach(struct smartio_device *sdev, struct snvme_limits *limits)
{
	struct snvme_attach_req request = {
		.op = cpu_to_le16(SNVME_ATTACH),
		.version = cpu_to_le16(SNVME_VERSION),
	};
	struct snvme_attach_reply *reply;
	size_t size = sizeof(*reply);
	int ret;

	reply = kzalloc(sizeof(*reply), GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	ret = smartio_call(sdev, &request, sizeof(request), reply, &size,
			   SNVME_CALL_MS);
	if (!ret && size != sizeof(*reply))
		ret = -EPROTO;
	if (!ret)
		ret = snvme_limits_check(reply, limits);
	kfree(reply);
	return ret;
}

/**
 * snvme_create() - a queue pair
 * @sdev: attached
 * @request: filled in, but for op
 * @reply: what it became
 *
 * Context: process, may sleep.
 * Return: 0, -EPROTO, or what smartio_call() returns.
 */
int snvme_create(struct smartio_device *sdev,
		 const struct snvme_create_req *request,
		 struct snvme_create_reply *reply)
{
	struct snvme_create_req req = *request;
	size_t size = sizeof(*reply);
	int ret;

	req.op = cpu_to_le16(SNVME_CREATE);
	memset(reply, 0, sizeof(*reply));
	ret = smartio_call(sdev, &req, sizeof(req), reply, &size,
			   SNVME_CALL_MS);
	if (!ret && (size != sizeof(*reply) || !le16_to_cpu(reply->qid)))
		ret = -EPROTO;
	return ret;
}

struct snvme_abort_work {
	struct work_struct work;
	struct snvme_path *path;
	u16 qid;
	u16 cid;
};

static void snvme_abort_work(struct work_struct *work)
{
	struct snvme_abort_work *w = container_of(work, struct snvme_abort_work,
						  work);
	struct snvme_path *path = w->path;
	struct snvme_abort_req request = {
		.op = cpu_to_le16(SNVME_ABORT),
		.qid = cpu_to_le16(w->qid),
		.cid = cpu_to_le16(w->cid),
	};

	/* Best effort: if it doesn't help, the next time-out ends the session. */
	smartio_call(path->sdev, &request, sizeof(request), NULL, NULL,
		     SNVME_CALL_MS);
	atomic_dec(&path->aborts);
	nvme_put_ctrl(&path->ctrl);
	kfree(w);
}

/**
 * snvme_abort() - ask for the abort of a command
 * @path: the path
 * @qid: queue
 * @cid: command identifier
 *
 * Context: any; doesn't wait.
 */
void snvme_abort(struct snvme_path *path, u16 qid, u16 cid)
{
	struct snvme_abort_work *w;

	if (atomic_inc_return(&path->aborts) > SNVME_ABORTS)
		goto none;
	w = kzalloc(sizeof(*w), GFP_ATOMIC);
	if (!w)
		goto none;
	INIT_WORK(&w->work, snvme_abort_work);
	w->path = path;
	w->qid = qid;
	w->cid = cid;
	nvme_get_ctrl(&path->ctrl);
	snvme_count(path, SNVME_STAT_ABORTS, 1);
	queue_work(path->client->calls, &w->work);
	return;

none:
	atomic_dec(&path->aborts);
}
