/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages that the peer reaches. Those that are given back stay with the link,
 * for the owner that had them.
 */
#ifndef _NTB_SMARTIO_KEPT_H
#define _NTB_SMARTIO_KEPT_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct device;

/**
 * struct link_kept - the pages of one link
 * @dma: for the DMA API
 * @iommu: pages have an address there only while they are in use
 * @lock: protects all but the works
 * @owners: struct link_owner, of kept.c; those with pages
 * @pieces: struct link_piece, of all owners
 * @bytes: not in use
 * @made: pieces, so far
 * @requested: @refill makes a piece of so many bytes
 * @requested_for: this owner
 * @failed: it could not
 * @failed_for: for this owner
 * @age: frees pages that were long unused
 * @refill: makes pieces
 * @refilled: @requested is 0
 */
struct link_kept {
	struct device *dma;
	bool iommu;
	struct mutex lock;	/* all but the works */
	struct list_head owners;
	struct list_head pieces;
	size_t bytes;
	u64 made;
	size_t requested;
	u32 requested_for;
	size_t failed;
	u32 failed_for;
	struct delayed_work age;
	struct work_struct refill;
	wait_queue_head_t refilled;
};

/**
 * struct link_piece - pages that are in use, or were
 * @entry: in link_kept.pieces
 * @owner: whose
 * @size: bytes
 * @page: the first
 * @dma: where the NTB finds them; with an IOMMU only while @used
 * @used: they are in use
 * @since: when not @used: since then, in jiffies
 */
struct link_piece {
	struct list_head entry;
	struct link_owner *owner;
	size_t size;
	struct page *page;
	dma_addr_t dma;
	bool used;
	unsigned long since;
};

void link_kept_init(struct link_kept *kept, struct device *dma, bool iommu);
void link_kept_exit(struct link_kept *kept);
struct link_piece *link_piece_get(struct link_kept *kept, u32 id, size_t size);
void link_piece_put(struct link_kept *kept, struct page *page);
void link_kept_forget(struct link_kept *kept, u32 id);

#endif /* _NTB_SMARTIO_KEPT_H */
