// SPDX-License-Identifier: GPL-2.0
/*
 * The links that transports registered, and the handlers of peers' requests.
 * This layer knows no host, no export and no path: events of links go to the
 * client that main.c names.
 */
#include <linux/export.h>
#include <linux/sysfs.h>
#include <linux/wait.h>

#include "links.h"

/* Lines about a link in the log, and in how many seconds. */
#define LINK_LOG_BURST	20
#define LINK_LOG_S	10

static LIST_HEAD(links);
static DEFINE_MUTEX(links_lock);	/* the list of links */
static DECLARE_WAIT_QUEUE_HEAD(links_released);
static const struct smartio_link_client *links_client;
static const struct smartio_identity *links_self;
static rpc_handler rpc_handlers[WIRE_TYPES];

/* Names the handler of a type of requests. */
void rpc_register(u16 type, rpc_handler handler)
{
	rpc_handlers[type] = handler;
}

/* Answers a request of a peer. */
int rpc_handle(struct smartio_link *link, u32 generation,
	       const struct wire_message *message, const void *payload,
	       void *reply, size_t *reply_size)
{
	rpc_handler handler = message->type < WIRE_TYPES ?
			      rpc_handlers[message->type] : NULL;

	if (!handler)
		return -EINVAL;
	return handler(link, generation, message, payload, reply, reply_size);
}

/* Names the layers above. */
void links_init(const struct smartio_link_client *client,
		const struct smartio_identity *self)
{
	links_client = client;
	links_self = self;
}

/**
 * smartio_link_init() - a link is being set up
 * @link: zeroed but for what struct smartio_link names
 *
 * From now on smartio_link_put() frees it.
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM; the link has to be put in either case.
 */
int smartio_link_init(struct smartio_link *link)
{
	kref_init(&link->ref);
	atomic_inc(&link->transport->links);
	link->client = links_client;
	link->self = links_self;
	spin_lock_init(&link->lock);
	ratelimit_state_init(&link->log_limit, LINK_LOG_S * HZ, LINK_LOG_BURST);
	INIT_LIST_HEAD(&link->entry);
	return link->client->added(link);
}
EXPORT_SYMBOL_GPL(smartio_link_init);

/**
 * smartio_link_register() - a link may be used
 * @link: after smartio_link_init()
 *
 * Context: process, may sleep.
 */
void smartio_link_register(struct smartio_link *link)
{
	static u64 number;	/* under links_lock */

	mutex_lock(&links_lock);
	link->number = ++number;
	list_add_tail(&link->entry, &links);
	mutex_unlock(&links_lock);
}
EXPORT_SYMBOL_GPL(smartio_link_register);

/**
 * smartio_link_unregister() - a link goes
 * @link: down for good; after smartio_link_init(), registered or not
 *
 * The paths over it are removed when this returns. Its operations have to work
 * until it is released.
 *
 * Context: process, may sleep.
 */
void smartio_link_unregister(struct smartio_link *link)
{
	mutex_lock(&links_lock);
	list_del_init(&link->entry);
	mutex_unlock(&links_lock);
	link->client->removed(link);
}
EXPORT_SYMBOL_GPL(smartio_link_unregister);

/**
 * smartio_link_get() - takes a reference
 * @link: it must not end meanwhile: the caller has another reference, or the
 *	lock of the links
 *
 * Context: any.
 */
void smartio_link_get(struct smartio_link *link)
{
	kref_get(&link->ref);
}
EXPORT_SYMBOL_GPL(smartio_link_get);

static void link_release(struct kref *ref)
{
	struct smartio_link *link = container_of(ref, struct smartio_link, ref);
	struct smartio_transport *transport = link->transport;

	link->ops->release(link);
	/* The transport may be gone after this, which is why the queue isn't its. */
	if (atomic_dec_and_test(&transport->links))
		wake_up_all(&links_released);
}

/**
 * smartio_link_put() - gives a reference back
 * @link: the link; the last reference releases it
 *
 * Context: process, may sleep.
 */
void smartio_link_put(struct smartio_link *link)
{
	kref_put(&link->ref, link_release);
}
EXPORT_SYMBOL_GPL(smartio_link_put);

/**
 * smartio_transport_drain() - waits until all links of a transport are released
 * @transport: all its links are unregistered
 *
 * No operation of the transport runs when this returns: its module may go.
 *
 * Context: process, may sleep.
 */
void smartio_transport_drain(struct smartio_transport *transport)
{
	while (!wait_event_timeout(links_released,
				   !atomic_read(&transport->links), 30 * HZ))
		pr_warn("smartio: waiting for %d links to be released\n",
			atomic_read(&transport->links));
}
EXPORT_SYMBOL_GPL(smartio_transport_drain);

/*
 * Visits all links. Numbers only grow, and the list is in their order: each
 * link is visited once.
 */
void links_for_each(void (*fn)(struct smartio_link *link, void *arg), void *arg)
{
	struct smartio_link *link;
	u64 last = 0;

	for (;;) {
		struct smartio_link *found = NULL;

		mutex_lock(&links_lock);
		list_for_each_entry(link, &links, entry) {
			if (link->number <= last)
				continue;
			found = link;
			smartio_link_get(found);
			break;
		}
		mutex_unlock(&links_lock);
		if (!found)
			return;
		last = found->number;
		fn(found, arg);
		smartio_link_put(found);
	}
}

/**
 * struct links_query - which links lead to a host
 * @host: the host
 * @up: one of them is up
 * @buf: a page, of sysfs, for their names; or NULL
 * @len: bytes written there
 */
struct links_query {
	const uuid_t *host;
	bool up;
	char *buf;
	ssize_t len;
};

static void links_query_one(struct smartio_link *link, void *arg)
{
	struct links_query *query = arg;
	bool match;

	spin_lock(&link->lock);
	match = link->known && uuid_equal(&link->peer.uuid, query->host);
	query->up |= match && link->state == SMARTIO_LINK_UP;
	spin_unlock(&link->lock);
	if (match && query->buf)
		query->len += sysfs_emit_at(query->buf, query->len, "%s\n",
					    link->name);
}

/* Whether a link to a host is up. */
bool links_lead_to(const uuid_t *host)
{
	struct links_query query = { .host = host };

	links_for_each(links_query_one, &query);
	return query.up;
}

struct links_search {
	const uuid_t *host;
	struct smartio_link *found;
};

static void links_search_one(struct smartio_link *link, void *arg)
{
	struct links_search *search = arg;
	bool up;

	if (search->found)
		return;
	spin_lock(&link->lock);
	up = link->known && uuid_equal(&link->peer.uuid, search->host) &&
	     link->state == SMARTIO_LINK_UP;
	spin_unlock(&link->lock);
	if (!up)
		return;
	smartio_link_get(link);
	search->found = link;
}

/* The first link to a host that is up, with a reference; or NULL. */
struct smartio_link *links_up_to(const uuid_t *host)
{
	struct links_search search = { .host = host };

	links_for_each(links_search_one, &search);
	return search.found;
}

/* Which links lead to a host. */
ssize_t links_names(const uuid_t *host, char *buf)
{
	struct links_query query = { .host = host, .buf = buf };

	links_for_each(links_query_one, &query);
	return query.len;
}
