// SPDX-License-Identifier: GPL-2.0
/*
 * The broker of I/O queue pairs: which session has which, how many a host may
 * have, and creating and deleting them on the controller. A pair is deleted,
 * or revoked by a reset, before another session gets it.
 *
 * By default a session gets as many as it asks for, while half of the
 * controller's pairs remain free. While there are any, it gets MGR_SHARE, or as
 * many as the session before it had: a reset ends all sessions, and hosts come
 * again in any order. Set Features (Number of Queues) says how many that are,
 * and sets them aside for it: hosts that come at once create theirs in any
 * order.
 */
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "mgr.h"
#include "mgr_trace.h"

#define DOORBELL_PAGE	4096

/* Pairs that a session gets in any case, if they are free. */
#define MGR_SHARE	8U

static int queues_per_host = -1;
module_param(queues_per_host, int, 0644);
MODULE_PARM_DESC(queues_per_host,
		 "I/O queue pairs that one host may have of a controller; 0: no limit; -1: a fair share (default)");

int mgr_pairs_setup(struct mgr *m)
{
	mutex_init(&m->broker_lock);
	m->pairs = kvcalloc(MGR_MAX_PAIRS + 1, sizeof(*m->pairs), GFP_KERNEL);
	return m->pairs ? 0 : -ENOMEM;
}

/* Under broker_lock. */
static unsigned int count_free(struct mgr *m)
{
	unsigned int qid, count = 0;

	for (qid = 1; qid <= m->nr_pairs; qid++)
		count += m->pairs[qid].state == MGR_PAIR_FREE;
	return count;
}

/* Besides, sessions and virtual controllers neither come nor go. */
static void mgr_broker_lock(struct mgr *m)
{
	mutex_lock(&m->sessions_lock);
	mutex_lock(&m->broker_lock);
}

static void mgr_broker_unlock(struct mgr *m)
{
	mutex_unlock(&m->broker_lock);
	mutex_unlock(&m->sessions_lock);
}

/* Under mgr_broker_lock(): pairs that the session has. */
static unsigned int count_own(const struct mgr_session *session)
{
	const struct mgr *m = session->m;
	unsigned int qid, count = 0;

	for (qid = 1; qid <= MGR_MAX_PAIRS; qid++)
		count += m->pairs[qid].session == session;
	return count;
}

/*
 * Under mgr_broker_lock(): pairs that the session's host has, with those set
 * aside for its other sessions.
 */
static unsigned int count_host(const struct mgr_session *session)
{
	const uuid_t *host = &session->s->host;
	const struct mgr *m = session->m;
	const struct mgr_session *other;
	unsigned int qid, count = 0;

	for (qid = 1; qid <= MGR_MAX_PAIRS; qid++)
		count += m->pairs[qid].state != MGR_PAIR_FREE &&
			 uuid_equal(&m->pairs[qid].session->s->host, host);
	list_for_each_entry(other, &m->sessions, entry)
		if (other != session && uuid_equal(&other->s->host, host))
			count += other->reserved;
	return count;
}

/*
 * Under mgr_broker_lock(): the rest of a host's quota, or of a session's share:
 * that is not less than the session before it had.
 */
static unsigned int count_quota(struct mgr_session *session, unsigned int free)
{
	int limit = READ_ONCE(queues_per_host);
	unsigned int own, share;

	if (!limit)
		return MGR_MAX_PAIRS;
	if (limit > 0)
		return limit - min_t(unsigned int, limit, count_host(session));
	own = count_own(session);
	share = max(MGR_SHARE, session->vctrl->pairs);
	return max3(session->reserved, share - min(own, share),
		    free - min(free, session->m->nr_pairs / 2));
}

/*
 * Under mgr_broker_lock(): how many pairs a session could create, those set
 * aside for it among them.
 */
static unsigned int count_available(struct mgr_session *session)
{
	struct mgr *m = session->m;
	unsigned int free = count_free(m);

	free -= min(free, m->reserved - session->reserved);
	return min(free, count_quota(session, free));
}

unsigned int mgr_pairs_free(struct mgr *m)
{
	unsigned int count;

	mutex_lock(&m->broker_lock);
	count = count_free(m);
	mutex_unlock(&m->broker_lock);
	return count;
}

/* How many pairs a session could create now. */
unsigned int mgr_pairs_available(struct mgr_session *session)
{
	struct mgr *m = session->m;
	unsigned int count;

	mgr_broker_lock(m);
	count = count_available(session);
	mgr_broker_unlock(m);
	return count;
}

/*
 * Under mgr_broker_lock(): the next session of this virtual controller may have
 * @count pairs, too. All hosts may return at once: if their numbers are more
 * than there are pairs, those without a session lose theirs.
 */
static void mgr_pairs_remember(struct mgr_session *session, unsigned int count)
{
	struct mgr *m = session->m;
	struct mgr_session *other;
	struct mgr_vctrl *vctrl;
	unsigned int sum = 0;
	bool used;

	session->vctrl->pairs = count;
	list_for_each_entry(vctrl, &m->vctrls, entry)
		sum += vctrl->pairs;
	if (sum <= m->nr_pairs)
		return;
	list_for_each_entry(vctrl, &m->vctrls, entry) {
		used = false;
		list_for_each_entry(other, &m->sessions, entry)
			used |= other->vctrl == vctrl;
		if (!used)
			vctrl->pairs = 0;
	}
}

/*
 * The session wants @wanted pairs, with those that it has. Return: how many it
 * may have. They are its own from here on, before it creates them.
 */
unsigned int mgr_pairs_reserve(struct mgr_session *session, unsigned int wanted)
{
	struct mgr *m = session->m;
	unsigned int count, more;

	mgr_broker_lock(m);
	count = count_own(session);
	more = min(wanted - min(wanted, count), count_available(session));
	m->reserved += more - session->reserved;
	session->reserved = more;
	mgr_pairs_remember(session, count + more);
	mgr_broker_unlock(m);
	return count + more;
}

/* Under broker_lock. */
static void mgr_pairs_unreserve(struct mgr_session *session, unsigned int count)
{
	session->reserved -= count;
	session->m->reserved -= count;
}

static int mgr_delete_one(struct mgr *m, u8 opcode, u16 qid)
{
	struct nvme_command cmd = { };
	int ret;

	cmd.delete_queue.opcode = opcode;
	cmd.delete_queue.qid = cpu_to_le16(qid);
	ret = mgr_sync(m, &cmd, NULL, NULL, 0, MGR_DELETE_TIMEOUT_S);
	/* Not there: as good. */
	if (ret > 0 && (ret & NVME_SCT_SC_MASK) == NVME_SC_QID_INVALID)
		ret = 0;
	return ret;
}

/*
 * The queue can't be deleted: only a reset of the controller ends it, and it
 * does so even if that fails (mgr_stop()). This can't continue for ever: each
 * state of the controller either resets, or has been reset.
 */
static void mgr_wait_revoked(struct mgr_session *session, u16 qid, int error)
{
	struct mgr *m = session->m;

	do {
		/* Not if one is in progress. */
		if (!nvme_reset_ctrl(&m->ctrl))
			dev_warn(m->ctrl.device,
				 "queue %u of host %s: not deleted (%d): resetting\n",
				 qid, session->s->host_name, error);
		if (wait_event_timeout(m->incarnation_wq,
				       mgr_incarnation(m) !=
				       session->incarnation,
				       MGR_DELETE_TIMEOUT_S * HZ))
			return;
		dev_warn(m->ctrl.device,
			 "queue %u of host %s: still waiting for a reset\n",
			 qid, session->s->host_name);
	} while (!nvme_state_terminal(&m->ctrl));
	pci_clear_master(m->pdev);
}

/*
 * Deletes a queue, by force if need be. When this returns the controller has
 * ended it.
 */
static void mgr_delete_surely(struct mgr_session *session, u8 opcode, u16 qid)
{
	struct mgr *m = session->m;
	int ret;

	if (mgr_incarnation(m) != session->incarnation)
		return;
	ret = mgr_delete_one(m, opcode, qid);
	if (ret && mgr_incarnation(m) == session->incarnation)
		mgr_wait_revoked(session, qid, ret);
	trace_smartio_nvme_mgr_delete(session, qid, ret);
}

static int mgr_create_cq(struct mgr *m, u16 qid, const struct mgr_pair *pair,
			 u64 addr)
{
	u16 flags = NVME_QUEUE_PHYS_CONTIG;
	struct nvme_command cmd = { };

	if (pair->irq)
		flags |= NVME_CQ_IRQ_ENABLED;
	cmd.create_cq.opcode = nvme_admin_create_cq;
	cmd.create_cq.prp1 = cpu_to_le64(addr);
	cmd.create_cq.cqid = cpu_to_le16(qid);
	cmd.create_cq.qsize = cpu_to_le16(pair->entries - 1);
	cmd.create_cq.cq_flags = cpu_to_le16(flags);
	cmd.create_cq.irq_vector = cpu_to_le16(pair->irq ? pair->vector : 0);
	return mgr_sync(m, &cmd, NULL, NULL, 0, MGR_DELETE_TIMEOUT_S);
}

static int mgr_create_sq(struct mgr *m, u16 qid, const struct mgr_pair *pair,
			 u64 addr)
{
	u16 flags = NVME_QUEUE_PHYS_CONTIG;
	struct nvme_command cmd = { };

	if (m->ctrl.quirks & NVME_QUIRK_MEDIUM_PRIO_SQ)
		flags |= NVME_SQ_PRIO_MEDIUM;
	cmd.create_sq.opcode = nvme_admin_create_sq;
	cmd.create_sq.prp1 = cpu_to_le64(addr);
	cmd.create_sq.sqid = cpu_to_le16(qid);
	cmd.create_sq.qsize = cpu_to_le16(pair->entries - 1);
	cmd.create_sq.sq_flags = cpu_to_le16(flags);
	cmd.create_sq.cqid = cpu_to_le16(qid);
	return mgr_sync(m, &cmd, NULL, NULL, 0, MGR_DELETE_TIMEOUT_S);
}

/* A free pair for the session, now busy; or NULL. */
static struct mgr_pair *mgr_pair_take(struct mgr_session *session)
{
	struct mgr *m = session->m;
	struct mgr_pair *pair = NULL;
	unsigned int qid;

	mgr_broker_lock(m);
	if (!count_available(session))
		goto out;
	for (qid = 1; qid <= m->nr_pairs; qid++) {
		if (m->pairs[qid].state != MGR_PAIR_FREE)
			continue;
		pair = &m->pairs[qid];
		pair->state = MGR_PAIR_BUSY;
		pair->session = session;
		mgr_pairs_unreserve(session, min(session->reserved, 1U));
		break;
	}
out:
	mgr_broker_unlock(m);
	return pair;
}

/* The controller has no such queue any more. */
static void mgr_pair_release(struct mgr_session *session, struct mgr_pair *pair)
{
	if (pair->irq)
		smartio_session_clear_irq(session->s, pair->vector);
	if (pair->pinned)
		smartio_session_segment_put(session->s, pair->segment);
	mutex_lock(&session->m->broker_lock);
	if (pair->cmb)
		pair->cmb->used = false;
	memset(pair, 0, sizeof(*pair));
	mutex_unlock(&session->m->broker_lock);
}

/* Where the controller finds the submission queue. */
static int mgr_place_sq(struct mgr_session *session, struct mgr_pair *pair,
			const struct snvme_create *create, u64 *addr)
{
	size_t bytes = create->entries * sizeof(struct nvme_command);
	struct mgr *m = session->m;
	int ret;

	switch (create->placement) {
	case SNVME_SQ_SEGMENT:
		ret = smartio_session_segment(session->s, create->sq_handle,
					      create->sq_addr, bytes, addr);
		pair->segment = create->sq_handle;
		pair->pinned = !ret;
		return ret;
	case SNVME_SQ_BORROWER:
		return smartio_session_dma(session->s, create->sq_addr, bytes,
					   addr);
	default:
		mutex_lock(&m->broker_lock);
		pair->cmb = mgr_cmb_get(session, bytes);
		mutex_unlock(&m->broker_lock);
		if (!pair->cmb)
			return -ENOSPC;
		*addr = pair->cmb->addr;
		return smartio_session_allow_bar(session->s, m->cmb.bar,
						 *addr - m->cmb.start +
						 m->cmb.offset,
						 pair->cmb->size);
	}
}

/* The pages with the doorbells of a pair. */
static int mgr_allow_doorbells(struct mgr_session *session, u16 qid)
{
	struct mgr *m = session->m;
	u64 first = NVME_REG_DBS + 2ULL * qid * m->db_stride;
	u64 last = first + m->db_stride;

	first = ALIGN_DOWN(first, DOORBELL_PAGE);
	last = ALIGN_DOWN(last, DOORBELL_PAGE);
	return smartio_session_allow_bar(session->s, 0, first,
					 last - first + DOORBELL_PAGE);
}

/* Both queues, on the controller. A status becomes an error here. */
static int mgr_pair_build(struct mgr_session *session, u16 qid,
			  struct mgr_pair *pair, u64 sq, u64 cq)
{
	struct mgr *m = session->m;
	int ret;

	ret = mgr_create_cq(m, qid, pair, cq);
	if (!ret) {
		ret = mgr_create_sq(m, qid, pair, sq);
		if (ret < 0)
			mgr_delete_surely(session, nvme_admin_delete_sq, qid);
	}
	if (ret)
		mgr_delete_surely(session, nvme_admin_delete_cq, qid);
	if (ret > 0) {
		dev_warn_ratelimited(m->ctrl.device,
				     "queue %u of host %s refused by the controller: %#x\n",
				     qid, session->s->host_name, ret);
		ret = -EIO;
	}
	return ret;
}

/*
 * SNVME_CREATE, in a turn of the client's. Sleeps. Return: 0, also if the drive
 * has no vector left for it; -ENOSPC: no pair left, or no CMB; -EAGAIN: the
 * controller was reset; errors of smartio_session_dma() and its like.
 */
int mgr_pair_create(struct mgr_session *session,
		    const struct snvme_create *create,
		    struct snvme_create_reply *reply)
{
	struct mgr *m = session->m;
	struct mgr_pair *pair;
	u64 sq, cq;
	u16 qid;
	int ret;

	pair = mgr_pair_take(session);
	if (!pair)
		return -ENOSPC;
	qid = pair - m->pairs;
	pair->entries = create->entries;
	pair->placement = create->placement;

	ret = smartio_session_dma(session->s, create->cq_addr,
				  create->entries *
				  sizeof(struct nvme_completion), &cq);
	if (!ret)
		ret = mgr_place_sq(session, pair, create, &sq);
	if (!ret)
		ret = mgr_allow_doorbells(session, qid);
	if (!ret && create->irq) {
		ret = smartio_session_set_irq(session->s, create->irq_addr,
					      create->irq_data, &pair->vector);
		pair->irq = !ret;
		/* Then its host looks at the queue by itself. */
		if (ret == -ENOSPC || ret == -EOPNOTSUPP)
			ret = 0;
	}
	/* Queues start on a page for the controller, too. */
	if (!ret && (sq | cq) % SNVME_QUEUE_ALIGN)
		ret = -EINVAL;
	if (!ret)
		ret = mgr_pair_build(session, qid, pair, sq, cq);
	/* A pair that a reset took away must not look alive. */
	if (!ret && mgr_incarnation(m) != session->incarnation)
		ret = -EAGAIN;
	trace_smartio_nvme_mgr_create(session, qid, ret);
	if (ret) {
		mgr_pair_release(session, pair);
		return ret;
	}

	reply->qid = cpu_to_le16(qid);
	reply->vector = cpu_to_le16(pair->irq ? pair->vector : 0);
	if (pair->cmb) {
		reply->cmb_bar = cpu_to_le32(m->cmb.bar);
		reply->cmb_offset = cpu_to_le64(sq - m->cmb.start +
						m->cmb.offset);
	}
	mutex_lock(&m->broker_lock);
	pair->state = MGR_PAIR_LIVE;
	mutex_unlock(&m->broker_lock);
	return 0;
}

/*
 * SNVME_DELETE, in a turn of the client's. Sleeps. -ENOENT: the session has no
 * such pair.
 */
int mgr_pair_delete(struct mgr_session *session, u16 qid)
{
	struct mgr *m = session->m;
	struct mgr_pair *pair;
	bool found;

	if (qid > MGR_MAX_PAIRS)
		return -ENOENT;
	pair = &m->pairs[qid];
	mutex_lock(&m->broker_lock);
	found = pair->session == session && pair->state == MGR_PAIR_LIVE;
	if (found)
		pair->state = MGR_PAIR_BUSY;
	mutex_unlock(&m->broker_lock);
	if (!found)
		return -ENOENT;

	/* An abort that names it must not find the next one of its number. */
	wait_event(m->aborts_wq, !READ_ONCE(pair->aborts));
	mgr_delete_surely(session, nvme_admin_delete_sq, qid);
	mgr_delete_surely(session, nvme_admin_delete_cq, qid);
	mgr_pair_release(session, pair);
	return 0;
}

/*
 * A command of a pair is about to be aborted. Return: whether the pair is the
 * session's; it stays until mgr_pair_abort_end() then.
 */
bool mgr_pair_abort_begin(struct mgr_session *session, u16 qid)
{
	struct mgr *m = session->m;
	bool owned;

	if (qid > MGR_MAX_PAIRS)
		return false;
	mutex_lock(&m->broker_lock);
	owned = m->pairs[qid].session == session &&
		m->pairs[qid].state == MGR_PAIR_LIVE;
	if (owned)
		WRITE_ONCE(m->pairs[qid].aborts, m->pairs[qid].aborts + 1);
	mutex_unlock(&m->broker_lock);
	return owned;
}

void mgr_pair_abort_end(struct mgr_session *session, u16 qid)
{
	struct mgr *m = session->m;

	mutex_lock(&m->broker_lock);
	WRITE_ONCE(m->pairs[qid].aborts, m->pairs[qid].aborts - 1);
	mutex_unlock(&m->broker_lock);
	wake_up_all(&m->aborts_wq);
}

/*
 * Ends all queue pairs of a session, which has no request any more. When this
 * returns, the controller touches nothing of it. Sleeps.
 */
void mgr_pairs_revoke(struct mgr_session *session)
{
	static const u8 opcodes[] = {
		nvme_admin_delete_sq, nvme_admin_delete_cq,
	};
	struct mgr *m = session->m;
	unsigned int qid;
	size_t i;

	mutex_lock(&m->broker_lock);
	mgr_pairs_unreserve(session, session->reserved);
	mutex_unlock(&m->broker_lock);
	/* Pairs of this session don't change otherwise now. */
	for (i = 0; i < ARRAY_SIZE(opcodes); i++)
		for (qid = 1; qid <= MGR_MAX_PAIRS; qid++)
			if (READ_ONCE(m->pairs[qid].session) == session)
				mgr_delete_surely(session, opcodes[i], qid);
	for (qid = 1; qid <= MGR_MAX_PAIRS; qid++)
		if (READ_ONCE(m->pairs[qid].session) == session)
			mgr_pair_release(session, &m->pairs[qid]);
}

int mgr_pairs_show(struct mgr *m, char *buf, size_t size)
{
	static const char * const placements[] = {
		[SNVME_SQ_SEGMENT] = "lender",
		[SNVME_SQ_BORROWER] = "borrower",
		[SNVME_SQ_CMB] = "cmb",
	};
	unsigned int qid;
	int at = 0;

	mutex_lock(&m->broker_lock);
	for (qid = 1; qid <= MGR_MAX_PAIRS; qid++) {
		const struct mgr_pair *pair = &m->pairs[qid];

		if (pair->state != MGR_PAIR_LIVE)
			continue;
		at += scnprintf(buf + at, size - at,
				"qid=%u session=%#llx host=%s entries=%u sq=%s ",
				qid, pair->session->s->id,
				pair->session->s->host_name, pair->entries,
				placements[pair->placement]);
		if (pair->irq)
			at += scnprintf(buf + at, size - at, "irq=%u\n",
					pair->vector);
		else
			at += scnprintf(buf + at, size - at, "irq=poll\n");
	}
	mutex_unlock(&m->broker_lock);
	return at;
}
