// SPDX-License-Identifier: GPL-2.0
/*
 * What a borrower may still write to although the lender has ended its session:
 * it hears of that a moment later, and its CPUs may have written meanwhile. So
 * that this doesn't land in what the memory, the address or the window is next,
 * they are kept, unused, until the borrower has said that it has stopped, or
 * the windows are shut.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/slab.h>

#include "link.h"

/* Of a few sessions; a borrower that never says that it stopped loses its link. */
#define LINK_PARKED_MAX	(8ULL * LEND_SEGMENT_BYTES_MAX)

enum link_parked_kind {
	LINK_PARKED_PAGES,
	LINK_PARKED_ADDRESSES,
	LINK_PARKED_WINDOW,
};

struct link_parked {
	struct list_head entry;
	enum link_parked_kind kind;
	u64 session;
	u32 device;
	u64 addr;
	u64 size;
	struct page *page;
	bool unmapped;
};

static void link_parked_drop(struct smartio_link *link,
			     struct link_parked *parked)
{
	switch (parked->kind) {
	case LINK_PARKED_PAGES:
		link_pages_free(link, parked->size, parked->page, parked->addr);
		break;
	case LINK_PARKED_ADDRESSES:
		if (parked->unmapped)
			break;
		dma_unmap_resource(link->dma, parked->addr, parked->size,
				   DMA_BIDIRECTIONAL, 0);
		link_unmapped(link);
		break;
	case LINK_PARKED_WINDOW:
		link_window_release(link, parked->addr, parked->size);
		break;
	}
	kfree(parked);
}

static u64 link_parked_memory(const struct link_parked *parked)
{
	return parked->kind == LINK_PARKED_PAGES ? parked->size : 0;
}

/* Takes over what @with describes. */
static void link_park(struct smartio_link *link,
		      const struct lend_session *session,
		      const struct link_parked *with)
{
	/* Small, and nobody could be told that it failed. */
	struct link_parked *parked = kmemdup(with, sizeof(*with),
					     GFP_NOIO | __GFP_NOFAIL);
	bool too_much = false;

	parked->session = session->s.id;
	parked->device = session->s.lent->id;
	mutex_lock(&link->parked_lock);
	/* Whoever shuts the windows comes here for all of it afterwards. */
	if (READ_ONCE(link->open)) {
		list_add_tail(&parked->entry, &link->parked);
		parked = NULL;
		link->parked_bytes += link_parked_memory(with);
		too_much = link->parked_bytes > LINK_PARKED_MAX;
	}
	mutex_unlock(&link->parked_lock);
	if (too_much)
		link_restart(link, "the other side doesn't say that it has stopped");
	if (parked)
		link_parked_drop(link, parked);
}

/**
 * link_park_pages() - instead of link_pages_free()
 * @link: the link
 * @session: whose they were; the device uses them no more
 * @size: bytes
 * @page: the first one
 * @dma: where the other side finds them
 *
 * Context: process, may sleep.
 */
void link_park_pages(struct smartio_link *link,
		     const struct lend_session *session, size_t size,
		     struct page *page, dma_addr_t dma)
{
	struct link_parked parked = {
		.kind = LINK_PARKED_PAGES,
		.addr = dma,
		.size = size,
		.page = page,
	};

	link_park(link, session, &parked);
}

/*
 * The addresses lead to the page to which a window that is shut leads. The DMA
 * API has no word for that; only by keeping them mapped are they kept.
 */
static bool link_lead_away(struct smartio_link *link, dma_addr_t dma, u64 size)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(link->dma);
	phys_addr_t away = iommu_iova_to_phys(domain, link->quarantine_dma) &
			   PAGE_MASK;
	u64 done;

	/* The BAR may begin within a page. */
	size = PAGE_ALIGN(size + offset_in_page(dma));
	dma &= PAGE_MASK;
	WARN_ON(iommu_unmap(domain, dma, size) != size);
	for (done = 0; done < size; done += PAGE_SIZE)
		if (iommu_map(domain, dma + done, away, PAGE_SIZE,
			      IOMMU_READ | IOMMU_WRITE, GFP_NOIO))
			break;
	if (done < size && done)
		iommu_unmap(domain, dma, done);
	return done >= size;
}

/**
 * link_park_resource() - instead of dma_unmap_resource(), with an IOMMU
 * @link: the link
 * @session: whose it was
 * @dma: where the other side found it
 * @size: whole pages
 *
 * Nothing of the other side reaches it when this returns.
 * Context: process, may sleep.
 */
void link_park_resource(struct smartio_link *link,
			const struct lend_session *session, dma_addr_t dma,
			u64 size)
{
	struct link_parked parked = {
		.kind = LINK_PARKED_ADDRESSES,
		.addr = dma,
		.size = size,
	};

	/* Without page tables for it these addresses are never used again. */
	parked.unmapped = !link_lead_away(link, dma, size);
	link_park(link, session, &parked);
}

/**
 * link_park_window() - instead of link_window_done()
 * @link: the link
 * @session: whose it was
 * @base: as for link_window_need(), which succeeded
 * @size: as for that
 *
 * If nobody else needs it the other side reaches nothing there when this
 * returns, and the window leads nowhere else.
 * Context: process, may sleep.
 */
void link_park_window(struct smartio_link *link,
		      const struct lend_session *session, u64 base, u64 size)
{
	struct link_parked parked = {
		.kind = LINK_PARKED_WINDOW,
		.addr = base,
		.size = size,
	};

	link_window_cut(link, base, size);
	link_park(link, session, &parked);
}

static void link_parked_drop_matching(struct smartio_link *link, u64 session,
				      u32 device)
{
	struct link_parked *parked, *next;
	LIST_HEAD(over);

	mutex_lock(&link->parked_lock);
	list_for_each_entry_safe(parked, next, &link->parked, entry)
		if ((!session || parked->session == session) &&
		    (!device || parked->device == device)) {
			list_move_tail(&parked->entry, &over);
			link->parked_bytes -= link_parked_memory(parked);
		}
	mutex_unlock(&link->parked_lock);
	list_for_each_entry_safe(parked, next, &over, entry)
		link_parked_drop(link, parked);
}

/**
 * link_parked_stopped() - the borrower writes to nothing of a session any more
 * @link: the link
 * @session: its id
 *
 * Context: process, may sleep.
 */
void link_parked_stopped(struct smartio_link *link, u64 session)
{
	link_parked_drop_matching(link, session, 0);
}

/**
 * link_parked_reopened() - nor to any of its sessions with a device
 * @link: the link
 * @device: the number under which it is lent
 *
 * Context: process, may sleep.
 */
void link_parked_reopened(struct smartio_link *link, u32 device)
{
	link_parked_drop_matching(link, 0, device);
}

/**
 * link_parked_shut() - nor to anything: the windows are shut
 * @link: the link
 *
 * Context: process, may sleep.
 */
void link_parked_shut(struct smartio_link *link)
{
	link_parked_drop_matching(link, 0, 0);
}
