// SPDX-License-Identifier: GPL-2.0
/*
 * Messages of a broken or hostile client: random bytes, requests that are
 * right but for one thing, and commands that clients may not send. Nothing of
 * it may be done: each is answered with an error, or an NVMe status.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/nvme.h>
#include <linux/sched.h>

#include "probe.h"

/* Kinds of messages: see send_one(). */
#define HOSTILE_KINDS	6

struct hostile {
	struct probe *p;
	struct rnd_state rnd;
	struct probe_pair pair;		/* one that is really there */
	u32 max_entries;
	unsigned long sent[HOSTILE_KINDS];
	unsigned long refused;
};

static u32 rnd(struct hostile *h, u32 below)
{
	return prandom_u32_state(&h->rnd) % below;
}

static u64 rnd64(struct hostile *h)
{
	return (u64)prandom_u32_state(&h->rnd) << 32 |
	       prandom_u32_state(&h->rnd);
}

/* A request for a queue pair that would be granted. */
static size_t good_create(struct hostile *h, struct snvme_create_req *req)
{
	memset(req, 0, sizeof(*req));
	req->op = cpu_to_le16(SNVME_CREATE);
	req->entries = cpu_to_le16(2 + rnd(h, 15));
	req->placement = cpu_to_le16(SNVME_SQ_SEGMENT);
	req->sq_handle = cpu_to_le32(h->pair.sq.handle);
	req->cq_addr = cpu_to_le64(h->pair.cq.device_addr -
				   h->p->sdev->dma_offset);
	return sizeof(*req);
}

static size_t bad_create(struct hostile *h)
{
	struct snvme_create_req *req = (void *)h->p->message;
	size_t size = good_create(h, req);

	switch (rnd(h, 15)) {
	case 0:
		req->entries = cpu_to_le16(rnd(h, 2));
		break;
	case 1:
		if (h->max_entries == 0xffff)
			req->entries = 0;
		else
			req->entries = cpu_to_le16(h->max_entries + 1 +
					rnd(h, 0xffff - h->max_entries));
		break;
	case 2:
		req->placement = cpu_to_le16(3 + rnd(h, 0xfffd));
		break;
	case 3:
		req->flags = cpu_to_le16(2 + rnd(h, 0xfffe));
		break;
	case 4:
		req->sq_handle = cpu_to_le32(h->pair.sq.handle + 1 +
					     rnd(h, 1000));
		break;
	case 5:
		req->sq_handle = 0;
		break;
	case 6:
		req->sq_addr = cpu_to_le64(1 + rnd(h, 4095));
		break;
	case 7:		/* a page, but beyond the segment's end */
		req->sq_addr = cpu_to_le64(PAGE_ALIGN(h->pair.sq.size) +
					   4096ULL * rnd(h, 1 << 20));
		break;
	case 8:
		le64_add_cpu(&req->cq_addr, 1 + rnd(h, 4095));
		break;
	case 9:		/* around the end of addresses */
		req->cq_addr = cpu_to_le64(~0ULL << 12);
		req->entries = cpu_to_le16(h->max_entries);
		break;
	case 10:	/* an interrupt to nowhere */
		req->flags = cpu_to_le16(SNVME_CREATE_IRQ);
		req->irq_addr = cpu_to_le64(0x100000 +
					    (rnd64(h) & 0xdfffffff));
		req->irq_data = cpu_to_le32(rnd(h, 256));
		break;
	case 11:	/* no interrupt, but its message */
		req->irq_addr = cpu_to_le64(rnd64(h) | 1);
		break;
	case 12:
		req->placement = cpu_to_le16(SNVME_SQ_BORROWER);
		break;		/* with a handle */
	case 13:
		req->placement = cpu_to_le16(SNVME_SQ_CMB);
		break;		/* with a handle */
	default:
		size += rnd(h, 2) ? 1 + rnd(h, 64) :
			-(1 + rnd(h, sizeof(*req) - 2));
	}
	return size;
}

static size_t bad_delete(struct hostile *h)
{
	struct snvme_delete_req *req = (void *)h->p->message;

	memset(req, 0, sizeof(*req));
	req->op = cpu_to_le16(rnd(h, 2) ? SNVME_DELETE : SNVME_ABORT);
	do {
		req->qid = cpu_to_le16(rnd(h, 4) ? rnd(h, 64) : rnd(h, 65536));
	} while (le16_to_cpu(req->qid) == h->pair.qid);
	if (!rnd(h, 4)) {
		req->qid = cpu_to_le16(h->pair.qid);
		/* Of a delete all of this, of an abort its last half. */
		req->rsvd = cpu_to_le32((1 + rnd(h, 0xffff)) << 16);
	}
	return sizeof(*req);
}

static size_t bad_attach(struct hostile *h)
{
	struct snvme_attach_req *req = (void *)h->p->message;

	memset(req, 0, sizeof(*req));
	req->op = cpu_to_le16(SNVME_ATTACH);
	/* A second one is wrong, with any version. */
	req->version = cpu_to_le16(rnd(h, 2) ? SNVME_VERSION : rnd(h, 65536));
	req->rsvd = cpu_to_le32(rnd(h, 2) ? 0 : rnd64(h));
	return sizeof(*req);
}

/* Wrong around the command. */
static size_t bad_admin(struct hostile *h)
{
	struct snvme_admin_req *req = (void *)h->p->message;
	size_t size = sizeof(*req);

	memset(req, 0, sizeof(*req));
	req->op = cpu_to_le16(SNVME_ADMIN);
	req->sqe[0] = nvme_admin_identify;
	req->sqe[40] = NVME_ID_CNS_CTRL;
	req->data_len = cpu_to_le32(4096);
	switch (rnd(h, 5)) {
	case 0:
		req->data_len = cpu_to_le32(SNVME_ADMIN_DATA_MAX + 1 +
					    rnd(h, 1 << 30));
		break;
	case 1:
		req->flags = cpu_to_le16(2 + rnd(h, 0xfffe));
		break;
	case 2:		/* its data is missing */
		req->flags = cpu_to_le16(SNVME_ADMIN_WRITE);
		size += rnd(h, 4096);
		break;
	case 3:		/* data that the request doesn't announce */
		size += 1 + rnd(h, 4096);
		break;
	default:
		size -= 1 + rnd(h, sizeof(*req) - 1);
	}
	return size;
}

/* Commands that no client may give, with random purposes. */
static size_t forbidden_admin(struct hostile *h)
{
	static const u8 opcodes[] = {
		nvme_admin_delete_sq, nvme_admin_create_sq,
		nvme_admin_delete_cq, nvme_admin_create_cq,
		nvme_admin_async_event, nvme_admin_ns_mgmt,
		nvme_admin_activate_fw, nvme_admin_download_fw,
		nvme_admin_dev_self_test, nvme_admin_ns_attach,
		nvme_admin_keep_alive, nvme_admin_directive_send,
		nvme_admin_virtual_mgmt, nvme_admin_nvme_mi_send,
		nvme_admin_dbbuf, nvme_admin_format_nvm,
		nvme_admin_security_send, nvme_admin_sanitize_nvm,
		nvme_admin_vendor_start,
	};
	static const u8 features[] = {
		NVME_FEAT_ARBITRATION, NVME_FEAT_POWER_MGMT, NVME_FEAT_LBA_RANGE,
		NVME_FEAT_TEMP_THRESH, NVME_FEAT_ERR_RECOVERY,
		NVME_FEAT_VOLATILE_WC, NVME_FEAT_IRQ_COALESCE,
		NVME_FEAT_AUTO_PST, NVME_FEAT_HOST_MEM_BUF, NVME_FEAT_TIMESTAMP,
		NVME_FEAT_KATO, NVME_FEAT_HCTM, NVME_FEAT_HOST_BEHAVIOR,
		NVME_FEAT_SANITIZE, NVME_FEAT_SW_PROGRESS,
		NVME_FEAT_WRITE_PROTECT,
	};
	struct snvme_admin_req *req = (void *)h->p->message;
	struct nvme_command *cmd = (void *)req->sqe;
	size_t data = rnd(h, 2) ? 4096 : 0;

	memset(req, 0, sizeof(*req) + data);
	req->op = cpu_to_le16(SNVME_ADMIN);
	prandom_bytes_state(&h->rnd, req->sqe, sizeof(req->sqe));
	cmd->common.flags = 0;
	cmd->common.nsid = cpu_to_le32(rnd(h, 2) ? 1 : NVME_NSID_ALL);
	if (rnd(h, 2)) {
		cmd->common.opcode = opcodes[rnd(h, ARRAY_SIZE(opcodes))];
		if (rnd(h, 2))	/* queues that are there, formats, slots */
			cmd->common.cdw10 = cpu_to_le32(rnd(h, 4));
	} else {
		u8 fid = features[rnd(h, ARRAY_SIZE(features))];

		cmd->common.opcode = nvme_admin_set_features;
		cmd->common.cdw10 = cpu_to_le32(fid);
	}
	if (rnd(h, 2))
		req->flags = cpu_to_le16(SNVME_ADMIN_WRITE);
	req->data_len = cpu_to_le32(data);
	return sizeof(*req) + (req->flags ? data : 0);
}

/* No request begins like this. */
static size_t noise(struct hostile *h)
{
	size_t size = 1 + rnd(h, rnd(h, 16) ? 256 : SMARTIO_MESSAGE_MAX);
	__le16 op;

	prandom_bytes_state(&h->rnd, h->p->message, size);
	memcpy(&op, h->p->message, sizeof(op));
	if (size >= 2 && le16_to_cpu(op) >= SNVME_ATTACH &&
	    le16_to_cpu(op) <= SNVME_ABORT)
		h->p->message[1] |= 0x80;
	return size;
}

/* Sends one of them. An error if it was not refused. */
static int send_one(struct hostile *h)
{
	size_t (*const kinds[HOSTILE_KINDS])(struct hostile *h) = {
		bad_create, bad_delete, bad_attach, bad_admin, forbidden_admin,
		noise,
	};
	struct snvme_admin_reply *reply = (void *)h->p->reply;
	unsigned int kind = rnd(h, ARRAY_SIZE(kinds));
	size_t size = kinds[kind](h), reply_size;
	int ret;

	ret = probe_call(h->p, size, &reply_size);
	h->sent[kind]++;
	if (ret == -ENOLINK || ret == -ETIMEDOUT)
		return ret;
	if (!ret && kinds[kind] == forbidden_admin &&
	    reply_size >= sizeof(*reply) && reply->status)
		ret = 1;
	if (!ret) {
		dev_err(&h->p->sdev->dev, "not refused, kind %u: %*ph\n", kind,
			(int)min_t(size_t, size, 64), h->p->message);
		return -EBADE;
	}
	h->refused++;
	return 0;
}

/* A correct request must still be answered. */
static int check_alive(struct hostile *h)
{
	struct snvme_admin_req *req = (void *)h->p->message;
	struct snvme_admin_reply *reply = (void *)h->p->reply;
	struct nvme_id_ctrl *id = (void *)reply->data;
	size_t size;
	int ret;

	memset(req, 0, sizeof(*req));
	req->op = cpu_to_le16(SNVME_ADMIN);
	req->sqe[0] = nvme_admin_identify;
	req->sqe[40] = NVME_ID_CNS_CTRL;
	req->data_len = cpu_to_le32(4096);
	ret = probe_call(h->p, sizeof(*req), &size);
	if (ret)
		return ret;
	if (reply->status || size != sizeof(*reply) + 4096 ||
	    id->cntlid != h->p->attached.cntlid)
		return -EBADMSG;
	return 0;
}

int probe_hostile(struct probe *p, unsigned int seconds, u32 seed)
{
	unsigned long end = jiffies + seconds * HZ;
	struct hostile h = { .p = p };
	unsigned long sent = 0;
	int ret, err, len, i;

	prandom_seed_state(&h.rnd, seed);
	ret = probe_attach(p);
	if (ret)
		return ret;
	h.max_entries = le16_to_cpu(p->attached.max_entries);
	ret = probe_pair_create(p, &h.pair, SNVME_SQ_SEGMENT, false, 64);
	while (!ret && time_before(jiffies, end)) {
		ret = send_one(&h);
		cond_resched();
		if (signal_pending(current))
			ret = -EINTR;
	}
	if (!ret)
		ret = check_alive(&h);
	/* The pair that was there all the time is there still. */
	err = probe_pair_delete(p, &h.pair);
	if (!ret)
		ret = err;
	smartio_close(p->sdev);
	for (i = 0; i < HOSTILE_KINDS; i++)
		sent += h.sent[i];
	len = scnprintf(p->result, sizeof(p->result),
			"sent %lu refused %lu result %d kinds", sent,
			h.refused, ret);
	for (i = 0; i < HOSTILE_KINDS; i++)
		len += scnprintf(p->result + len, sizeof(p->result) - len,
				 " %lu", h.sent[i]);
	scnprintf(p->result + len, sizeof(p->result) - len, "\n");
	return ret;
}
