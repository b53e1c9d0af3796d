// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a link: it finds the other side, is up, is lost, and tries again.
 * One work item, the tick, does all of that, so nothing of it happens twice at
 * once.
 *
 *    DOWN      no cable, or the other side's NTB has no driver
 *    JOINING   the other side isn't ready, or both are shaking hands
 *    UP        messages may be sent
 *    REFUSED   one side refuses the other; asks again
 *
 * An attempt ends through link_down(): with the cable, silence, a new
 * generation of the other side, nonsense in its messages, or a fence. The
 * windows are shut first, and the next attempt has a new generation.
 */
#include <linux/delay.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/smartio_recovery.h>

#include "link.h"
#include "trace.h"

/*
 * The tick's period while the peer doesn't answer, and while both shake hands.
 */
#define LINK_POLL_MS	100
#define LINK_JOIN_MS	20
/* Time for the client to stop its writes to the peer after a loss. */
#define LINK_STOP_MS	2000
/* Time for the peer to notice that this side leaves: three heartbeats. */
#define LINK_LEAVE_MIN_MS	500U
#define LINK_LEAVE_MAX_MS	1000U
/* How long a host that said nonsense is left alone. */
#define LINK_REFUSE_MS	10000

unsigned int link_timeout_ms = 1000;
module_param_named(heartbeat_timeout_ms, link_timeout_ms, uint, 0444);
MODULE_PARM_DESC(heartbeat_timeout_ms, "after how long without that the link is taken down");

/*
 * Waits until the tick has acted on all earlier requests to it. If the NTB is
 * being removed, the link is down when this returns. Must not be called from
 * the link's own work.
 */
void link_settle(struct ntb_link *link)
{
	mutex_lock(&link->settle_lock);
	if (!link->removed) {
		mod_delayed_work(link->wq, &link->tick, 0);
		flush_delayed_work(&link->tick);
	}
	mutex_unlock(&link->settle_lock);
}

static void link_set_state(struct ntb_link *link, enum smartio_link_state state,
			   const char *reason)
{
	bool changed, news;

	spin_lock(&link->base.lock);
	changed = link->base.state != state;
	news = state == SMARTIO_LINK_REFUSED && link->refused_logged != reason;
	if (news || state == SMARTIO_LINK_UP)
		link->refused_logged = reason;
	WRITE_ONCE(link->base.state, state);
	if (reason)
		link->reason = reason;
	spin_unlock(&link->base.lock);
	if (changed)
		trace_smartio_link(link->base.name, state, link->base.generation,
				   reason ? reason : "");
	if (news && __ratelimit(&link->base.log_limit))
		dev_err(link->base.dma, "%s: refused%s%s: %s\n", link->base.name,
			link->base.known ? " by or refusing " : "",
			link->base.known ? link->base.peer.name : "", reason);
}

/* The other side took its scratchpads back: its module or its NTB's driver goes. */
static const char link_left[] = "the other side left";

/* The peer writes to nothing that it was given before. */
static void link_release_all(struct ntb_link *link)
{
	static const struct smartio_holder anybody;

	link_holder_stopped(link, &anybody);
}

/*
 * The end of an attempt. The window is shut before anything else, and all that
 * belonged to the attempt is over when this returns: only then may the other
 * side hear of the new generation.
 */
static void link_down(struct ntb_link *link, const char *why)
{
	bool was_up;

	mutex_lock(&link->window_lock);
	was_up = link->base.state == SMARTIO_LINK_UP;
	link_set_state(link, SMARTIO_LINK_DOWN, why);
	link_windows_close(link);
	mutex_unlock(&link->window_lock);
	link_spads_clear(link);
	if (was_up) {
		spin_lock(&link->base.lock);
		link->losses++;
		spin_unlock(&link->base.lock);
		/* a removal by the administrator is no reason to worry */
		if (link->removed || __ratelimit(&link->base.log_limit))
			dev_printk(link->removed || why == link_left ?
				   KERN_INFO : KERN_WARNING, link->base.dma,
				   "%s: link to %s is down: %s\n", link->base.name,
				   link->base.peer.name, why);
	}
	link_calls_fail(link);
	link_ring_leave(link);
	link_calls_fail(link);
	if (was_up) {
		link->lost_at = ktime_get();
		link_holders_lost(link, true);
		link->base.client->lost(&link->base);
		link_holders_lost(link, false);
		/* requests of the lost generation must not act later */
		link_jobs_wait(link);
	}
	spin_lock(&link->base.lock);
	if (!++link->base.generation)
		link->base.generation = 1;
	memset(link->peer_own, 0, sizeof(link->peer_own));
	spin_unlock(&link->base.lock);
	link->peer_generation = 0;
	link_ring_reset(link);
}

static void link_refuse(struct ntb_link *link, enum wire_reason reason)
{
	if (link->open)
		link_down(link, link_reason_text(reason));
	link->refusal = reason;
	link->refused_at = ktime_get();
	link_set_state(link, SMARTIO_LINK_REFUSED, link_reason_text(reason));
	link_spads_write(link);
}

/*
 * Whether a fenced host asks to be admitted, and may be. Scratchpads from the
 * time of the fence don't count: they may be old.
 */
static bool link_readmits(struct ntb_link *link,
			  const struct link_spads *peer)
{
	bool asks = peer->version == WIRE_VERSION &&
		    peer->flags & WIRE_REJOIN &&
		    peer->echo == wire_uuid_crc(&link->base.peer.uuid);

	bool stale = xchg(&link->fence_new, false);

	return asks && link->base.client->may_rejoin(&link->base.peer.uuid,
						     peer->boot, stale);
}

/* Whether the reason for which this side refuses the other still holds. */
static bool link_refuses(struct ntb_link *link,
			 const struct link_spads *peer)
{
	if (link->base.known &&
	    link->base.client->fenced(&link->base.peer.uuid) &&
	    !link_readmits(link, peer)) {
		if (link->refusal != WIRE_REASON_FENCED || link->open)
			link_refuse(link, WIRE_REASON_FENCED);
		return true;
	}
	if (!link->window_size[0]) {
		if (link->refusal != WIRE_REASON_WINDOW)
			link_refuse(link, WIRE_REASON_WINDOW);
		return true;
	}
	if (peer->version && peer->version != WIRE_VERSION) {
		if (link->refusal != WIRE_REASON_VERSION) {
			if (__ratelimit(&link->base.log_limit))
				dev_err(link->base.dma,
					"%s: the other side speaks version %u, this one %u\n",
					link->base.name, peer->version,
					WIRE_VERSION);
			link_refuse(link, WIRE_REASON_VERSION);
		}
		return true;
	}
	if ((link->refusal == WIRE_REASON_SAME_HOST ||
	     link->refusal == WIRE_REASON_BAD_HELLO ||
	     link->refusal == WIRE_REASON_WINDOW ||
	     link->refusal == WIRE_REASON_GROUP) &&
	    ktime_ms_delta(ktime_get(), link->refused_at) < LINK_REFUSE_MS)
		return true;
	link->refusal = WIRE_REASON_NONE;
	return false;
}

/* Both sides have said who they are. */
static void link_up(struct ntb_link *link, const struct wire_hello *hello)
{
	u32 slots = le32_to_cpu(hello->ring_slots);
	struct smartio_identity peer = {};
	phys_addr_t ring;
	int i, ret;

	import_uuid(&peer.uuid, hello->uuid);
	if (uuid_equal(&peer.uuid, &link->base.self->uuid)) {
		link_refuse(link, WIRE_REASON_SAME_HOST);
		return;
	}
	strscpy(peer.name, hello->name);
	peer.incarnation = le32_to_cpu(hello->incarnation);
	spin_lock(&link->base.lock);
	link->base.known = true;
	link->base.peer = peer;
	for (i = 0; i < WIRE_APERTURES; i++) {
		link->peer_own[i].mw = le32_to_cpu(hello->apertures[i].mw);
		link->peer_own[i].base = le64_to_cpu(hello->apertures[i].base);
		link->peer_own[i].size = le64_to_cpu(hello->apertures[i].size);
	}
	spin_unlock(&link->base.lock);
	ret = link->base.client->admit(&link->base, &peer);
	if (!ret)
		ret = link_window_phys(link, le64_to_cpu(hello->ring),
				       (u64)slots * WIRE_SLOT, &ring);
	if (!ret)
		ret = link_ring_join(link, ring, slots);
	if (ret == -ENOMEM)
		return;		/* the next step tries again */
	if (ret) {
		link_refuse(link, ret == -EACCES ? WIRE_REASON_FENCED :
			    ret == -EOPNOTSUPP ? WIRE_REASON_GROUP :
			    WIRE_REASON_BAD_HELLO);
		return;
	}
	link->peer_doorbell = le32_to_cpu(hello->doorbell);
	WRITE_ONCE(link->peer_rings,
		   le32_to_cpu(hello->flags) & WIRE_HELLO_DOORBELLS);
	link->peer_heartbeat = 0;
	link->silent_ms = 0;
	WRITE_ONCE(link->base.fenced, false);
	link_set_state(link, SMARTIO_LINK_UP, NULL);
	if (__ratelimit(&link->base.log_limit))
		dev_info(link->base.dma, "%s: link to %s (%pUb) is up\n",
			 link->base.name, peer.name, &peer.uuid);
	queue_work(link->rx.wq, &link->rx.work);
	/* they may have changed since the other side took the hello */
	link_apertures_announce(link);
	link->base.client->up(&link->base);
}

/*
 * Memory that this host wrote to before the loss may be in other use once the
 * other side's windows are open again: first the writers have to stop. One
 * that doesn't say so must not keep the others from the link.
 */
static bool link_waits_for_client(struct ntb_link *link)
{
	bool late = ktime_ms_delta(ktime_get(), link->lost_at) >= LINK_STOP_MS;

	if (link->base.client->drained(&link->base, late))
		return false;
	if (late)
		dev_warn(link->base.dma,
			 "%s: this host may go on to write after the loss\n",
			 link->base.name);
	return !late;
}

/* Returns how long to wait before the next step. */
static unsigned int link_join(struct ntb_link *link, bool cable,
			      const struct link_spads *peer)
{
	enum wire_reason reason;
	struct wire_hello hello;
	int ret;

	if (!link_windows_retry(link))
		return LINK_POLL_MS;
	if (!cable) {
		if (link->open)
			link_down(link, "no cable");
		link_set_state(link, SMARTIO_LINK_DOWN, NULL);
		return LINK_POLL_MS;
	}
	if (link_refuses(link, peer)) {
		link->peer_generation = peer->generation;
		link_spads_write(link);
		return LINK_POLL_MS;
	}
	reason = WIRE_FLAGS_REASON(peer->flags);
	if (peer->version && reason) {
		if (link->open)
			link_down(link, "refused by the other side");
		/* no echo: whether this host still writes was not asked */
		link->peer_generation = 0;
		WRITE_ONCE(link->base.fenced, reason == WIRE_REASON_FENCED);
		link_set_state(link, SMARTIO_LINK_REFUSED, reason == WIRE_REASON_FENCED ?
			       "this host is fenced" : link_reason_text(reason));
		link_spads_write(link);
		return LINK_POLL_MS;
	}
	if (link->open && peer->version &&
	    peer->generation != link->peer_generation)
		link_down(link, "the peer restarted");
	link_set_state(link, SMARTIO_LINK_JOINING, NULL);
	if (!link->open) {
		if (link_waits_for_client(link))
			return LINK_JOIN_MS;
		link->writes = link->base.client->writes(&link->base);
		link->peer_generation = peer->generation;
		/*
		 * The peer has seen this generation: all that belonged to an
		 * earlier one is over there, but for writes that it announces.
		 */
		if (peer->version && peer->echo == link->base.generation) {
			if (peer->flags & WIRE_WRITES)
				link_holders_lead_away(link);
			else
				link_release_all(link);
			ret = link_windows_choose(link, peer->windows);
			mutex_lock(&link->window_lock);
			if (!ret)
				ret = link_windows_open(link);
			mutex_unlock(&link->window_lock);
			if (ret == -EINVAL) {
				link_refuse(link, WIRE_REASON_WINDOW);
				return LINK_POLL_MS;
			}
		}
	}
	link_spads_write(link);
	if (!peer->version)
		return LINK_POLL_MS;
	if (!link->open || !(peer->flags & WIRE_OPEN) ||
	    peer->echo != link->base.generation)
		return LINK_JOIN_MS;
	ret = link_hello_post(link, peer);
	if (ret == -ENOMEM)
		return LINK_POLL_MS;
	if (ret) {
		link_refuse(link, WIRE_REASON_WINDOW);
		return LINK_POLL_MS;
	}
	reason = link_hello_look(link, &hello);
	if (reason == WIRE_REASON_NONE)
		link_up(link, &hello);
	else if (reason != WIRE_REASONS)
		link_refuse(link, reason);
	return LINK_JOIN_MS;
}

static bool link_cable(struct ntb_link *link)
{
	return ntb_link_is_up(link->ntb, NULL, NULL) == 1;
}

/*
 * The other side of a link that is up has shown since the last tick that it
 * lives, and that it means this generation.
 */
static bool link_heard(struct ntb_link *link)
{
	union wire_count count = {
		.word = READ_ONCE(link->boot->heartbeat.word),
	};

	if (le32_to_cpu(count.generation) != link->base.generation ||
	    le32_to_cpu(count.count) == link->peer_heartbeat)
		return false;
	link->peer_heartbeat = le32_to_cpu(count.count);
	return true;
}

/*
 * Why a link that is up has to be taken down, or NULL. Silence counts only
 * while this host itself ran: a host that was stopped must not blame the other.
 *
 * A heartbeat proves that the cable is in, and that the other side has this
 * link up. Registers are read only without one: each read stalls a CPU, and
 * ntb_hw_amd asks the peer's side for the state of the link. A peer that
 * leaves, restarts or refuses this host sends none. A cable that was out has
 * lost the writes posted meanwhile, even if it is back by now.
 */
static const char *link_trouble(struct ntb_link *link, unsigned int elapsed_ms)
{
	bool heard = link_heard(link);
	struct link_spads peer;

	if (xchg(&link->cut, false))
		return "no cable";
	if (!heard) {
		link_spads_read(link, &peer);
		if (!peer.version)
			return link_left;
		if (peer.version != WIRE_VERSION ||
		    peer.generation != link->peer_generation)
			return "the peer restarted";
		if (WIRE_FLAGS_REASON(peer.flags))
			return "refused by the other side";
	}
	if (link->base.client->fenced(&link->base.peer.uuid))
		return "fenced";
	if (heard) {
		link->silent_ms = 0;
		return NULL;
	}
	link->silent_ms += min(elapsed_ms, 2 * link_heartbeat_ms);
	if (link->silent_ms > 2 * link_heartbeat_ms && !link_cable(link))
		return "no cable";
	if (link->silent_ms > link_timeout_ms)
		return "no heartbeat";
	return NULL;
}

/*
 * Heartbeats of all links fall together, so that one timer wakes the CPU. The
 * first one of a link comes after half of the period to one and a half.
 */
static unsigned long link_next_heartbeat(void)
{
	unsigned long period = msecs_to_jiffies(link_heartbeat_ms);
	unsigned long delay = period - jiffies % period;

	return delay < period / 2 ? delay + period : delay;
}

/* Returns in how many jiffies the next step is due. */
static unsigned long link_step(struct ntb_link *link)
{
	ktime_t now = ktime_get();
	unsigned int elapsed_ms = clamp(ktime_ms_delta(now, link->last_tick),
					0LL, 1000000LL);
	struct link_spads peer;
	const char *why;

	link->last_tick = now;
	why = xchg(&link->restart, NULL);
	if (link->base.state != SMARTIO_LINK_UP) {
		WRITE_ONCE(link->cut, false);
	} else {
		if (!why)
			why = link_trouble(link, elapsed_ms);
		if (!why) {
			link->heartbeat++;
			writeq((u64)link->heartbeat << 32 |
			       link->peer_generation,
			       &link->peer_boot->heartbeat.word);
			/* an interrupt may have been lost */
			if (link_rx_waits(link))
				queue_work(link->rx.wq, &link->rx.work);
			return link_next_heartbeat();
		}
	}
	if (why && (link->base.state == SMARTIO_LINK_UP || link->open))
		link_down(link, why);
	link_spads_read(link, &peer);
	return msecs_to_jiffies(link_join(link, link_cable(link), &peer));
}

static void link_tick(struct work_struct *work)
{
	struct ntb_link *link = container_of(to_delayed_work(work),
						 struct ntb_link, tick);
	unsigned long delay;
	unsigned int flags;

	if (READ_ONCE(link->removed))
		return;
	flags = smartio_recovery_begin();
	delay = link_step(link);
	smartio_recovery_end(flags);
	if (!READ_ONCE(link->removed))
		queue_delayed_work(link->wq, &link->tick, delay);
}

/* ---- events of the NTB ---- */

static void link_event(void *context)
{
	struct ntb_link *link = context;

	if (!link_cable(link))
		WRITE_ONCE(link->cut, true);
	if (!READ_ONCE(link->removed))
		mod_delayed_work(link->wq, &link->tick, 0);
}

/* A doorbell is cleared before it is acted upon: the next one counts. */
static void link_doorbell(void *context, int vector)
{
	struct ntb_link *link = context;
	u64 bits = ntb_db_vector_mask(link->ntb, vector) &
		   (BIT_ULL(link->db_message) | link_doorbells(link));

	/* which one of several that share the vector */
	if (hweight64(bits) > 1)
		bits &= ntb_db_read(link->ntb);
	if (!bits)
		return;
	ntb_db_clear(link->ntb, bits);
	if (bits & BIT_ULL(link->db_message)) {
		queue_work(link->rx.wq, &link->rx.work);
		bits &= ~BIT_ULL(link->db_message);
	}
	if (!bits)
		return;
	/*
	 * One that is rung while its bit is set does not interrupt, and nothing
	 * looks at it later: the clearing, a posted write, has to be over.
	 */
	ntb_db_read(link->ntb);
	link_doorbells_rung(link, bits);
}

const struct ntb_ctx_ops link_ctx_ops = {
	.link_event = link_event,
	.db_event = link_doorbell,
};

/* ---- its beginning and its end ---- */

void link_life_init(struct ntb_link *link)
{
	INIT_DELAYED_WORK(&link->tick, link_tick);
	mutex_init(&link->settle_lock);
	link->base.generation = get_random_u32() | 1;
	link->reason = "";
	link->last_tick = ktime_get();
}

void link_life_begin(struct ntb_link *link)
{
	queue_delayed_work(link->wq, &link->tick, 0);
}

/*
 * Announces to the peer, with the windows still open, that this side leaves.
 * Writes that the peer sends until it notices are then not dropped.
 */
static void link_leave(struct ntb_link *link)
{
	unsigned int ms = clamp(3 * link_heartbeat_ms, LINK_LEAVE_MIN_MS,
				LINK_LEAVE_MAX_MS);
	ktime_t end = ktime_add_ms(ktime_get(), ms);
	struct link_spads peer;

	if (link->base.state != SMARTIO_LINK_UP)
		return;
	link_spads_clear(link);
	while (link_cable(link) && ktime_before(ktime_get(), end)) {
		link_spads_read(link, &peer);
		if (peer.version != WIRE_VERSION ||
		    peer.generation != link->peer_generation)
			return;
		msleep(LINK_JOIN_MS);
	}
}

/* It is down when this returns, and stays so. */
void link_life_end(struct ntb_link *link)
{
	/* who waits for the link to settle gets a link that is down */
	mutex_lock(&link->settle_lock);
	WRITE_ONCE(link->removed, true);
	cancel_delayed_work_sync(&link->tick);
	link_leave(link);
	link_down(link, "the NTB's driver was removed");
	/* the windows are shut, and stay so */
	link_release_all(link);
	mutex_unlock(&link->settle_lock);
}
