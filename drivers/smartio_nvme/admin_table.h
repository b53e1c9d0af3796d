/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What clients may do with the controller's admin commands. docs/admin-commands.md
 * has the same table for people; selftests/smartio_nvme/admin-table compares.
 */
#ifndef _SMARTIO_NVME_ADMIN_TABLE_H
#define _SMARTIO_NVME_ADMIN_TABLE_H

#include <linux/nvme.h>
#include <linux/types.h>

/* Log pages' bytes that are kept here (NVMe base 5.14.1.4, 5.14.1.5). */
#define ADMIN_LOG_BYTES		4096

/**
 * enum admin_treatment - what becomes of a client's admin command
 * @ADMIN_REFUSE: answered with a status
 * @ADMIN_PASS: done by the controller, with the manager's memory for data
 * @ADMIN_IDENTIFY_CTRL: as ADMIN_PASS, then rewritten, as are the next three
 * @ADMIN_IDENTIFY_NS: Identify Namespace
 * @ADMIN_IDENTIFY_NS_INDEP: I/O Command Set Independent Identify Namespace
 * @ADMIN_LOG_EFFECTS: Commands Supported and Effects
 * @ADMIN_LOG_CHANGED_NS: the client's own Changed Namespace List
 * @ADMIN_SET_QUEUES: Number of Queues: those that the session was granted
 * @ADMIN_GET_QUEUES: the same
 * @ADMIN_SET_EVENTS: Asynchronous Event Configuration of this client
 * @ADMIN_GET_EVENTS: the same
 * @ADMIN_SET_HOST_ID: Host Identifier of this client
 * @ADMIN_GET_HOST_ID: the same
 * @ADMIN_ABORT: nothing is aborted, which the command allows
 * @ADMIN_LOG_RESERVATION: the client's own Reservation Notification page
 * @ADMIN_SET_RESV_MASK: Reservation Notification Mask of this client
 * @ADMIN_GET_RESV_MASK: the same
 * @ADMIN_SET_RESV_PERSIST: Reservation Persistence of a namespace, for all
 * @ADMIN_GET_RESV_PERSIST: the same
 */
enum admin_treatment {
	ADMIN_REFUSE,
	ADMIN_PASS,
	ADMIN_IDENTIFY_CTRL,
	ADMIN_IDENTIFY_NS,
	ADMIN_IDENTIFY_NS_INDEP,
	ADMIN_LOG_EFFECTS,
	ADMIN_LOG_CHANGED_NS,
	ADMIN_SET_QUEUES,
	ADMIN_GET_QUEUES,
	ADMIN_SET_EVENTS,
	ADMIN_GET_EVENTS,
	ADMIN_SET_HOST_ID,
	ADMIN_GET_HOST_ID,
	ADMIN_ABORT,
	ADMIN_LOG_RESERVATION,
	ADMIN_SET_RESV_MASK,
	ADMIN_GET_RESV_MASK,
	ADMIN_SET_RESV_PERSIST,
	ADMIN_GET_RESV_PERSIST,
};

/**
 * struct admin_verdict
 * @treatment: what to do
 * @status: of ADMIN_REFUSE, without the phase bit
 * @data_len: bytes that the command itself asks to be transferred
 */
struct admin_verdict {
	enum admin_treatment treatment;
	u16 status;
	u32 data_len;
};

struct admin_verdict admin_classify(const struct nvme_command *cmd);
bool admin_supported(u8 opcode);
u32 admin_feature_select(const struct nvme_command *cmd);
u64 admin_log_offset(const struct nvme_command *cmd);

#endif /* _SMARTIO_NVME_ADMIN_TABLE_H */
