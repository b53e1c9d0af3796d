// SPDX-License-Identifier: GPL-2.0
/*
 * The checks of clients' requests. No state, no kernel services: user space
 * compiles this file too, to test and to fuzz it.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#include "proto_check.h"

#define SQ_ENTRY_BYTES	64
#define CQ_ENTRY_BYTES	16

/* A queue's memory: a page's start, and not around the end of addresses. */
static bool queue_fits(u64 addr, u64 bytes)
{
	return addr % SNVME_QUEUE_ALIGN == 0 && addr + bytes > addr;
}

static int check_attach(const void *message, struct snvme_request *request)
{
	struct snvme_attach_req req;

	memcpy(&req, message, sizeof(req));
	if (req.rsvd)
		return -EINVAL;
	request->version = le16_to_cpu(req.version);
	return 0;
}

static int check_create(const void *message, u32 max_entries,
			struct snvme_request *request)
{
	struct snvme_create *create = &request->create;
	struct snvme_create_req req;

	memcpy(&req, message, sizeof(req));
	create->entries = le16_to_cpu(req.entries);
	create->placement = le16_to_cpu(req.placement);
	create->irq = le16_to_cpu(req.flags) & SNVME_CREATE_IRQ;
	create->sq_handle = le32_to_cpu(req.sq_handle);
	create->sq_addr = le64_to_cpu(req.sq_addr);
	create->cq_addr = le64_to_cpu(req.cq_addr);
	create->irq_addr = le64_to_cpu(req.irq_addr);
	create->irq_data = le32_to_cpu(req.irq_data);

	if (le16_to_cpu(req.flags) & ~SNVME_CREATE_IRQ)
		return -EINVAL;
	if (!create->irq && (create->irq_addr || create->irq_data))
		return -EINVAL;
	if (create->entries < 2 || create->entries > max_entries)
		return -EINVAL;
	if (!queue_fits(create->cq_addr, (u64)create->entries * CQ_ENTRY_BYTES))
		return -EINVAL;

	switch (create->placement) {
	case SNVME_SQ_SEGMENT:
		if (!create->sq_handle)
			return -EINVAL;
		break;
	case SNVME_SQ_BORROWER:
		if (create->sq_handle)
			return -EINVAL;
		break;
	case SNVME_SQ_CMB:
		return create->sq_handle || create->sq_addr ? -EINVAL : 0;
	default:
		return -EINVAL;
	}
	if (!queue_fits(create->sq_addr, (u64)create->entries * SQ_ENTRY_BYTES))
		return -EINVAL;
	return 0;
}

static int check_delete(const void *message, struct snvme_request *request)
{
	struct snvme_delete_req req;

	memcpy(&req, message, sizeof(req));
	request->qid = le16_to_cpu(req.qid);
	return req.rsvd || !request->qid ? -EINVAL : 0;
}

static int check_abort(const void *message, struct snvme_request *request)
{
	struct snvme_abort_req req;

	memcpy(&req, message, sizeof(req));
	request->qid = le16_to_cpu(req.qid);
	request->cid = le16_to_cpu(req.cid);
	return req.rsvd || !request->qid ? -EINVAL : 0;
}

static int check_access(const void *message)
{
	struct snvme_access_req req;

	memcpy(&req, message, sizeof(req));
	return req.rsvd || req.rsvd2 ? -EINVAL : 0;
}

static int check_admin(const void *message, size_t size,
		       struct snvme_request *request)
{
	const struct snvme_admin_req *in_place = message;
	struct snvme_admin *admin = &request->admin;
	struct snvme_admin_req req;

	memcpy(&req, message, sizeof(req));
	admin->write = le16_to_cpu(req.flags) & SNVME_ADMIN_WRITE;
	admin->data_len = le32_to_cpu(req.data_len);
	admin->sqe = in_place->sqe;
	if (le16_to_cpu(req.flags) & ~SNVME_ADMIN_WRITE)
		return -EINVAL;
	if (admin->data_len > SNVME_ADMIN_DATA_MAX)
		return -EINVAL;
	if (size - sizeof(req) != (admin->write ? admin->data_len : 0))
		return -EINVAL;
	admin->data = admin->write && admin->data_len ? in_place->data : NULL;
	return 0;
}

/**
 * snvme_check_request() - check a client's request
 * @message: what came; does not change meanwhile
 * @size: its bytes
 * @max_entries: the controller's largest queue
 * @request: filled in
 *
 * Context: any.
 * Return: 0, or -EINVAL: nothing of @request counts then.
 */
int snvme_check_request(const void *message, size_t size, u32 max_entries,
			struct snvme_request *request)
{
	static const size_t sizes[] = {
		[SNVME_ATTACH] = sizeof(struct snvme_attach_req),
		[SNVME_CREATE] = sizeof(struct snvme_create_req),
		[SNVME_DELETE] = sizeof(struct snvme_delete_req),
		[SNVME_ADMIN] = sizeof(struct snvme_admin_req),
		[SNVME_ABORT] = sizeof(struct snvme_abort_req),
		[SNVME_RESERVATION] = sizeof(struct snvme_admin_req),
		[SNVME_ACCESS] = sizeof(struct snvme_access_req),
	};
	__le16 wire;
	u16 op;

	memset(request, 0, sizeof(*request));
	if (size < sizeof(wire))
		return -EINVAL;
	memcpy(&wire, message, sizeof(wire));
	op = le16_to_cpu(wire);
	if (op < SNVME_ATTACH || op > SNVME_ACCESS || size < sizes[op])
		return -EINVAL;
	if (op != SNVME_ADMIN && op != SNVME_RESERVATION && size != sizes[op])
		return -EINVAL;

	request->op = op;
	switch (request->op) {
	case SNVME_ATTACH:
		return check_attach(message, request);
	case SNVME_CREATE:
		return check_create(message, max_entries, request);
	case SNVME_DELETE:
		return check_delete(message, request);
	case SNVME_ADMIN:
	case SNVME_RESERVATION:
		return check_admin(message, size, request);
	case SNVME_ACCESS:
		return check_access(message);
	case SNVME_ABORT:
		return check_abort(message, request);
	}
	return -EINVAL;
}
