// SPDX-License-Identifier: GPL-2.0
/*
 * Pages that stay with a link when they are given back. Each piece is reserved
 * for the owner that had it. When the peer returns there may be no other such
 * piece, and other owners may ask first.
 */
#include <linux/dma-mapping.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/smartio_recovery.h>

#include "kept.h"

/* Unused pages are kept for so long. */
#define LINK_KEPT_S	600
/* How long a request waits for a piece of memory that has to be made. */
#define LINK_REFILL_MS	5000

/**
 * struct link_owner - the user of pages, by a number of the core
 * @entry: in link_kept.owners
 * @id: the number, used once
 * @used: bytes in use
 * @bytes: not in use
 * @peak: of @used
 * @gone: it asks for no more
 */
struct link_owner {
	struct list_head entry;
	u32 id;
	size_t used;
	size_t bytes;
	size_t peak;
	bool gone;
};

static struct link_owner *link_owner_find(struct link_kept *kept, u32 id)
{
	struct link_owner *owner;

	lockdep_assert_held(&kept->lock);
	list_for_each_entry(owner, &kept->owners, entry)
		if (owner->id == id)
			return owner;
	return NULL;
}

/* ---- single pieces, without the lock ---- */

static bool link_piece_fill(struct link_kept *kept, struct link_piece *piece,
			    gfp_t gfp)
{
	void *cpu;

	if (kept->iommu) {
		cpu = alloc_pages_exact(piece->size, gfp | __GFP_NOWARN);
		piece->page = cpu ? virt_to_page(cpu) : NULL;
	} else {
		piece->page = dma_alloc_pages(kept->dma, piece->size,
					      &piece->dma, DMA_BIDIRECTIONAL,
					      gfp | __GFP_NOWARN);
	}
	return piece->page;
}

/* Whether the lock is held does not matter. */
static void link_piece_free(struct link_kept *kept, struct link_piece *piece)
{
	if (kept->iommu)
		free_pages_exact(page_address(piece->page), piece->size);
	else
		dma_free_pages(kept->dma, piece->size, piece->page, piece->dma,
			       DMA_BIDIRECTIONAL);
	kfree(piece);
}

/*
 * With an owner of its own: whether @id has one already is known only under the
 * lock, where nothing is allocated.
 */
static struct link_piece *link_piece_new(struct link_kept *kept, u32 id,
					 size_t size, gfp_t gfp)
{
	struct link_piece *piece = kzalloc(sizeof(*piece), gfp);
	struct link_owner *owner = kzalloc(sizeof(*owner), gfp);

	if (!piece || !owner)
		goto free;
	owner->id = id;
	piece->owner = owner;
	piece->size = size;
	if (link_piece_fill(kept, piece, gfp))
		return piece;
free:
	kfree(owner);
	kfree(piece);
	return NULL;
}

/* ---- all of them, with the lock ---- */

/* Frees one that is not in use, and its owner with the last one. */
static void link_kept_free(struct link_kept *kept, struct link_piece *piece)
{
	struct link_owner *owner = piece->owner;

	lockdep_assert_held(&kept->lock);
	kept->bytes -= piece->size;
	owner->bytes -= piece->size;
	list_del(&piece->entry);
	link_piece_free(kept, piece);
	if (owner->used || owner->bytes)
		return;
	list_del(&owner->entry);
	kfree(owner);
}

/*
 * Frees unused pages of an owner, which has others, until the kept ones don't
 * exceed the peak of use.
 */
static void link_kept_trim(struct link_kept *kept, struct link_owner *owner,
			   const struct link_piece *but)
{
	struct link_piece *piece, *next;

	lockdep_assert_held(&kept->lock);
	list_for_each_entry_safe(piece, next, &kept->pieces, entry) {
		if (owner->used + owner->bytes <= owner->peak)
			return;
		if (piece->owner == owner && !piece->used && piece != but)
			link_kept_free(kept, piece);
	}
}

static struct link_piece *link_kept_take(struct link_kept *kept, u32 id,
					 size_t size)
{
	struct link_piece *piece;

	lockdep_assert_held(&kept->lock);
	list_for_each_entry(piece, &kept->pieces, entry) {
		if (piece->used || piece->size != size ||
		    piece->owner->id != id)
			continue;
		piece->used = true;
		kept->bytes -= size;
		piece->owner->bytes -= size;
		piece->owner->used += size;
		return piece;
	}
	return NULL;
}

/* A piece of link_piece_new(). */
static void link_kept_add(struct link_kept *kept, struct link_piece *piece,
			  bool used)
{
	struct link_owner *owner;

	lockdep_assert_held(&kept->lock);
	owner = link_owner_find(kept, piece->owner->id);
	if (owner) {
		kfree(piece->owner);
		piece->owner = owner;
	} else {
		owner = piece->owner;
		list_add_tail(&owner->entry, &kept->owners);
	}
	kept->made++;
	owner->peak = max(owner->peak, owner->used + piece->size);
	piece->used = used;
	piece->since = jiffies;
	if (used) {
		owner->used += piece->size;
	} else {
		kept->bytes += piece->size;
		owner->bytes += piece->size;
	}
	list_add_tail(&piece->entry, &kept->pieces);
	link_kept_trim(kept, owner, piece);
}

/* Frees pages that were unused for @s seconds. Returns the bytes still kept. */
static size_t link_kept_drop(struct link_kept *kept, unsigned int s)
{
	struct link_piece *piece, *next;
	struct link_owner *owner;
	size_t left;

	mutex_lock(&kept->lock);
	list_for_each_entry_safe(piece, next, &kept->pieces, entry)
		if (!piece->used && !time_before(jiffies, piece->since + s * HZ))
			link_kept_free(kept, piece);
	list_for_each_entry(owner, &kept->owners, entry)
		if (!owner->used)
			owner->peak = owner->bytes;
	left = kept->bytes;
	mutex_unlock(&kept->lock);
	return left;
}

static void link_kept_age(struct work_struct *work)
{
	struct link_kept *kept = container_of(to_delayed_work(work),
					      struct link_kept, age);

	if (link_kept_drop(kept, LINK_KEPT_S))
		queue_delayed_work(system_wq, &kept->age, LINK_KEPT_S * HZ);
}

/*
 * Makes large pieces. When memory is scarce or fragmented, that takes reclaim
 * and compaction. A thread that serves the peer must do neither: reclaim may
 * wait for a disk that is behind this link.
 */
static void link_refill_work(struct work_struct *work)
{
	struct link_kept *kept = container_of(work, struct link_kept, refill);
	size_t size = READ_ONCE(kept->requested);
	u32 id = READ_ONCE(kept->requested_for);
	struct link_piece *piece;

	if (!size)
		return;
	piece = link_piece_new(kept, id, size,
			       GFP_KERNEL | __GFP_RETRY_MAYFAIL);
	mutex_lock(&kept->lock);
	if (piece) {
		link_kept_add(kept, piece, false);
	} else {
		kept->failed = size;
		kept->failed_for = id;
	}
	WRITE_ONCE(kept->requested, 0);
	mutex_unlock(&kept->lock);
	wake_up_all(&kept->refilled);
	/* the one that asked may have given up */
	queue_delayed_work(system_wq, &kept->age, LINK_KEPT_S * HZ);
}

/* Waits for that for a while. Returns a piece, or NULL. */
static struct link_piece *link_piece_wait(struct link_kept *kept, u32 id,
					  size_t size)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(LINK_REFILL_MS);
	struct link_piece *piece;
	bool failed;

	do {
		mutex_lock(&kept->lock);
		piece = link_kept_take(kept, id, size);
		failed = kept->failed == size && kept->failed_for == id;
		if (failed)
			kept->failed = 0;
		if (!piece && !failed && !kept->requested) {
			kept->requested_for = id;
			WRITE_ONCE(kept->requested, size);
		}
		mutex_unlock(&kept->lock);
		if (piece || failed)
			return piece;
		queue_work(system_unbound_wq, &kept->refill);
		wait_event_timeout(kept->refilled, !READ_ONCE(kept->requested),
				   max((long)(deadline - jiffies), 1L));
	} while (time_before(jiffies, deadline));
	return NULL;
}

/* ---- for memory.c ---- */

void link_kept_init(struct link_kept *kept, struct device *dma, bool iommu)
{
	kept->dma = dma;
	kept->iommu = iommu;
	mutex_init(&kept->lock);
	INIT_LIST_HEAD(&kept->owners);
	INIT_LIST_HEAD(&kept->pieces);
	INIT_DELAYED_WORK(&kept->age, link_kept_age);
	INIT_WORK(&kept->refill, link_refill_work);
	init_waitqueue_head(&kept->refilled);
}

/* Nothing is in use any more. */
void link_kept_exit(struct link_kept *kept)
{
	cancel_work_sync(&kept->refill);
	cancel_delayed_work_sync(&kept->age);
	link_kept_drop(kept, 0);
	WARN_ON(!list_empty(&kept->pieces));
}

/*
 * One of the owner @id that was in use before, or a new one; it is used. Or
 * NULL.
 */
struct link_piece *link_piece_get(struct link_kept *kept, u32 id, size_t size)
{
	struct link_piece *piece;

	mutex_lock(&kept->lock);
	piece = link_kept_take(kept, id, size);
	mutex_unlock(&kept->lock);
	if (piece)
		return piece;
	piece = link_piece_new(kept, id, size, smartio_recovery_gfp(size));
	if (!piece)
		return link_piece_wait(kept, id, size);
	mutex_lock(&kept->lock);
	link_kept_add(kept, piece, true);
	mutex_unlock(&kept->lock);
	return piece;
}

/* The pages are not in use any more, and the peer doesn't reach them. */
void link_piece_put(struct link_kept *kept, struct page *page)
{
	struct link_piece *piece;

	mutex_lock(&kept->lock);
	list_for_each_entry(piece, &kept->pieces, entry) {
		if (piece->page != page)
			continue;
		piece->used = false;
		piece->since = jiffies;
		piece->owner->used -= piece->size;
		piece->owner->bytes += piece->size;
		kept->bytes += piece->size;
		if (piece->owner->gone)
			link_kept_free(kept, piece);
		break;
	}
	mutex_unlock(&kept->lock);
	queue_delayed_work(system_wq, &kept->age, LINK_KEPT_S * HZ);
}

/*
 * The owner @id asks for no more: its unused pages are freed, and those in use
 * when they are given back.
 */
void link_kept_forget(struct link_kept *kept, u32 id)
{
	struct link_piece *piece, *next;
	struct link_owner *owner;

	mutex_lock(&kept->lock);
	owner = link_owner_find(kept, id);
	if (owner)
		owner->gone = true;
	list_for_each_entry_safe(piece, next, &kept->pieces, entry)
		if (piece->owner->id == id && !piece->used)
			link_kept_free(kept, piece);
	mutex_unlock(&kept->lock);
}
