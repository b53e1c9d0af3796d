// SPDX-License-Identifier: GPL-2.0
/*
 * Clients: a session is a virtual controller with queue pairs. It begins with
 * SNVME_ATTACH. However it ends, its resources are freed then. Its virtual
 * controller stays for the next session of that host over that link.
 */
#include <linux/jhash.h>
#include <linux/slab.h>

#include "admin_identify.h"
#include "mgr.h"

/* ---- virtual controllers ---- */

static bool mgr_cntlid_used(struct mgr *m, u16 cntlid)
{
	struct mgr_vctrl *known;

	if (cntlid == le16_to_cpu(m->id->cntlid))
		return true;
	list_for_each_entry(known, &m->vctrls, entry)
		if (known->cntlid == cntlid)
			return true;
	return false;
}

/* Made from host and link, so that it is mostly the same after a reboot. */
static bool mgr_cntlid_choose(struct mgr *m, struct mgr_vctrl *vctrl)
{
	u32 hash = jhash(&vctrl->host, sizeof(vctrl->host),
			 jhash(vctrl->link_name, sizeof(vctrl->link_name), 0));
	u32 tries;

	for (tries = 0; tries < MGR_CNTLID_COUNT; tries++, hash++) {
		vctrl->cntlid = MGR_CNTLID_FIRST + hash % MGR_CNTLID_COUNT;
		if (!mgr_cntlid_used(m, vctrl->cntlid))
			return true;
	}
	return false;
}

/* That of a session: it lives as long as @m. May sleep; under sessions_lock. */
static struct mgr_vctrl *mgr_vctrl_get(struct mgr *m,
				       const struct smartio_session *s)
{
	struct mgr_vctrl *vctrl;

	list_for_each_entry(vctrl, &m->vctrls, entry)
		if (uuid_equal(&vctrl->host, &s->host) &&
		    !strcmp(vctrl->link_name, s->link_name))
			return vctrl;
	vctrl = kzalloc(sizeof(*vctrl), GFP_KERNEL);
	if (!vctrl)
		return ERR_PTR(-ENOMEM);
	vctrl->host = s->host;
	strscpy(vctrl->link_name, s->link_name);
	export_uuid(vctrl->host_id, &s->host);
	xa_init(&vctrl->notice_masks);
	if (!mgr_cntlid_choose(m, vctrl)) {
		kfree(vctrl);
		return ERR_PTR(-ENOSPC);
	}
	list_add(&vctrl->entry, &m->vctrls);
	return vctrl;
}

/* @m is without sessions. */
void mgr_vctrls_free(struct mgr *m)
{
	struct mgr_vctrl *vctrl, *next;

	list_for_each_entry_safe(vctrl, next, &m->vctrls, entry) {
		list_del(&vctrl->entry);
		xa_destroy(&vctrl->notice_masks);
		kfree(vctrl);
	}
}

/* ---- sessions ---- */

static int mgr_open(struct smartio_session *s)
{
	struct mgr *m = smartio_export_context(s->export);
	struct mgr_session *session;
	int ret;

	if (nvme_ctrl_state(&m->ctrl) != NVME_CTRL_LIVE)
		return -EAGAIN;
	session = kvzalloc(sizeof(*session), GFP_KERNEL | __GFP_NOWARN);
	if (!session)
		return -ENOMEM;
	session->m = m;
	session->s = s;
	session->incarnation = mgr_incarnation(m);
	INIT_LIST_HEAD(&session->pieces);
	INIT_LIST_HEAD(&session->relayed);
	init_waitqueue_head(&session->resv_wait);
	mgr_note_init(session);
	s->context = session;
	mutex_lock(&m->sessions_lock);
	session->vctrl = mgr_vctrl_get(m, s);
	ret = PTR_ERR_OR_ZERO(session->vctrl);
	if (!ret)
		list_add_tail(&session->entry, &m->sessions);
	mutex_unlock(&m->sessions_lock);
	if (ret) {
		s->context = NULL;
		kvfree(session);
	}
	return ret;
}

/* Requests that wait go: the device, or another session, may wait for them. */
static void mgr_ending(struct smartio_session *s)
{
	mgr_relay_give_up(s->context);
	mgr_resv_give_up(s->context);
}

static void mgr_close(struct smartio_session *s)
{
	struct mgr_session *session = s->context;
	struct mgr *m = session->m;

	/* no more events */
	mutex_lock(&m->sessions_lock);
	session->attached = false;
	mutex_unlock(&m->sessions_lock);

	/* A reservation that shuts it out has to find and await it until then. */
	mgr_pairs_revoke(session);

	mutex_lock(&m->sessions_lock);
	list_del(&session->entry);
	mutex_unlock(&m->sessions_lock);
	mgr_note_stop(session);

	mutex_lock(&m->broker_lock);
	mgr_cmb_return(session);
	mutex_unlock(&m->broker_lock);
	s->context = NULL;
	kvfree(session);
}

/* Of a client's queue. One command in flight takes two. */
static u32 mgr_max_entries(const struct mgr *m)
{
	return m->ctrl.quirks & NVME_QUIRK_QDEPTH_ONE ?
		       2 :
		       NVME_CAP_MQES(m->ctrl.cap) + 1;
}

static int mgr_attach(struct mgr_session *session,
		      const struct snvme_request *request,
		      struct snvme_attach_reply *reply)
{
	struct mgr *m = session->m;
	u32 unit = 4096U << NVME_CAP_MPSMIN(m->ctrl.cap);
	unsigned int pairs;
	u64 cmb;

	if (session->attached)
		return -EALREADY;
	if (request->version != SNVME_VERSION) {
		dev_warn_ratelimited(m->ctrl.device,
				     "host %s refused: its client speaks version %u, this manager %u\n",
				     session->s->host_name, request->version,
				     SNVME_VERSION);
		return -EPROTONOSUPPORT;
	}
	pairs = min(mgr_pairs_available(session), 0xffffU);
	if (!pairs) {
		dev_warn_ratelimited(m->ctrl.device,
				     "host %s refused: no I/O queue pair left for it\n",
				     session->s->host_name);
		return -ENOSPC;
	}
	mutex_lock(&m->broker_lock);
	cmb = mgr_cmb_left(m);
	mutex_unlock(&m->broker_lock);

	session->granted = pairs;
	reply->version = cpu_to_le16(SNVME_VERSION);
	reply->cntlid = cpu_to_le16(session->vctrl->cntlid);
	reply->queue_pairs = cpu_to_le16(pairs);
	reply->max_entries = cpu_to_le16(min(mgr_max_entries(m), 0xffffU));
	reply->cap = cpu_to_le64(admin_rewrite_cap(m->ctrl.cap));
	reply->vs = cpu_to_le32(m->ctrl.vs);
	reply->max_bytes = cpu_to_le32(unit << m->mdts);
	reply->sgls = m->id->sgls;
	reply->db_offset = cpu_to_le32(NVME_REG_DBS);
	reply->db_stride = cpu_to_le32(m->db_stride);
	reply->cmb_bytes = cpu_to_le32(min_t(u64, cmb, U32_MAX));
	reply->incarnation = cpu_to_le64(session->incarnation);
	reply->quirks = cpu_to_le64(m->ctrl.quirks &
				    ~NVME_QUIRK_IGNORE_DEV_SUBNQN);
	strscpy(reply->subnqn, m->subnqn);
	session->attached = true;
	return 0;
}

static int mgr_abort_do(struct mgr_session *session,
			const struct snvme_request *request)
{
	struct mgr *m = session->m;
	struct nvme_command cmd = { };
	int ret;

	if (!mgr_pair_abort_begin(session, request->qid))
		return -ENOENT;
	if (atomic_dec_return(&m->ctrl.abort_limit) < 0) {
		atomic_inc(&m->ctrl.abort_limit);
		mgr_pair_abort_end(session, request->qid);
		return -EBUSY;
	}
	cmd.abort.opcode = nvme_admin_abort_cmd;
	cmd.abort.cid = (__force __u16)cpu_to_le16(request->cid);
	cmd.abort.sqid = cpu_to_le16(request->qid);
	ret = mgr_sync(m, &cmd, NULL, NULL, 0, MGR_DELETE_TIMEOUT_S);
	atomic_inc(&m->ctrl.abort_limit);
	mgr_pair_abort_end(session, request->qid);
	return ret > 0 ? -EIO : ret;
}

/*
 * Best effort: a limited number of aborts, and no word of how each ended. It
 * waits for no turn: the client may have reused the command's number by then.
 */
static int mgr_abort(struct mgr_session *session,
		     const struct snvme_request *request)
{
	struct mgr_turn turn;
	int ret;

	ret = mgr_relay_try(session, &turn);
	if (ret)
		return ret;
	ret = mgr_abort_do(session, request);
	mgr_relay_end(&turn);
	return ret;
}

/* Queues are created and deleted in turns of the client's: mgr_relay.c. */
static int mgr_pair_change(struct mgr_session *session,
			   const struct snvme_request *request, void *reply)
{
	struct mgr_turn turn;
	int ret;

	ret = mgr_relay_begin(session, &turn);
	if (ret)
		return ret;
	if (request->op == SNVME_CREATE)
		ret = mgr_pair_create(session, &request->create, reply);
	else
		ret = mgr_pair_delete(session, request->qid);
	mgr_relay_end(&turn);
	return ret;
}

/* For a reply of fixed size; it starts as zeroes. */
static bool mgr_reply_fits(void *reply, size_t *reply_size, size_t size)
{
	if (*reply_size < size)
		return false;
	memset(reply, 0, size);
	*reply_size = size;
	return true;
}

static int mgr_request(struct smartio_session *s, const void *message,
		       size_t size, void *reply, size_t *reply_size)
{
	struct mgr_session *session = s->context;
	struct mgr *m = session->m;
	struct snvme_request request;
	int ret;

	ret = snvme_check_request(message, size, mgr_max_entries(m), &request);
	if (ret)
		return ret;
	if (mgr_incarnation(m) != session->incarnation)
		return -EAGAIN;
	if (request.op != SNVME_ATTACH && !session->attached)
		return -EPROTO;

	switch (request.op) {
	case SNVME_ATTACH:
		if (!mgr_reply_fits(reply, reply_size,
				    sizeof(struct snvme_attach_reply)))
			return -EMSGSIZE;
		return mgr_attach(session, &request, reply);
	case SNVME_CREATE:
		if (!mgr_reply_fits(reply, reply_size,
				    sizeof(struct snvme_create_reply)))
			return -EMSGSIZE;
		return mgr_pair_change(session, &request, reply);
	case SNVME_DELETE:
		*reply_size = 0;
		return mgr_pair_change(session, &request, NULL);
	case SNVME_ADMIN:
		return mgr_admin(session, &request.admin, reply, reply_size);
	case SNVME_ABORT:
		*reply_size = 0;
		return mgr_abort(session, &request);
	case SNVME_RESERVATION:
		return mgr_resv_command(session, &request.admin, reply,
					reply_size);
	case SNVME_ACCESS:
		return mgr_resv_access(session, reply, reply_size);
	}
	return -EINVAL;
}

static int mgr_show(void *context, char *buf, size_t size)
{
	return mgr_pairs_show(context, buf, size);
}

const struct smartio_lender_ops mgr_lender_ops = {
	.open = mgr_open,
	.ending = mgr_ending,
	.close = mgr_close,
	.request = mgr_request,
	.show = mgr_show,
};
