// SPDX-License-Identifier: GPL-2.0
/*
 * Memory and registers that the other side's CPUs reach. When this host takes
 * some back, the peer learns of that a moment later, and may write until then.
 * A late write must not reach the next user of the memory, the address or the
 * window. So these are kept unused for their holder, until the holder has
 * stopped. After a lost link the peer says before it is admitted if it has not.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/slab.h>
#include <linux/smartio_recovery.h>

#include "link.h"

/* A peer that never says that it stopped loses its link. */
#define LINK_HELD_MAX	(512ULL << 20)

enum link_held_kind {
	LINK_HELD_PAGES,
	LINK_HELD_ADDRESSES,
	LINK_HELD_WINDOW,
};

struct link_held {
	struct list_head entry;
	enum link_held_kind kind;
	struct smartio_holder holder;
	u64 addr;
	u64 size;
	struct page *page;
	bool away;
	bool unmapped;
};

static void link_held_drop(struct ntb_link *link, struct link_held *held)
{
	switch (held->kind) {
	case LINK_HELD_PAGES:
		link_pages_free(link, held->size, held->page, held->addr);
		break;
	case LINK_HELD_ADDRESSES:
		if (held->unmapped)
			break;
		dma_unmap_resource(link->base.dma, held->addr, held->size,
				   DMA_BIDIRECTIONAL, 0);
		link_unmapped(link);
		break;
	case LINK_HELD_WINDOW:
		link_window_release(link, held->addr, held->size);
		break;
	}
	kfree(held);
}

static u64 link_held_memory(const struct link_held *held)
{
	return held->kind == LINK_HELD_PAGES ? held->size : 0;
}

/*
 * The addresses lead to the page to which a window that is shut leads. The DMA
 * API has no word for that; only by keeping them mapped are they kept.
 */
static bool link_lead_away(struct ntb_link *link, dma_addr_t dma, u64 size)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(link->base.dma);
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

/* Without page tables for them, these addresses are never used again. */
static void link_held_lead_away(struct ntb_link *link, struct link_held *held)
{
	if (held->kind != LINK_HELD_ADDRESSES || held->away)
		return;
	held->unmapped = !link_lead_away(link, held->addr, held->size);
	held->away = true;
}

/*
 * Takes over what @with describes. While all windows are shut, its addresses
 * may lead where they led: most peers stop meanwhile.
 */
static void link_hold(struct ntb_link *link,
		      const struct smartio_holder *holder,
		      const struct link_held *with)
{
	/* Small, and a failure could not be reported to the caller. */
	struct link_held *held = smartio_recovery_alloc(sizeof(*held));
	bool too_much = false;

	*held = *with;
	held->holder = *holder;
	mutex_lock(&link->held_lock);
	if (!link->losing)
		link_held_lead_away(link, held);
	/* When the NTB goes, its windows are shut for good; then the list goes. */
	if (READ_ONCE(link->open) || !READ_ONCE(link->removed)) {
		list_add_tail(&held->entry, &link->held);
		held = NULL;
		link->held_bytes += link_held_memory(with);
		too_much = link->held_bytes > LINK_HELD_MAX;
	}
	mutex_unlock(&link->held_lock);
	if (too_much)
		link_restart(link, "the other side did not confirm that it has stopped");
	if (held)
		link_held_drop(link, held);
}

/* Pages of link_pages_alloc() are given back. */
void link_release_pages(struct ntb_link *link, size_t size, struct page *page,
			dma_addr_t dma, const struct smartio_holder *holder)
{
	struct link_held held = {
		.kind = LINK_HELD_PAGES,
		.addr = dma,
		.size = size,
		.page = page,
	};

	if (holder)
		link_hold(link, holder, &held);
	else
		link_pages_free(link, size, page, dma);
}

/*
 * Lets the other side's CPUs reach registers. With an IOMMU exactly these pages
 * become reachable. Without one a window leads to the whole range, as long as
 * part of it is needed. Returns 0; -EIO; -ENOSPC: no window is left.
 */
int link_expose(struct ntb_link *link,
		const struct smartio_registers *registers, u64 *peer_addr)
{
	dma_addr_t dma;
	int ret;

	if (link->iommu) {
		dma = dma_map_resource(link->base.dma,
				       registers->phys + registers->offset,
				       registers->size, DMA_BIDIRECTIONAL, 0);
		if (dma_mapping_error(link->base.dma, dma))
			return -EIO;
		*peer_addr = dma;
		return 0;
	}
	ret = link_window_need(link, registers->bus, registers->length,
			       registers->name);
	if (!ret)
		*peer_addr = registers->bus + registers->offset;
	return ret;
}

/*
 * The mirror of link_expose(). Unless they are still needed for another holder,
 * the other side doesn't reach them any more when this returns. With a @holder,
 * their address or window isn't used for anything else either.
 */
void link_conceal(struct ntb_link *link,
		  const struct smartio_registers *registers, u64 peer_addr,
		  const struct smartio_holder *holder)
{
	u64 base = registers->bus, size = registers->length;
	struct link_held held = {
		.kind = LINK_HELD_WINDOW,
		.addr = base,
		.size = size,
	};

	if (!link->iommu && holder) {
		link_window_cut(link, base, size);
		link_hold(link, holder, &held);
	} else if (!link->iommu) {
		link_window_done(link, base, size);
	} else if (holder) {
		held.kind = LINK_HELD_ADDRESSES;
		held.addr = peer_addr;
		held.size = registers->size;
		link_hold(link, holder, &held);
	} else {
		dma_unmap_resource(link->base.dma, peer_addr, registers->size,
				   DMA_BIDIRECTIONAL, 0);
		link_unmapped(link);
	}
}

/* A link is being lost: its windows are shut. Or that is done with. */
void link_holders_lost(struct ntb_link *link, bool losing)
{
	mutex_lock(&link->held_lock);
	link->losing = losing;
	mutex_unlock(&link->held_lock);
}

/* The windows are about to open, and holders may have not stopped. */
void link_holders_lead_away(struct ntb_link *link)
{
	struct link_held *held;

	mutex_lock(&link->held_lock);
	list_for_each_entry(held, &link->held, entry)
		link_held_lead_away(link, held);
	mutex_unlock(&link->held_lock);
}

/* The other side writes to nothing of holders any more. */
void link_holder_stopped(struct ntb_link *link,
			 const struct smartio_holder *holder)
{
	struct link_held *held, *next;
	LIST_HEAD(over);

	mutex_lock(&link->held_lock);
	list_for_each_entry_safe(held, next, &link->held, entry)
		if ((!holder->key || held->holder.key == holder->key) &&
		    (!holder->owner || held->holder.owner == holder->owner)) {
			list_move_tail(&held->entry, &over);
			link->held_bytes -= link_held_memory(held);
		}
	mutex_unlock(&link->held_lock);
	list_for_each_entry_safe(held, next, &over, entry)
		link_held_drop(link, held);
}
