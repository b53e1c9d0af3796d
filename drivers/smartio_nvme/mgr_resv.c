// SPDX-License-Identifier: GPL-2.0
/*
 * Reservations (NVMe base 2.0, 8.19). The drive sees one host, this one. So the
 * manager keeps them, for each client's Host Identifier, and clients refuse the
 * commands that they forbid.
 *
 * A command that restricts a host completes only when none of that host's
 * commands can be in flight any more. Its sessions are ended first, which
 * deletes its queue pairs. The host opens a session again, asks for its access
 * (SNVME_ACCESS), and sends its commands again, to be judged by that. A
 * notification informs a host that it may do more, or less by its own command
 * on another path.
 *
 * A session that is to end, @stale, changes no reservation any more, and waits
 * for no other. So no two can wait for each other's end: one that waits was
 * marked after those it waits for, or never.
 *
 * A change may have to be written to a file, which may take any time: the file
 * may even be on a disk that waits for a reset of this controller. So a worker
 * makes it, one at a time, and the request waits for that only as long as its
 * session lasts. The worker continues without it: afterwards memory has the
 * same as the file. Later requests, also of that host, come after it.
 * SNVME_ACCESS waits for no file.
 */
#include <linux/slab.h>
#include <linux/smartio_recovery.h>

#include "mgr.h"
#include "mgr_trace.h"

#define IDENTIFY_TIMEOUT_S	30
#define MASK_BITS		0x0e
/* Sessions that are ended at the same time. */
#define SETTLE_AT_ONCE		32

/**
 * struct mgr_resv_job - a request of a client, for the worker
 * @work: on mgr.resv_wq
 * @settle_work: on mgr.wq: sessions that are shut out end, when it is through
 * @m: the controller
 * @run: does it. Return: 0, an NVMe status or a negative error
 * @vctrl: whose
 * @session: which waits for it, under resv_lock; NULL: none does any more
 * @over: it is through, under resv_lock
 * @ret: what @run returned, or -EAGAIN: the session is shut out
 * @nsid: the namespace
 * @uid: its own name
 * @command: a reservation command
 * @set: a feature is set, not read
 * @value: of the feature
 * @host_id: to be set
 * @size: bytes of @data
 * @data: a report
 */
struct mgr_resv_job {
	struct work_struct work;
	struct work_struct settle_work;
	struct mgr *m;
	int (*run)(struct mgr_resv_job *job);
	struct mgr_vctrl *vctrl;
	struct mgr_session *session;
	bool over;
	int ret;
	u32 nsid;
	u8 uid[16];
	struct resv_command command;
	bool set;
	u32 value;
	u8 host_id[RESV_HOST_BYTES];
	u32 size;
	u8 data[];
};

/* Return: 0 or -ENOMEM. */
int mgr_resv_init(struct mgr *m)
{
	mutex_init(&m->resv_lock);
	INIT_LIST_HEAD(&m->resv);
	m->resv_wq = alloc_ordered_workqueue("%s_resv", WQ_MEM_RECLAIM,
					     KBUILD_MODNAME);
	return m->resv_wq ? 0 : -ENOMEM;
}

/* @m is without sessions; a file may still be written. */
void mgr_resv_stop(struct mgr *m)
{
	destroy_workqueue(m->resv_wq);
}

/* The worker has stopped. */
void mgr_resv_exit(struct mgr *m)
{
	struct mgr_resv *resv, *next;

	list_for_each_entry_safe(resv, next, &m->resv, entry) {
		list_del(&resv->entry);
		kvfree(resv);
	}
}

/*
 * The namespace's own name; fails if there is none of this number. Takes a turn
 * of the client's, see mgr_relay.c.
 */
static int mgr_resv_uid(struct mgr_session *session, u32 nsid, u8 *uid)
{
	static const u8 none[16];
	struct nvme_command cmd = { };
	struct nvme_id_ns *id;
	struct mgr_turn turn;
	int ret;

	if (!nsid || nsid == NVME_NSID_ALL)
		return NVME_SC_INVALID_NS | NVME_STATUS_DNR;
	ret = mgr_relay_begin(session, &turn);
	if (ret)
		return ret;
	ret = -ENOMEM;
	id = kzalloc(sizeof(*id), GFP_KERNEL);
	if (!id)
		goto end;
	cmd.identify.opcode = nvme_admin_identify;
	cmd.identify.nsid = cpu_to_le32(nsid);
	cmd.identify.cns = NVME_ID_CNS_NS;
	ret = mgr_sync(session->m, &cmd, NULL, id, sizeof(*id),
		       IDENTIFY_TIMEOUT_S);
	if (!ret && !id->ncap)
		ret = NVME_SC_INVALID_NS | NVME_STATUS_DNR;
	if (!memcmp(id->nguid, none, sizeof(none)))
		memcpy(id->nguid, id->eui64, sizeof(id->eui64));
	memcpy(uid, id->nguid, sizeof(id->nguid));
	kfree(id);
end:
	mgr_relay_end(&turn);
	return ret;
}

/* Of the worker, under resv_lock: one of this number and name, made if needed. */
static struct mgr_resv *mgr_resv_get(struct mgr *m, u32 nsid, const u8 *uid)
{
	struct mgr_resv *resv;

	list_for_each_entry(resv, &m->resv, entry) {
		if (resv->ns.nsid != nsid)
			continue;
		if (memcmp(resv->ns.uid, uid, sizeof(resv->ns.uid))) {
			/* it was deleted, and another one made */
			memset(&resv->ns, 0, sizeof(resv->ns));
			resv->ns.nsid = nsid;
			memcpy(resv->ns.uid, uid, sizeof(resv->ns.uid));
		}
		return resv;
	}
	resv = kvzalloc(sizeof(*resv), GFP_KERNEL);
	if (!resv)
		return NULL;
	resv->ns.nsid = nsid;
	memcpy(resv->ns.uid, uid, sizeof(resv->ns.uid));
	list_add_tail(&resv->entry, &m->resv);
	return resv;
}

/* ---- notices ---- */

static bool mgr_resv_masked(struct mgr_vctrl *vctrl, u32 nsid, u8 type)
{
	void *entry = xa_load(&vctrl->notice_masks, nsid);
	u32 mask = entry ? xa_to_value(entry) : vctrl->notice_mask;

	return mask & BIT(type);
}

/* A client's log has a notice. Under sessions_lock. */
static void mgr_resv_event(struct mgr_session *session)
{
	mgr_event_report(session, NVME_AER_CSS | NVME_LOG_RESERVATION << 16);
}

/* Under sessions_lock. */
static void mgr_resv_notice(struct mgr *m, struct mgr_vctrl *vctrl, u32 nsid,
			    u8 type)
{
	struct mgr_session *session;

	if (mgr_resv_masked(vctrl, nsid, type))
		return;
	if (vctrl->nr_notices == MGR_NOTICES) {
		vctrl->nr_notices--;
		memmove(&vctrl->notices[0], &vctrl->notices[1],
			vctrl->nr_notices * sizeof(vctrl->notices[0]));
	}
	vctrl->notices[vctrl->nr_notices].nsid = nsid;
	vctrl->notices[vctrl->nr_notices].type = type;
	vctrl->nr_notices++;
	vctrl->notices_sent++;
	list_for_each_entry(session, &m->sessions, entry)
		if (session->vctrl == vctrl)
			mgr_resv_event(session);
}

/* Under sessions_lock: all controllers of each host that it concerns. */
static void mgr_resv_notices(struct mgr *m, u32 nsid,
			     const struct resv_outcome *outcome)
{
	struct mgr_vctrl *vctrl;
	unsigned int i;

	for (i = 0; i < outcome->count; i++)
		list_for_each_entry(vctrl, &m->vctrls, entry)
			if (!memcmp(outcome->notices[i].host, vctrl->host_id,
				    RESV_HOST_BYTES))
				mgr_resv_notice(m, vctrl, nsid,
						outcome->notices[i].type);
}

/* Reservation Notification log page. */
struct mgr_notice_page {
	__le64 count;
	u8 type;
	u8 pages;
	u8 rsvd[2];
	__le32 nsid;
	u8 rsvd2[48];
} __packed;

/* The log page Reservation Notification (80h), 64 bytes. */
void mgr_resv_log(struct mgr_session *session, void *page, bool retain)
{
	struct mgr_vctrl *vctrl = session->vctrl;
	struct mgr_notice_page *log = page;

	static_assert(sizeof(*log) == 64);
	memset(page, 0, sizeof(*log));
	mutex_lock(&session->m->sessions_lock);
	if (vctrl->nr_notices) {
		unsigned int more = vctrl->nr_notices - 1;

		log->count = cpu_to_le64(vctrl->notices_sent - more);
		log->type = vctrl->notices[0].type;
		log->pages = more;
		log->nsid = cpu_to_le32(vctrl->notices[0].nsid);
		if (!retain) {
			vctrl->nr_notices = more;
			memmove(&vctrl->notices[0], &vctrl->notices[1],
				more * sizeof(vctrl->notices[0]));
		}
	}
	if (!retain)
		clear_bit(NVME_AER_CSS, &session->event_sent);
	if (!retain && vctrl->nr_notices)
		mgr_resv_event(session);
	mutex_unlock(&session->m->sessions_lock);
}

/*
 * The feature Reservation Notification Mask (82h); @nsid: NVME_NSID_ALL: of
 * all. Return: 0, an NVMe status or -ENOMEM.
 */
int mgr_resv_mask(struct mgr_session *session, u32 nsid, bool set, u32 *value)
{
	struct mgr_vctrl *vctrl = session->vctrl;
	u8 uid[16];
	int ret = 0;

	if (set && nsid != NVME_NSID_ALL)
		ret = mgr_resv_uid(session, nsid, uid);
	if (ret)
		return ret;
	if (!nsid || (!set && nsid == NVME_NSID_ALL))
		return NVME_SC_INVALID_NS | NVME_STATUS_DNR;
	mutex_lock(&session->m->sessions_lock);
	if (!set) {
		void *entry = xa_load(&vctrl->notice_masks, nsid);

		*value = entry ? xa_to_value(entry) : vctrl->notice_mask;
	} else if (*value & ~MASK_BITS) {
		ret = NVME_SC_INVALID_FIELD | NVME_STATUS_DNR;
	} else if (nsid == NVME_NSID_ALL) {
		xa_destroy(&vctrl->notice_masks);
		vctrl->notice_mask = *value;
	} else {
		ret = xa_err(xa_store(&vctrl->notice_masks, nsid,
				      xa_mk_value(*value), GFP_KERNEL));
	}
	mutex_unlock(&session->m->sessions_lock);
	return ret;
}

/* ---- effects of a change on others ---- */

static bool mgr_resv_aborts(const struct resv_command *command,
			    const struct resv_outcome *outcome, const u8 *host)
{
	unsigned int i;

	if (command->opcode != nvme_cmd_resv_acquire ||
	    command->action != RESV_PREEMPT_AND_ABORT)
		return false;
	for (i = 0; i < outcome->count; i++)
		if (outcome->notices[i].type != RESV_NOTICE_RELEASED &&
		    !memcmp(outcome->notices[i].host, host, RESV_HOST_BYTES))
			return true;
	return false;
}

/*
 * Of the worker, under resv_lock. A host that loses something by its own command
 * needn't be waited for: it asks again before that command completes, and until
 * then, or until its other sessions have, counts as one that may do all.
 */
static void mgr_resv_spread(const struct mgr_resv_job *job,
			    const struct resv_ns *old,
			    const struct resv_ns *new,
			    const struct resv_outcome *outcome)
{
	const u8 *self = job->vctrl->host_id;
	struct mgr *m = job->m;
	struct mgr_session *other;

	mutex_lock(&m->sessions_lock);
	mgr_resv_notices(m, new->nsid, outcome);
	list_for_each_entry(other, &m->sessions, entry) {
		const u8 *host = other->vctrl->host_id;
		u8 before = other->outdated ? 0 : resv_access(old, host);
		u8 after = resv_access(new, host);
		bool own = !memcmp(host, self, RESV_HOST_BYTES);

		if (!own && (after & ~before ||
			     mgr_resv_aborts(&job->command, outcome, host))) {
			other->stale = true;
		} else if (before != after) {
			other->outdated |= after & ~before;
			if (other != job->session)
				mgr_note_access(other);
		}
	}
	mutex_unlock(&m->sessions_lock);
}

/* ---- commands ---- */

/* Of the worker. */
static int mgr_resv_change(const struct mgr_resv_job *job,
			   struct mgr_resv *resv)
{
	struct mgr *m = job->m;
	struct resv_outcome *outcome;
	struct resv_ns *next;
	int ret = -ENOMEM;

	next = kvmalloc(sizeof(*next), GFP_KERNEL);
	outcome = kvmalloc(sizeof(*outcome), GFP_KERNEL);
	if (!next || !outcome)
		goto free;
	*next = resv->ns;
	ret = resv_execute(next, job->vctrl->host_id, &job->command, outcome);
	if (ret || !outcome->changed)
		goto free;
	/* In the file first: it may have to survive from now on. */
	if ((next->ptpl || resv->ns.ptpl) && mgr_resv_save(m, next)) {
		ret = NVME_SC_INTERNAL | NVME_STATUS_DNR;
		goto free;
	}
	mutex_lock(&m->resv_lock);
	mgr_resv_spread(job, &resv->ns, next, outcome);
	resv->ns = *next;
	mutex_unlock(&m->resv_lock);
free:
	kvfree(next);
	kvfree(outcome);
	return ret;
}

/* Under sessions_lock: ids of sessions that are shut out, but for @except's. */
static unsigned int mgr_resv_stale(struct mgr *m,
				   const struct mgr_session *except,
				   u64 *ids, unsigned int room)
{
	struct mgr_session *other;
	unsigned int count = 0;

	list_for_each_entry(other, &m->sessions, entry)
		if (other != except && other->stale && count < room)
			ids[count++] = other->s->id;
	return count;
}

/*
 * Ends all sessions that were shut out. Not from a request: its own session may
 * be about to end, which waits for it, and without memory for threads sessions
 * end one by one.
 */
static void mgr_resv_settle(struct mgr *m)
{
	u64 ids[SETTLE_AT_ONCE];
	unsigned int count;

	mutex_lock(&m->suspend_lock);
	do {
		mutex_lock(&m->sessions_lock);
		count = mgr_resv_stale(m, NULL, ids, ARRAY_SIZE(ids));
		mutex_unlock(&m->sessions_lock);
		if (count && m->export)
			smartio_export_end_sessions(m->export, ids, count);
	} while (count == ARRAY_SIZE(ids) && m->export);
	mutex_unlock(&m->suspend_lock);
}

/* ---- the worker ---- */

/* It is through. Return: whether its request waits for that, and frees it. */
static bool mgr_resv_over(struct mgr_resv_job *job)
{
	struct mgr *m = job->m;
	bool awaited;

	mutex_lock(&m->resv_lock);
	awaited = job->session;
	if (awaited) {
		job->over = true;
		wake_up(&job->session->resv_wait);
	}
	mutex_unlock(&m->resv_lock);
	return awaited;
}

static void mgr_resv_settle_work(struct work_struct *work)
{
	struct mgr_resv_job *job = container_of(work, struct mgr_resv_job,
						settle_work);
	unsigned int flags = smartio_recovery_begin();

	mgr_resv_settle(job->m);
	if (!mgr_resv_over(job))
		kvfree(job);
	smartio_recovery_end(flags);
}

static void mgr_resv_work(struct work_struct *work)
{
	struct mgr_resv_job *job = container_of(work, struct mgr_resv_job,
						work);
	unsigned int flags = smartio_recovery_begin();
	struct mgr *m = job->m;
	bool awaited;

	/* Only the worker marks sessions: it stays as it is meanwhile. */
	mutex_lock(&m->resv_lock);
	awaited = job->session && !job->session->stale;
	mutex_unlock(&m->resv_lock);
	job->ret = awaited ? job->run(job) : -EAGAIN;
	/* Without memory: the change is made, and nothing else ends them. */
	if (!mgr_resv_over(job)) {
		mgr_resv_settle(m);
		kvfree(job);
	}
	smartio_recovery_end(flags);
}

/* @data: bytes of it. Return: NULL: no memory. */
static struct mgr_resv_job *mgr_resv_job(struct mgr_session *session,
					 int (*run)(struct mgr_resv_job *job),
					 u32 data)
{
	struct mgr_resv_job *job;
	size_t size = struct_size(job, data, data);

	job = kvzalloc(size, smartio_recovery_gfp(size));
	if (!job)
		return NULL;
	INIT_WORK(&job->work, mgr_resv_work);
	INIT_WORK(&job->settle_work, mgr_resv_settle_work);
	job->m = session->m;
	job->run = run;
	job->vctrl = session->vctrl;
	job->session = session;
	job->size = data;
	return job;
}

/* Return: whether it is through. If not, it is not the caller's any more. */
static bool mgr_resv_wait(struct mgr_resv_job *job)
{
	struct mgr_session *session = job->session;
	struct mgr *m = session->m;
	bool over;

	wait_event(session->resv_wait,
		   READ_ONCE(job->over) || READ_ONCE(session->ending));
	mutex_lock(&m->resv_lock);
	over = job->over;
	job->session = NULL;
	mutex_unlock(&m->resv_lock);
	return over;
}

/*
 * Waits for the worker, at most until the session ends. Return: whether it is
 * through: the caller frees the job. If not, it is not the caller's any more.
 */
static bool mgr_resv_await(struct mgr_resv_job *job)
{
	queue_work(job->m->resv_wq, &job->work);
	return mgr_resv_wait(job);
}

/*
 * Waits until all sessions that were shut out are over, by this command or by
 * one before it whose sender may have given up: only then may it complete.
 * Takes the job. Return: 0; -EAGAIN: this one is shut out itself; -ENOLINK: it
 * ends.
 */
static int mgr_resv_await_settled(struct mgr_session *session,
				  struct mgr_resv_job *job)
{
	struct mgr *m = session->m;
	unsigned int count;
	bool stale;
	u64 id;

	mutex_lock(&m->sessions_lock);
	stale = session->stale;
	count = mgr_resv_stale(m, session, &id, 1);
	mutex_unlock(&m->sessions_lock);
	if (!count || stale) {
		kvfree(job);
		return count ? -EAGAIN : 0;
	}
	job->session = session;
	job->over = false;
	queue_work(m->wq, &job->settle_work);
	if (!mgr_resv_wait(job))
		return -ENOLINK;
	kvfree(job);
	return 0;
}

/* The session ends: its requests do not wait for the worker any more. */
void mgr_resv_give_up(struct mgr_session *session)
{
	wake_up_all(&session->resv_wait);
}

/* ---- requests ---- */

/* A Host Identifier of 8 bytes has zeros behind it. */
static bool mgr_resv_wide(const u8 *host)
{
	static const u8 none[8];

	return memcmp(host + 8, none, sizeof(none));
}

/* Under resv_lock: each controller of each registrant. */
static int mgr_resv_report(struct mgr_resv_job *job, struct mgr_resv *resv)
{
	bool extended = job->command.extended;
	struct mgr *m = job->m;
	struct mgr_session *other;
	struct resv_entry *entries;
	unsigned int count = 0, room, i;

	if (extended != mgr_resv_wide(job->vctrl->host_id))
		return NVME_SC_HOST_ID_INCONSIST;	/* core looks for it so */
	mutex_lock(&m->sessions_lock);
	room = resv->ns.count;
	list_for_each_entry(other, &m->sessions, entry)
		room++;
	entries = kvcalloc(room, sizeof(*entries),
			   smartio_recovery_gfp(room * sizeof(*entries)));
	for (i = 0; entries && i < resv->ns.count; i++) {
		unsigned int before = count;

		list_for_each_entry(other, &m->sessions, entry) {
			if (memcmp(other->vctrl->host_id, resv->ns.registrants[i].host,
				   RESV_HOST_BYTES))
				continue;
			entries[count].cntlid = other->vctrl->cntlid;
			entries[count++].index = i;
		}
		if (count == before) {
			entries[count].cntlid = 0xffff;
			entries[count++].index = i;
		}
	}
	mutex_unlock(&m->sessions_lock);
	if (!entries)
		return -ENOMEM;
	resv_report(&resv->ns, extended, entries, count, job->data, job->size);
	kvfree(entries);
	return 0;
}

static int mgr_resv_do_command(struct mgr_resv_job *job)
{
	bool report = job->command.opcode == nvme_cmd_resv_report;
	struct mgr *m = job->m;
	struct mgr_resv *resv;
	int ret = -ENOMEM;

	mutex_lock(&m->resv_lock);
	resv = mgr_resv_get(m, job->nsid, job->uid);
	if (resv && report)
		ret = mgr_resv_report(job, resv);
	mutex_unlock(&m->resv_lock);
	if (resv && !report)
		ret = mgr_resv_change(job, resv);
	return ret;
}

static int mgr_resv_execute(struct mgr_session *session, u32 nsid,
			    const struct resv_command *command, void *data,
			    u32 size)
{
	struct mgr_resv_job *job;
	int ret, settled;

	job = mgr_resv_job(session, mgr_resv_do_command, size);
	if (!job)
		return -ENOMEM;
	job->nsid = nsid;
	job->command = *command;
	ret = mgr_resv_uid(session, nsid, job->uid);
	if (ret) {
		kvfree(job);
		return ret;
	}
	if (!mgr_resv_await(job))
		return -ENOLINK;
	ret = job->ret;
	memcpy(data, job->data, size);
	settled = mgr_resv_await_settled(session, job);
	return settled ?: ret;
}

/*
 * SNVME_RESERVATION. @reply_size: room there, then bytes used. Sleeps. Return:
 * 0: the reply has a status; or an error: not executed, or unknown.
 */
int mgr_resv_command(struct mgr_session *session,
		     const struct snvme_admin *command,
		     struct snvme_admin_reply *reply, size_t *reply_size)
{
	u32 room = command->write ? 0 : command->data_len;
	struct nvme_command cmd;
	struct resv_command c;
	u32 size;
	int ret;

	if (*reply_size < sizeof(*reply) + room)
		return -EMSGSIZE;
	memcpy(&cmd, command->sqe, sizeof(cmd));
	cmd.common.flags &= ~NVME_CMD_SGL_ALL;
	memset(reply, 0, sizeof(*reply) + room);
	if (!resv_is_command(cmd.common.opcode)) {
		ret = NVME_SC_INVALID_OPCODE | NVME_STATUS_DNR;
	} else {
		ret = resv_parse(&cmd, command->data,
				 command->write ? command->data_len : 0, &c);
		size = min(room, c.bytes);
		if (!ret)
			ret = mgr_resv_execute(session,
					       le32_to_cpu(cmd.common.nsid),
					       &c, reply->data, size);
	}
	trace_smartio_nvme_mgr_resv(session, &cmd, 0, ret);
	if (ret < 0)
		return ret;
	reply->status = cpu_to_le16(ret);
	reply->data_len = cpu_to_le32(ret ? 0 : room);
	*reply_size = sizeof(*reply) + (ret ? 0 : room);
	return 0;
}

/*
 * SNVME_ACCESS: accesses that a host may not make. @reply_size: room there,
 * then bytes used. Sleeps. Return: 0 or -EMSGSIZE.
 */
int mgr_resv_access(struct mgr_session *session,
		    struct snvme_access_reply *reply, size_t *reply_size)
{
	struct mgr *m = session->m;
	struct mgr_resv *resv;
	u32 count = 0, room;

	if (*reply_size < sizeof(*reply))
		return -EMSGSIZE;
	room = min_t(size_t, SNVME_ACCESS_MAX,
		     (*reply_size - sizeof(*reply)) /
		     sizeof(reply->entries[0]));
	reply->others = 0;
	mutex_lock(&m->resv_lock);
	session->outdated = false;
	list_for_each_entry(resv, &m->resv, entry) {
		u8 flags = resv_access(&resv->ns, session->vctrl->host_id);

		if (!flags)
			continue;
		if (count == room) {
			reply->others = cpu_to_le32(RESV_NO_READ |
						    RESV_NO_WRITE);
			break;
		}
		reply->entries[count].nsid = cpu_to_le32(resv->ns.nsid);
		reply->entries[count].flags = cpu_to_le32(flags);
		count++;
	}
	mutex_unlock(&m->resv_lock);
	/* notices from the time without a session */
	mutex_lock(&m->sessions_lock);
	if (session->vctrl->nr_notices)
		mgr_resv_event(session);
	mutex_unlock(&m->sessions_lock);
	reply->count = cpu_to_le32(count);
	*reply_size = struct_size(reply, entries, count);
	return 0;
}

static int mgr_resv_do_identity(struct mgr_resv_job *job)
{
	struct mgr_vctrl *vctrl = job->vctrl;
	struct mgr *m = job->m;
	struct mgr_session *other;

	mutex_lock(&m->resv_lock);
	mutex_lock(&m->sessions_lock);
	memcpy(vctrl->host_id, job->host_id, RESV_HOST_BYTES);
	list_for_each_entry(other, &m->sessions, entry) {
		if (other->vctrl != vctrl)
			continue;
		other->outdated = true;
		mgr_note_access(other);
	}
	mutex_unlock(&m->sessions_lock);
	mutex_unlock(&m->resv_lock);
	return 0;
}

/*
 * A client takes another Host Identifier. It asks again for its access, and
 * until then counts as one that may do all. Sleeps. Return: 0 or a negative
 * error.
 */
int mgr_resv_identity(struct mgr_session *session, const u8 *host_id)
{
	struct mgr_resv_job *job;
	int ret;

	job = mgr_resv_job(session, mgr_resv_do_identity, 0);
	if (!job)
		return -ENOMEM;
	memcpy(job->host_id, host_id, RESV_HOST_BYTES);
	if (!mgr_resv_await(job))
		return -ENOLINK;
	ret = job->ret;
	kvfree(job);
	return ret;
}

static int mgr_resv_do_persist(struct mgr_resv_job *job)
{
	bool all = job->nsid == NVME_NSID_ALL;
	struct mgr *m = job->m;
	struct mgr_resv *resv;
	int ret = 0;

	mutex_lock(&m->resv_lock);
	resv = all ? NULL : mgr_resv_get(m, job->nsid, job->uid);
	mutex_unlock(&m->resv_lock);
	if (!all && !resv)
		return -ENOMEM;
	if (!job->set) {
		job->value = resv->ns.ptpl;
		return 0;
	}
	list_for_each_entry(resv, &m->resv, entry) {
		bool before = resv->ns.ptpl;

		if (ret || (!all && resv->ns.nsid != job->nsid))
			continue;
		resv->ns.ptpl = job->value;
		if (before != resv->ns.ptpl && mgr_resv_save(m, &resv->ns)) {
			resv->ns.ptpl = before;
			ret = NVME_SC_INTERNAL | NVME_STATUS_DNR;
		}
	}
	return ret;
}

/*
 * The feature Reservation Persistence (83h); @nsid: NVME_NSID_ALL: sets it for
 * all that have reservations; @value: 1: they survive a loss of power. Sleeps.
 * Return: 0, an NVMe status, or a negative error.
 */
int mgr_resv_persist(struct mgr_session *session, u32 nsid, bool set,
		     u32 *value)
{
	struct mgr_resv_job *job;
	int ret = 0;

	if (set && *value > 1)
		return NVME_SC_INVALID_FIELD | NVME_STATUS_DNR;
	job = mgr_resv_job(session, mgr_resv_do_persist, 0);
	if (!job)
		return -ENOMEM;
	job->nsid = nsid;
	job->set = set;
	job->value = *value;
	if (!set || nsid != NVME_NSID_ALL)
		ret = mgr_resv_uid(session, nsid, job->uid);
	if (ret)
		goto free;
	if (!mgr_resv_await(job))
		return -ENOLINK;
	ret = job->ret;
	*value = job->value;
free:
	kvfree(job);
	return ret;
}
