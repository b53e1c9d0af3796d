/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two paths of one borrower to one drive, as docs/failover.md describes them:
 * one block, written again and again, each time after the last write was
 * acknowledged. Links are lost and come back, whether or not both sides have
 * noticed by then; commands time out; the manager resets the controller; the
 * borrower dies, and another host writes after it was fenced.
 *
 * Checked: no command is executed after its request was acknowledged, nor after
 * another host went on (a late write); what was acknowledged is on the media (a
 * lost one); the drive writes into no memory that was given up (a late read);
 * and whatever happens, once a link is up for good the writes get through (no
 * deadlock: the application reaches its end).
 *
 *   make check-model
 *
 * Each of the following takes out one rule; the checker has to find the harm
 * that is named behind it:
 * -DNO_REVOKE	a lost path's request is sent over the other at once: late write
 * -DNO_SHUT	the lender's word comes over the other link: this one's window
 *		is open still: late read
 * -DNO_END	the lender lets a link come up before it has ended the sessions
 *		that were open over it: late read
 * -DNO_FENCE_WAIT another host goes on before the dead one's sessions are over:
 *		late write
 * -DNO_GENERATION messages of before a link was down count when it is up again:
 *		deadlock
 */
#ifndef WRITES
#define WRITES	2	/* of this borrower */
#endif
#ifndef CUTS
#define CUTS	2	/* of either link, in all */
#endif
#ifndef UPSETS
#define UPSETS	1	/* time-outs and resets of the controller, in all */
#endif
#define OTHERS	100	/* what the other host writes */

mtype = { JOINING, UP, LOST, REVOKED };		/* enum snvme_state */
mtype = { OPEN, REVOKE };			/* calls */

/* ---- cables: what is posted arrives in order, or is lost when it is pulled */

bool cable[2] = true;
bool cut_b[2], cut_l[2];	/* pulled since the borrower, the lender looked */
bool up_b[2] = true;		/* what each side takes the link for */
bool up_l[2] = true;
bool window[2] = true;		/* the borrower's, for the drive's writes */

chan command0 = [1] of { byte, byte };	/* value, session: entry and doorbell */
chan command1 = [1] of { byte, byte };
chan done0 = [2] of { byte };		/* data and completion */
chan done1 = [2] of { byte };
/* one call over a link at a time */
chan ask0 = [1] of { mtype, byte };
chan ask1 = [1] of { mtype, byte };
chan answer0 = [1] of { byte };
chan answer1 = [1] of { byte };

/* ---- the lender and its drive */

byte session[2];	/* open over each link; 0: none. It has a queue pair */
byte sessions;		/* the last one's number */
byte queued[2];		/* the command in its queue */
byte media;
byte acknowledged;

inline end_session(p)
{
	session[p] = 0;
	queued[p] = 0;		/* deleting a queue ends its commands */
}

/* ---- the borrower */

mtype state[2] = REVOKED;
byte mine[2];		/* session that requests were sent in; 0: it is over */
byte flying[2];		/* the request that this path has; its memory, too */
byte landed[2];		/* completion in the CQ */
bool calling[2];	/* a call over this link waits */
mtype what[2];
byte about[2];		/* of which path a call over this link is */
bool revoking[2];	/* this path's session, over the other link */
byte ended[2];		/* this session is over, says the lender */

byte request;		/* the write that the application waits for */
bool waiting;		/* it has no path */
byte written;
bool dead, fenced;

#define finished (request == 0 && written == WRITES)

inline post(p, c)
{
	if
	:: cable[p] -> c!request, mine[p]
	:: else			/* lost on the cable */
	fi
}

inline acknowledge(p)
{
	assert(media == flying[p]);	/* else a write is lost */
	acknowledged = flying[p];
	flying[p] = 0;
	landed[p] = 0;
	request = 0;
}

/* The memory that the drive writes to is the request's. */
inline land(p, v)
{
	if
	/* else it is a late read */
	:: window[p] && !dead -> assert(flying[p] == v); landed[p] = v
	:: else
	fi
	v = 0;
}

/* The session is over: what has completed has; the rest may be sent again. */
inline revoked(p)
{
	if
	:: flying[p] && landed[p] == flying[p] -> acknowledge(p)
	:: flying[p] && landed[p] != flying[p] ->
		flying[p] = 0; landed[p] = 0; waiting = true
	:: else
	fi
	mine[p] = 0;
	state[p] = REVOKED;
}

inline lose(p)
{
	if
	:: state[p] == UP || state[p] == JOINING -> state[p] = LOST
	:: else
	fi
#ifdef NO_REVOKE
	if
	:: flying[p] -> flying[p] = 0; waiting = true
	:: else
	fi
#endif
}

inline call(over, kind, arg, whose, c)
{
	calling[over] = true;
	what[over] = kind;
	about[over] = whose;
	c!kind, arg
}

/* A call over this link is through, one way or the other. */
inline called(p)
{
	calling[p] = false;
	if
	:: what[p] == REVOKE -> revoking[about[p]] = false
	:: else
	fi;
	what[p] = 0;
	about[p] = 0
}

inline answered(p, s)
{
	if
	:: what[p] == REVOKE && state[about[p]] == LOST -> revoked(about[p])
	:: what[p] == OPEN && s ->
		if
		:: state[p] == LOST -> revoked(p)
		:: else
		fi
		mine[p] = s;
		state[p] = JOINING
	:: else
	fi
	called(p)
}

/* One path of the borrower; q is the other one. */
proctype path(byte p; byte q; chan command; chan done; chan ask; chan ask_q;
	      chan answer)
{
	byte v, s;

end:	do
	/* a request without a path is sent over this one */
	:: atomic { !dead && waiting && state[p] == UP && up_b[p] ->
		waiting = false; flying[p] = request; landed[p] = 0; post(p, command) }
	/* its completion is taken */
	:: atomic { !dead && state[p] == UP && flying[p] && landed[p] == flying[p] ->
		acknowledge(p) }
	/* what the drive posted arrives */
	:: atomic { done?v -> land(p, v) }
	/* the link is down: first the state, then the window */
	:: atomic { !dead && up_b[p] && cut_b[p] -> up_b[p] = false; called(p); lose(p) }
	:: atomic { !dead && !up_b[p] && cut_b[p] ->
#ifndef NO_SHUT
		/* read back: what was before it has arrived */
		do
		:: nempty(done) -> done?v; land(p, v)
		:: empty(done) -> break
		od;
		window[p] = false;
#endif
		cut_b[p] = false }
	/* the lender ended the session, the link being up */
	:: atomic { !dead && up_b[p] && mine[p] && ended[p] == mine[p] -> ended[p] = 0; lose(p) }
	/* over its own link: smartio_open() */
	:: atomic { !dead && up_b[p] && !calling[p] && !revoking[p] &&
		(state[p] == LOST || state[p] == REVOKED) ->
		call(p, OPEN, 0, p, ask) }
	/* over the other one, if that has a session: smartio_revoke() */
	:: atomic { !dead && !up_b[p] && !cut_b[p] && state[p] == LOST && mine[p] &&
		up_b[q] && mine[q] && state[q] == UP && !calling[q] ->
		revoking[p] = true; call(q, REVOKE, mine[p], p, ask_q) }
	/* an answer, behind what was posted before it; if the link is down,
	   nobody waits for it */
	:: atomic { empty(done) && nempty(answer) -> answer?s;
		if
		:: calling[p] && !dead -> answered(p, s)
		:: else
		fi;
		s = 0 }
	/* all queues are there */
	:: atomic { !dead && state[p] == JOINING && up_b[p] -> state[p] = UP }
	od
}

proctype application()
{
	do
	:: atomic { !dead && request == 0 && written < WRITES ->
		written++; request = written; waiting = true }
	:: finished || dead -> break
	od
}

/* The lender's side of one link. */
proctype lender(byte p; byte q; chan command; chan done; chan ask; chan answer)
{
	byte v, s;
	mtype type;

end:	do
	:: atomic { command?v, s ->
		/* memory of a session that is over is mapped nowhere */
		if
		:: session[p] == s && s -> queued[p] = v
		:: else
		fi;
		v = 0; s = 0 }
	:: atomic { empty(command) && nempty(ask) -> ask?type, s;
		if
		:: !up_l[p]		/* whoever asked will see that, too */
		:: up_l[p] && type == OPEN ->
			end_session(p);
			sessions++; session[p] = sessions;
			answer!sessions
		:: up_l[p] && type == REVOKE ->
			if
			:: session[q] == s -> end_session(q)
			:: else
			fi;
			answer!0
		fi;
		s = 0 }
	/* the link is down: its sessions end */
	:: atomic { up_l[p] && cut_l[p] -> up_l[p] = false }
	:: atomic { !up_l[p] && cut_l[p] ->
#ifndef NO_END
		end_session(p);
#endif
		cut_l[p] = false }
	/* both have done with the last generation: a new one */
	:: atomic { cable[p] && !up_l[p] && !cut_l[p] && !up_b[p] && !cut_b[p] && !dead && !fenced ->
		/* it passes the link behind all that was posted before; what is said
		   carries its generation */
		do
		:: nempty(command) -> command?_, _
		:: nempty(done) -> done?_
#ifndef NO_GENERATION
		:: nempty(ask) -> ask?_, _
		:: nempty(answer) -> answer?_
		:: empty(command) && empty(done) && empty(ask) && empty(answer) -> break
#else
		:: empty(command) && empty(done) -> break
#endif
		od;
		window[p] = true; up_l[p] = true; up_b[p] = true }
	od
}

proctype drive(byte p; chan done)
{
end:	do
	:: atomic { queued[p] ->
		assert(queued[p] > acknowledged);	/* else it is a late write */
		media = queued[p];
		if
		:: cable[p] && up_l[p] && len(done) < 2 -> done!queued[p]
		:: else
		fi;
		queued[p] = 0 }
	od
}

inline drop(p, c, d, a, r)
{
	cable[p] = false; cut_b[p] = true; cut_l[p] = true;
	do
	:: nempty(c) -> c?_, _
	:: nempty(d) -> d?_
	:: nempty(a) -> a?_, _
	:: nempty(r) -> r?_
	:: empty(c) && empty(d) && empty(a) && empty(r) -> break
	od
}

#ifdef NO_FENCE_WAIT
#define fence_done true
#else
#define fence_done (!up_l[0] && !cut_l[0] && !up_l[1] && !cut_l[1])
#endif

/* All that goes wrong. In the end one cable stays. */
proctype trouble()
{
	byte cuts = CUTS, upsets = UPSETS;

	do
	:: atomic { cuts && cable[0] -> cuts--; drop(0, command0, done0, ask0, answer0) }
	:: atomic { cuts && cable[1] -> cuts--; drop(1, command1, done1, ask1, answer1) }
	:: atomic { !cable[0] -> cable[0] = true }
	:: atomic { !cable[1] -> cable[1] = true }
	/* a command timed out twice, or somebody resets the path */
	:: atomic { upsets && state[0] == UP -> upsets--; state[0] = LOST }
	:: atomic { upsets && state[1] == UP -> upsets--; state[1] = LOST }
	/* the manager resets the controller: whoever has a link is told */
	:: atomic { upsets -> upsets--;
		ended[0] = (cable[0] && up_l[0] && session[0] -> session[0] : ended[0]);
		ended[1] = (cable[1] && up_l[1] && session[1] -> session[1] : ended[1]);
		end_session(0); end_session(1) }
#ifndef NO_DEATH
	/* the borrower dies: the lender ends its sessions, then others go on */
	:: atomic { !dead && !finished -> dead = true; cut_l[0] = true; cut_l[1] = true }
		atomic { fence_done -> media = OTHERS; acknowledged = OTHERS; fenced = true }
		break
#endif
	:: cable[0] || cable[1] -> break
	od
}

init {
	atomic {
		run path(0, 1, command0, done0, ask0, ask1, answer0);
		run path(1, 0, command1, done1, ask1, ask0, answer1);
		run lender(0, 1, command0, done0, ask0, answer0);
		run lender(1, 0, command1, done1, ask1, answer1);
		run drive(0, done0);
		run drive(1, done1);
		run application();
		run trouble()
	}
}
