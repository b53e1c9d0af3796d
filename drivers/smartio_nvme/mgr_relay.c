// SPDX-License-Identifier: GPL-2.0
/*
 * Turns: the drive has a limited number of clients' commands at a time, of all
 * and of each. So a client with many delays its own. They get their turn in the
 * order in which they came. Those of a session that ends give up at once.
 *
 * Many drives execute admin commands one by one: each of a client at the drive
 * delays all others. So a client has one there. It gets a further place only
 * after MGR_RELAY_LONG_S without an end of its youngest one there: a Format NVM
 * must not stop the client's other commands.
 */
#include "mgr.h"

/* Under turns_lock. */
static void mgr_relay_leave(struct mgr_turn *turn)
{
	list_del_init(&turn->entry);
	turn->waits = false;
	complete(&turn->over);
}

/*
 * Under turns_lock. Return: 0: the session may have one more command at the
 * drive; or jiffies after which that may have changed, unless one ends before.
 */
static unsigned long mgr_relay_due(struct mgr_session *session)
{
	unsigned long due, now = jiffies;
	struct mgr_turn *youngest;

	if (list_empty(&session->relayed))
		return 0;
	if (session->relays >= MGR_SESSION_RELAYS)
		return MGR_RELAY_LONG_S * HZ;
	youngest = list_last_entry(&session->relayed, struct mgr_turn, entry);
	due = youngest->since + MGR_RELAY_LONG_S * HZ;
	return time_before(now, due) ? due - now : 0;
}

/* Under turns_lock. */
static void mgr_relay_place(struct mgr_turn *turn)
{
	struct mgr_session *session = turn->session;

	session->m->relays++;
	session->relays++;
	mgr_relay_leave(turn);
	turn->granted = true;
	turn->since = jiffies;
	list_add_tail(&turn->entry, &session->relayed);
}

/* Under turns_lock: those whose turn it is. */
static void mgr_relay_grant(struct mgr *m)
{
	struct mgr_turn *turn, *next;

	lockdep_assert_held(&m->turns_lock);
	list_for_each_entry_safe(turn, next, &m->turns, entry) {
		if (m->relays == MGR_RELAYS)
			break;
		if (!mgr_relay_due(turn->session))
			mgr_relay_place(turn);
	}
}

/* Under turns_lock. */
static void mgr_relay_queue(struct mgr_session *session, struct mgr_turn *turn)
{
	lockdep_assert_held(&session->m->turns_lock);
	init_completion(&turn->over);
	turn->session = session;
	turn->granted = false;
	turn->waits = true;
	list_add_tail(&turn->entry, &session->m->turns);
	if (session->ending)
		mgr_relay_leave(turn);
}

/* Under turns_lock. Return: as mgr_relay_begin(). */
static int mgr_relay_result(struct mgr_turn *turn)
{
	if (turn->granted)
		return 0;
	if (!turn->waits)
		return -ENOLINK;
	mgr_relay_leave(turn);
	return -EBUSY;
}

/*
 * A client's turn comes when few enough of its own commands, and of all
 * clients', are with the drive. Not twice in one request. @turn is the caller's
 * until mgr_relay_end(). Sleeps. Return: 0, -EBUSY or -ENOLINK: the session
 * ends.
 */
int mgr_relay_begin(struct mgr_session *session, struct mgr_turn *turn)
{
	unsigned long end = jiffies + MGR_RELAY_WAIT_S * HZ;
	struct mgr *m = session->m;
	int ret;

	spin_lock(&m->turns_lock);
	mgr_relay_queue(session, turn);
	mgr_relay_grant(m);
	/* A place that time has opened is granted by who waits for it. */
	while (turn->waits && time_before(jiffies, end)) {
		/* Without this the places of all clients are taken. */
		unsigned long step = mgr_relay_due(session) ?: HZ;

		spin_unlock(&m->turns_lock);
		wait_for_completion_timeout(&turn->over,
					    min(step, end - jiffies));
		spin_lock(&m->turns_lock);
		mgr_relay_grant(m);
	}
	ret = mgr_relay_result(turn);
	spin_unlock(&m->turns_lock);
	return ret;
}

/*
 * The same for a command that is of no use later: -EBUSY if it had to wait. It
 * takes any free place of the client's at once: it comes after a time-out only.
 */
int mgr_relay_try(struct mgr_session *session, struct mgr_turn *turn)
{
	struct mgr *m = session->m;
	int ret;

	spin_lock(&m->turns_lock);
	mgr_relay_queue(session, turn);
	mgr_relay_grant(m);
	if (turn->waits && m->relays < MGR_RELAYS &&
	    session->relays < MGR_SESSION_RELAYS)
		mgr_relay_place(turn);
	ret = mgr_relay_result(turn);
	spin_unlock(&m->turns_lock);
	return ret;
}

/* The mirror of mgr_relay_begin() and mgr_relay_try(). */
void mgr_relay_end(struct mgr_turn *turn)
{
	struct mgr_session *session = turn->session;
	struct mgr *m = session->m;

	spin_lock(&m->turns_lock);
	list_del(&turn->entry);
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
			mgr_relay_leave(turn);
	spin_unlock(&m->turns_lock);
}
