// SPDX-License-Identifier: GPL-2.0
/*
 * This host as a lender: sessions of the host on the other side of a link, and
 * what it may ask for.
 */
#include <linux/dma-mapping.h>
#include <linux/irq.h>
#include <linux/module.h>
#include <linux/msi.h>
#include <linux/slab.h>

#include "link.h"

static void remote_session_acquire(struct lend_session *session)
{
	link_get(session->link);
}

static void remote_session_release(struct lend_session *session)
{
	link_put(session->link);
}

static int remote_session_send(struct lend_session *session,
			       enum wire_type type, int status,
			       const void *payload, size_t size)
{
	struct smartio_link *link = session->link;
	struct wire_message message = {
		.type = type,
		.device = session->s.lent->id,
		.session = session->s.id,
		.status = status,
		.length = size,
	};
	u32 generation;

	if (!link_is_up(link, &generation))
		return -ENOLINK;
	return link_send(link, generation, &message, payload);
}

static int remote_session_notify(struct lend_session *session,
				 const void *message, size_t size)
{
	return remote_session_send(session, WIRE_NOTIFY, 0, message, size);
}

static void remote_session_ended(struct lend_session *session)
{
	struct smartio_lent *lent = session->s.lent;
	bool offered;

	mutex_lock(&lent->lock);
	offered = !lent->suspended && !lent->gone;
	mutex_unlock(&lent->lock);
	remote_session_send(session, WIRE_ENDED, offered, NULL, 0);
}

/* Where the device finds an address of the borrower. */
static int remote_session_dma(struct lend_session *session, u64 addr,
			      size_t size, u64 *device_addr)
{
	struct smartio_link *link = session->link;
	unsigned int mw;
	dma_addr_t dma;
	u64 offset;
	int ret;

	ret = link_window_reach(link, addr, size, &mw, &offset);
	if (!ret)
		ret = link_map_device(link, session->s.lent, mw, &dma);
	if (!ret)
		*device_addr = dma + offset;
	return ret;
}

/*
 * The vector is allocated and never requested: so this kernel has no reason to
 * write a message of its own into the entry.
 */
static int remote_session_irq(struct lend_session *session, u64 addr, u32 data,
			      unsigned int *vector)
{
	struct smartio_lent *lent = session->s.lent;
	struct msi_msg message = { .data = data };
	u64 target;
	int ret, irq;

	if (addr < LINK_MSI_BASE || addr >= LINK_MSI_BASE + LINK_MSI_SIZE ||
	    addr % 4)
		return -EINVAL;
	ret = remote_session_dma(session, addr, 4, &target);
	if (ret)
		return ret;
	ret = lend_vector_take(lent);
	if (ret < 0)
		return ret;
	*vector = ret;
	irq = pci_irq_vector(lent->pdev, *vector);
	if (irq < 0) {
		lend_vector_give(lent, *vector);
		return irq;
	}
	message.address_lo = lower_32_bits(target);
	message.address_hi = upper_32_bits(target);
	pci_write_msi_msg(irq, &message);
	pci_msi_unmask_irq(irq_get_irq_data(irq));
	return 0;
}

static void remote_session_irq_clear(struct lend_session *session,
				     unsigned int vector)
{
	struct smartio_lent *lent = session->s.lent;
	int irq = pci_irq_vector(lent->pdev, vector);

	if (irq > 0)
		pci_msi_mask_irq(irq_get_irq_data(irq));
	lend_vector_give(lent, vector);
}

/* One piece, for the borrower (through this host's NTB) and for the device. */
static int remote_session_segment_alloc(struct lend_session *session,
					struct lend_segment *segment)
{
	struct device *dev = &session->s.lent->pdev->dev;
	struct smartio_link *link = session->link;
	struct page *page;

	page = link_pages_alloc(link, segment->size, &segment->dma);
	if (!page)
		return -ENOMEM;
	/* Mapped for the NTB already: CPUs have no part in it. */
	segment->device_addr = dma_map_page_attrs(dev, page, 0, segment->size,
						  DMA_BIDIRECTIONAL,
						  DMA_ATTR_SKIP_CPU_SYNC);
	if (dma_mapping_error(dev, segment->device_addr)) {
		link_pages_free(link, segment->size, page, segment->dma);
		return -EIO;
	}
	segment->cpu = page_address(page);
	segment->private = page;
	segment->peer_addr = segment->dma;
	return 0;
}

/*
 * The lender ends it, of which the borrower doesn't know yet: its CPUs go on to
 * write.
 */
static bool remote_session_unaware(const struct lend_session *session)
{
	return READ_ONCE(session->state) == LEND_ENDING &&
	       READ_ONCE(session->why) == LEND_END_LENDER;
}

static void remote_session_segment_free(struct lend_session *session,
					struct lend_segment *segment)
{
	dma_unmap_page_attrs(&session->s.lent->pdev->dev, segment->device_addr,
			     segment->size, DMA_BIDIRECTIONAL,
			     DMA_ATTR_SKIP_CPU_SYNC);
	if (remote_session_unaware(session))
		link_park_pages(session->link, session, segment->size,
				segment->private, segment->dma);
	else
		link_pages_free(session->link, segment->size, segment->private,
				segment->dma);
}

static u64 remote_bar_size(struct pci_dev *pdev, unsigned int bar)
{
	return PAGE_ALIGN(pci_resource_len(pdev, bar));
}

/*
 * With an IOMMU exactly these pages become reachable. Without one a window
 * has to lead to the whole of the BAR, as long as a session maps part of it.
 */
static int remote_session_bar_map(struct lend_session *session,
				  struct lend_bar *bar)
{
	struct pci_dev *pdev = session->s.lent->pdev;
	struct smartio_link *link = session->link;
	dma_addr_t dma;
	int ret;

	if (link->iommu) {
		dma = dma_map_resource(link->dma,
				       pci_resource_start(pdev, bar->bar) +
				       bar->offset, bar->size,
				       DMA_BIDIRECTIONAL, 0);
		if (dma_mapping_error(link->dma, dma))
			return -EIO;
		bar->peer_addr = dma;
		return 0;
	}
	ret = link_window_need(link, pci_bus_address(pdev, bar->bar),
			       remote_bar_size(pdev, bar->bar), pci_name(pdev));
	if (!ret)
		bar->peer_addr = pci_bus_address(pdev, bar->bar) + bar->offset;
	return ret;
}

static void remote_session_bar_unmap(struct lend_session *session,
				     struct lend_bar *bar)
{
	struct pci_dev *pdev = session->s.lent->pdev;
	u64 base = pci_bus_address(pdev, bar->bar);
	u64 size = remote_bar_size(pdev, bar->bar);
	struct smartio_link *link = session->link;
	bool unaware = remote_session_unaware(session);

	if (!link->iommu && unaware) {
		link_park_window(link, session, base, size);
	} else if (!link->iommu) {
		link_window_done(link, base, size);
	} else if (unaware) {
		link_park_resource(link, session, bar->peer_addr, bar->size);
	} else {
		dma_unmap_resource(link->dma, bar->peer_addr, bar->size,
				   DMA_BIDIRECTIONAL, 0);
		link_unmapped(link);
	}
}

static const struct lend_session_ops remote_session_ops = {
	.acquire = remote_session_acquire,
	.release = remote_session_release,
	.notify = remote_session_notify,
	.ended = remote_session_ended,
	.dma = remote_session_dma,
	.irq = remote_session_irq,
	.irq_clear = remote_session_irq_clear,
	.segment_alloc = remote_session_segment_alloc,
	.segment_free = remote_session_segment_free,
	.bar_map = remote_session_bar_map,
	.bar_unmap = remote_session_bar_unmap,
};

static bool remote_session_of(struct lend_session *session, void *link)
{
	return session->link == link;
}

/**
 * remote_sessions_end() - the link is down
 * @link: the link
 *
 * All sessions over it are over when this returns.
 * Context: process, may sleep.
 */
void remote_sessions_end(struct smartio_link *link)
{
	lend_end_matching(remote_session_of, link, LEND_END_LINK);
}

/* ---- what the other side asks for ---- */

static int remote_session_open(struct smartio_link *link, u32 generation,
			       u32 device, struct wire_opened *opened)
{
	struct smartio_lent *lent = lend_find(device);
	char name[SMARTIO_NAME_LEN];
	struct lend_session *session;
	u32 current_generation;
	dma_addr_t dma;
	uuid_t host;
	u64 base;
	unsigned int mw;
	int ret;
	struct lend_borrower who = {
		.ops = &remote_session_ops,
		.host = &host,
		.name = name,
		.link_name = link->name,
		.link = link,
	};

	if (!lent)
		return -ENODEV;
	spin_lock(&link->lock);
	uuid_copy(&host, &link->peer);
	strscpy(name, link->peer_name);
	mw = link->peer_own[0].mw;
	base = link->peer_own[0].base;
	spin_unlock(&link->lock);
	ret = lend_open(lent, &who, &session);
	if (ret)
		goto put_lent;
	link_parked_reopened(link, lent->id);
	/*
	 * If the link went down meanwhile, whoever ends its sessions may have
	 * missed this one. Inside the session, so that a device that is taken
	 * back is not mapped after all its mappings were ended.
	 */
	ret = lend_session_enter(session);
	if (!ret) {
		ret = -ENOLINK;
		if (link_is_up(link, &current_generation) &&
		    current_generation == generation)
			ret = link_map_device(link, lent, mw, &dma);
		lend_session_leave(session);
	}
	if (ret) {
		lend_end(session, LEND_END_LINK);
	} else {
		opened->session = cpu_to_le64(session->s.id);
		opened->dma_offset = cpu_to_le64(dma - base);
		opened->fences = cpu_to_le32(smartio_host_fences(&host));
		opened->rsvd = 0;
	}
	lend_session_put(session);
put_lent:
	lend_put(lent);
	return ret;
}

/*
 * A session that is unknown is over; that it asks all the same says that it has
 * stopped.
 */
static int remote_session_close(struct smartio_link *link, u64 id)
{
	struct lend_session *session = lend_session_find(id);
	int ret = 0;

	if (session && session->link == link)
		lend_end(session, LEND_END_CLOSED);
	else if (session)
		ret = -EACCES;
	if (session)
		lend_session_put(session);
	if (!ret && id)
		link_parked_stopped(link, id);
	return ret;
}

static int remote_session_revoke(struct smartio_link *link, u64 id)
{
	struct lend_session *session = lend_session_find(id);
	int ret = 0;
	bool same;

	if (!session)
		return 0;
	spin_lock(&link->lock);
	same = uuid_equal(&session->s.host, &link->peer);
	spin_unlock(&link->lock);
	if (same)
		lend_end(session, LEND_END_LENDER);
	else
		ret = -EACCES;
	lend_session_put(session);
	return ret;
}

static int remote_session_segment(struct lend_session *session,
				  const struct wire_range *range,
				  struct wire_segment *reply)
{
	u64 size = le64_to_cpu(range->size);
	struct lend_segment segment;
	int ret;

	ret = lend_segment_alloc(session, size, NULL, 0, &segment);
	if (ret)
		return ret;
	reply->handle = cpu_to_le32(segment.handle);
	reply->peer_addr = cpu_to_le64(segment.peer_addr);
	reply->device_addr = cpu_to_le64(segment.device_addr);
	return 0;
}

static int remote_session_bar(struct lend_session *session,
			      const struct wire_range *range,
			      struct wire_segment *reply)
{
	u64 peer_addr;
	int ret;

	ret = lend_bar_map(session, le32_to_cpu(range->bar),
			   le64_to_cpu(range->offset),
			   le64_to_cpu(range->size), &peer_addr);
	if (!ret)
		reply->peer_addr = cpu_to_le64(peer_addr);
	return ret;
}

/* What is asked in a session: the session doesn't end meanwhile. */
static int remote_session_inside(struct lend_session *session,
				 const struct wire_message *message,
				 const void *payload, void *reply,
				 size_t *reply_size)
{
	const struct wire_range *range = payload;
	int ret;

	switch (message->type) {
	case WIRE_REQUEST:
		return session->s.lent->ops->request(&session->s, payload,
						     message->length, reply,
						     reply_size);
	case WIRE_SEGMENT_ALLOC:
		ret = remote_session_segment(session, range, reply);
		*reply_size = sizeof(struct wire_segment);
		return ret;
	case WIRE_SEGMENT_FREE:
		*reply_size = 0;
		return lend_segment_free(session, le32_to_cpu(range->handle));
	case WIRE_MAP_BAR:
		ret = remote_session_bar(session, range, reply);
		*reply_size = sizeof(struct wire_segment);
		return ret;
	default:
		return -EINVAL;
	}
}

/**
 * remote_session_request() - the other side asks for something
 * @link: the link
 * @generation: in which it asked
 * @message: the header, checked
 * @payload: checked
 * @reply: zeroed; at least a page
 * @reply_size: room for the reply of a WIRE_REQUEST; then its size
 *
 * Context: process, may sleep; many at once.
 * Return: the reply's status.
 */
int remote_session_request(struct smartio_link *link, u32 generation,
			   const struct wire_message *message,
			   const void *payload, void *reply,
			   size_t *reply_size)
{
	struct lend_session *session;
	int ret = -ENOLINK;

	switch (message->type) {
	case WIRE_OPEN_SESSION:
		*reply_size = sizeof(struct wire_opened);
		return remote_session_open(link, generation, message->device,
					   reply);
	case WIRE_CLOSE_SESSION:
		*reply_size = 0;
		return remote_session_close(link, message->session);
	case WIRE_REVOKE:
		*reply_size = 0;
		return remote_session_revoke(link, message->session);
	case WIRE_FENCE:
		*reply_size = 0;
		return fence_asked(link, generation, payload,
				   message->timeout_ms);
	case WIRE_HOSTS:
		*reply_size = smartio_hosts_fill(reply, *reply_size);
		return 0;
	}
	session = lend_session_find(message->session);
	if (!session)
		return ret;
	if (session->link == link)
		ret = lend_session_enter(session);
	if (!ret) {
		ret = remote_session_inside(session, message, payload, reply,
					    reply_size);
		lend_session_leave(session);
	}
	lend_session_put(session);
	return ret;
}

/* ---- what this host lends, told to the other side ---- */

/**
 * remote_announce() - name a device
 * @link: the link
 * @lent: the device
 * @offered: whether it may be opened now
 *
 * Context: process, may sleep.
 */
void remote_announce(struct smartio_link *link, struct smartio_lent *lent,
		     bool offered)
{
	struct wire_device device = {
		.flags = cpu_to_le32(offered ? WIRE_OFFERED : 0),
	};
	struct wire_message message = {
		.type = WIRE_DEVICE,
		.device = lent->id,
		.length = sizeof(device),
	};
	u32 generation;

	strscpy(device.service, lent->service);
	strscpy(device.pci, pci_name(lent->pdev));
	if (link_is_up(link, &generation))
		link_send(link, generation, &message, &device);
}

static void remote_announce_gone(struct smartio_link *link,
				 struct smartio_lent *lent)
{
	struct wire_message message = {
		.type = WIRE_DEVICE_GONE,
		.device = lent->id,
	};
	u32 generation;

	if (link_is_up(link, &generation))
		link_send(link, generation, &message, NULL);
}

static bool remote_lent_gone(struct smartio_lent *lent, bool *offered)
{
	bool gone;

	mutex_lock(&lent->lock);
	gone = lent->gone;
	*offered = !lent->suspended;
	mutex_unlock(&lent->lock);
	return gone;
}

/**
 * remote_announce_all() - the link has come up
 * @link: the link
 *
 * Context: process, may sleep.
 */
void remote_announce_all(struct smartio_link *link)
{
	struct wire_message message = { .type = WIRE_DEVICE_END };
	struct smartio_lent *lent;
	u32 generation, last = 0;

	/* without a lock: a host that reads nothing must not stop the others */
	while ((lent = lend_after(last))) {
		bool offered;

		last = lent->id;
		if (!remote_lent_gone(lent, &offered)) {
			remote_announce(link, lent, offered);
			/* its end may have been told before that */
			if (remote_lent_gone(lent, &offered))
				remote_announce_gone(link, lent);
		}
		lend_put(lent);
	}
	if (link_is_up(link, &generation))
		link_send(link, generation, &message, NULL);
}

struct remote_announcement {
	struct smartio_lent *lent;
	bool offered;
};

static void remote_announce_one(struct smartio_link *link, void *arg)
{
	struct remote_announcement *a = arg;

	remote_announce(link, a->lent, a->offered);
}

/**
 * smartio_links_announce() - tell all linked hosts of a device
 * @lent: the device
 * @offered: whether it may be opened now
 *
 * Context: process, may sleep.
 */
void smartio_links_announce(struct smartio_lent *lent, bool offered)
{
	struct remote_announcement a = { .lent = lent, .offered = offered };

	link_for_each(remote_announce_one, &a);
}

static void remote_unlend_one(struct smartio_link *link, void *arg)
{
	struct smartio_lent *lent = arg;

	remote_announce_gone(link, lent);
	link_unmap_device(link, lent);
}

/**
 * smartio_links_unlend() - a device is taken back
 * @lent: the device, without sessions, and out of the list
 *
 * Context: process, may sleep.
 */
void smartio_links_unlend(struct smartio_lent *lent)
{
	link_for_each(remote_unlend_one, lent);
}

/* ---- which links lead where ---- */

struct remote_links {
	const uuid_t *host;
	char *buf;
	ssize_t len;
};

static void remote_links_one(struct smartio_link *link, void *arg)
{
	struct remote_links *links = arg;
	bool match;

	spin_lock(&link->lock);
	match = link->known && uuid_equal(&link->peer, links->host);
	spin_unlock(&link->lock);
	if (match)
		links->len += sysfs_emit_at(links->buf, links->len, "%s\n",
					    link->name);
}

/**
 * smartio_links_of() - which links lead to a host
 * @host: the host
 * @buf: a page, of sysfs
 *
 * Context: process, may sleep.
 * Return: bytes written.
 */
ssize_t smartio_links_of(const uuid_t *host, char *buf)
{
	struct remote_links links = { .host = host, .buf = buf };

	link_for_each(remote_links_one, &links);
	return links.len;
}

struct remote_leads {
	const uuid_t *host;
	bool up;
};

static void remote_leads_one(struct smartio_link *link, void *arg)
{
	struct remote_leads *leads = arg;

	spin_lock(&link->lock);
	leads->up |= link->state == LINK_UP &&
		     uuid_equal(&link->peer, leads->host);
	spin_unlock(&link->lock);
}

/**
 * smartio_linked() - whether a link to a host is up
 * @host: the host
 *
 * Context: process, may sleep.
 * Return: true or false.
 */
bool smartio_linked(const uuid_t *host)
{
	struct remote_leads leads = { .host = host };

	link_for_each(remote_leads_one, &leads);
	return leads.up;
}
