// SPDX-License-Identifier: GPL-2.0
/*
 * Execution of clients' admin commands, as admin_table.c decides. Data goes
 * through memory that is allocated here: no address of a client ever reaches
 * the controller in an admin command.
 */
#include <linux/slab.h>
#include <linux/smartio_recovery.h>

#include "admin_identify.h"
#include "admin_table.h"
#include "mgr.h"
#include "mgr_trace.h"

/* Seconds that a passed command may take. */
#define PASS_TIMEOUT_S		30

#define LOG_RETAIN_EVENT	0x80	/* in the byte of LSP */
/* Get Features' capabilities: changeable, not saveable, not per namespace. */
#define FEATURE_CHANGEABLE	4
#define SELECT_CAPABILITIES	3

/**
 * struct mgr_command - an admin command of a client while it is executed
 * @session: whose
 * @cmd: without its pointers
 * @verdict: its treatment
 * @in: data that came with it
 * @in_len: its bytes
 * @data: memory for the answer, at least verdict.data_len bytes
 * @result: dwords 0 and 1 of the completion
 */
struct mgr_command {
	struct mgr_session *session;
	struct nvme_command cmd;
	struct admin_verdict verdict;
	const u8 *in;
	u32 in_len;
	u8 *data;
	union nvme_result result;
};

static int mgr_pass(struct mgr_command *c)
{
	/* The client's events don't depend on other readers of the log. */
	if (c->cmd.common.opcode == nvme_admin_get_log_page)
		c->cmd.get_log_page.lsp |= LOG_RETAIN_EVENT;
	return mgr_sync(c->session->m, &c->cmd, &c->result, c->data,
			c->verdict.data_len, PASS_TIMEOUT_S);
}

static int mgr_identify_ctrl(struct mgr_command *c)
{
	struct mgr *m = c->session->m;
	struct admin_view view = {
		.cntlid = c->session->vctrl->cntlid,
		.mdts = m->mdts,
		.subnqn = m->subnqn,
	};
	int ret = mgr_pass(c);

	if (!ret)
		admin_rewrite_ctrl((struct nvme_id_ctrl *)c->data, &view);
	return ret;
}

/* The part of a log page of ours that was asked for; beyond it are zeroes. */
static void mgr_copy_log(struct mgr_command *c, const void *log, size_t bytes)
{
	u64 offset = admin_log_offset(&c->cmd);

	memset(c->data, 0, c->verdict.data_len);
	if (offset < bytes)
		memcpy(c->data, log + offset,
		       min_t(u64, bytes - offset, c->verdict.data_len));
}

static int mgr_log_effects(struct mgr_command *c)
{
	struct nvme_command cmd = c->cmd;
	struct nvme_effects_log *log;
	u32 dwords = sizeof(*log) / 4 - 1;
	int ret;

	BUILD_BUG_ON(sizeof(*log) != ADMIN_LOG_BYTES);
	log = kzalloc(sizeof(*log), GFP_KERNEL);
	if (!log)
		return -ENOMEM;
	cmd.get_log_page.numdl = cpu_to_le16(dwords);
	cmd.get_log_page.numdu = 0;
	cmd.get_log_page.lpo = 0;
	cmd.get_log_page.lsp |= LOG_RETAIN_EVENT;
	ret = mgr_sync(c->session->m, &cmd, &c->result, log, sizeof(*log),
		       PASS_TIMEOUT_S);
	if (!ret) {
		admin_rewrite_effects(log);
		mgr_copy_log(c, log, sizeof(*log));
	}
	kfree(log);
	return ret;
}

static int mgr_log_changed(struct mgr_command *c)
{
	struct mgr_session *session = c->session;
	unsigned int i;
	__le32 *log;

	log = kcalloc(MGR_CHANGED_MAX, sizeof(*log), GFP_KERNEL);
	if (!log)
		return -ENOMEM;
	mutex_lock(&session->m->sessions_lock);
	if (session->nr_changed > MGR_CHANGED_MAX)
		log[0] = cpu_to_le32(NVME_NSID_ALL);
	else
		for (i = 0; i < session->nr_changed; i++)
			log[i] = cpu_to_le32(session->changed[i]);
	if (!(c->cmd.get_log_page.lsp & LOG_RETAIN_EVENT))
		session->nr_changed = 0;
	mutex_unlock(&session->m->sessions_lock);
	mgr_copy_log(c, log, MGR_CHANGED_MAX * sizeof(*log));
	kfree(log);
	return 0;
}

/* Number of Queues: 0's based, submission low, completion high. */
static int mgr_feature_queues(struct mgr_command *c, bool set)
{
	u32 asked = le32_to_cpu(c->cmd.common.cdw11);
	u32 last;

	if (set && ((asked & 0xffff) == 0xffff || asked >> 16 == 0xffff))
		return NVME_SC_INVALID_FIELD | NVME_STATUS_DNR;
	if (set)
		c->session->granted =
			mgr_pairs_reserve(c->session,
					  min(asked & 0xffff, asked >> 16) + 1);
	if (!c->session->granted)
		return NVME_SC_INTERNAL | NVME_STATUS_DNR;
	last = c->session->granted - 1;
	c->result.u32 = cpu_to_le32(last | last << 16);
	return 0;
}

static int mgr_set_events(struct mgr_command *c)
{
	u32 mask = le32_to_cpu(c->cmd.common.cdw11);

	if (mask & ~ADMIN_EVENTS)
		return NVME_SC_INVALID_FIELD | NVME_STATUS_DNR;
	mgr_event_allow(c->session, mask);
	return 0;
}

/* Set Features has the value in CDW11, Get Features in the result. */
static int mgr_resv_feature(struct mgr_command *c, bool set,
			    int (*feature)(struct mgr_session *session, u32 nsid,
					   bool set, u32 *value))
{
	u32 value = le32_to_cpu(c->cmd.common.cdw11);
	int ret = feature(c->session, le32_to_cpu(c->cmd.common.nsid), set,
			  &value);

	if (!ret && !set)
		c->result.u32 = cpu_to_le32(value);
	return ret;
}

static int mgr_log_reservation(struct mgr_command *c)
{
	u8 page[64];

	mgr_resv_log(c->session, page,
		     c->cmd.get_log_page.lsp & LOG_RETAIN_EVENT);
	mgr_copy_log(c, page, sizeof(page));
	return 0;
}

static int mgr_host_id(struct mgr_command *c, bool set)
{
	struct mgr_session *session = c->session;
	struct mgr_vctrl *vctrl = session->vctrl;
	u32 len = c->verdict.data_len;

	if (set && c->in_len < len)
		return NVME_SC_DATA_XFER_ERROR | NVME_STATUS_DNR;
	if (set) {
		u8 id[RESV_HOST_BYTES] = { };

		memcpy(id, c->in, len);
		return mgr_resv_identity(session, id);
	}
	mutex_lock(&session->m->sessions_lock);
	memcpy(c->data, vctrl->host_id, len);
	mutex_unlock(&session->m->sessions_lock);
	return 0;
}

/* Get Features of a virtual feature, but for its current value. */
static bool mgr_feature_static(struct mgr_command *c)
{
	u32 select = admin_feature_select(&c->cmd);

	if (select == SELECT_CAPABILITIES)
		c->result.u32 = cpu_to_le32(FEATURE_CHANGEABLE);
	return select != 0;
}

static int mgr_execute(struct mgr_command *c)
{
	int ret;

	switch (c->verdict.treatment) {
	case ADMIN_REFUSE:
		return c->verdict.status;
	case ADMIN_PASS:
		return mgr_pass(c);
	case ADMIN_IDENTIFY_CTRL:
		return mgr_identify_ctrl(c);
	case ADMIN_IDENTIFY_NS:
		ret = mgr_pass(c);
		if (!ret)
			admin_rewrite_ns((struct nvme_id_ns *)c->data);
		return ret;
	case ADMIN_IDENTIFY_NS_INDEP:
		ret = mgr_pass(c);
		if (!ret)
			admin_rewrite_ns_indep((struct nvme_id_ns_cs_indep *)
					       c->data);
		return ret;
	case ADMIN_LOG_EFFECTS:
		return mgr_log_effects(c);
	case ADMIN_LOG_CHANGED_NS:
		return mgr_log_changed(c);
	case ADMIN_SET_QUEUES:
		return mgr_feature_queues(c, true);
	case ADMIN_GET_QUEUES:
		if (admin_feature_select(&c->cmd) == SELECT_CAPABILITIES)
			return mgr_feature_static(c) ? 0 : -EINVAL;
		return mgr_feature_queues(c, false);
	case ADMIN_SET_EVENTS:
		return mgr_set_events(c);
	case ADMIN_GET_EVENTS:
		if (!mgr_feature_static(c))
			c->result.u32 = cpu_to_le32(c->session->event_mask);
		return 0;
	case ADMIN_SET_HOST_ID:
		return mgr_host_id(c, true);
	case ADMIN_GET_HOST_ID:
		if (mgr_feature_static(c))
			return 0;
		return mgr_host_id(c, false);
	case ADMIN_LOG_RESERVATION:
		return mgr_log_reservation(c);
	case ADMIN_SET_RESV_MASK:
		return mgr_resv_feature(c, true, mgr_resv_mask);
	case ADMIN_GET_RESV_MASK:
		if (mgr_feature_static(c))
			return 0;
		return mgr_resv_feature(c, false, mgr_resv_mask);
	case ADMIN_SET_RESV_PERSIST:
		return mgr_resv_feature(c, true, mgr_resv_persist);
	case ADMIN_GET_RESV_PERSIST:
		if (mgr_feature_static(c))
			return 0;
		return mgr_resv_feature(c, false, mgr_resv_persist);
	case ADMIN_ABORT:
		c->result.u32 = cpu_to_le32(1);		/* not aborted */
		return 0;
	}
	return -EINVAL;
}

/*
 * Whether the drive has the command: it needs a turn. The others must not keep
 * one while they wait, for the file of reservations for instance.
 */
static bool mgr_reaches_drive(enum admin_treatment treatment)
{
	switch (treatment) {
	case ADMIN_PASS:
	case ADMIN_IDENTIFY_CTRL:
	case ADMIN_IDENTIFY_NS:
	case ADMIN_IDENTIFY_NS_INDEP:
	case ADMIN_LOG_EFFECTS:
		return true;
	default:
		return false;
	}
}

/* The command without anything that points anywhere. */
static void mgr_copy_command(struct nvme_command *cmd, const u8 *sqe)
{
	memcpy(cmd, sqe, sizeof(*cmd));
	cmd->common.command_id = 0;
	cmd->common.cdw2[0] = 0;
	cmd->common.cdw2[1] = 0;
	cmd->common.metadata = 0;
	memset(&cmd->common.dptr, 0, sizeof(cmd->common.dptr));
}

/*
 * SNVME_ADMIN. @reply_size: room there, then bytes used. Sleeps. Return: 0: the
 * reply has a status; or an error: not executed, or unknown.
 */
int mgr_admin(struct mgr_session *session, const struct snvme_admin *admin,
	      struct snvme_admin_reply *reply, size_t *reply_size)
{
	u32 asked = admin->write ? 0 : admin->data_len;
	struct mgr_command c = {
		.session = session,
		.in = admin->data,
		.in_len = admin->write ? admin->data_len : 0,
	};
	struct mgr_turn turn;
	bool reaches;
	int ret;

	if (*reply_size < sizeof(*reply) + asked)
		return -EMSGSIZE;
	mgr_copy_command(&c.cmd, admin->sqe);
	c.verdict = admin_classify(&c.cmd);
	if (c.verdict.treatment != ADMIN_REFUSE && c.verdict.data_len) {
		c.data = kvzalloc(c.verdict.data_len,
				  smartio_recovery_gfp(c.verdict.data_len));
		if (!c.data)
			return -ENOMEM;
	}
	reaches = mgr_reaches_drive(c.verdict.treatment);
	ret = reaches ? mgr_relay_begin(session, &turn) : 0;
	if (ret)
		goto out;
	/* Before it is read: an event in between may not be in it any more. */
	if (c.verdict.treatment != ADMIN_REFUSE &&
	    c.cmd.common.opcode == nvme_admin_get_log_page &&
	    !(c.cmd.get_log_page.lsp & LOG_RETAIN_EVENT))
		mgr_event_log_read(session, c.cmd.get_log_page.lid);
	ret = mgr_execute(&c);
	if (reaches)
		mgr_relay_end(&turn);
	trace_smartio_nvme_mgr_admin(session, &c.cmd, c.verdict.treatment, ret);
	if (ret < 0)
		goto out;
	memset(reply, 0, sizeof(*reply));
	reply->status = cpu_to_le16(ret);
	reply->result = c.result.u64;
	*reply_size = sizeof(*reply);
	asked = ret || !c.data ? 0 : min(asked, c.verdict.data_len);
	if (asked) {
		memcpy(reply->data, c.data, asked);
		reply->data_len = cpu_to_le32(asked);
		*reply_size += asked;
	}
	ret = 0;
out:
	kvfree(c.data);
	return ret;
}
