// SPDX-License-Identifier: GPL-2.0
/* The operations of a path over a link: requests to its lender. */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "messages.h"
#include "path.h"
#include "remote.h"

/*
 * The lender may have to wait for the device, or for its own host, before a
 * session begins or is revoked.
 */
#define REMOTE_SESSION_MS	60000
/*
 * It resets the device at the end of a session. The PCI core waits 60 s for one
 * that does not return, and tries another method then. Other paths keep the
 * link meanwhile.
 */
#define REMOTE_CLOSE_MS		240000
#define REMOTE_CALL_MS		10000
/* It may have to wait for another lender, SESSION_PEER_MS. */
#define REMOTE_PEER_MS		15000

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
			 REMOTE_CLOSE_MS);
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

static void remote_irq_over(struct smartio_path *path, struct smartio_irq *irq)
{
	struct remote *remote = path->private;

	remote->link->ops->irq_over(remote->link, irq);
}

static int remote_irq_move(struct smartio_path *path, u64 id,
			   unsigned int vector,
			   const struct smartio_irq_message *from,
			   const struct smartio_irq_message *to,
			   unsigned int timeout_ms)
{
	struct remote *remote = path->private;
	struct wire_irq_move move = {
		.from_addr = cpu_to_le64(from->addr),
		.from_data = cpu_to_le32(from->data),
		.serial = cpu_to_le32(atomic_inc_return(&remote->irq_moves)),
		.to_addr = cpu_to_le64(to->addr),
		.to_data = cpu_to_le32(to->data),
		.vector = cpu_to_le32(vector),
	};
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

const struct smartio_path_ops remote_path_ops = {
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
	.irq_over = remote_irq_over,
	.irq_move = remote_irq_move,
	.irq_settled = remote_irq_settled,
	.release = remote_release,
};
