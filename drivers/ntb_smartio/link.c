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

#include "link.h"
#include "trace.h"

/* The tick's pace while nobody answers, and while both shake hands. */
#define LINK_POLL_MS	100
#define LINK_JOIN_MS	20
/* So long drivers have to stop writing to what a lost session had. */
#define LINK_STOP_MS	2000
/* How long a host that said nonsense is left alone. */
#define LINK_REFUSE_MS	10000
/* Lines about a link in its log, and in how many seconds. */
#define LINK_LOG_BURST	20
#define LINK_LOG_S	10

LIST_HEAD(smartio_links);
DEFINE_MUTEX(smartio_links_lock);	/* the list of links */
static DEFINE_IDA(link_ida);

unsigned int smartio_heartbeat_ms = 100;
module_param_named(heartbeat_ms, smartio_heartbeat_ms, uint, 0444);
MODULE_PARM_DESC(heartbeat_ms, "how often each side of a link shows that it is alive");

unsigned int smartio_heartbeat_timeout_ms = 1000;
module_param_named(heartbeat_timeout_ms, smartio_heartbeat_timeout_ms, uint,
		   0444);
MODULE_PARM_DESC(heartbeat_timeout_ms, "after how long without that the link is taken down");

static void link_release(struct kref *ref)
{
	struct smartio_link *link = container_of(ref, struct smartio_link, ref);

	xa_destroy(&link->calls);
	kfree(link);
}

void link_get(struct smartio_link *link)
{
	kref_get(&link->ref);
}

void link_put(struct smartio_link *link)
{
	kref_put(&link->ref, link_release);
}

/**
 * link_is_up() - whether messages may be sent
 * @link: the link
 * @generation: of it, then
 *
 * Context: process.
 * Return: true or false.
 */
bool link_is_up(struct smartio_link *link, u32 *generation)
{
	bool up;

	spin_lock(&link->lock);
	up = link->state == LINK_UP;
	*generation = link->generation;
	spin_unlock(&link->lock);
	return up;
}

/**
 * link_restart() - take the link down; it will try again
 * @link: the link
 * @why: for people; a constant
 *
 * Context: any. It happens soon: see link_settle().
 */
void link_restart(struct smartio_link *link, const char *why)
{
	WRITE_ONCE(link->restart, why);
	if (!READ_ONCE(link->removed))
		mod_delayed_work(link->wq, &link->tick, 0);
}

/**
 * link_settle() - until what was asked for has been done
 * @link: the link
 *
 * A link whose NTB goes is down when this returns.
 * Context: process, may sleep; not from the link's own work.
 */
void link_settle(struct smartio_link *link)
{
	mutex_lock(&link->settle_lock);
	if (!link->removed) {
		mod_delayed_work(link->wq, &link->tick, 0);
		flush_delayed_work(&link->tick);
	}
	mutex_unlock(&link->settle_lock);
}

/**
 * link_for_each() - all links
 * @fn: is called without a lock held
 * @arg: for it
 *
 * Context: process, may sleep.
 */
void link_for_each(void (*fn)(struct smartio_link *link, void *arg), void *arg)
{
	struct smartio_link *link;
	int last = -1;

	/* In the order of their indices, which are taken anew when free. */
	for (;;) {
		struct smartio_link *found = NULL;

		mutex_lock(&smartio_links_lock);
		list_for_each_entry(link, &smartio_links, entry) {
			if (link->index <= last ||
			    (found && found->index < link->index))
				continue;
			found = link;
		}
		if (found)
			link_get(found);
		mutex_unlock(&smartio_links_lock);
		if (!found)
			return;
		last = found->index;
		fn(found, arg);
		link_put(found);
	}
}

static void link_set_state(struct smartio_link *link, enum link_state state,
			   const char *reason)
{
	bool changed, news;

	spin_lock(&link->lock);
	changed = link->state != state;
	news = state == LINK_REFUSED && link->refused_told != reason;
	if (news || state == LINK_UP)
		link->refused_told = reason;
	WRITE_ONCE(link->state, state);
	if (reason)
		link->reason = reason;
	spin_unlock(&link->lock);
	if (changed)
		trace_smartio_link(link->name, state, link->generation,
				   reason ? reason : "");
	if (news && __ratelimit(&link->log_limit))
		dev_err(link->dma, "%s: refused%s%s: %s\n", link->name,
			link->known ? " by or refusing " : "",
			link->known ? link->peer_name : "", reason);
}

/* The other side took its scratchpads back: its module or its NTB's driver goes. */
static const char link_left[] = "the other side left";

/*
 * The end of an attempt. The window is shut before anything else, and all that
 * belonged to the attempt is over when this returns: only then may the other
 * side hear of the new generation.
 */
static void link_down(struct smartio_link *link, const char *why)
{
	bool was_up;

	mutex_lock(&link->window_lock);
	was_up = link->state == LINK_UP;
	link_set_state(link, LINK_DOWN, why);
	link_windows_close(link);
	mutex_unlock(&link->window_lock);
	link_spads_clear(link);
	if (was_up) {
		spin_lock(&link->lock);
		link->losses++;
		spin_unlock(&link->lock);
		/* what somebody wanted is no reason to worry */
		if (link->removed || __ratelimit(&link->log_limit))
			dev_printk(link->removed || why == link_left ?
				   KERN_INFO : KERN_WARNING, link->dma,
				   "%s: link to %s is down: %s\n", link->name,
				   link->peer_name, why);
	}
	link_calls_fail(link);
	link_ring_leave(link);
	link_calls_fail(link);
	if (was_up) {
		link->lost_at = ktime_get();
		remote_ways_lost(link);
		remote_sessions_end(link);
		/* what was asked before must not act on what comes after */
		link_jobs_wait(link);
		link_parked_shut(link);
	}
	spin_lock(&link->lock);
	if (!++link->generation)
		link->generation = 1;
	memset(link->peer_own, 0, sizeof(link->peer_own));
	spin_unlock(&link->lock);
	link->peer_generation = 0;
	link_ring_reset(link);
}

static void link_refuse(struct smartio_link *link, enum wire_reason reason)
{
	if (link->open)
		link_down(link, link_reason_text(reason));
	link->refusal = reason;
	link->refused_at = ktime_get();
	link_set_state(link, LINK_REFUSED, link_reason_text(reason));
	link_spads_write(link);
}

/*
 * Whether a fenced host asks to be let in, and is. What it showed when it was
 * fenced doesn't count: it may have been there for long.
 */
static bool link_readmits(struct smartio_link *link,
			  const struct link_spads *peer)
{
	bool asks = peer->version == WIRE_VERSION &&
		    peer->flags & WIRE_REJOIN &&
		    peer->echo == wire_uuid_crc(&link->peer);

	if (xchg(&link->fence_new, false) && asks)
		smartio_host_pin(&link->peer, peer->boot);
	return asks && fence_readmits() &&
	       smartio_host_rejoin(&link->peer, peer->boot);
}

/* Whether the reason for which this side refuses the other still holds. */
static bool link_refuses(struct smartio_link *link,
			 const struct link_spads *peer)
{
	if (link->known && smartio_host_fenced(&link->peer) &&
	    !link_readmits(link, peer)) {
		if (link->refusal != WIRE_REASON_FENCED || link->open)
			link_refuse(link, WIRE_REASON_FENCED);
		return true;
	}
	if (peer->version && peer->version != WIRE_VERSION) {
		if (link->refusal != WIRE_REASON_VERSION) {
			if (__ratelimit(&link->log_limit))
				dev_err(link->dma,
					"%s: the other side speaks version %u, this one %u\n",
					link->name, peer->version,
					WIRE_VERSION);
			link_refuse(link, WIRE_REASON_VERSION);
		}
		return true;
	}
	if ((link->refusal == WIRE_REASON_SAME_HOST ||
	     link->refusal == WIRE_REASON_BAD_HELLO) &&
	    ktime_ms_delta(ktime_get(), link->refused_at) < LINK_REFUSE_MS)
		return true;
	link->refusal = WIRE_REASON_NONE;
	return false;
}

/* Both sides have said who they are. */
static void link_up(struct smartio_link *link, const struct wire_hello *hello)
{
	bool other;
	uuid_t peer;
	int i;

	import_uuid(&peer, hello->uuid);
	if (uuid_equal(&peer, &smartio_self)) {
		link_refuse(link, WIRE_REASON_SAME_HOST);
		return;
	}
	other = link->known && !uuid_equal(&peer, &link->peer);
	spin_lock(&link->lock);
	link->known = true;
	uuid_copy(&link->peer, &peer);
	strscpy(link->peer_name, hello->name);
	link->peer_incarnation = le32_to_cpu(hello->incarnation);
	for (i = 0; i < WIRE_APERTURES; i++) {
		link->peer_own[i].mw = le32_to_cpu(hello->apertures[i].mw);
		link->peer_own[i].base = le64_to_cpu(hello->apertures[i].base);
		link->peer_own[i].size = le64_to_cpu(hello->apertures[i].size);
	}
	spin_unlock(&link->lock);
	if (other)
		remote_ways_forget(link);
	if (smartio_host_fenced(&peer)) {
		link_refuse(link, WIRE_REASON_FENCED);
		return;
	}
	if (smartio_host_seen(&peer, link->peer_name, link->peer_incarnation) ||
	    link_ring_join(link, hello)) {
		link_refuse(link, WIRE_REASON_BAD_HELLO);
		return;
	}
	link->peer_doorbell = le32_to_cpu(hello->doorbell);
	link->peer_heartbeat = 0;
	link->silent_ms = 0;
	WRITE_ONCE(link->fenced, false);
	link_set_state(link, LINK_UP, NULL);
	if (__ratelimit(&link->log_limit))
		dev_info(link->dma, "%s: link to %s (%pUb) is up\n",
			 link->name, link->peer_name, &link->peer);
	queue_work(link->rx.wq, &link->rx.work);
	/* they may have changed since the other side took the hello */
	link_apertures_tell(link);
	remote_announce_all(link);
}

/*
 * What a lost session wrote to may be somebody else's once the other side's
 * windows are open again: first its driver has to stop. One that doesn't say
 * so must not keep the others from the link.
 */
static bool link_waits_for_drivers(struct smartio_link *link)
{
	bool late = ktime_ms_delta(ktime_get(), link->lost_at) >= LINK_STOP_MS;

	if (!remote_ways_write(link, late))
		return false;
	if (late)
		dev_warn(link->dma,
			 "%s: a driver goes on with a session that is over\n",
			 link->name);
	return !late;
}

/* Returns how long to wait before the next step. */
static unsigned int link_join(struct smartio_link *link, bool cable,
			      const struct link_spads *peer)
{
	enum wire_reason reason;
	struct wire_hello hello;

	if (!cable) {
		if (link->open)
			link_down(link, "no cable");
		link_set_state(link, LINK_DOWN, NULL);
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
		WRITE_ONCE(link->fenced, reason == WIRE_REASON_FENCED);
		link_set_state(link, LINK_REFUSED, reason == WIRE_REASON_FENCED ?
			       "this host is fenced" : link_reason_text(reason));
		link_spads_write(link);
		return LINK_POLL_MS;
	}
	if (link->open && peer->version &&
	    peer->generation != link->peer_generation)
		link_down(link, "the other side began anew");
	link_set_state(link, LINK_JOINING, NULL);
	if (!link->open) {
		if (link_waits_for_drivers(link))
			return LINK_JOIN_MS;
		link->peer_generation = peer->generation;
		/*
		 * It has seen this generation: all that belonged to an earlier
		 * one is over on its side.
		 */
		if (peer->version && peer->echo == link->generation) {
			mutex_lock(&link->window_lock);
			link_windows_open(link);
			mutex_unlock(&link->window_lock);
		}
	}
	link_spads_write(link);
	if (!peer->version)
		return LINK_POLL_MS;
	if (!link->open || !(peer->flags & WIRE_OPEN) ||
	    peer->echo != link->generation)
		return LINK_JOIN_MS;
	if (link_hello_post(link, peer)) {
		link_refuse(link, WIRE_REASON_BAD_HELLO);
		return LINK_POLL_MS;
	}
	reason = link_hello_look(link, &hello);
	if (reason == WIRE_REASON_NONE)
		link_up(link, &hello);
	else if (reason != WIRE_REASONS)
		link_refuse(link, reason);
	return LINK_JOIN_MS;
}

static bool link_cable(struct smartio_link *link)
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
static const char *link_trouble(struct smartio_link *link,
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
	if (smartio_host_fenced(&link->peer))
		return "fenced";
	if (le32_to_cpu(count.generation) == link->generation &&
	    le32_to_cpu(count.count) != link->peer_heartbeat) {
		link->peer_heartbeat = le32_to_cpu(count.count);
		link->silent_ms = 0;
		return NULL;
	}
	link->silent_ms += min(elapsed_ms, 2 * smartio_heartbeat_ms);
	if (link->silent_ms > 2 * smartio_heartbeat_ms && !link_cable(link))
		return "no cable";
	if (link->silent_ms > smartio_heartbeat_timeout_ms)
		return "no heartbeat";
	return NULL;
}

static unsigned int link_step(struct smartio_link *link)
{
	ktime_t now = ktime_get();
	unsigned int elapsed_ms = clamp(ktime_ms_delta(now, link->last_tick),
					0LL, 1000000LL);
	struct link_spads peer;
	const char *why;

	link->last_tick = now;
	link_spads_read(link, &peer);
	why = xchg(&link->restart, NULL);
	if (link->state != LINK_UP) {
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
			return smartio_heartbeat_ms;
		}
	}
	if (why && (link->state == LINK_UP || link->open))
		link_down(link, why);
	return link_join(link, link_cable(link), &peer);
}

static void link_tick(struct work_struct *work)
{
	struct smartio_link *link = container_of(to_delayed_work(work),
						 struct smartio_link, tick);
	unsigned int delay_ms;

	if (READ_ONCE(link->removed))
		return;
	delay_ms = link_step(link);
	if (!READ_ONCE(link->removed))
		queue_delayed_work(link->wq, &link->tick,
				   msecs_to_jiffies(delay_ms));
}

/* ---- the NTB client ---- */

static void link_event(void *context)
{
	struct smartio_link *link = context;

	if (!link_cable(link))
		WRITE_ONCE(link->cut, true);
	if (!READ_ONCE(link->removed))
		mod_delayed_work(link->wq, &link->tick, 0);
}

static void link_doorbell(void *context, int vector)
{
	struct smartio_link *link = context;

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

static struct smartio_link *link_alloc_struct(struct ntb_dev *ntb)
{
	struct smartio_link *link = kzalloc(sizeof(*link), GFP_KERNEL);

	if (!link)
		return NULL;
	link->index = ida_alloc(&link_ida, GFP_KERNEL);
	if (link->index < 0) {
		kfree(link);
		return NULL;
	}
	kref_init(&link->ref);
	INIT_LIST_HEAD(&link->entry);
	INIT_LIST_HEAD(&link->ways);
	INIT_DELAYED_WORK(&link->tick, link_tick);
	spin_lock_init(&link->lock);
	mutex_init(&link->settle_lock);
	mutex_init(&link->ways_lock);
	xa_init_flags(&link->calls, XA_FLAGS_ALLOC1);
	init_waitqueue_head(&link->jobs_idle);
	link->ntb = ntb;
	link->dma = &ntb->pdev->dev;
	snprintf(link->name, sizeof(link->name), "ntb%d", link->index);
	ratelimit_state_init(&link->log_limit, LINK_LOG_S * HZ, LINK_LOG_BURST);
	link->generation = get_random_u32() | 1;
	link->reason = "";
	link->last_tick = ktime_get();
	return link;
}

static int link_workqueues(struct smartio_link *link)
{
	link->wq = alloc_ordered_workqueue("smartio-%s",
					   WQ_MEM_RECLAIM | WQ_HIGHPRI,
					   link->name);
	if (!link->wq)
		return -ENOMEM;
	link->ways_wq = alloc_ordered_workqueue("smartio-%s-ways",
						WQ_MEM_RECLAIM, link->name);
	if (link->ways_wq)
		return 0;
	destroy_workqueue(link->wq);
	return -ENOMEM;
}

static int link_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	u64 doorbells = ntb_db_valid_mask(ntb);
	struct smartio_link *link;
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
	link = link_alloc_struct(ntb);
	if (!link)
		return -ENOMEM;
	link->db_message = __ffs64(doorbells);
	ret = link_workqueues(link);
	if (ret)
		goto put;
	ret = link_windows_init(link);
	if (ret)
		goto destroy;
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
	ret = smartio_sysfs_link_add(link);
	if (ret)
		goto exit_ring;
	ret = ntb_set_ctx(ntb, link, &link_ctx_ops);
	if (ret)
		goto remove_sysfs;
	mutex_lock(&smartio_links_lock);
	list_add_tail(&link->entry, &smartio_links);
	mutex_unlock(&smartio_links_lock);
	ntb_db_clear(ntb, doorbells);
	ntb_db_clear_mask(ntb, BIT_ULL(link->db_message));
	/* Some say -EINVAL on the secondary side, and enable it. */
	ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	dev_info(link->dma, "%s: %s\n", link->name, link->scattered ?
		 "all that is mapped for it is open to the other side" :
		 "no IOMMU: only a pool is open to the other side");
	queue_delayed_work(link->wq, &link->tick, 0);
	return 0;

remove_sysfs:
	smartio_sysfs_link_remove(link);
exit_ring:
	link_ring_exit(link);
free_boot:
	link_free(link, PAGE_SIZE, link->boot, link->boot_dma);
exit_memory:
	link_memory_exit(link);
exit_windows:
	link_windows_exit(link);
destroy:
	destroy_workqueue(link->ways_wq);
	destroy_workqueue(link->wq);
put:
	ida_free(&link_ida, link->index);
	link_put(link);
	return ret;
}

static void link_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct smartio_link *link = ntb->ctx;

	/* who waits for the link to settle gets a link that is down */
	mutex_lock(&link->settle_lock);
	WRITE_ONCE(link->removed, true);
	cancel_delayed_work_sync(&link->tick);
	link_down(link, "the NTB's driver goes");
	mutex_unlock(&link->settle_lock);
	/* until then a fence has to find it */
	mutex_lock(&smartio_links_lock);
	list_del(&link->entry);
	mutex_unlock(&smartio_links_lock);
	ntb_db_set_mask(ntb, ntb_db_valid_mask(ntb));
	ntb_link_disable(ntb);
	ntb_clear_ctx(ntb);
	remote_ways_remove(link);
	/* asked for by somebody who had not yet seen that it is removed */
	cancel_delayed_work_sync(&link->tick);
	cancel_work_sync(&link->rx.work);
	link_unmap_device(link, NULL);
	smartio_sysfs_link_remove(link);
	link_ring_exit(link);
	link_free(link, PAGE_SIZE, link->boot, link->boot_dma);
	link_memory_exit(link);
	link_windows_exit(link);
	destroy_workqueue(link->ways_wq);
	destroy_workqueue(link->wq);
	ida_free(&link_ida, link->index);
	link_put(link);
}

static struct ntb_client link_client = {
	.ops = {
		.probe = link_probe,
		.remove = link_remove,
	},
};

int __init smartio_links_init(void)
{
	if (!smartio_heartbeat_ms ||
	    smartio_heartbeat_timeout_ms < 3 * smartio_heartbeat_ms) {
		pr_err("heartbeat_timeout_ms has to be three times heartbeat_ms, or more\n");
		return -EINVAL;
	}
	return ntb_register_client(&link_client);
}

void smartio_links_exit(void)
{
	ntb_unregister_client(&link_client);
}
