// SPDX-License-Identifier: GPL-2.0
/*
 * Fencing. A fenced host is refused: the links to it are down, the layers above
 * end its sessions here, and none of its writes reaches a device of this host.
 * It is admitted again by order. It is also admitted when it asks for that, if
 * it has begun again since, or has not used anything here since it began.
 *
 * Orders come from this host's administrator, or from another host: a cluster
 * needs every survivor to be able to fence the victim at the lender. A lender
 * that is fenced by another host loses the path to its own devices.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "hosts.h"
#include "links.h"
#include "trace.h"

/* Ending a session may take as long as a reset of its device. */
#define FENCE_CALL_MS		60000
#define FENCE_LOOK_MS		10000
/*
 * How long a host that asks to be admitted waits for its links, and for that.
 */
#define FENCE_REJOIN_MS		10000
/*
 * How often a fence is tried against a host that asks to be admitted each time.
 */
#define FENCE_TRIES		10
#define FENCE_POLL_MS		10

static bool remote_fence = true;
module_param(remote_fence, bool, 0644);
MODULE_PARM_DESC(remote_fence, "other hosts may fence hosts here, and readmit them (default: yes)");

static DEFINE_MUTEX(fence_lock);	/* one order at a time */
static BLOCKING_NOTIFIER_HEAD(fence_notifiers);

/**
 * struct fence_asker - another host that gave the order
 * @link: over which link
 * @generation: of it, then
 * @uuid: who
 * @deadline: it waits no longer, in jiffies
 */
struct fence_asker {
	struct smartio_link *link;
	u32 generation;
	uuid_t uuid;
	unsigned long deadline;
};

/* Adds a component that must be notified of fences. */
int fence_notifier_add(struct notifier_block *notifier)
{
	return blocking_notifier_chain_register(&fence_notifiers, notifier);
}

/* The mirror of fence_notifier_add(). */
void fence_notifier_remove(struct notifier_block *notifier)
{
	blocking_notifier_chain_unregister(&fence_notifiers, notifier);
}

/* A fenced host on a link asks for admission. */
bool fence_may_rejoin(const uuid_t *host, u32 incarnation, bool stale)
{
	if (stale)
		smartio_host_pin(host, incarnation);
	return READ_ONCE(remote_fence) &&
	       smartio_host_rejoin(host, incarnation);
}

static bool fence_asker_there(const struct fence_asker *asker)
{
	u32 generation;

	return smartio_link_is_up(asker->link, &generation) &&
	       generation == asker->generation &&
	       !smartio_host_fenced(&asker->uuid);
}

/*
 * The holder of the lock may be waiting for the asker's own link to go down,
 * which waits for the asker's requests. So this request must not wait for the
 * lock then.
 */
static int fence_begin(const struct fence_asker *asker)
{
	if (!asker) {
		mutex_lock(&fence_lock);
		return 0;
	}
	for (;;) {
		bool locked = mutex_trylock(&fence_lock);
		int ret = 0;

		if (!fence_asker_there(asker))
			ret = -ENOLINK;
		else if (!READ_ONCE(remote_fence))
			ret = -EACCES;
		else if (time_after(jiffies, asker->deadline))
			ret = -ETIMEDOUT;	/* it may think otherwise by now */
		if (locked && ret)
			mutex_unlock(&fence_lock);
		if (locked || ret)
			return ret;
		msleep(FENCE_POLL_MS);
	}
}

static void fence_link(struct smartio_link *link, void *uuid)
{
	bool match;

	spin_lock(&link->lock);
	match = link->known && uuid_equal(&link->peer.uuid, uuid);
	spin_unlock(&link->lock);
	if (match)
		link->ops->recheck(link);
}

static int fence_shut_out(uuid_t *uuid)
{
	int tries;

	for (tries = 0; tries < FENCE_TRIES; tries++) {
		smartio_host_mark(uuid, true);
		links_for_each(fence_link, uuid);
		blocking_notifier_call_chain(&fence_notifiers,
					     SMARTIO_HOST_FENCED, uuid);
		if (smartio_host_fenced(uuid))
			return 0;
	}
	return -EBUSY;
}

static void fence_let_in(uuid_t *uuid)
{
	if (!smartio_host_mark(uuid, false))
		return;
	links_for_each(fence_link, uuid);
	blocking_notifier_call_chain(&fence_notifiers, SMARTIO_HOST_ADMITTED,
				     uuid);
}

static int fence_word(const char *text, char *word)
{
	if (strscpy(word, text, SMARTIO_NAME_LEN) < 0)
		return -EINVAL;
	return 0;
}

/* @administrator: of this host, which may be fenced itself. */
static int fence_order(const char *text, bool fenced, bool administrator,
		       const struct fence_asker *asker)
{
	char word[SMARTIO_NAME_LEN], name[SMARTIO_NAME_LEN];
	bool before;
	uuid_t uuid;
	int ret;

	ret = fence_word(text, word);
	if (!ret)
		ret = smartio_host_named(strim(word), &uuid, name);
	if (ret)
		return ret;
	/* A host in whose name nothing may be done any more can't do this. */
	if (uuid_equal(&uuid, asker ? &asker->uuid : &smartio_self.uuid))
		return fenced ? -EINVAL :
			smartio_host_fenced(&uuid) ? -EPERM : 0;
	ret = fence_begin(asker);
	if (ret)
		return ret;
	before = smartio_host_fenced(&uuid);
	if (!asker && !administrator && smartio_host_fenced(&smartio_self.uuid))
		ret = -EPERM;
	else if (fenced)
		ret = fence_shut_out(&uuid);
	else
		fence_let_in(&uuid);
	mutex_unlock(&fence_lock);
	if (ret || before == fenced)
		return ret;
	trace_smartio_fence(name, fenced);
	if (!asker || __ratelimit(&asker->link->log_limit))
		pr_info("host %s (%pUb) is %s%s%s\n", name, &uuid,
			fenced ? "fenced" : "not fenced any more",
			asker ? ", by order of " : "",
			asker ? asker->link->peer.name : "");
	return 0;
}

/*
 * The administrator of this host gives an order. Returns 0: it is so; -ENOENT;
 * -ENOTUNIQ; -EINVAL: a host can't fence itself; -EPERM: nor admit itself;
 * -EBUSY: it rejoins as fast as it is fenced.
 */
int fence_here(const char *text, bool fenced)
{
	return fence_order(text, fenced, true, NULL);
}

/*
 * Another host gives an order: see fence_here(). -EACCES: this host takes no such
 * orders; -ENOLINK: its giver is fenced or gone itself; -EBUSY: it has given
 * another one; -ETIMEDOUT: it waits no longer.
 */
static int fence_asked(struct smartio_link *link, u32 generation,
		       const struct wire_message *message, const void *payload,
		       void *reply, size_t *reply_size)
{
	const struct wire_fence *fence = payload;
	struct fence_asker asker = {
		.link = link,
		.generation = generation,
		/* a part of its time has gone by in transit */
		.deadline = jiffies +
			    msecs_to_jiffies(message->timeout_ms) / 4 * 3,
	};
	int ret;

	*reply_size = 0;
	/* Those that wait must not take the place of all other requests. */
	if (atomic_xchg(&link->fencing, 1))
		return -EBUSY;
	spin_lock(&link->lock);
	uuid_copy(&asker.uuid, &link->peer.uuid);
	spin_unlock(&link->lock);
	ret = fence_order(fence->host, le32_to_cpu(fence->fenced), false,
			  &asker);
	atomic_set(&link->fencing, 0);
	return ret;
}

/* Another host asks which ones are known here. */
static int fence_hosts_asked(struct smartio_link *link, u32 generation,
			     const struct wire_message *message,
			     const void *payload, void *reply,
			     size_t *reply_size)
{
	*reply_size = smartio_hosts_fill(reply, *reply_size);
	return 0;
}

/* ---- orders for another host ---- */

/**
 * struct fence_call - something is asked over any link to a host
 * @at: the host
 * @message: its header
 * @payload: of it
 * @reply: where the answer goes
 * @size: room there, then what came
 * @timeout_ms: for each link
 * @ret: what came of it
 */
struct fence_call {
	const uuid_t *at;
	struct wire_message message;
	const void *payload;
	void *reply;
	size_t size;
	unsigned int timeout_ms;
	int ret;
};

/* The next link is tried if the result over this one is unknown. */
static void fence_call_one(struct smartio_link *link, void *arg)
{
	struct fence_call *call = arg;
	size_t size = call->size;
	bool match;

	spin_lock(&link->lock);
	match = link->state == SMARTIO_LINK_UP &&
		uuid_equal(&link->peer.uuid, call->at);
	spin_unlock(&link->lock);
	if (!match || (call->ret != -ENOLINK && call->ret != -ETIMEDOUT))
		return;
	call->ret = link->ops->call(link, &call->message, call->payload,
				    call->reply, &size, call->timeout_ms);
	if (!call->ret)
		call->size = size;
}

static int fence_call(struct fence_call *call)
{
	call->ret = -ENOLINK;
	links_for_each(fence_call_one, call);
	return call->ret;
}

/*
 * Asks another host to fence a host, or to admit it. Returns 0: it is so;
 * -ENOLINK: no link to @at is up; -ETIMEDOUT: no answer, it may be so or not;
 * else see fence_asked().
 */
int fence_at(const uuid_t *at, const char *text, bool fenced)
{
	struct wire_fence fence = { .fenced = cpu_to_le32(fenced) };
	struct fence_call call = {
		.at = at,
		.message = { .type = WIRE_FENCE, .length = sizeof(fence) },
		.payload = &fence,
		.timeout_ms = FENCE_CALL_MS,
	};
	char word[SMARTIO_NAME_LEN];
	int ret;

	if (uuid_equal(at, &smartio_self.uuid))
		return fence_order(text, fenced, false, NULL);
	ret = fence_word(text, word);
	if (ret)
		return ret;
	strscpy(fence.host, strim(word));
	if (!wire_text_ok(fence.host, sizeof(fence.host)))
		return -EINVAL;
	return fence_call(&call);
}

/* The hosts that a host knows. */
ssize_t fence_hosts_show(const uuid_t *at, char *buf)
{
	struct fence_call call = {
		.at = at,
		.message = { .type = WIRE_HOSTS },
		.size = PAGE_SIZE * 2,
		.timeout_ms = FENCE_LOOK_MS,
	};
	struct wire_host *hosts = kzalloc(call.size, GFP_KERNEL);
	ssize_t len = 0;
	size_t i;
	int ret = 0;

	if (!hosts)
		return -ENOMEM;
	call.reply = hosts;
	if (uuid_equal(at, &smartio_self.uuid))
		call.size = smartio_hosts_fill(hosts, call.size);
	else
		ret = fence_call(&call);
	for (i = 0; !ret && i < call.size / sizeof(*hosts); i++) {
		u32 flags = le32_to_cpu(hosts[i].flags);

		if (!wire_text_ok(hosts[i].name, sizeof(hosts[i].name)))
			continue;
		len += sysfs_emit_at(buf, len, "%pUb %s %s\n", hosts[i].uuid,
				     flags & WIRE_HOST_FENCED ? "fenced" :
				     flags & WIRE_HOST_LINKED ? "linked" :
				     "away", hosts[i].name);
	}
	kfree(hosts);
	return ret ? ret : len;
}

/* ---- this host was fenced, and has restarted ---- */

/**
 * struct fence_answers - results of a request to be admitted
 * @up: links that are
 * @waiting: links that are joining: neither up nor refused
 * @refused: where this host is fenced
 */
struct fence_answers {
	unsigned int up;
	unsigned int waiting;
	unsigned int refused;
};

static void fence_ask_one(struct smartio_link *link, void *arg)
{
	struct fence_answers *answers = arg;

	switch (READ_ONCE(link->state)) {
	case SMARTIO_LINK_UP:
		answers->up++;
		return;
	case SMARTIO_LINK_JOINING:
		answers->waiting++;
		return;
	case SMARTIO_LINK_REFUSED:
		if (!READ_ONCE(link->fenced))
			return;
		answers->refused++;
		link->ops->rejoin(link, true);
		return;
	case SMARTIO_LINK_DOWN:
		return;
	}
}

static void fence_ask_no_more(struct smartio_link *link, void *arg)
{
	link->ops->rejoin(link, false);
}

/* Fenced here, by another host's order: it is as strict with itself. */
static bool fence_readmits_self(void)
{
	bool fenced;

	mutex_lock(&fence_lock);
	if (fence_may_rejoin(&smartio_self.uuid, smartio_self.incarnation,
			     false))
		blocking_notifier_call_chain(&fence_notifiers,
					     SMARTIO_HOST_ADMITTED,
					     &smartio_self.uuid);
	fenced = smartio_host_fenced(&smartio_self.uuid);
	mutex_unlock(&fence_lock);
	return !fenced;
}

/*
 * Asks to be admitted wherever this host is fenced. Others admit only a host
 * that has begun again: its module was loaded since, or it has not used a
 * device of theirs since it was. It asks now, not later on: a later refusal
 * needs another request. Returns 0: no host at the other end of a link refuses
 * it; -EPERM: one does; -ENOLINK: there is none that could be asked, and this
 * host lends nothing.
 */
int fence_rejoin(void)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(FENCE_REJOIN_MS);
	bool uses = blocking_notifier_call_chain(&fence_notifiers,
						 SMARTIO_HOST_REJOINS,
						 &smartio_self.uuid) ==
		    NOTIFY_STOP;
	struct fence_answers answers;

	for (;;) {
		memset(&answers, 0, sizeof(answers));
		links_for_each(fence_ask_one, &answers);
		if (!answers.waiting && !answers.refused)
			break;
		if (time_after(jiffies, deadline))
			break;
		msleep(FENCE_POLL_MS);
	}
	links_for_each(fence_ask_no_more, NULL);
	if (answers.refused || !fence_readmits_self())
		return -EPERM;
	return answers.up || uses ? 0 : -ENOLINK;
}

void __init fence_init(void)
{
	rpc_register(WIRE_FENCE, fence_asked);
	rpc_register(WIRE_HOSTS, fence_hosts_asked);
}
