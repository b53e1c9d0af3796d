/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The protocol of a client (smartio_nvme) and the manager (smartio_nvme_mgr):
 * requests and replies by smartio_call(), notifications by
 * smartio_session_notify(). All are little endian. The receiver checks every
 * field (proto_check.c, which user space fuzzes too).
 */
#ifndef _SMARTIO_NVME_PROTO_H
#define _SMARTIO_NVME_PROTO_H

#include <linux/types.h>

#define SNVME_SERVICE		"nvme"
#define SNVME_VERSION		3

/* Data of an admin command, at most. */
#define SNVME_ADMIN_DATA_MAX	(64 * 1024)

/**
 * enum snvme_op - first field of every request
 * @SNVME_ATTACH: first of a session; snvme_attach_req, snvme_attach_reply
 * @SNVME_CREATE: one I/O queue pair; snvme_create_req, snvme_create_reply
 * @SNVME_DELETE: one I/O queue pair; snvme_delete_req, no reply body
 * @SNVME_ADMIN: an admin command; snvme_admin_req + data, snvme_admin_reply
 *	+ data
 * @SNVME_ABORT: ask for the abort of a command of one's own queue pair:
 *	snvme_abort_req, no reply body. Best effort.
 * @SNVME_RESERVATION: a reservation command, which is an I/O command, but the
 *	manager's to execute; as SNVME_ADMIN
 * @SNVME_ACCESS: what reservations don't let this host do; snvme_access_req,
 *	snvme_access_reply
 */
enum snvme_op {
	SNVME_ATTACH = 1,
	SNVME_CREATE = 2,
	SNVME_DELETE = 3,
	SNVME_ADMIN = 4,
	SNVME_ABORT = 5,
	SNVME_RESERVATION = 6,
	SNVME_ACCESS = 7,
};

/* @op: SNVME_ATTACH; @version: SNVME_VERSION of the client. */
struct snvme_attach_req {
	__le16 op;
	__le16 version;
	__le32 rsvd;
} __packed;

/**
 * struct snvme_attach_reply - properties of the client's virtual controller
 * @version: SNVME_VERSION of the manager
 * @cntlid: of this virtual controller
 * @queue_pairs: how many the session may create now (quota, and free ones)
 * @max_entries: largest queue, in entries
 * @cap: the CAP register to show (NVMe base 3.1.1), already masked
 * @vs: the VS register
 * @max_bytes: largest transfer of one I/O command, a multiple of 4096
 * @sgls: the SGLS field of Identify Controller: allowed forms of data pointers
 * @db_offset: of the doorbells in BAR 0: SQ n's is at db_offset + 2n *
 *	db_stride, CQ n's at db_offset + (2n + 1) * db_stride
 * @db_stride: bytes
 * @cmb_bytes: memory of the controller left for submission queues, 0: none
 * @incarnation: changes whenever all queues are deleted
 * @quirks: NVME_QUIRK_* that the client must apply too
 * @subnqn: NVM subsystem name, the same for all clients, NUL-terminated
 */
struct snvme_attach_reply {
	__le16 version;
	__le16 cntlid;
	__le16 queue_pairs;
	__le16 max_entries;
	__le64 cap;
	__le32 vs;
	__le32 max_bytes;
	__le32 sgls;
	__le32 db_offset;
	__le32 db_stride;
	__le32 cmb_bytes;
	__le64 incarnation;
	__le64 quirks;
	char subnqn[224];
} __packed;

/* Where the submission queue is. */
enum snvme_placement {
	/* a segment beside the controller: sq_handle; sq_addr: offset in it */
	SNVME_SQ_SEGMENT = 0,
	SNVME_SQ_BORROWER = 1,	/* memory of the client: sq_addr is its dma_addr_t */
	SNVME_SQ_CMB = 2,	/* the controller's memory buffer; the reply says where */
};

#define SNVME_CREATE_IRQ	0x1	/* else the queue is polled */

/**
 * struct snvme_create_req - a pair of queues for one client
 * @op: SNVME_CREATE
 * @entries: of each queue
 * @placement: enum snvme_placement: where the submission queue is
 * @flags: SNVME_CREATE_...
 * @sq_handle: as @placement says
 * @irq_data: the interrupt, if it has one; as in struct smartio_irq_message
 * @sq_addr: as @placement says
 * @cq_addr: the completion queue, a dma_addr_t of the client's memory
 * @irq_addr: the interrupt, as @irq_data
 */
struct snvme_create_req {
	__le16 op;
	__le16 entries;
	__le16 placement;
	__le16 flags;
	__le32 sq_handle;
	__le32 irq_data;
	__le64 sq_addr;
	__le64 cq_addr;
	__le64 irq_addr;
} __packed;

/**
 * struct snvme_create_reply
 * @qid: of both queues; the doorbell page of the queue is mapped with
 *	smartio_map_bar(sdev, 0, db_page, ...)
 * @vector: of the device; the core names it when the interrupt moves; 0: no
 *	interrupt, as the device has no vector left
 * @cmb_bar: where the SQ is, if it is in the CMB
 * @cmb_offset: in that BAR
 */
struct snvme_create_reply {
	__le16 qid;
	__le16 vector;
	__le32 cmb_bar;
	__le64 cmb_offset;
} __packed;

/* @op: SNVME_DELETE; @qid: from struct snvme_create_reply. */
struct snvme_delete_req {
	__le16 op;
	__le16 qid;
	__le32 rsvd;
} __packed;

/* @op: SNVME_ABORT; @cid: of the command in the queue @qid. */
struct snvme_abort_req {
	__le16 op;
	__le16 qid;
	__le16 cid;
	__le16 rsvd;
} __packed;

/* @op: SNVME_ACCESS. */
struct snvme_access_req {
	__le16 op;
	__le16 rsvd;
	__le32 rsvd2;
} __packed;

/* A namespace in which a host may not do all; RESV_NO_READ, RESV_NO_WRITE. */
struct snvme_access_entry {
	__le32 nsid;
	__le32 flags;
} __packed;

/* More than those, and a host may not do anything at all. */
#define SNVME_ACCESS_MAX	1024

/**
 * struct snvme_access_reply
 * @count: in @entries, at most SNVME_ACCESS_MAX
 * @others: flags for all namespaces that have no entry
 * @entries: @count namespaces
 */
struct snvme_access_reply {
	__le32 count;
	__le32 others;
	struct snvme_access_entry entries[];
} __packed;

#define SNVME_ADMIN_WRITE	0x1	/* data goes to the controller, and follows the request */

/**
 * struct snvme_admin_req - an admin command of a client
 * @op: SNVME_ADMIN or SNVME_RESERVATION
 * @flags: SNVME_ADMIN_WRITE or 0
 * @data_len: bytes of data in either direction, at most SNVME_ADMIN_DATA_MAX
 * @sqe: the command; its data and metadata pointers count for nothing
 * @data: for the controller
 */
struct snvme_admin_req {
	__le16 op;
	__le16 flags;
	__le32 data_len;
	__u8 sqe[64];
	__u8 data[];
} __packed;

/**
 * struct snvme_admin_reply
 * @status: NVMe status without the phase bit, as in nvme_req(rq)->status
 * @rsvd: 0
 * @data_len: bytes of data that follow
 * @result: of the completion, as in nvme_req(rq)->result
 * @data: from the controller
 */
struct snvme_admin_reply {
	__le16 status;
	__le16 rsvd;
	__le32 data_len;
	__le64 result;
	__u8 data[];
} __packed;

/**
 * enum snvme_note - first field of every notification
 * @SNVME_NOTE_EVENT: snvme_event_note: an asynchronous event (NVMe base 5.2.2)
 *	for this virtual controller, if it has a request for one out
 * @SNVME_NOTE_ACCESS: snvme_access_note: a host may do more than before, or
 *	less by its own doing: ask with SNVME_ACCESS. What another host takes
 *	from it ends its session.
 */
enum snvme_note {
	SNVME_NOTE_EVENT = 1,
	SNVME_NOTE_ACCESS = 2,
};

/* @note: SNVME_NOTE_ACCESS. */
struct snvme_access_note {
	__le16 note;
	__le16 rsvd;
	__le32 rsvd2;
} __packed;

/* @note: SNVME_NOTE_EVENT. */
struct snvme_event_note {
	__le16 note;
	__le16 rsvd;
	__le32 result;		/* dword 0 of the completion */
} __packed;

#endif /* _SMARTIO_NVME_PROTO_H */
