// SPDX-License-Identifier: GPL-2.0
/*
 * Reservations of a namespace, as NVMe base 2.0, 8.19 has them. See resv.h.
 */
#include <linux/bits.h>
#include <linux/string.h>

#include "resv.h"

#define DNR(status)		((status) | NVME_STATUS_DNR)
#define CONFLICT		DNR(NVME_SC_RESERVATION_CONFLICT)
#define INVALID			DNR(NVME_SC_INVALID_FIELD)

/* RREGA */
enum { REGISTER, UNREGISTER, REPLACE };
/* RACQA */
enum { ACQUIRE, PREEMPT, PREEMPT_AND_ABORT };
/* RRELA */
enum { RELEASE, CLEAR };
/* CPTPL */
enum { PTPL_KEEP = 0, PTPL_CLEAR = 2, PTPL_SET = 3 };

static u64 key_at(const void *data, size_t at)
{
	__le64 key;

	memcpy(&key, (const u8 *)data + at, sizeof(key));
	return le64_to_cpu(key);
}

/**
 * resv_parse() - take a command apart
 * @cmd: resv_is_command()
 * @data: that came with it
 * @size: its bytes
 * @command: filled in
 *
 * Context: any.
 * Return: 0, or the status to answer with.
 */
u16 resv_parse(const struct nvme_command *cmd, const void *data, size_t size,
	       struct resv_command *command)
{
	u32 cdw10 = le32_to_cpu(cmd->common.cdw10);
	u32 cdw11 = le32_to_cpu(cmd->common.cdw11);
	size_t keys = 2;

	memset(command, 0, sizeof(*command));
	command->opcode = cmd->common.opcode;
	if (cmd->common.flags)
		return INVALID;
	if (command->opcode == nvme_cmd_resv_report) {
		command->bytes = cdw10 < 0x3fff ? (cdw10 + 1) * 4 : 0x10000;
		command->extended = cdw11 & 1;
		return 0;
	}
	command->action = cdw10 & 7;
	command->ignore_key = cdw10 & BIT(3);
	if (command->opcode == nvme_cmd_resv_register) {
		command->ptpl = cdw10 >> 30;
		if (command->action > REPLACE || command->ptpl == 1)
			return INVALID;
	} else {
		command->type = cdw10 >> 8;
		/* IEKEY has to be 0 for these two. */
		if (command->ignore_key)
			return INVALID;
		if (command->opcode == nvme_cmd_resv_release) {
			keys = 1;
			if (command->action > CLEAR)
				return INVALID;
		} else if (command->action > PREEMPT_AND_ABORT ||
			   command->type < RESV_WRITE_EXCLUSIVE ||
			   command->type > RESV_EXCLUSIVE_ACCESS_ALL_REGS) {
			return INVALID;
		}
	}
	if (!data || size < keys * sizeof(u64))
		return DNR(NVME_SC_DATA_XFER_ERROR);
	command->current_key = key_at(data, 0);
	if (keys > 1)
		command->other_key = key_at(data, sizeof(u64));
	return 0;
}

/* ---- who is who ---- */

static bool all_hold(u8 type)
{
	return type == RESV_WRITE_EXCLUSIVE_ALL_REGS ||
	       type == RESV_EXCLUSIVE_ACCESS_ALL_REGS;
}

/* Types under which registrants that don't hold it depend on it. */
static bool serves_registrants(u8 type)
{
	return type >= RESV_WRITE_EXCLUSIVE_REG_ONLY;
}

/**
 * resv_find() - a registrant
 * @ns: namespace
 * @host: Host Identifier
 *
 * Context: any.
 * Return: its index, or -1: it is not registered.
 */
int resv_find(const struct resv_ns *ns, const u8 *host)
{
	int i;

	for (i = 0; i < ns->count; i++)
		if (!memcmp(ns->registrants[i].host, host, RESV_HOST_BYTES))
			return i;
	return -1;
}

/**
 * resv_holds() - whether a registrant holds the reservation
 * @ns: namespace
 * @index: of the registrant
 *
 * Context: any.
 */
bool resv_holds(const struct resv_ns *ns, unsigned int index)
{
	return ns->type && (all_hold(ns->type) || ns->holder == index);
}

/**
 * resv_access() - accesses that a host may not make
 * @ns: namespace
 * @host: Host Identifier
 *
 * Context: any.
 * Return: RESV_NO_READ, RESV_NO_WRITE, both or 0.
 */
u8 resv_access(const struct resv_ns *ns, const u8 *host)
{
	int index = resv_find(ns, host);

	if (!ns->type || (index >= 0 && resv_holds(ns, index)))
		return 0;
	if (index >= 0 && serves_registrants(ns->type))
		return 0;
	switch (ns->type) {
	case RESV_WRITE_EXCLUSIVE:
	case RESV_WRITE_EXCLUSIVE_REG_ONLY:
	case RESV_WRITE_EXCLUSIVE_ALL_REGS:
		return RESV_NO_WRITE;
	}
	return RESV_NO_READ | RESV_NO_WRITE;
}

/* ---- changes ---- */

static void notify(struct resv_outcome *outcome, const u8 *host, u8 type)
{
	memcpy(outcome->notices[outcome->count].host, host, RESV_HOST_BYTES);
	outcome->notices[outcome->count].type = type;
	outcome->count++;
}

/* All registrants but one. */
static void notify_others(const struct resv_ns *ns,
			  struct resv_outcome *outcome, int but, u8 type)
{
	int i;

	for (i = 0; i < ns->count; i++)
		if (i != but)
			notify(outcome, ns->registrants[i].host, type);
}

/*
 * The order of the others stays; @holder follows its registrant. If the holder
 * itself is removed, all registrants hold it, or none.
 */
static void forget(struct resv_ns *ns, unsigned int index)
{
	memmove(&ns->registrants[index], &ns->registrants[index + 1],
		(ns->count - index - 1) * sizeof(ns->registrants[0]));
	ns->count--;
	if (ns->holder > index)
		ns->holder--;
	else if (ns->holder == index)
		ns->holder = 0;
}

static void release(struct resv_ns *ns)
{
	ns->type = RESV_NONE;
	ns->holder = 0;
}

static u16 add(struct resv_ns *ns, const u8 *host, u64 key)
{
	if (ns->count == RESV_REGISTRANTS_MAX)
		return DNR(NVME_SC_INTERNAL);
	memcpy(ns->registrants[ns->count].host, host, RESV_HOST_BYTES);
	ns->registrants[ns->count].key = key;
	ns->count++;
	return 0;
}

static u16 unregister(struct resv_ns *ns, int self,
		      struct resv_outcome *outcome)
{
	bool held = resv_holds(ns, self);
	u8 type = ns->type;

	forget(ns, self);
	if (held && (!all_hold(type) || !ns->count)) {
		release(ns);
		if (serves_registrants(type))
			notify_others(ns, outcome, -1, RESV_NOTICE_RELEASED);
	}
	return 0;
}

static u16 do_register(struct resv_ns *ns, const u8 *host, int self,
		       const struct resv_command *c,
		       struct resv_outcome *outcome)
{
	u16 status = 0;

	/* A key of 0 is none; the kernel's IOC_PR_REGISTER means it so. */
	switch (c->action == REPLACE && !c->other_key ? UNREGISTER : c->action) {
	case REGISTER:
		if (!c->other_key)
			return INVALID;
		if (self < 0)
			status = add(ns, host, c->other_key);
		else if (ns->registrants[self].key != c->other_key)
			return CONFLICT;
		break;
	case UNREGISTER:
		if (self < 0 || (!c->ignore_key &&
				 ns->registrants[self].key != c->current_key))
			return CONFLICT;
		status = unregister(ns, self, outcome);
		break;
	default:
		if (self >= 0 && (c->ignore_key ||
				  ns->registrants[self].key == c->current_key))
			ns->registrants[self].key = c->other_key;
		else if (self < 0 && c->ignore_key)
			status = add(ns, host, c->other_key);
		else
			return CONFLICT;
	}
	if (status)
		return status;
	if (c->ptpl != PTPL_KEEP)
		ns->ptpl = c->ptpl == PTPL_SET;
	ns->generation++;
	outcome->changed = true;
	return 0;
}

/*
 * Those with that key (all, if @every), but @host itself. @taken: with the
 * reservation of those who hold it. Return: how many.
 */
static unsigned int drop(struct resv_ns *ns, const u8 *host, u64 key,
			 bool every, bool taken, struct resv_outcome *outcome)
{
	unsigned int dropped = 0;
	int holder = ns->holder;	/* those before it don't move */
	int i;

	for (i = ns->count - 1; i >= 0; i--) {
		const struct resv_registrant *r = &ns->registrants[i];

		if ((!every && r->key != key) ||
		    !memcmp(r->host, host, RESV_HOST_BYTES))
			continue;
		notify(outcome, r->host, taken && (every || i == holder) ?
		       RESV_NOTICE_PREEMPTED :
		       RESV_NOTICE_REGISTRATION_PREEMPTED);
		forget(ns, i);
		dropped++;
	}
	return dropped;
}

static u16 preempt(struct resv_ns *ns, const u8 *host,
		   const struct resv_command *c, struct resv_outcome *outcome)
{
	u8 before = ns->type;
	bool taken;	/* the reservation itself becomes the host's */

	if (!before)
		taken = false;
	else if (all_hold(before))
		taken = !c->other_key;
	else
		taken = ns->registrants[ns->holder].key == c->other_key;
	if (!taken && !c->other_key)
		return INVALID;
	if (!drop(ns, host, c->other_key, taken && all_hold(before), taken,
		  outcome) && !taken)
		return CONFLICT;
	ns->generation++;
	outcome->changed = true;
	if (!taken)
		return 0;
	ns->type = c->type;
	ns->holder = resv_find(ns, host);
	/* Hosts that stay registered learn that the old one was released. */
	if (!serves_registrants(before) || before == c->type)
		return 0;
	notify_others(ns, outcome, ns->holder, RESV_NOTICE_RELEASED);
	return 0;
}

static u16 do_acquire(struct resv_ns *ns, const u8 *host, int self,
		      const struct resv_command *c,
		      struct resv_outcome *outcome)
{
	if (self < 0 || ns->registrants[self].key != c->current_key)
		return CONFLICT;
	if (c->action != ACQUIRE)
		return preempt(ns, host, c, outcome);
	if (ns->type)
		return resv_holds(ns, self) && ns->type == c->type ? 0 :
								     CONFLICT;
	ns->type = c->type;
	ns->holder = self;
	outcome->changed = true;
	return 0;
}

static u16 do_release(struct resv_ns *ns, int self,
		      const struct resv_command *c,
		      struct resv_outcome *outcome)
{
	u8 type = ns->type;

	if (self < 0 || ns->registrants[self].key != c->current_key)
		return CONFLICT;
	if (c->action == CLEAR) {
		notify_others(ns, outcome, self, RESV_NOTICE_PREEMPTED);
		release(ns);
		ns->count = 0;
		ns->generation++;
		outcome->changed = true;
		return 0;
	}
	if (!type || !resv_holds(ns, self))
		return 0;
	if (c->type != type)
		return INVALID;
	release(ns);
	outcome->changed = true;
	if (serves_registrants(type))
		notify_others(ns, outcome, self, RESV_NOTICE_RELEASED);
	return 0;
}

/**
 * resv_execute() - changes reservations as a command asks
 * @ns: namespace; changed, unless it returns a status
 * @host: who sent it
 * @command: from resv_parse(); not a report
 * @outcome: filled in
 *
 * Context: any.
 * Return: 0 or an NVMe status.
 */
u16 resv_execute(struct resv_ns *ns, const u8 *host,
		 const struct resv_command *command,
		 struct resv_outcome *outcome)
{
	int self = resv_find(ns, host);

	outcome->changed = false;
	outcome->count = 0;
	switch (command->opcode) {
	case nvme_cmd_resv_register:
		return do_register(ns, host, self, command, outcome);
	case nvme_cmd_resv_acquire:
		return do_acquire(ns, host, self, command, outcome);
	case nvme_cmd_resv_release:
		return do_release(ns, self, command, outcome);
	}
	return DNR(NVME_SC_INVALID_OPCODE);
}

/* ---- the report ---- */

/**
 * resv_report() - the data of Reservation Report
 * @ns: namespace
 * @extended: with 128-bit Host Identifiers
 * @entries: registered controllers
 * @count: how many
 * @data: filled in
 * @size: bytes there; what has no room is left out
 *
 * Context: any.
 * Return: bytes of the whole report.
 */
size_t resv_report(const struct resv_ns *ns, bool extended,
		   const struct resv_entry *entries, unsigned int count,
		   void *data, size_t size)
{
	struct nvme_reservation_status head = {
		.gen = cpu_to_le32(ns->generation),
		.rtype = ns->type,
		.regctl = { count & 0xff, count >> 8 },
		.ptpls = ns->ptpl,
	};
	size_t at = extended ? sizeof(struct nvme_reservation_status_ext) :
			       sizeof(head);
	unsigned int i;

	memset(data, 0, size);
	memcpy(data, &head, size < sizeof(head) ? size : sizeof(head));
	for (i = 0; i < count; i++) {
		const struct resv_registrant *r =
			&ns->registrants[entries[i].index];
		u8 status = resv_holds(ns, entries[i].index);
		struct nvme_registered_ctrl_ext e = {
			.cntlid = cpu_to_le16(entries[i].cntlid),
			.rcsts = status, .rkey = cpu_to_le64(r->key),
		};
		struct nvme_registered_ctrl c = {
			.cntlid = cpu_to_le16(entries[i].cntlid),
			.rcsts = status, .rkey = cpu_to_le64(r->key),
		};
		size_t bytes = extended ? sizeof(e) : sizeof(c);

		memcpy(e.hostid, r->host, sizeof(e.hostid));
		memcpy(&c.hostid, r->host, sizeof(c.hostid));
		if (at < size)
			memcpy((u8 *)data + at, extended ? (void *)&e :
							   (void *)&c,
			       bytes < size - at ? bytes : size - at);
		at += bytes;
	}
	return at;
}

/* ---- what survives ---- */

struct packed_ns {
	__le32 nsid;
	__le32 generation;
	u8 uid[16];
	u8 type;
	u8 rsvd;
	__le16 holder;
	__le16 count;
	u8 rsvd2[2];
} __packed;

struct packed_registrant {
	u8 host[RESV_HOST_BYTES];
	__le64 key;
} __packed;

size_t resv_packed_size(const struct resv_ns *ns)
{
	return sizeof(struct packed_ns) +
	       ns->count * sizeof(struct packed_registrant);
}

/**
 * resv_pack() - a namespace as bytes
 * @ns: namespace
 * @data: resv_packed_size() bytes
 *
 * Context: any.
 */
void resv_pack(const struct resv_ns *ns, void *data)
{
	struct packed_ns head = {
		.nsid = cpu_to_le32(ns->nsid),
		.generation = cpu_to_le32(ns->generation),
		.type = ns->type,
		.holder = cpu_to_le16(ns->holder),
		.count = cpu_to_le16(ns->count),
	};
	u8 *at = data;
	int i;

	memcpy(head.uid, ns->uid, sizeof(head.uid));
	memcpy(at, &head, sizeof(head));
	at += sizeof(head);
	for (i = 0; i < ns->count; i++, at += sizeof(struct packed_registrant)) {
		struct packed_registrant r = {
			.key = cpu_to_le64(ns->registrants[i].key),
		};

		memcpy(r.host, ns->registrants[i].host, sizeof(r.host));
		memcpy(at, &r, sizeof(r));
	}
}

/**
 * resv_unpack() - and back
 * @data: of resv_pack(), maybe damaged
 * @size: bytes there
 * @ns: filled in
 *
 * Context: any.
 * Return: bytes used, 0: this is none.
 */
size_t resv_unpack(const void *data, size_t size, struct resv_ns *ns)
{
	struct packed_ns head;
	const u8 *at = data;
	int i;

	memset(ns, 0, sizeof(*ns));
	if (size < sizeof(head))
		return 0;
	memcpy(&head, at, sizeof(head));
	ns->nsid = le32_to_cpu(head.nsid);
	ns->generation = le32_to_cpu(head.generation);
	memcpy(ns->uid, head.uid, sizeof(ns->uid));
	ns->type = head.type;
	ns->holder = le16_to_cpu(head.holder);
	ns->count = le16_to_cpu(head.count);
	ns->ptpl = true;
	if (all_hold(ns->type))
		ns->holder = 0;
	if (ns->count > RESV_REGISTRANTS_MAX ||
	    ns->type > RESV_EXCLUSIVE_ACCESS_ALL_REGS ||
	    (ns->type && ns->holder >= ns->count) ||
	    size < resv_packed_size(ns))
		return 0;
	at += sizeof(head);
	for (i = 0; i < ns->count; i++, at += sizeof(struct packed_registrant)) {
		struct packed_registrant r;

		memcpy(&r, at, sizeof(r));
		memcpy(ns->registrants[i].host, r.host, sizeof(r.host));
		ns->registrants[i].key = le64_to_cpu(r.key);
	}
	return resv_packed_size(ns);
}
