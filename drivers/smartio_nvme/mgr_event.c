// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous events (NVMe base 5.2). The controller reports each to the
 * manager's one request. Each client that has enabled that type gets it once,
 * until it has read the log page that the event names. The manager reads that
 * log itself, so the next event doesn't depend on clients.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/smartio_recovery.h>

#include "admin_identify.h"
#include "mgr.h"

#define EVENT_TYPE(result)	((result) & 7)
#define EVENT_INFO(result)	(((result) >> 8) & 0xff)
#define EVENT_LOG(result)	(((result) >> 16) & 0xff)

/* Until memory for its log is asked for again. */
#define MGR_EVENT_AGAIN_MS	100

/* Any context. There is one request out, so types don't overtake each other. */
void mgr_event_arrived(struct mgr *m, u32 result)
{
	WRITE_ONCE(m->event_result[EVENT_TYPE(result)], result);
	set_bit(EVENT_TYPE(result), &m->events);
	queue_work(m->wq, &m->event_work);
}

/* Under sessions_lock: an NSID in a client's list, which is sorted. */
static void mgr_add_changed(struct mgr_session *session, u32 nsid)
{
	unsigned int at;

	if (session->nr_changed > MGR_CHANGED_MAX)
		return;
	for (at = 0; at < session->nr_changed; at++)
		if (session->changed[at] >= nsid)
			break;
	if (at < session->nr_changed && session->changed[at] == nsid)
		return;
	if (session->nr_changed == MGR_CHANGED_MAX || nsid == NVME_NSID_ALL) {
		session->nr_changed = MGR_CHANGED_MAX + 1;
		return;
	}
	memmove(&session->changed[at + 1], &session->changed[at],
		(session->nr_changed - at) * sizeof(*session->changed));
	session->changed[at] = nsid;
	session->nr_changed++;
}

/* Reads a log page, which lets its event come again. */
static int mgr_read_log(struct mgr *m, u8 lid, void *data, size_t size)
{
	u32 dwords = size / 4 - 1;
	struct nvme_command cmd = { };

	cmd.get_log_page.opcode = nvme_admin_get_log_page;
	cmd.get_log_page.nsid = cpu_to_le32(NVME_NSID_ALL);
	cmd.get_log_page.lid = lid;
	cmd.get_log_page.numdl = cpu_to_le16(dwords);
	return mgr_sync(m, &cmd, NULL, data, size, 0);
}

/* The choice of a client (NVMe base 5.21.1.11). */
static bool mgr_event_enabled(const struct mgr_session *session, u32 result)
{
	switch (EVENT_TYPE(result)) {
	case NVME_AER_NOTICE:
		return EVENT_INFO(result) == NVME_AER_NOTICE_NS_CHANGED &&
		       session->event_mask & NVME_AEN_CFG_NS_ATTR;
	case NVME_AER_SMART:
		return session->event_mask & ADMIN_EVENTS_SMART;
	case NVME_AER_ERROR:
	case NVME_AER_CSS:	/* has a mask of its own */
		return true;
	}
	return false;
}

/* To one client, if it has enabled it; under sessions_lock. */
void mgr_event_report(struct mgr_session *session, u32 result)
{
	if (session->attached && mgr_event_enabled(session, result) &&
	    !test_and_set_bit(EVENT_TYPE(result), &session->event_sent))
		mgr_note_event(session, EVENT_TYPE(result), result);
}

/* The list of each client is complete before its event is sent. */
static void mgr_note_changed(struct mgr *m, const __le32 *list, int error)
{
	struct mgr_session *session;
	unsigned int i;

	list_for_each_entry(session, &m->sessions, entry) {
		if (error)
			mgr_add_changed(session, NVME_NSID_ALL);
		for (i = 0; !error && i < MGR_CHANGED_MAX && list[i]; i++)
			mgr_add_changed(session, le32_to_cpu(list[i]));
	}
}

/*
 * Reading it lets the next event of its kind come, so it is read as soon as
 * there is memory.
 */
static int mgr_event_log(struct mgr *m, u8 lid, void **log, size_t size)
{
	int ret = -ENOMEM;

	for (;;) {
		if (!*log)
			*log = kzalloc(size, GFP_KERNEL | __GFP_NOWARN);
		if (*log)
			ret = mgr_read_log(m, lid, *log, size);
		if (ret != -ENOMEM ||
		    nvme_ctrl_state(&m->ctrl) != NVME_CTRL_LIVE)
			return ret;
		msleep(MGR_EVENT_AGAIN_MS);
	}
}

static void mgr_handle_event(struct mgr *m, u32 result)
{
	struct mgr_session *session;
	size_t size = MGR_CHANGED_MAX * sizeof(__le32);
	u8 lid = EVENT_LOG(result);
	void *log = NULL;
	int ret;

	/* The error log's entries and SMART's page start with what matters. */
	if (lid != NVME_LOG_CHANGED_NS)
		size = 512;
	ret = mgr_event_log(m, lid, &log, size);
	if (ret < 0 && nvme_ctrl_state(&m->ctrl) != NVME_CTRL_LIVE) {
		/* After a reset clients look for themselves. */
		kfree(log);
		return;
	}
	if (ret)
		dev_warn(m->ctrl.device, "log page %#x of event %#x: %d\n",
			 lid, result, ret);

	mutex_lock(&m->sessions_lock);
	if (EVENT_TYPE(result) == NVME_AER_NOTICE &&
	    EVENT_INFO(result) == NVME_AER_NOTICE_NS_CHANGED)
		mgr_note_changed(m, log, ret);
	list_for_each_entry(session, &m->sessions, entry)
		mgr_event_report(session, result);
	mutex_unlock(&m->sessions_lock);
	kfree(log);
}

/* Sessions begin and end under sessions_lock, which this takes. */
void mgr_event_work(struct work_struct *work)
{
	struct mgr *m = container_of(work, struct mgr, event_work);
	unsigned int flags = smartio_recovery_begin();
	unsigned int type;

	for (type = 0; type < MGR_EVENT_TYPES; type++)
		if (test_and_clear_bit(type, &m->events))
			mgr_handle_event(m, READ_ONCE(m->event_result[type]));
	smartio_recovery_end(flags);
}

/* A client is about to read a log page: the next event may come. */
void mgr_event_log_read(struct mgr_session *session, u8 lid)
{
	switch (lid) {
	case NVME_LOG_ERROR:
		clear_bit(NVME_AER_ERROR, &session->event_sent);
		break;
	case NVME_LOG_SMART:
		clear_bit(NVME_AER_SMART, &session->event_sent);
		break;
	case NVME_LOG_CHANGED_NS:
		clear_bit(NVME_AER_NOTICE, &session->event_sent);
		break;
	}
}

/* Asynchronous Event Configuration of a client. */
void mgr_event_allow(struct mgr_session *session, u32 mask)
{
	mutex_lock(&session->m->sessions_lock);
	session->event_mask = mask;
	mutex_unlock(&session->m->sessions_lock);
}
