// SPDX-License-Identifier: GPL-2.0
/*
 * This host as a lender: sessions of the host on the other side of a link, and
 * its requests.
 */
#include <linux/dma-mapping.h>
#include <linux/irq.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/msi.h>

#include "export.h"
#include "hosts.h"
#include "links.h"
#include "remote.h"

static void remote_session_acquire(struct session *session)
{
	smartio_link_get(session->peer);
}

static void remote_session_release(struct session *session)
{
	smartio_link_put(session->peer);
}

static int remote_session_send(struct session *session,
			       u16 type, int status,
			       const void *payload, size_t size)
{
	struct smartio_link *link = session->peer;
	struct wire_message message = {
		.type = type,
		.object = session->s.export->id,
		.context = session->s.id,
		.status = status,
		.length = size,
	};
	u32 generation;

	if (!smartio_link_is_up(link, &generation))
		return -ENOLINK;
	return link->ops->send(link, generation, &message, payload);
}

static int remote_session_notify(struct session *session,
				 const void *message, size_t size)
{
	return remote_session_send(session, WIRE_NOTIFY, 0, message, size);
}

static void remote_session_ended(struct session *session)
{
	remote_session_send(session, WIRE_ENDED,
			    export_offered(session->s.export), NULL, 0);
}

/* Where the device finds an address of the borrower. */
static int remote_session_dma(struct session *session, u64 addr,
			      size_t size, u64 *device_addr)
{
	struct smartio_link *link = session->peer;

	if (session_domain_is_own(session))
		return session_domain_dma(session, addr, size, device_addr);
	return link->ops->map(link, &session->s.export->pdev->dev, addr, size,
			      device_addr);
}

static int remote_session_irq_target(struct session *session, u64 addr,
				     u64 *device_addr)
{
	struct smartio_link *link = session->peer;

	if (session_domain_is_own(session))
		return session_domain_irq(session, addr, device_addr);
	return link->ops->map_irq(link, &session->s.export->pdev->dev, addr,
				  device_addr);
}

/* The borrower has only chosen the number: the address is this host's own. */
static int remote_session_doorbell(struct session *session, u32 number,
				   u64 *target, u32 *data)
{
	struct smartio_link *link = session->peer;

	if (session_domain_is_own(session))
		return -EINVAL;
	return link->ops->map_doorbell(link, &session->s.export->pdev->dev,
				       number, target, data);
}

/* Fills in the message that the device has to write to reach the borrower. */
static int remote_session_irq_message(struct session *session, u64 addr,
				      u32 data, struct msi_msg *message)
{
	u64 target;
	int ret;

	if (addr == SMARTIO_DOORBELL_ADDR)
		ret = remote_session_doorbell(session, data, &target, &data);
	else
		ret = remote_session_irq_target(session, addr, &target);
	if (ret)
		return ret;
	*message = (struct msi_msg){
		.address_lo = lower_32_bits(target),
		.address_hi = upper_32_bits(target),
		.data = data,
	};
	return 0;
}

/*
 * The vector is allocated and never requested: so this kernel has no reason to
 * write a message of its own into the entry.
 */
static int remote_session_irq(struct session *session, u64 addr, u32 data,
			      unsigned int *vector)
{
	struct smartio_export *export = session->s.export;
	struct msi_msg message;
	int ret, irq;

	ret = remote_session_irq_message(session, addr, data, &message);
	if (ret)
		return ret;
	ret = export_vector_take(export);
	if (ret < 0)
		return ret;
	*vector = ret;
	irq = pci_irq_vector(export->pdev, *vector);
	if (irq < 0) {
		export_vector_give(export, *vector);
		return irq;
	}
	pci_write_msi_msg(irq, &message);
	pci_msi_unmask_irq(irq_get_irq_data(irq));
	return 0;
}

static bool remote_message_equal(const struct msi_msg *a,
				 const struct msi_msg *b)
{
	return a->address_lo == b->address_lo &&
	       a->address_hi == b->address_hi && a->data == b->data;
}

/* The entry is masked while it is written, as PCIe 6.1.4.2 asks for. */
static int remote_session_irq_move(struct session *session,
				   unsigned int vector, u64 from_addr,
				   u32 from_data, u64 addr, u32 data)
{
	int irq = pci_irq_vector(session->s.export->pdev, vector), ret;
	struct msi_msg now, from, to;

	if (irq < 0)
		return irq;
	ret = remote_session_irq_message(session, from_addr, from_data, &from);
	if (!ret)
		ret = remote_session_irq_message(session, addr, data, &to);
	if (ret)
		return ret;
	get_cached_msi_msg(irq, &now);
	/* a request before, whose answer was late */
	if (remote_message_equal(&now, &to))
		return 0;
	if (!remote_message_equal(&now, &from))
		return -ENOENT;
	pci_write_msi_msg(irq, &to);
	return 0;
}

static void remote_session_irq_clear(struct session *session,
				     unsigned int vector)
{
	struct smartio_export *export = session->s.export;
	int irq = pci_irq_vector(export->pdev, vector);

	if (irq > 0)
		pci_msi_mask_irq(irq_get_irq_data(irq));
	export_vector_give(export, vector);
}

/* One piece, for the borrower (over the link) and for the device. */
static int remote_session_segment_alloc(struct session *session,
					struct session_segment *segment)
{
	struct device *dev = &session->s.export->pdev->dev;
	struct smartio_link *link = session->peer;
	struct page *page;

	page = link->ops->pages_alloc(link, session->s.export->id,
				      segment->size, &segment->dma);
	if (!page)
		return -ENOMEM;
	/* Mapped for the link already: CPUs have no part in it. */
	segment->device_addr = dma_map_page_attrs(dev, page, 0, segment->size,
						  DMA_BIDIRECTIONAL,
						  DMA_ATTR_SKIP_CPU_SYNC);
	if (dma_mapping_error(dev, segment->device_addr)) {
		link->ops->pages_free(link, segment->size, page, segment->dma,
				      NULL);
		return -EIO;
	}
	segment->cpu = page_address(page);
	segment->private = page;
	segment->peer_addr = segment->dma;
	return 0;
}

/*
 * Whether the lender or the link ends the session: the borrower's CPUs continue
 * to write before its driver knows that, or when the link is up again.
 */
static bool remote_session_unaware(const struct session *session)
{
	return READ_ONCE(session->state) == SESSION_ENDING &&
	       READ_ONCE(session->why) != SESSION_END_CLOSED;
}

/* Fills @holder in, and returns it, if the borrower may continue to write. */
static const struct smartio_holder *
remote_session_holder(const struct session *session,
		      struct smartio_holder *holder)
{
	holder->owner = session->s.export->id;
	holder->key = session->s.id;
	return remote_session_unaware(session) ? holder : NULL;
}

static void remote_session_segment_free(struct session *session,
					struct session_segment *segment)
{
	struct smartio_link *link = session->peer;
	struct smartio_holder holder;

	dma_unmap_page_attrs(&session->s.export->pdev->dev,
			     segment->device_addr, segment->size,
			     DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
	link->ops->pages_free(link, segment->size, segment->private,
			      segment->dma,
			      remote_session_holder(session, &holder));
}

static void remote_session_registers(const struct session *session,
				     const struct session_bar *bar,
				     struct smartio_registers *registers)
{
	session_registers(session, bar->bar, bar->offset, bar->size, registers);
}

static int remote_session_bar_map(struct session *session,
				  struct session_bar *bar)
{
	struct smartio_link *link = session->peer;
	struct smartio_registers registers;

	remote_session_registers(session, bar, &registers);
	return link->ops->expose(link, &registers, &bar->peer_addr);
}

static void remote_session_bar_unmap(struct session *session,
				     struct session_bar *bar)
{
	struct smartio_link *link = session->peer;
	struct smartio_registers registers;
	struct smartio_holder holder;

	remote_session_registers(session, bar, &registers);
	link->ops->conceal(link, &registers, bar->peer_addr,
			   remote_session_holder(session, &holder));
}

static void remote_session_withdraw(struct session *session)
{
	session_grants_withdraw(session);
	session_peer_withdraw(session);
}

static void remote_session_detach(struct session *session)
{
	struct smartio_link *link = session->peer;

	session_peer_forget(session);
	session_domain_close(session);
	link->ops->unmap(link, &session->s.export->pdev->dev);
}

static const struct session_ops remote_session_ops = {
	.acquire = remote_session_acquire,
	.release = remote_session_release,
	.notify = remote_session_notify,
	.ended = remote_session_ended,
	.dma = remote_session_dma,
	.irq = remote_session_irq,
	.irq_move = remote_session_irq_move,
	.irq_clear = remote_session_irq_clear,
	.irq_target = remote_session_irq_target,
	.segment_alloc = remote_session_segment_alloc,
	.segment_free = remote_session_segment_free,
	.bar_map = remote_session_bar_map,
	.bar_unmap = remote_session_bar_unmap,
	.withdraw = remote_session_withdraw,
	.detach = remote_session_detach,
};

static bool remote_session_of(struct session *session, void *link)
{
	return session->peer == link;
}

/*
 * The link is down. No device reaches anything over it, and all sessions over it
 * are over, when this returns.
 */
void remote_sessions_end(struct smartio_link *link)
{
	session_peers_lost(link);
	session_grants_lost(link);
	sessions_end_everywhere(remote_session_of, link, SESSION_END_LINK);
}

/* ---- what the other side asks for ---- */

static int remote_session_open(struct smartio_link *link, u32 generation,
			       u32 device, unsigned int timeout_ms,
			       struct wire_opened *opened)
{
	/* with time for the answer, in which its borrower may give up */
	unsigned long deadline = jiffies + msecs_to_jiffies(timeout_ms / 4 * 3);
	struct smartio_export *export = export_find(device);
	struct session *session;
	struct smartio_holder holder;
	struct smartio_identity peer;
	u32 current_generation;
	u64 offset;
	int ret;
	struct borrower borrower = {
		.ops = &remote_session_ops,
		.host = &peer.uuid,
		.name = peer.name,
		.link_name = link->name,
		.peer = link,
	};

	if (!export)
		return -ENODEV;
	spin_lock(&link->lock);
	peer = link->peer;
	spin_unlock(&link->lock);
	ret = group_check_again(export);
	if (!ret)
		ret = session_open(export, &borrower, &session);
	if (ret)
		goto put_export;
	holder.owner = export->id;
	holder.key = 0;
	link->ops->stopped(link, &holder);
	/*
	 * If the link went down meanwhile, the end of its sessions may have
	 * missed this one. Inside the session, so that a device that is taken
	 * back is not mapped after all its mappings were ended.
	 */
	ret = session_enter(session);
	if (!ret) {
		ret = -ENOLINK;
		if (smartio_link_is_up(link, &current_generation) &&
		    current_generation == generation)
			ret = link->ops->map_memory(link, &export->pdev->dev,
						    &offset);
		session_leave(session);
	}
	if (!ret && time_after(jiffies, deadline))
		ret = -ETIMEDOUT;	/* its borrower waits no longer */
	if (ret) {
		session_end(session, SESSION_END_LINK);
	} else {
		opened->session = cpu_to_le64(session->s.id);
		opened->dma_offset = cpu_to_le64(offset);
		opened->fences = cpu_to_le32(smartio_host_fences(&peer.uuid));
		opened->rsvd = 0;
	}
	session_put(session);
put_export:
	export_put(export);
	return ret;
}

/*
 * An unknown session is over. The borrower's request still says that it has
 * stopped.
 */
static int remote_session_close(struct smartio_link *link, u64 id)
{
	struct session *session = session_find(id);
	struct smartio_holder holder = {};
	int ret = 0;

	if (session && session->peer == link)
		session_end(session, SESSION_END_CLOSED);
	else if (session)
		ret = -EACCES;
	if (session)
		session_put(session);
	if (!ret && id) {
		holder.key = id;
		link->ops->stopped(link, &holder);
	}
	return ret;
}

static int remote_session_revoke(struct smartio_link *link, u64 id)
{
	struct session *session = session_find(id);
	int ret = 0;
	bool same;

	if (!session)
		return 0;
	spin_lock(&link->lock);
	same = uuid_equal(&session->s.host, &link->peer.uuid);
	spin_unlock(&link->lock);
	if (same)
		session_end(session, SESSION_END_LENDER);
	else
		ret = -EACCES;
	session_put(session);
	return ret;
}

static int remote_session_segment(struct session *session,
				  const struct wire_range *range,
				  struct wire_segment *reply)
{
	u64 size = le64_to_cpu(range->size);
	struct session_segment segment;
	int ret;

	ret = session_segment_alloc(session, size, NULL, 0, &segment);
	if (ret)
		return ret;
	reply->handle = cpu_to_le32(segment.handle);
	reply->peer_addr = cpu_to_le64(segment.peer_addr);
	reply->device_addr = cpu_to_le64(segment.device_addr);
	return 0;
}

static int remote_session_bar(struct session *session,
			      const struct wire_range *range,
			      struct wire_segment *reply)
{
	u64 peer_addr;
	int ret;

	ret = session_bar_map(session, le32_to_cpu(range->bar),
			      le64_to_cpu(range->offset),
			      le64_to_cpu(range->size), &peer_addr);
	if (!ret)
		reply->peer_addr = cpu_to_le64(peer_addr);
	return ret;
}

/* Handles requests in a session: the session doesn't end meanwhile. */
static int remote_session_inside(struct session *session,
				 const struct wire_message *message,
				 const void *payload, void *reply,
				 size_t *reply_size)
{
	const struct wire_irq_move *move = payload;
	const struct wire_granted *granted = payload;
	const struct wire_range *range = payload;
	const struct wire_peer *peer = payload;
	int ret;

	switch (message->type) {
	case WIRE_REQUEST:
		return session->s.export->ops->request(&session->s, payload,
						       message->length, reply,
						       reply_size);
	case WIRE_SEGMENT_ALLOC:
		ret = remote_session_segment(session, range, reply);
		*reply_size = sizeof(struct wire_segment);
		return ret;
	case WIRE_SEGMENT_FREE:
		*reply_size = 0;
		return session_segment_free(session,
					    le32_to_cpu(range->handle));
	case WIRE_MAP_BAR:
		ret = remote_session_bar(session, range, reply);
		*reply_size = sizeof(struct wire_segment);
		return ret;
	case WIRE_OWN_ADDRESSES:
		*reply_size = sizeof(struct wire_addresses);
		return session_domain_open(session, le64_to_cpu(range->offset),
					   le64_to_cpu(range->size),
					   range->handle, reply);
	case WIRE_PEER_MAP:
		*reply_size = 0;
		return session_peer_map(session, peer);
	case WIRE_PEER_UNMAP:
		*reply_size = 0;
		return session_peer_unmap(session, le64_to_cpu(peer->addr),
					  le64_to_cpu(peer->size));
	case WIRE_PEER_GRANT:
		*reply_size = sizeof(struct wire_granted);
		return session_grant_add(session, payload, reply);
	case WIRE_PEER_REVOKE:
		*reply_size = 0;
		return session_grant_revoke(session,
					    le64_to_cpu(granted->grant));
	case WIRE_IRQ_MOVE:
		*reply_size = 0;
		return session_irq_move(session, le32_to_cpu(move->vector),
					le32_to_cpu(move->serial),
					le64_to_cpu(move->from_addr),
					le32_to_cpu(move->from_data),
					le64_to_cpu(move->to_addr),
					le32_to_cpu(move->to_data));
	default:
		return -EINVAL;
	}
}

/* A session begins or ends. */
static int remote_session_asked(struct smartio_link *link, u32 generation,
				const struct wire_message *message,
				const void *payload, void *reply,
				size_t *reply_size)
{
	*reply_size = 0;
	switch (message->type) {
	case WIRE_OPEN_SESSION:
		*reply_size = sizeof(struct wire_opened);
		return remote_session_open(link, generation, message->object,
					   message->timeout_ms, reply);
	case WIRE_CLOSE_SESSION:
		return remote_session_close(link, message->context);
	default:
		return remote_session_revoke(link, message->context);
	}
}

static int remote_session_request(struct smartio_link *link, u32 generation,
				  const struct wire_message *message,
				  const void *payload, void *reply,
				  size_t *reply_size)
{
	struct session *session = session_find(message->context);
	int ret = -ENOLINK;

	if (!session)
		return ret;
	if (session->peer == link)
		ret = session_enter(session);
	if (!ret) {
		ret = remote_session_inside(session, message, payload, reply,
					    reply_size);
		session_leave(session);
	}
	session_put(session);
	return ret;
}

/* ---- what another lender asks for ---- */

static int remote_peer_take(struct smartio_link *link, u32 generation,
			    const struct wire_message *message,
			    const void *payload, void *reply,
			    size_t *reply_size)
{
	*reply_size = sizeof(struct wire_segment);
	return session_grant_take(link, generation, payload, reply);
}

/* After the reply, nothing here uses the registers that are taken back. */
static int remote_peer_end(struct smartio_link *link, u32 generation,
			   const struct wire_message *message,
			   const void *payload, void *reply, size_t *reply_size)
{
	const struct wire_granted *granted = payload;

	*reply_size = 0;
	session_peers_ended(link, le64_to_cpu(granted->grant));
	return 0;
}

/* ---- exports, announced to the other side ---- */

static void remote_announce(struct smartio_link *link,
			    struct smartio_export *export, bool offered)
{
	struct wire_device device = {
		.flags = cpu_to_le32(offered ? WIRE_OFFERED : 0),
	};
	struct wire_message message = {
		.type = WIRE_DEVICE,
		.object = export->id,
		.length = sizeof(device),
	};
	u32 generation;

	strscpy(device.service, export->service);
	strscpy(device.pci, pci_name(export->pdev));
	if (smartio_link_is_up(link, &generation))
		link->ops->send(link, generation, &message, &device);
}

static void remote_announce_gone(struct smartio_link *link,
				 struct smartio_export *export)
{
	struct wire_message message = {
		.type = WIRE_DEVICE_GONE,
		.object = export->id,
	};
	u32 generation;

	if (smartio_link_is_up(link, &generation))
		link->ops->send(link, generation, &message, NULL);
}

static bool remote_export_gone(struct smartio_export *export, bool *offered)
{
	bool gone;

	mutex_lock(&export->lock);
	gone = export->gone;
	*offered = !export->suspended;
	mutex_unlock(&export->lock);
	return gone;
}

/* The link has come up. */
void remote_announce_all(struct smartio_link *link)
{
	struct wire_message message = { .type = WIRE_DEVICE_END };
	struct smartio_export *export;
	u32 generation, last = 0;

	/* without a lock: a host that reads nothing must not stop the others */
	while ((export = export_after(last))) {
		bool offered;

		last = export->id;
		if (!remote_export_gone(export, &offered)) {
			remote_announce(link, export, offered);
			/* its end may have been announced before that */
			if (remote_export_gone(export, &offered))
				remote_announce_gone(link, export);
		}
		export_put(export);
	}
	if (smartio_link_is_up(link, &generation))
		link->ops->send(link, generation, &message, NULL);
}

struct remote_announcement {
	struct smartio_export *export;
	bool offered;
};

static void remote_announce_one(struct smartio_link *link, void *arg)
{
	struct remote_announcement *a = arg;

	remote_announce(link, a->export, a->offered);
}

static void remote_announce_gone_one(struct smartio_link *link, void *export)
{
	remote_announce_gone(link, export);
}

static void remote_offered(struct smartio_export *export, bool offered)
{
	struct remote_announcement a = { .export = export, .offered = offered };

	links_for_each(remote_announce_one, &a);
	/* its end may have been announced before that */
	if (remote_export_gone(export, &offered))
		links_for_each(remote_announce_gone_one, export);
}

static int remote_added(struct smartio_export *export)
{
	remote_offered(export, true);
	return 0;
}

static void remote_removed_one(struct smartio_link *link, void *arg)
{
	struct smartio_export *export = arg;

	remote_announce_gone(link, export);
	link->ops->unmap(link, &export->pdev->dev);
	link->ops->pages_forget(link, export->id);
}

static void remote_removed(struct smartio_export *export)
{
	links_for_each(remote_removed_one, export);
}

static struct export_listener remote_listener = {
	.added = remote_added,
	.offered = remote_offered,
	.removed = remote_removed,
};

void __init remote_sessions_init(void)
{
	export_listener_add(&remote_listener);
	rpc_register(WIRE_OPEN_SESSION, remote_session_asked);
	rpc_register(WIRE_CLOSE_SESSION, remote_session_asked);
	rpc_register(WIRE_REVOKE, remote_session_asked);
	rpc_register(WIRE_REQUEST, remote_session_request);
	rpc_register(WIRE_SEGMENT_ALLOC, remote_session_request);
	rpc_register(WIRE_SEGMENT_FREE, remote_session_request);
	rpc_register(WIRE_MAP_BAR, remote_session_request);
	rpc_register(WIRE_IRQ_MOVE, remote_session_request);
	rpc_register(WIRE_OWN_ADDRESSES, remote_session_request);
	rpc_register(WIRE_PEER_MAP, remote_session_request);
	rpc_register(WIRE_PEER_UNMAP, remote_session_request);
	rpc_register(WIRE_PEER_GRANT, remote_session_request);
	rpc_register(WIRE_PEER_REVOKE, remote_session_request);
	rpc_register(WIRE_PEER_TAKE, remote_peer_take);
	rpc_register(WIRE_PEER_END, remote_peer_end);
}
