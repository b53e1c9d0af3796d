// SPDX-License-Identifier: GPL-2.0
/*
 * Turns: the drive has a limited number of clients' commands at a time, of all
 * and of each. So a client with many delays its own. They get their turn in the
 * order in which they came. Those of a session that ends give up at once.
 */
#include "mgr.h"

/**
 * struct mgr_turn - a command that waits for its turn
 * @entry: in mgr.turns, as long as it waits
 * @session: whose
 * @over: it has its turn, or has given up
 * @granted: it has its turn
 */
struct mgr_turn {
	struct list_head entry;
	struct mgr_session *session;
	struct completion over;
	bool granted;
};

/* Under turns_lock. */
static void mgr_relay_leave(struct mgr_turn *turn, bool granted)
{
	list_del_init(&turn->entry);
	turn->granted = granted;
	complete(&turn->over);
}

/* Under turns_lock: those whose turn it is. */
static void mgr_relay_grant(struct mgr *m)
{
	struct mgr_turn *turn, *next;

	lockdep_assert_held(&m->turns_lock);
	list_for_each_entry_safe(turn, next, &m->turns, entry) {
		if (m->relays == MGR_RELAYS)
			break;
		if (turn->session->relays == MGR_SESSION_RELAYS)
			continue;
		m->relays++;
		turn->session->relays++;
		mgr_relay_leave(turn, true);
	}
}

static int mgr_relay_wait(struct mgr_session *session, unsigned long timeout)
{
	struct mgr_turn turn = { .session = session };
	struct mgr *m = session->m;
	int ret = -ENOLINK;

	init_completion(&turn.over);
	spin_lock(&m->turns_lock);
	list_add_tail(&turn.entry, &m->turns);
	if (session->ending)
		mgr_relay_leave(&turn, false);
	else
		mgr_relay_grant(m);
	spin_unlock(&m->turns_lock);
	wait_for_completion_timeout(&turn.over, timeout);
	spin_lock(&m->turns_lock);
	if (turn.granted) {
		ret = 0;
	} else if (!list_empty(&turn.entry)) {
		list_del(&turn.entry);
		ret = -EBUSY;
	}
	spin_unlock(&m->turns_lock);
	return ret;
}

/*
 * A client's turn comes when fewer of its own commands, and of all clients', are
 * with the drive. Not twice in one request. Sleeps. Return: 0, -EBUSY or
 * -ENOLINK: the session ends.
 */
int mgr_relay_begin(struct mgr_session *session)
{
	return mgr_relay_wait(session, MGR_RELAY_WAIT_S * HZ);
}

/* The same for a command that is of no use later: -EBUSY if it had to wait. */
int mgr_relay_try(struct mgr_session *session)
{
	return mgr_relay_wait(session, 0);
}

/* The mirror of mgr_relay_begin() and mgr_relay_try(). */
void mgr_relay_end(struct mgr_session *session)
{
	struct mgr *m = session->m;

	spin_lock(&m->turns_lock);
	m->relays--;
	session->relays--;
	mgr_relay_grant(m);
	spin_unlock(&m->turns_lock);
}

/* The session ends: none of its commands waits any more. */
void mgr_relay_give_up(struct mgr_session *session)
{
	struct mgr *m = session->m;
	struct mgr_turn *turn, *next;

	spin_lock(&m->turns_lock);
	WRITE_ONCE(session->ending, true);
	list_for_each_entry_safe(turn, next, &m->turns, entry)
		if (turn->session == session)
			mgr_relay_leave(turn, false);
	spin_unlock(&m->turns_lock);
}
