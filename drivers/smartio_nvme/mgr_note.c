// SPDX-License-Identifier: GPL-2.0
/*
 * Notes to clients. Each session has a worker of its own for them: a client
 * that takes no messages keeps its link's ring full for up to two seconds, and
 * no other client waits for that.
 */
#include <linux/smartio_recovery.h>

#include "mgr.h"

/* In mgr_session.notes, above BIT(type) of events. */
#define MGR_NOTE_ACCESS		8

static_assert(MGR_NOTE_ACCESS == MGR_EVENT_TYPES);

/*
 * The client asks again for its access (SNVME_ACCESS). A session that does not
 * get it refuses too much; or, if it refuses too little, is @outdated, and ends
 * when that matters.
 */
void mgr_note_access(struct mgr_session *session)
{
	set_bit(MGR_NOTE_ACCESS, &session->notes);
	queue_work(session->m->note_wq, &session->note_work);
}

/*
 * An asynchronous event of @type. Of two of one type that the client has not
 * been sent, it gets the last one.
 */
void mgr_note_event(struct mgr_session *session, unsigned int type, u32 result)
{
	WRITE_ONCE(session->note_result[type], result);
	smp_mb__before_atomic();	/* the result, then its bit */
	set_bit(type, &session->notes);
	queue_work(session->m->note_wq, &session->note_work);
}

static void mgr_note_send_access(struct mgr_session *session)
{
	struct snvme_access_note note = {
		.note = cpu_to_le16(SNVME_NOTE_ACCESS),
	};

	smartio_session_notify(session->s, &note, sizeof(note));
}

static void mgr_note_send_event(struct mgr_session *session, unsigned int type)
{
	u32 result = READ_ONCE(session->note_result[type]);
	struct snvme_event_note note = {
		.note = cpu_to_le16(SNVME_NOTE_EVENT),
		.result = cpu_to_le32(result),
	};
	int ret;

	ret = smartio_session_notify(session->s, &note, sizeof(note));
	if (!ret)
		return;
	clear_bit(type, &session->event_sent);
	dev_warn(session->m->ctrl.device,
		 "event %#x not passed on to host %s (%d)\n", result,
		 session->s->host_name, ret);
}

static void mgr_note_work(struct work_struct *work)
{
	struct mgr_session *session = container_of(work, struct mgr_session,
						   note_work);
	unsigned int flags = smartio_recovery_begin();
	unsigned int type;

	for (type = 0; type < MGR_EVENT_TYPES; type++)
		if (test_and_clear_bit(type, &session->notes))
			mgr_note_send_event(session, type);
	if (test_and_clear_bit(MGR_NOTE_ACCESS, &session->notes))
		mgr_note_send_access(session);
	smartio_recovery_end(flags);
}

void mgr_note_init(struct mgr_session *session)
{
	INIT_WORK(&session->note_work, mgr_note_work);
}

/* The session is in no list any more: no note of it is queued after this. */
void mgr_note_stop(struct mgr_session *session)
{
	cancel_work_sync(&session->note_work);
}
