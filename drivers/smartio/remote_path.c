// SPDX-License-Identifier: GPL-2.0
/*
 * This host as a borrower: paths over a link. They come when the lender names
 * its devices, and stay while the link is down.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "messages.h"
#include "path.h"
#include "remote.h"

/*
 * The lender may have to wait for the device, or for its own host, before a
 * session is over.
 */
#define REMOTE_SESSION_MS	60000
#define REMOTE_CALL_MS		10000
/* It may have to wait for another lender, SESSION_PEER_MS. */
#define REMOTE_PEER_MS		15000

/*
 * The most devices that a host may lend, and the most news of them that may
 * wait.
 */
#define REMOTE_PATHS_MAX		64
#define REMOTE_NEWS_MAX		1024

/**
 * struct remote - private part of a path over a link
 * @entry: in link->paths
 * @link: the link; a reference
 * @path: the path
 * @device: how the lender calls the device; under link->paths_lock
 * @incarnation: of the lender that named it; under link->paths_lock
 * @named: it has been named since the link is up; under link->paths_lock
 * @going: it is being removed, without the lock, and stays in the list until its
 *	driver has stopped: a loss of the link reaches it; under link->paths_lock
 */
struct remote {
	struct list_head entry;
	struct smartio_link *link;
	struct smartio_path *path;
	u32 device;
	u32 incarnation;
	bool named;
	bool going;
};

/* ---- the path's operations ---- */

static int remote_ask(struct smartio_path *path, u16 type, u64 session,
		      const struct wire_range *range, void *reply,
		      size_t reply_size, unsigned int timeout_ms)
{
	struct remote *remote = path->private;
	struct wire_message message = {
		.type = type,
		.object = READ_ONCE(remote->device),
		.context = session,
		.length = range ? sizeof(*range) : 0,
	};
	size_t size = reply_size;
	int ret;

	ret = remote->link->ops->call(remote->link, &message, range, reply,
				      &size, timeout_ms);
	if (!ret && size != reply_size)
		return -EPROTO;
	return ret;
}

/*
 * Either the lender says that it is over, or the link is taken down: nothing
 * reaches this host's memory over it then.
 */
static void remote_close(struct smartio_path *path, u64 id)
{
	struct remote *remote = path->private;
	struct smartio_link *link = remote->link;
	int ret;

	ret = remote_ask(path, WIRE_CLOSE_SESSION, id, NULL, NULL, 0,
			 REMOTE_SESSION_MS);
	if (!ret)
		return;
	if (ret != -ENOLINK)
		link->ops->restart(link, "the lender does not end a session");
	link->ops->settle(link);
}

/*
 * If the lender doesn't get this, it keeps the session's memory and registers
 * until the next session.
 */
static void remote_stopped(struct smartio_path *path, u64 id)
{
	remote_ask(path, WIRE_CLOSE_SESSION, id, NULL, NULL, 0, REMOTE_CALL_MS);
}

static bool remote_link_up(struct smartio_path *path)
{
	struct remote *remote = path->private;

	/* asked in any context: without the lock */
	return READ_ONCE(remote->link->state) == SMARTIO_LINK_UP;
}

static int remote_open(struct smartio_path *path, u64 *id, u64 *dma_offset,
		       struct smartio_era *era)
{
	struct remote *remote = path->private;
	u32 incarnation = READ_ONCE(remote->link->peer.incarnation);
	struct wire_opened opened;
	int ret;
	u64 session;

	/*
	 * The number under which the lender named it may be another device's by
	 * now. If it wasn't named since the link came up, it isn't lent, or not
	 * yet again. Its sessions are over then.
	 */
	if (READ_ONCE(remote->named))
		ret = remote_ask(path, WIRE_OPEN_SESSION, 0, NULL, &opened,
				 sizeof(opened), REMOTE_SESSION_MS);
	else
		ret = remote_link_up(path) ? -ENODEV : -ENOLINK;
	/* the link is refused then: the lender has ended all sessions */
	if (ret == -ENOLINK && READ_ONCE(remote->link->fenced))
		return -EACCES;
	if (ret)
		return ret;
	session = le64_to_cpu(opened.session);
	if (!session)
		return -EPROTO;
	era->lender = incarnation;
	era->fences = le32_to_cpu(opened.fences);
	*id = session;
	*dma_offset = le64_to_cpu(opened.dma_offset);
	return 0;
}

static int remote_revoke(struct smartio_path *path, u64 id)
{
	return remote_ask(path, WIRE_REVOKE, id, NULL, NULL, 0,
			  REMOTE_SESSION_MS);
}

static int remote_call(struct smartio_path *path, u64 id, const void *request,
		       size_t size, void *reply, size_t *reply_size,
		       unsigned int timeout_ms)
{
	struct remote *remote = path->private;
	struct wire_message message = {
		.type = WIRE_REQUEST,
		.object = READ_ONCE(remote->device),
		.context = id,
		.length = size,
	};

	return remote->link->ops->call(remote->link, &message, request, reply,
				       reply_size, timeout_ms);
}

static struct device *remote_dma_device(struct smartio_path *path)
{
	struct remote *remote = path->private;

	return remote->link->dma;
}

static bool remote_dma_scattered(struct smartio_path *path)
{
	struct remote *remote = path->private;

	return remote->link->scattered;
}

static void *remote_dma_alloc(struct smartio_path *path, size_t size,
			      dma_addr_t *addr, gfp_t gfp)
{
	struct remote *remote = path->private;

	return remote->link->ops->alloc(remote->link, size, addr, gfp);
}

static void remote_dma_free(struct smartio_path *path, size_t size, void *cpu,
			    dma_addr_t addr)
{
	struct remote *remote = path->private;

	remote->link->ops->free(remote->link, size, cpu, addr);
}

static int remote_segment_alloc(struct smartio_path *path, u64 id,
				struct smartio_segment *segment)
{
	struct wire_range range = { .size = cpu_to_le64(segment->size) };
	struct remote *remote = path->private;
	struct wire_segment reply;
	phys_addr_t phys;
	int ret;

	ret = remote_ask(path, WIRE_SEGMENT_ALLOC, id, &range, &reply,
			 sizeof(reply), REMOTE_CALL_MS);
	if (!ret && !reply.handle)
		ret = -EPROTO;
	if (ret)
		return ret;
	segment->handle = le32_to_cpu(reply.handle);
	segment->device_addr = le64_to_cpu(reply.device_addr);
	ret = remote->link->ops->peer_phys(remote->link,
					   le64_to_cpu(reply.peer_addr),
					   segment->size, &phys);
	if (!ret) {
		segment->io = ioremap_wc(phys, segment->size);
		if (!segment->io)
			ret = -ENOMEM;
	}
	if (ret) {
		range.handle = reply.handle;
		remote_ask(path, WIRE_SEGMENT_FREE, id, &range, NULL, 0,
			   REMOTE_CALL_MS);
	}
	return ret;
}

static void remote_segment_free(struct smartio_path *path,
				struct smartio_segment *segment)
{
	struct wire_range range = { .handle = cpu_to_le32(segment->handle) };

	iounmap(segment->io);
	/* else it went with its session */
	if (segment->session == smartio_path_session(path))
		remote_ask(path, WIRE_SEGMENT_FREE, segment->session, &range,
			   NULL, 0, REMOTE_CALL_MS);
}

static int remote_bar_phys(struct smartio_path *path, u64 id, unsigned int bar,
			   u64 offset, size_t size, phys_addr_t *phys)
{
	struct wire_range range = {
		.bar = cpu_to_le32(bar),
		.offset = cpu_to_le64(offset),
		.size = cpu_to_le64(size),
	};
	struct remote *remote = path->private;
	struct wire_segment reply;
	int ret;

	ret = remote_ask(path, WIRE_MAP_BAR, id, &range, &reply, sizeof(reply),
			 REMOTE_CALL_MS);
	if (ret)
		return ret;
	return remote->link->ops->peer_phys(remote->link,
					    le64_to_cpu(reply.peer_addr), size,
					    phys);
}

static void __iomem *remote_map_bar(struct smartio_path *path, u64 id,
				    unsigned int bar, u64 offset, size_t size,
				    bool write_combining)
{
	void __iomem *io;
	phys_addr_t phys;
	int ret = remote_bar_phys(path, id, bar, offset, size, &phys);

	if (ret)
		return IOMEM_ERR_PTR(ret);
	io = write_combining ? ioremap_wc(phys, size) : ioremap(phys, size);
	return io ? io : IOMEM_ERR_PTR(-ENOMEM);
}

static int remote_own_addresses(struct smartio_path *path, u64 id,
				struct smartio_space *space)
{
	struct wire_range range = {
		.handle = cpu_to_le32(space->single),
		.offset = cpu_to_le64(space->base),
		.size = cpu_to_le64(space->size),
	};
	struct wire_addresses reply;
	int ret;

	ret = remote_ask(path, WIRE_OWN_ADDRESSES, id, &range, &reply,
			 sizeof(reply), REMOTE_CALL_MS);
	if (ret)
		return ret;
	space->own = true;
	space->device_base = le64_to_cpu(reply.base);
	space->hole = le64_to_cpu(reply.hole);
	space->hole_size = le64_to_cpu(reply.hole_size);
	return 0;
}

static int remote_peer_ask(struct smartio_path *path, u16 type, u64 session,
			   const void *payload, size_t length, void *reply,
			   size_t reply_size)
{
	struct remote *remote = path->private;
	struct wire_message message = {
		.type = type,
		.object = READ_ONCE(remote->device),
		.context = session,
		.length = length,
	};
	size_t size = reply_size;
	int ret;

	ret = remote->link->ops->call(remote->link, &message, payload, reply,
				      &size, REMOTE_PEER_MS);
	return !ret && size != reply_size ? -EPROTO : ret;
}

static u32 remote_peer_access(const struct smartio_peer *peer)
{
	return (peer->read ? WIRE_PEER_READ : 0) |
	       (peer->write ? WIRE_PEER_WRITE : 0);
}

static int remote_peer_grant(struct smartio_path *path, const uuid_t *host,
			     struct smartio_peer *peer)
{
	struct wire_grant wire = {
		.offset = cpu_to_le64(peer->offset),
		.size = cpu_to_le64(peer->size),
		.bar = cpu_to_le32(peer->bar),
		.access = cpu_to_le32(remote_peer_access(peer)),
	};
	struct wire_granted granted;
	int ret;

	export_uuid(wire.host, host);
	ret = remote_peer_ask(path, WIRE_PEER_GRANT, peer->session, &wire,
			      sizeof(wire), &granted, sizeof(granted));
	if (!ret && !granted.grant)
		return -EPROTO;
	if (!ret)
		peer->grant = le64_to_cpu(granted.grant);
	return ret;
}

static int remote_peer_revoke(struct smartio_path *path,
			      const struct smartio_peer *peer)
{
	const struct wire_granted granted = {
		.grant = cpu_to_le64(peer->grant),
	};

	return remote_peer_ask(path, WIRE_PEER_REVOKE, peer->session, &granted,
			       sizeof(granted), NULL, 0);
}

static int remote_peer_map(struct smartio_path *path, u64 id, u64 addr,
			   const struct smartio_peer *peer)
{
	struct wire_peer wire = {
		.addr = cpu_to_le64(addr),
		.size = cpu_to_le64(peer->size),
		.target = cpu_to_le64(peer->grant ? peer->grant :
						    peer->session),
		.offset = cpu_to_le64(peer->offset),
		.bar = cpu_to_le32(peer->bar),
		.access = cpu_to_le32(remote_peer_access(peer)),
	};

	if (peer->grant)
		export_uuid(wire.host, &peer->host);
	return remote_peer_ask(path, WIRE_PEER_MAP, id, &wire, sizeof(wire),
			       NULL, 0);
}

static int remote_peer_unmap(struct smartio_path *path, u64 id, u64 addr,
			     u64 size)
{
	struct wire_peer wire = {
		.addr = cpu_to_le64(addr),
		.size = cpu_to_le64(size),
	};

	return remote_peer_ask(path, WIRE_PEER_UNMAP, id, &wire, sizeof(wire),
			       NULL, 0);
}

static struct smartio_link *remote_path_link(struct smartio_path *path)
{
	struct remote *remote = path->private;

	return remote->link;
}

static void remote_unmap_bar(struct smartio_path *path, void __iomem *io)
{
	iounmap(io);
}

static int remote_irq_alloc(struct smartio_path *path,
			    const struct cpumask *cpus, const char *name,
			    struct smartio_irq *irq)
{
	struct remote *remote = path->private;

	return remote->link->ops->irq_alloc(remote->link, cpus, name, irq);
}

static void remote_irq_free(struct smartio_path *path, struct smartio_irq *irq)
{
	struct remote *remote = path->private;

	remote->link->ops->irq_free(remote->link, irq);
}

static int remote_irq_move(struct smartio_path *path, u64 id,
			   const struct smartio_irq_message *from,
			   const struct smartio_irq_message *to,
			   unsigned int timeout_ms)
{
	struct wire_irq_move move = {
		.from.addr = cpu_to_le64(from->addr),
		.from.data = cpu_to_le32(from->data),
		.to.addr = cpu_to_le64(to->addr),
		.to.data = cpu_to_le32(to->data),
	};
	struct remote *remote = path->private;
	struct wire_message message = {
		.type = WIRE_IRQ_MOVE,
		.object = READ_ONCE(remote->device),
		.context = id,
		.length = sizeof(move),
	};
	size_t none = 0;

	return remote->link->ops->call(remote->link, &message, &move, NULL,
				       &none, timeout_ms);
}

static void remote_irq_settled(struct smartio_path *path,
			       struct smartio_irq *irq)
{
	struct remote *remote = path->private;

	remote->link->ops->irq_settled(remote->link, irq);
}

static void remote_release(struct smartio_path *path)
{
	struct remote *remote = path->private;

	smartio_link_put(remote->link);
	kfree(remote);
}

static const struct smartio_path_ops remote_path_ops = {
	.open = remote_open,
	.close = remote_close,
	.stopped = remote_stopped,
	.revoke = remote_revoke,
	.link_up = remote_link_up,
	.call = remote_call,
	.dma_device = remote_dma_device,
	.dma_scattered = remote_dma_scattered,
	.dma_alloc = remote_dma_alloc,
	.dma_free = remote_dma_free,
	.segment_alloc = remote_segment_alloc,
	.segment_free = remote_segment_free,
	.map_bar = remote_map_bar,
	.unmap_bar = remote_unmap_bar,
	.bar_phys = remote_bar_phys,
	.own_addresses = remote_own_addresses,
	.peer_map = remote_peer_map,
	.peer_unmap = remote_peer_unmap,
	.peer_grant = remote_peer_grant,
	.peer_revoke = remote_peer_revoke,
	.link = remote_path_link,
	.irq_alloc = remote_irq_alloc,
	.irq_free = remote_irq_free,
	.irq_move = remote_irq_move,
	.irq_settled = remote_irq_settled,
	.release = remote_release,
};

/* ---- paths come and go, on link->paths_wq ---- */

/**
 * struct remote_news - a message of the lender about its devices
 * @entry: in link->news, until it was dealt with; under link->paths_lock
 * @work: deals with it
 * @link: about which link; a reference
 * @generation: in which it was said; 0: by this host itself
 * @type: WIRE_DEVICE, WIRE_DEVICE_GONE, WIRE_DEVICE_END; WIRE_PAD: another
 *	host is on the link now, all that is there is the old one's
 * @id: of the device
 * @device: of WIRE_DEVICE
 */
struct remote_news {
	struct list_head entry;
	struct work_struct work;
	struct smartio_link *link;
	u32 generation;
	u16 type;
	u32 id;
	struct wire_device device;
};

static bool remote_current(struct smartio_link *link, u32 generation)
{
	u32 current_generation;

	return smartio_link_is_up(link, &current_generation) &&
	       current_generation == generation;
}

/* It is going. Its driver, which is removed here, may wait for the link. */
static void remote_remove(struct remote *remote)
{
	struct device *dev = get_device(&remote->path->sdev.dev);
	struct smartio_link *link = remote->link;

	smartio_path_remove(remote->path);
	mutex_lock(&link->paths_lock);
	list_del(&remote->entry);
	mutex_unlock(&link->paths_lock);
	put_device(dev);
}

static void remote_add(struct smartio_link *link,
		       const struct remote_news *news)
{
	struct smartio_path *path = kzalloc(sizeof(*path), GFP_KERNEL);
	struct remote *remote = kzalloc(sizeof(*remote), GFP_KERNEL);
	struct smartio_device *sdev;
	int ret = -ENOMEM;

	if (!path || !remote) {
		kfree(path);
		kfree(remote);
		goto fail;
	}
	sdev = &path->sdev;
	strscpy(sdev->service, news->device.service);
	spin_lock(&link->lock);
	uuid_copy(&sdev->host, &link->peer.uuid);
	strscpy(sdev->host_name, link->peer.name);
	spin_unlock(&link->lock);
	strscpy(sdev->pci_name, news->device.pci);
	strscpy(sdev->link_name, link->name);
	INIT_LIST_HEAD(&remote->entry);
	smartio_link_get(link);
	remote->link = link;
	remote->path = path;
	remote->device = news->id;
	remote->incarnation = READ_ONCE(link->peer.incarnation);
	remote->named = true;
	path->private = remote;
	path->owner = link->ops->owner;
	path->ops = &remote_path_ops;
	ret = smartio_path_init(path, link->dma);
	if (ret)
		goto fail;
	mutex_lock(&link->paths_lock);
	list_add_tail(&remote->entry, &link->paths);
	if (remote_current(link, news->generation) &&
	    le32_to_cpu(news->device.flags) & WIRE_OFFERED)
		smartio_path_ready(path);
	mutex_unlock(&link->paths_lock);
	ret = smartio_path_add(path);
	if (!ret)
		return;
	mutex_lock(&link->paths_lock);
	list_del(&remote->entry);
	mutex_unlock(&link->paths_lock);
	put_device(&path->sdev.dev);
fail:
	dev_err(link->dma, "%s: device %s of %s can't be shown: %d\n",
		link->name, news->device.pci, link->peer.name, ret);
}

/* The path is that of a device that the lender names. */
static void remote_offer(struct remote *remote, u32 id, bool offered)
{
	struct smartio_link *link = remote->link;

	lockdep_assert_held(&link->paths_lock);
	WRITE_ONCE(remote->device, id);
	remote->incarnation = READ_ONCE(link->peer.incarnation);
	remote->named = true;
	if (offered)
		smartio_path_ready(remote->path);
	else
		WRITE_ONCE(remote->path->offered, false);
}

static void remote_named(struct smartio_link *link,
			 const struct remote_news *news)
{
	bool offered = le32_to_cpu(news->device.flags) & WIRE_OFFERED;
	struct remote *remote;
	unsigned int count = 0;

	mutex_lock(&link->paths_lock);
	if (!remote_current(link, news->generation)) {
		mutex_unlock(&link->paths_lock);
		return;
	}
	list_for_each_entry(remote, &link->paths, entry) {
		struct smartio_device *sdev = &remote->path->sdev;

		count++;
		if (strcmp(sdev->pci_name, news->device.pci))
			continue;
		if (strcmp(sdev->service, news->device.service)) {
			/* lent as something else now; two have no room */
			remote->going = true;
			mutex_unlock(&link->paths_lock);
			remote_remove(remote);
			remote_add(link, news);
			return;
		}
		remote_offer(remote, news->id, offered);
		mutex_unlock(&link->paths_lock);
		return;
	}
	mutex_unlock(&link->paths_lock);
	if (count < REMOTE_PATHS_MAX) {
		remote_add(link, news);
		return;
	}
	atomic64_inc(&link->refused);
	dev_warn_ratelimited(link->dma,
			     "%s: %s says that it lends more than %u devices: %s is left out\n",
			     link->name, link->peer.name, REMOTE_PATHS_MAX,
			     news->device.pci);
}

static bool remote_goes(const struct remote *remote,
			const struct remote_news *news)
{
	switch (news->type) {
	case WIRE_DEVICE_GONE:
		return remote->named && remote->device == news->id;
	case WIRE_DEVICE_END:
		/*
		 * Taken back while the link was down. A lender that has only
		 * just started again may not lend it yet: its path continues
		 * to wait.
		 */
		return !remote->named &&
		       remote->incarnation == remote->link->peer.incarnation;
	default:
		return true;
	}
}

/* The next one that is going, or NULL. One workqueue adds and removes all. */
static struct remote *remote_going(struct smartio_link *link)
{
	struct remote *remote, *found = NULL;

	mutex_lock(&link->paths_lock);
	list_for_each_entry(remote, &link->paths, entry) {
		if (!remote->going)
			continue;
		found = remote;
		break;
	}
	mutex_unlock(&link->paths_lock);
	return found;
}

/* Those that @news is the end of; the lock isn't held while drivers remove. */
static void remote_gone(struct smartio_link *link,
			const struct remote_news *news)
{
	struct remote *remote;

	mutex_lock(&link->paths_lock);
	if (!news->generation || remote_current(link, news->generation))
		list_for_each_entry(remote, &link->paths, entry)
			remote->going |= remote_goes(remote, news);
	mutex_unlock(&link->paths_lock);
	while ((remote = remote_going(link))) {
		if (news->type == WIRE_DEVICE_GONE)
			dev_notice(&remote->path->sdev.dev,
				   "its lender took it back\n");
		remote_remove(remote);
	}
}

static void remote_news_work(struct work_struct *work)
{
	struct remote_news *news = container_of(work, struct remote_news, work);
	struct smartio_link *link = news->link;

	if (news->type == WIRE_DEVICE)
		remote_named(link, news);
	else
		remote_gone(link, news);
	mutex_lock(&link->paths_lock);
	list_del(&news->entry);
	link->news_count--;
	mutex_unlock(&link->paths_lock);
	smartio_link_put(link);
	kfree(news);
}

/* Returns whether there was memory for it. */
static bool remote_queue(struct smartio_link *link, u32 generation, u16 type,
			 u32 id, const struct wire_device *device)
{
	struct remote_news *news = kzalloc(sizeof(*news),
					   GFP_NOIO | __GFP_NOWARN);

	if (!news)
		return false;
	INIT_WORK(&news->work, remote_news_work);
	smartio_link_get(link);
	news->link = link;
	news->generation = generation;
	news->type = type;
	news->id = id;
	if (device)
		news->device = *device;
	mutex_lock(&link->paths_lock);
	list_add_tail(&news->entry, &link->news);
	link->news_count++;
	queue_work(link->paths_wq, &news->work);
	mutex_unlock(&link->paths_lock);
	return true;
}

/* Whether something that was said before has to be dealt with first. */
static bool remote_waits(struct smartio_link *link,
			 const struct wire_device *device)
{
	struct remote_news *news;

	lockdep_assert_held(&link->paths_lock);
	list_for_each_entry(news, &link->news, entry)
		if (news->type == WIRE_PAD ||
		    (news->type == WIRE_DEVICE &&
		     !strcmp(news->device.pci, device->pci)))
			return true;
	return false;
}

/*
 * A path that is there hears at once that its device is offered again: it must
 * not wait for another one's driver, which may need memory that has to be
 * written to this device first. Returns false if it is not there, or not yet.
 */
static bool remote_known(struct smartio_link *link,
			 const struct wire_message *message,
			 const struct wire_device *device)
{
	struct remote *remote;
	bool known = false;

	mutex_lock(&link->paths_lock);
	list_for_each_entry(remote, &link->paths, entry) {
		struct smartio_device *sdev = &remote->path->sdev;

		if (remote->going || strcmp(sdev->pci_name, device->pci) ||
		    strcmp(sdev->service, device->service) ||
		    !uuid_equal(&sdev->host, &link->host))
			continue;
		known = !remote_waits(link, device);
		if (known)
			remote_offer(remote, message->object,
				     le32_to_cpu(device->flags) & WIRE_OFFERED);
		break;
	}
	mutex_unlock(&link->paths_lock);
	return known;
}

/* The link is down. */
void remote_paths_lost(struct smartio_link *link)
{
	struct remote *remote;

	mutex_lock(&link->paths_lock);
	list_for_each_entry(remote, &link->paths, entry) {
		remote->named = false;
		smartio_path_lost(remote->path, 0, false);
	}
	mutex_unlock(&link->paths_lock);
}

/*
 * Whether a driver may not have stopped yet. It has not said, since the link
 * was lost, that it writes to nothing of the session any more that it had.
 */
bool remote_paths_write(struct smartio_link *link, bool forget)
{
	struct remote *remote;
	bool writes = false;

	mutex_lock(&link->paths_lock);
	list_for_each_entry(remote, &link->paths, entry)
		writes |= smartio_path_writes(remote->path, forget);
	mutex_unlock(&link->paths_lock);
	return writes;
}

/* Whether one has not stopped, even if the link waits for it no longer. */
bool remote_paths_unstopped(struct smartio_link *link)
{
	struct remote *remote;
	bool unstopped = false;

	mutex_lock(&link->paths_lock);
	list_for_each_entry(remote, &link->paths, entry)
		unstopped |= smartio_path_unstopped(remote->path);
	mutex_unlock(&link->paths_lock);
	return unstopped;
}

/* A host introduces itself on a link. Returns 0 or -ENOMEM. */
int remote_paths_host(struct smartio_link *link, const uuid_t *host)
{
	if (link->host_known && !uuid_equal(&link->host, host) &&
	    !remote_queue(link, 0, WIRE_PAD, 0, NULL))
		return -ENOMEM;
	link->host_known = true;
	uuid_copy(&link->host, host);
	return 0;
}

/* A link is being set up. */
int remote_paths_init(struct smartio_link *link)
{
	INIT_LIST_HEAD(&link->paths);
	INIT_LIST_HEAD(&link->news);
	mutex_init(&link->paths_lock);
	link->paths_wq = alloc_ordered_workqueue("smartio-%s-paths",
						 WQ_MEM_RECLAIM, link->name);
	return link->paths_wq ? 0 : -ENOMEM;
}

/* A link goes. Its paths are removed when this returns. */
void remote_paths_exit(struct smartio_link *link)
{
	if (!link->paths_wq)
		return;
	while (!remote_queue(link, 0, WIRE_PAD, 0, NULL))
		msleep(20);
	destroy_workqueue(link->paths_wq);
}

/*
 * Takes a message that is no request and no reply. Must not wait for other
 * work. Returns false if there is no memory for it.
 */
bool remote_paths_message(struct smartio_link *link,
			  const struct wire_message *message,
			  const void *payload)
{
	struct remote *remote;
	bool taken = true;

	switch (message->type) {
	case WIRE_DEVICE:
		if (remote_known(link, message, payload))
			return true;
		fallthrough;
	case WIRE_DEVICE_GONE:
	case WIRE_DEVICE_END:
		if (READ_ONCE(link->news_count) >= REMOTE_NEWS_MAX) {
			link->ops->restart(link,
					   "the other side has too much to say about its devices");
			return true;
		}
		return remote_queue(link, READ_ONCE(link->generation),
				    message->type, message->object, payload);
	}
	mutex_lock(&link->paths_lock);
	list_for_each_entry(remote, &link->paths, entry) {
		/* the numbers of before the link came up are not those of now */
		if (!remote->named || remote->device != message->object)
			continue;
		if (smartio_path_full(remote->path))
			link->ops->restart(link, "the other side sends more than a driver takes");
		else if (message->type == WIRE_NOTIFY)
			taken = !smartio_path_notify(remote->path,
						     message->context, payload,
						     message->length);
		else if (message->type == WIRE_ENDED && message->context)
			smartio_path_lost(remote->path, message->context,
					  message->status);
		break;
	}
	mutex_unlock(&link->paths_lock);
	return taken;
}
