/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reservations of a namespace (NVMe base 2.0, 8.19): registrants, the holder,
 * and the access that each host has. No kernel services: user space compiles
 * resv.c too. mgr_resv.c makes them count.
 *
 * A host is its Host Identifier, 16 bytes; one of 8 bytes is padded with zeros.
 */
#ifndef _SMARTIO_NVME_RESV_H
#define _SMARTIO_NVME_RESV_H

#include <linux/nvme.h>
#include <linux/types.h>

#define RESV_HOST_BYTES		16
#define RESV_REGISTRANTS_MAX	128

/* RTYPE (NVMe base, Reservation Acquire); 0: none. */
enum resv_type {
	RESV_NONE,
	RESV_WRITE_EXCLUSIVE,
	RESV_EXCLUSIVE_ACCESS,
	RESV_WRITE_EXCLUSIVE_REG_ONLY,
	RESV_EXCLUSIVE_ACCESS_REG_ONLY,
	RESV_WRITE_EXCLUSIVE_ALL_REGS,
	RESV_EXCLUSIVE_ACCESS_ALL_REGS,
};

/* Accesses that a host may not make. */
#define RESV_NO_READ	0x1
#define RESV_NO_WRITE	0x2

/**
 * struct resv_registrant - a host that is registered
 * @host: who
 * @key: its reservation key
 */
struct resv_registrant {
	u8 host[RESV_HOST_BYTES];
	u64 key;
};

/**
 * struct resv_ns - a namespace
 * @nsid: which
 * @uid: NGUID or EUI64, so that another one of this number isn't taken for it
 * @generation: GEN of the report
 * @type: enum resv_type
 * @ptpl: all this survives a loss of power
 * @holder: index of who holds it, unless all registrants do
 * @count: in @registrants
 * @registrants: all
 */
struct resv_ns {
	u32 nsid;
	u8 uid[16];
	u32 generation;
	u8 type;
	bool ptpl;
	u16 holder;
	u16 count;
	struct resv_registrant registrants[RESV_REGISTRANTS_MAX];
};

/* Reservation Notification log page: type. */
enum resv_notice {
	RESV_NOTICE_REGISTRATION_PREEMPTED = 1,
	RESV_NOTICE_RELEASED = 2,
	RESV_NOTICE_PREEMPTED = 3,
};

/**
 * struct resv_outcome - other hosts that a command concerns
 * @changed: something has to be written down, if it persists
 * @count: in @notices
 * @notices: for hosts
 */
struct resv_outcome {
	bool changed;
	u16 count;
	struct {
		u8 host[RESV_HOST_BYTES];
		u8 type;
	} notices[RESV_REGISTRANTS_MAX];
};

/**
 * struct resv_command - a reservation command, taken apart
 * @opcode: nvme_cmd_resv_*
 * @action: RREGA, RACQA or RRELA
 * @ignore_key: IEKEY
 * @type: RTYPE
 * @ptpl: CPTPL
 * @extended: EDS
 * @bytes: that a report may have
 * @current_key: CRKEY
 * @other_key: NRKEY or PRKEY
 */
struct resv_command {
	u8 opcode;
	u8 action;
	bool ignore_key;
	u8 type;
	u8 ptpl;
	bool extended;
	u32 bytes;
	u64 current_key;
	u64 other_key;
};

/* RACQA: its commands end, too. */
#define RESV_PREEMPT_AND_ABORT	2

static inline bool resv_is_command(u8 opcode)
{
	return opcode == nvme_cmd_resv_register ||
	       opcode == nvme_cmd_resv_report ||
	       opcode == nvme_cmd_resv_acquire ||
	       opcode == nvme_cmd_resv_release;
}

u16 resv_parse(const struct nvme_command *cmd, const void *data, size_t size,
	       struct resv_command *command);
u16 resv_execute(struct resv_ns *ns, const u8 *host,
		 const struct resv_command *command,
		 struct resv_outcome *outcome);
u8 resv_access(const struct resv_ns *ns, const u8 *host);
bool resv_holds(const struct resv_ns *ns, unsigned int index);
int resv_find(const struct resv_ns *ns, const u8 *host);

/*
 * RESV_NO_READ, RESV_NO_WRITE or both: with which of these a command fails,
 * after "Command Behavior in the Presence of a Reservation" (NVMe base 2.0,
 * 8.19, and the NVM command set). A command not named there counts by the
 * direction of its data, and as a write if it has none.
 */
static inline u8 resv_needs(u8 opcode)
{
	switch (opcode) {
	case nvme_cmd_compare:
	case nvme_cmd_verify:
		return RESV_NO_READ;
	case 0x19:	/* Copy */
		return RESV_NO_READ | RESV_NO_WRITE;
	}
	if (resv_is_command(opcode))
		return 0;
	return (opcode & 3) == 2 ? RESV_NO_READ : RESV_NO_WRITE;
}

/**
 * struct resv_entry - a registered controller, for a report
 * @cntlid: of the controller; 0xffff: the host has none now
 * @index: of the registrant
 */
struct resv_entry {
	u16 cntlid;
	u16 index;
};

size_t resv_report(const struct resv_ns *ns, bool extended,
		   const struct resv_entry *entries, unsigned int count,
		   void *data, size_t size);

size_t resv_packed_size(const struct resv_ns *ns);
void resv_pack(const struct resv_ns *ns, void *data);
size_t resv_unpack(const void *data, size_t size, struct resv_ns *ns);

#endif /* _SMARTIO_NVME_RESV_H */
