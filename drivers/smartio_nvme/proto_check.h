/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client's message, checked and in this CPU's byte order. This judges only
 * the message itself. Callers check whether a queue is the client's, and
 * whether an address is within reach.
 */
#ifndef _SMARTIO_NVME_PROTO_CHECK_H
#define _SMARTIO_NVME_PROTO_CHECK_H

#include <linux/types.h>
#include "proto.h"

/* Queues start on a page of the controller (CC.MPS is 4 KiB). */
#define SNVME_QUEUE_ALIGN	4096

/* As struct snvme_create_req, in this host's byte order. */
struct snvme_create {
	u16 entries;
	u16 placement;
	bool irq;
	u32 sq_handle;
	u64 sq_addr;
	u64 cq_addr;
	u64 irq_addr;
	u32 irq_data;
};

/* As struct snvme_admin_req, in this host's byte order. */
struct snvme_admin {
	const u8 *sqe;		/* 64 bytes, in the request */
	const u8 *data;		/* data_len bytes, in the request; NULL: none */
	u32 data_len;		/* also if data is read */
	bool write;
};

/**
 * struct snvme_request - a request that is well-formed
 * @op: says which member counts
 * @version: of SNVME_ATTACH
 * @create: of SNVME_CREATE
 * @qid: of SNVME_DELETE and SNVME_ABORT
 * @cid: of SNVME_ABORT
 * @admin: of SNVME_ADMIN and SNVME_RESERVATION
 */
struct snvme_request {
	enum snvme_op op;
	u16 version;
	struct snvme_create create;
	u16 qid;
	u16 cid;
	struct snvme_admin admin;
};

int snvme_check_request(const void *message, size_t size, u32 max_entries,
			struct snvme_request *request);

#endif /* _SMARTIO_NVME_PROTO_CHECK_H */
