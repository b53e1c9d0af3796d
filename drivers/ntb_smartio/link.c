// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a link: it is bound to an NTB, finds the other side, is up, goes
 * down, and tries again. One work item, the tick, does all of that, so nothing
 * of it happens twice at once.
 *
 *   DOWN      no cable, or the other side's NTB has no driver
 *   JOINING   the other side isn't ready, or both are shaking hands
 *   UP        messages may be sent
 *   REFUSED   one side wants nothing to do with the other; asks again
 *
 * Whatever ends an attempt (the cable, silence, a new generation of the other
 * side, nonsense in its messages, a fence) leads through link_down(): the
 * windows are shut first, and the next attempt has a new generation.
 */
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/smartio_recovery.h>

#include "link.h"
#include "trace.h"

/* The tick's pace while nobody answers, and while both shake hands. */
#define LINK_POLL_MS	100
#define LINK_JOIN_MS	20
/* Time for the client to stop its writes to the peer after a loss. */
#define LINK_STOP_MS	2000
/* How long a host that said nonsense is left alone. */
#define LINK_REFUSE_MS	10000

static DEFINE_IDA(link_ida);
static struct smartio_transport link_transport;

static unsigned int heartbeat_timeout_ms = 1000;
module_param(heartbeat_timeout_ms, uint, 0444);
MODULE_PARM_DESC(heartbeat_timeout_ms, "after how long without that the link is taken down");

/*
 * Returns when what was asked for has been done; a link whose NTB goes is down
 * then. Not from the link's own work.
 */
static void link_settle(struct ntb_link *link)
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

/*
 * The end of an attempt. The window is shut before anything else, and all that
 * belonged to the attempt is over when this returns: only then may the other
 * side hear of the new generation.
 */
static void link_down(struct ntb_link *link, const char *why)
{
	static const struct smartio_holder anybody;
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
		link->base.client->lost(&link->base);
		/* what was asked before must not act on what comes after */
		link_jobs_wait(link);
		/* nobody can write to anything: the windows are shut */
		link_holder_stopped(link, &anybody);
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
 * Whether a fenced host asks to be let in, and is. What it showed when it was
 * fenced doesn't count: it may have been there for long.
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
		link->peer_generation = peer->generation;
		WRITE_ONCE(link->base.fenced, reason == WIRE_REASON_FENCED);
		link_set_state(link, SMARTIO_LINK_REFUSED, reason == WIRE_REASON_FENCED ?
			       "this host is fenced" : link_reason_text(reason));
		link_spads_write(link);
		return LINK_POLL_MS;
	}
	if (link->open && peer->version &&
	    peer->generation != link->peer_generation)
		link_down(link, "the other side began anew");
	link_set_state(link, SMARTIO_LINK_JOINING, NULL);
	if (!link->open) {
		if (link_waits_for_client(link))
			return LINK_JOIN_MS;
		link->peer_generation = peer->generation;
		/*
		 * It has seen this generation: all that belonged to an earlier
		 * one is over on its side.
		 */
		if (peer->version && peer->echo == link->base.generation) {
			mutex_lock(&link->window_lock);
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
 * Why a link that is up has to go down, or NULL. Silence counts only while
 * this host itself ran: a host that was stopped must not blame the other.
 *
 * A heartbeat is proof of a cable. The driver is only asked when there is
 * none, or at an event: ntb_hw_amd reads a register of the other side for it, a
 * round trip for which a CPU stands still. A cable that is back by now has lost
 * what was posted while it was out, all the same.
 */
static const char *link_trouble(struct ntb_link *link,
				const struct link_spads *peer,
				unsigned int elapsed_ms)
{
	union wire_count count = {
		.word = READ_ONCE(link->boot->heartbeat.word),
	};

	if (xchg(&link->cut, false))
		return "no cable";
	if (!peer->version)
		return link_left;
	if (peer->version != WIRE_VERSION ||
	    peer->generation != link->peer_generation)
		return "the other side began anew";
	if (WIRE_FLAGS_REASON(peer->flags))
		return "refused by the other side";
	if (link->base.client->fenced(&link->base.peer.uuid))
		return "fenced";
	if (le32_to_cpu(count.generation) == link->base.generation &&
	    le32_to_cpu(count.count) != link->peer_heartbeat) {
		link->peer_heartbeat = le32_to_cpu(count.count);
		link->silent_ms = 0;
		return NULL;
	}
	link->silent_ms += min(elapsed_ms, 2 * link_heartbeat_ms);
	if (link->silent_ms > 2 * link_heartbeat_ms && !link_cable(link))
		return "no cable";
	if (link->silent_ms > heartbeat_timeout_ms)
		return "no heartbeat";
	return NULL;
}

static unsigned int link_step(struct ntb_link *link)
{
	ktime_t now = ktime_get();
	unsigned int elapsed_ms = clamp(ktime_ms_delta(now, link->last_tick),
					0LL, 1000000LL);
	struct link_spads peer;
	const char *why;

	link->last_tick = now;
	link_spads_read(link, &peer);
	why = xchg(&link->restart, NULL);
	if (link->base.state != SMARTIO_LINK_UP) {
		WRITE_ONCE(link->cut, false);
	} else {
		if (!why)
			why = link_trouble(link, &peer, elapsed_ms);
		if (!why) {
			link->heartbeat++;
			writeq((u64)link->heartbeat << 32 |
			       link->peer_generation,
			       &link->peer_boot->heartbeat.word);
			/* an interrupt may have been lost */
			queue_work(link->rx.wq, &link->rx.work);
			return link_heartbeat_ms;
		}
	}
	if (why && (link->base.state == SMARTIO_LINK_UP || link->open))
		link_down(link, why);
	return link_join(link, link_cable(link), &peer);
}

static void link_tick(struct work_struct *work)
{
	struct ntb_link *link = container_of(to_delayed_work(work),
						 struct ntb_link, tick);
	unsigned int delay_ms, flags;

	if (READ_ONCE(link->removed))
		return;
	flags = smartio_recovery_begin();
	delay_ms = link_step(link);
	smartio_recovery_end(flags);
	if (!READ_ONCE(link->removed))
		queue_delayed_work(link->wq, &link->tick,
				   msecs_to_jiffies(delay_ms));
}

/* ---- the NTB client ---- */

static void link_event(void *context)
{
	struct ntb_link *link = context;

	if (!link_cable(link))
		WRITE_ONCE(link->cut, true);
	if (!READ_ONCE(link->removed))
		mod_delayed_work(link->wq, &link->tick, 0);
}

static void link_doorbell(void *context, int vector)
{
	struct ntb_link *link = context;

	if (!(ntb_db_vector_mask(link->ntb, vector) &
	      BIT_ULL(link->db_message)))
		return;
	ntb_db_clear(link->ntb, BIT_ULL(link->db_message));
	queue_work(link->rx.wq, &link->rx.work);
}

static const struct ntb_ctx_ops link_ctx_ops = {
	.link_event = link_event,
	.db_event = link_doorbell,
};

/* ---- what the core asks for ---- */

static void ops_release(struct smartio_link *base)
{
	struct ntb_link *link = to_ntb_link(base);

	link_spare_exit(link);
	kfree(link);
}

static int ops_send(struct smartio_link *base, u32 generation,
		    const struct wire_message *message, const void *payload)
{
	return link_send(to_ntb_link(base), generation, message, payload);
}

static int ops_call(struct smartio_link *base,
		    const struct wire_message *message, const void *payload,
		    void *reply, size_t *reply_size, unsigned int timeout_ms)
{
	return link_call(to_ntb_link(base), message, payload, reply, reply_size,
			 timeout_ms);
}

static void ops_restart(struct smartio_link *base, const char *why)
{
	link_restart(to_ntb_link(base), why);
}

static void ops_settle(struct smartio_link *base)
{
	struct ntb_link *link = to_ntb_link(base);

	link_settle(link);
	/* the window was shut under this lock when the link was taken down */
	mutex_lock(&link->window_lock);
	mutex_unlock(&link->window_lock);
}

static void ops_recheck(struct smartio_link *base)
{
	struct ntb_link *link = to_ntb_link(base);

	WRITE_ONCE(link->fence_new, true);
	link_settle(link);
}

static void ops_rejoin(struct smartio_link *base, bool ask)
{
	struct ntb_link *link = to_ntb_link(base);

	if (!ask && !READ_ONCE(link->rejoin))
		return;
	WRITE_ONCE(link->rejoin, ask);
	link_settle(link);
}

static void *ops_alloc(struct smartio_link *base, size_t size, dma_addr_t *dma,
		       gfp_t gfp)
{
	return link_alloc(to_ntb_link(base), size, dma, gfp);
}

static void ops_free(struct smartio_link *base, size_t size, void *cpu,
		     dma_addr_t dma)
{
	link_free(to_ntb_link(base), size, cpu, dma);
}

static int ops_peer_phys(struct smartio_link *base, u64 addr, u64 size,
			 phys_addr_t *phys)
{
	return link_window_phys(to_ntb_link(base), addr, size, phys);
}

static int ops_irq_alloc(struct smartio_link *base, const struct cpumask *cpus,
			 const char *name, struct smartio_irq *irq)
{
	return link_irq_alloc(to_ntb_link(base), cpus, name, irq);
}

static void ops_irq_free(struct smartio_link *base, struct smartio_irq *irq)
{
	link_irq_free(to_ntb_link(base), irq);
}

static void ops_irq_settled(struct smartio_link *base, struct smartio_irq *irq)
{
	link_irq_settled(to_ntb_link(base), irq);
}

static struct page *ops_pages_alloc(struct smartio_link *base, size_t size,
				    dma_addr_t *dma)
{
	return link_pages_alloc(to_ntb_link(base), size, dma);
}

static void ops_pages_free(struct smartio_link *base, size_t size,
			   struct page *page, dma_addr_t dma,
			   const struct smartio_holder *holder)
{
	link_release_pages(to_ntb_link(base), size, page, dma, holder);
}

static int ops_expose(struct smartio_link *base,
		      const struct smartio_registers *registers,
		      u64 *peer_addr)
{
	return link_expose(to_ntb_link(base), registers, peer_addr);
}

static void ops_conceal(struct smartio_link *base,
			const struct smartio_registers *registers,
			u64 peer_addr, const struct smartio_holder *holder)
{
	link_conceal(to_ntb_link(base), registers, peer_addr, holder);
}

static void ops_stopped(struct smartio_link *base,
			const struct smartio_holder *holder)
{
	link_holder_stopped(to_ntb_link(base), holder);
}

static int ops_map(struct smartio_link *base, struct device *dev, u64 addr,
		   u64 size, u64 *device_addr)
{
	struct ntb_link *link = to_ntb_link(base);
	unsigned int mw;
	dma_addr_t dma;
	u64 offset;
	int ret;

	ret = link_window_reach(link, addr, size, &mw, &offset);
	if (!ret)
		ret = link_map_device(link, dev, mw, &dma);
	if (!ret)
		*device_addr = dma + offset;
	return ret;
}

static int ops_map_memory(struct smartio_link *base, struct device *dev,
			  u64 *offset)
{
	struct ntb_link *link = to_ntb_link(base);
	unsigned int mw;
	dma_addr_t dma;
	u64 first;
	int ret;

	spin_lock(&link->base.lock);
	mw = link->peer_own[0].mw;
	first = link->peer_own[0].base;
	spin_unlock(&link->base.lock);
	ret = link_map_device(link, dev, mw, &dma);
	if (!ret)
		*offset = dma - first;
	return ret;
}

static int ops_map_irq(struct smartio_link *base, struct device *dev, u64 addr,
		       u64 *device_addr)
{
	if (addr < LINK_MSI_BASE || addr >= LINK_MSI_BASE + LINK_MSI_SIZE ||
	    addr % 4)
		return -EINVAL;
	return ops_map(base, dev, addr, 4, device_addr);
}

static void ops_unmap(struct smartio_link *base, struct device *dev)
{
	link_unmap_device(to_ntb_link(base), dev);
	link_pages_forget(to_ntb_link(base));
}

static int ops_space_alloc(struct smartio_link *base,
			   struct smartio_space *space)
{
	return link_space_alloc(to_ntb_link(base), space);
}

static void ops_space_free(struct smartio_link *base,
			   struct smartio_space *space)
{
	link_space_free(to_ntb_link(base), space);
}

static int ops_space_map(struct smartio_link *base,
			 struct smartio_space *space, u64 addr,
			 phys_addr_t phys, size_t size, int prot, gfp_t gfp)
{
	return link_space_map(to_ntb_link(base), space, addr, phys, size, prot,
			      gfp);
}

static size_t ops_space_unmap(struct smartio_link *base,
			      struct smartio_space *space, u64 addr,
			      size_t size)
{
	return link_space_unmap(to_ntb_link(base), space, addr, size);
}

static phys_addr_t ops_space_phys(struct smartio_link *base, u64 addr)
{
	return link_space_phys(to_ntb_link(base), addr);
}

static int ops_nest(struct smartio_link *base, struct resource *resource)
{
	return link_nest(to_ntb_link(base), resource);
}

static void ops_unnest(struct smartio_link *base, struct resource *resource)
{
	link_unnest(to_ntb_link(base), resource);
}

static int ops_msi_create(struct smartio_link *base,
			  const struct smartio_msi_ops *ops, void *context,
			  struct irq_domain **domain)
{
	return link_msi_create(to_ntb_link(base), ops, context, domain);
}

static void ops_msi_remove(struct smartio_link *base,
			   struct irq_domain *domain)
{
	link_msi_remove(to_ntb_link(base), domain);
}

static const struct smartio_link_ops link_ops = {
	.owner = THIS_MODULE,
	.release = ops_release,
	.send = ops_send,
	.call = ops_call,
	.restart = ops_restart,
	.settle = ops_settle,
	.recheck = ops_recheck,
	.rejoin = ops_rejoin,
	.alloc = ops_alloc,
	.free = ops_free,
	.peer_phys = ops_peer_phys,
	.irq_alloc = ops_irq_alloc,
	.irq_free = ops_irq_free,
	.irq_settled = ops_irq_settled,
	.pages_alloc = ops_pages_alloc,
	.pages_free = ops_pages_free,
	.expose = ops_expose,
	.conceal = ops_conceal,
	.stopped = ops_stopped,
	.map = ops_map,
	.map_memory = ops_map_memory,
	.map_irq = ops_map_irq,
	.unmap = ops_unmap,
	.space_alloc = ops_space_alloc,
	.space_free = ops_space_free,
	.space_map = ops_space_map,
	.space_unmap = ops_space_unmap,
	.space_phys = ops_space_phys,
	.nest = ops_nest,
	.unnest = ops_unnest,
	.msi_create = ops_msi_create,
	.msi_remove = ops_msi_remove,
};

/* ---- set-up and removal ---- */

static struct ntb_link *link_new(struct ntb_dev *ntb)
{
	struct ntb_link *link = kzalloc(sizeof(*link), GFP_KERNEL);

	if (!link)
		return NULL;
	link->index = ida_alloc(&link_ida, GFP_KERNEL);
	if (link->index < 0) {
		kfree(link);
		return NULL;
	}
	link->base.ops = &link_ops;
	link->base.transport = &link_transport;
	link->base.dma = &ntb->pdev->dev;
	snprintf(link->base.name, sizeof(link->base.name), "ntb%d",
		 link->index);
	INIT_DELAYED_WORK(&link->tick, link_tick);
	mutex_init(&link->settle_lock);
	xa_init_flags(&link->calls, XA_FLAGS_ALLOC1);
	init_waitqueue_head(&link->jobs_idle);
	link->ntb = ntb;
	link->base.generation = get_random_u32() | 1;
	link->reason = "";
	link->rx.deliver = link_receive;
	link->last_tick = ktime_get();
	return link;
}

static int link_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	u64 doorbells = ntb_db_valid_mask(ntb);
	struct ntb_link *link;
	int ret;

	/* A new client's first clear_mask must not open all doorbells. */
	ntb_db_set_mask(ntb, doorbells);
	if (ntb_spad_count(ntb) < WIRE_SPADS || !doorbells) {
		dev_err(&ntb->pdev->dev,
			"too few scratchpads (%d, %d are needed) or doorbells\n",
			ntb_spad_count(ntb), WIRE_SPADS);
		return -ENODEV;
	}
	if (ntb_peer_port_count(ntb) != 1) {
		dev_err(&ntb->pdev->dev, "only NTBs with one peer are supported\n");
		return -ENODEV;
	}
	link = link_new(ntb);
	if (!link)
		return -ENOMEM;
	link->db_message = __ffs64(doorbells);
	ret = smartio_link_init(&link->base);
	if (ret)
		goto unregister;
	ret = -ENOMEM;
	link->wq = alloc_ordered_workqueue("smartio-%s",
					   WQ_MEM_RECLAIM | WQ_HIGHPRI,
					   link->base.name);
	if (!link->wq)
		goto unregister;
	ret = link_calls_init(link);
	if (ret)
		goto destroy;
	ret = link_spare_init(link);
	if (ret)
		goto exit_calls;
	ret = link_windows_init(link);
	if (ret)
		goto exit_calls;
	ret = link_memory_init(link);
	if (ret)
		goto exit_windows;
	ret = -ENOMEM;
	link->boot = link_alloc(link, PAGE_SIZE, &link->boot_dma, GFP_KERNEL);
	if (!link->boot)
		goto exit_memory;
	ret = link_ring_init(link);
	if (ret)
		goto free_boot;
	link_ring_reset(link);
	ret = link_irqs_init(link);
	if (ret)
		goto exit_ring;
	ret = link_sysfs_add(link);
	if (ret)
		goto exit_irqs;
	ret = ntb_set_ctx(ntb, link, &link_ctx_ops);
	if (ret)
		goto remove_sysfs;
	smartio_link_register(&link->base);
	ntb_db_clear(ntb, doorbells);
	ntb_db_clear_mask(ntb, BIT_ULL(link->db_message));
	/* Some say -EINVAL on the secondary side, and enable it. */
	ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	dev_info(link->base.dma, "%s: %s\n", link->base.name, link->base.scattered ?
		 "all that is mapped for it is open to the other side" :
		 "no IOMMU: only a pool is open to the other side");
	queue_delayed_work(link->wq, &link->tick, 0);
	return 0;

remove_sysfs:
	link_sysfs_remove(link);
exit_irqs:
	link_irqs_exit(link);
exit_ring:
	link_ring_exit(link);
free_boot:
	link_free(link, PAGE_SIZE, link->boot, link->boot_dma);
exit_memory:
	link_memory_exit(link);
exit_windows:
	link_windows_exit(link);
exit_calls:
	link_calls_exit(link);
destroy:
	destroy_workqueue(link->wq);
unregister:
	smartio_link_unregister(&link->base);
	ida_free(&link_ida, link->index);
	smartio_link_put(&link->base);
	return ret;
}

static void link_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct ntb_link *link = ntb->ctx;

	/* who waits for the link to settle gets a link that is down */
	mutex_lock(&link->settle_lock);
	WRITE_ONCE(link->removed, true);
	cancel_delayed_work_sync(&link->tick);
	link_down(link, "the NTB's driver goes");
	mutex_unlock(&link->settle_lock);
	ntb_db_set_mask(ntb, ntb_db_valid_mask(ntb));
	ntb_link_disable(ntb);
	ntb_clear_ctx(ntb);
	/* until then a fence has to find it */
	smartio_link_unregister(&link->base);
	/* asked for by somebody who had not yet seen that it is removed */
	cancel_delayed_work_sync(&link->tick);
	cancel_work_sync(&link->rx.work);
	link_unmap_device(link, NULL);
	link_sysfs_remove(link);
	link_irqs_exit(link);
	link_ring_exit(link);
	link_free(link, PAGE_SIZE, link->boot, link->boot_dma);
	link_memory_exit(link);
	link_windows_exit(link);
	link_calls_exit(link);
	destroy_workqueue(link->wq);
	xa_destroy(&link->calls);
	ida_free(&link_ida, link->index);
	smartio_link_put(&link->base);
}

static struct ntb_client link_client = {
	.ops = {
		.probe = link_probe,
		.remove = link_remove,
	},
};

int __init links_init(void)
{
	if (!link_heartbeat_ms ||
	    heartbeat_timeout_ms < 3 * link_heartbeat_ms) {
		pr_err("heartbeat_timeout_ms has to be three times heartbeat_ms, or more\n");
		return -EINVAL;
	}
	return ntb_register_client(&link_client);
}

void links_exit(void)
{
	ntb_unregister_client(&link_client);
	smartio_transport_drain(&link_transport);
}
