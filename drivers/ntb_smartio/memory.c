// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of this host that the other side of a link, and the devices there,
 * can reach. If aperture 0 covers all memory that the DMA API maps for the NTB,
 * that is any memory. Else it is one contiguous pool, and the window leads
 * there only.
 */
#include <linux/dma-mapping.h>
#include <linux/genalloc.h>
#include <linux/iommu.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/smartio_recovery.h>

#include "link.h"

static unsigned int pool_mib = 4;
module_param(pool_mib, uint, 0444);
MODULE_PARM_DESC(pool_mib, "without an IOMMU: MiB of memory for each link that the other side may reach (at most 4)");

/* Unused pages are kept for so long. */
#define LINK_KEPT_S	600
/* How long a request waits for a piece of memory that has to be made. */
#define LINK_REFILL_MS	5000
/*
 * Bits of the lowest addresses that are tried: of an IOMMU's, where the first MiB
 * has the range of VGA, and of memory, where x86 has a zone for them.
 */
#define LINK_LOW_IOVA_BITS	22
#define LINK_LOW_MEMORY_BITS	24

static void link_refill_work(struct work_struct *work);
static void link_kept_age(struct work_struct *work);
static void link_kept_exit(struct ntb_link *link);

/*
 * The window leads to all of it and no further. Contiguous memory of a power of
 * two is aligned to its size. So a window that takes only multiples of its own
 * size can lead to it, if the window is no larger.
 */
static int link_pool_init(struct ntb_link *link)
{
	u64 size = min((u64)clamp(pool_mib, 1U, 4U) << 20,
		       link->inbound[0].size);
	int ret;

	link->pool_pages = dma_alloc_pages(link->base.dma, size, &link->pool_dma,
					   DMA_BIDIRECTIONAL,
					   GFP_KERNEL | __GFP_NOWARN);
	if (!link->pool_pages) {
		dev_err(link->base.dma, "%s: no %llu bytes of contiguous memory\n",
			link->base.name, size);
		return -ENOMEM;
	}
	link->pool_size = size;
	ret = -ENOMEM;
	link->pool = gen_pool_create(PAGE_SHIFT, NUMA_NO_NODE);
	if (!link->pool)
		goto free;
	ret = gen_pool_add_virt(link->pool,
				(unsigned long)page_address(link->pool_pages),
				link->pool_dma, size, NUMA_NO_NODE);
	if (ret)
		goto destroy;
	link->own[0].base = link->pool_dma;
	link->own[0].size = size;
	return 0;

destroy:
	gen_pool_destroy(link->pool);
	link->pool = NULL;
free:
	dma_free_pages(link->base.dma, size, link->pool_pages, link->pool_dma,
		       DMA_BIDIRECTIONAL);
	return ret;
}

/* The pool, if there has to be one. */
int link_memory_init(struct ntb_link *link)
{
	struct link_kept *kept = &link->kept;

	mutex_init(&kept->lock);
	INIT_LIST_HEAD(&kept->pieces);
	INIT_DELAYED_WORK(&kept->age, link_kept_age);
	INIT_WORK(&kept->refill, link_refill_work);
	init_waitqueue_head(&kept->refilled);
	if (link->base.scattered || !link->inbound[0].size)
		return 0;
	return link_pool_init(link);
}

/* The mirror of link_memory_init(). */
void link_memory_exit(struct ntb_link *link)
{
	link_kept_exit(link);
	if (!link->pool)
		return;
	if (link->pool_cut)
		gen_pool_free(link->pool,
			      (unsigned long)page_address(link->pool_pages) +
			      link->pool_size - link->pool_cut, link->pool_cut);
	if (gen_pool_avail(link->pool) != link->pool_size) {
		/* gen_pool_destroy() would not survive it */
		dev_err(link->base.dma, "%s: %zu bytes of the pool are in use still\n",
			link->base.name,
			link->pool_size - gen_pool_avail(link->pool));
		return;
	}
	gen_pool_destroy(link->pool);
	dma_free_pages(link->base.dma, link->pool_size, link->pool_pages,
		       link->pool_dma, DMA_BIDIRECTIONAL);
}

/*
 * The other side reaches only the first @size bytes of the pool: takes the rest
 * out of use. Returns 0; -EINVAL: it is in use.
 */
int link_pool_narrow(struct ntb_link *link, u64 size)
{
	struct genpool_data_fixed rest = { .offset = size };

	if (size >= link->pool_size)
		return 0;
	if (!size || !gen_pool_alloc_algo(link->pool, link->pool_size - size,
					  gen_pool_fixed_alloc, &rest))
		return -EINVAL;
	link->pool_cut = link->pool_size - size;
	link->own[0].size = size;
	return 0;
}

/*
 * Logs the first failure of each size. A larger one than before is no news. The
 * user of the memory tries again, for as long as it takes.
 */
static void *link_pool_alloc(struct ntb_link *link, size_t size,
			     dma_addr_t *dma, gfp_t gfp)
{
	void *cpu = gen_pool_dma_zalloc(link->pool, size, dma);
	size_t least = READ_ONCE(link->pool_lacks);

	if (cpu || gfp & __GFP_NOWARN || (least && size >= least) ||
	    cmpxchg(&link->pool_lacks, least, size) != least)
		return cpu;
	dev_warn(link->base.dma,
		 "%s: the pool has no %zu bytes left (pool_mib)\n",
		 link->base.name, size);
	return NULL;
}

/* Memory that both sides use at once. */
void *link_alloc(struct ntb_link *link, size_t size, dma_addr_t *dma,
		 gfp_t gfp)
{
	if (link->pool)
		return link_pool_alloc(link, size, dma, gfp);
	return dma_alloc_coherent(link->base.dma, size, dma, gfp);
}

/*
 * As link_alloc(), before the size of the other side's window is known: at the
 * lowest addresses that are free, as that window may be small.
 */
void *link_alloc_low(struct ntb_link *link, size_t size, dma_addr_t *dma)
{
	unsigned int bits = link->iommu ? LINK_LOW_IOVA_BITS :
					  LINK_LOW_MEMORY_BITS;
	struct device *dev = link->base.dma;
	u64 mask = dev->coherent_dma_mask;
	void *cpu = NULL;

	if (link->pool)
		return link_pool_alloc(link, size, dma, GFP_KERNEL);
	for (; !cpu && DMA_BIT_MASK(bits) < mask; bits++) {
		if (!dma_set_coherent_mask(dev, DMA_BIT_MASK(bits)))
			cpu = dma_alloc_coherent(dev, size, dma,
						 GFP_KERNEL | __GFP_NOWARN);
		/*
		 * Having found no room once, alloc_iova() does not look below
		 * 4 GiB for such a size again (max32_alloc_size).
		 */
		if (link->iommu)
			break;
	}
	dma_set_coherent_mask(dev, mask);
	return cpu ?: dma_alloc_coherent(dev, size, dma, GFP_KERNEL);
}

void link_free(struct ntb_link *link, size_t size, void *cpu,
	       dma_addr_t dma)
{
	if (link->pool)
		gen_pool_free(link->pool, (unsigned long)cpu, size);
	else
		dma_free_coherent(link->base.dma, size, cpu, dma);
}

/*
 * Ensures that the other side can't reach memory or registers just unmapped. An
 * IOMMU in lazy mode, Linux's default on most machines, keeps translations for
 * some milliseconds after the DMA API has removed them. Through those the other
 * side could write to the next user of the memory or register.
 */
void link_unmapped(struct ntb_link *link)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(link->base.dma);

	if (link->iommu && domain)
		iommu_flush_iotlb_all(domain);
}

/* ---- pages that the peer reaches ---- */

/**
 * struct link_piece - pages that are in use, or were
 * @entry: in link->kept.pieces
 * @size: bytes
 * @page: the first
 * @dma: where the NTB finds them; with an IOMMU only while @used
 * @used: they are in use
 * @since: when not @used: since then, in jiffies
 */
struct link_piece {
	struct list_head entry;
	size_t size;
	struct page *page;
	dma_addr_t dma;
	bool used;
	unsigned long since;
};

static bool link_piece_fill(struct ntb_link *link, struct link_piece *piece,
			    gfp_t gfp)
{
	void *cpu;

	if (link->iommu) {
		cpu = alloc_pages_exact(piece->size, gfp | __GFP_NOWARN);
		piece->page = cpu ? virt_to_page(cpu) : NULL;
	} else {
		piece->page = dma_alloc_pages(link->base.dma, piece->size,
					      &piece->dma, DMA_BIDIRECTIONAL,
					      gfp | __GFP_NOWARN);
	}
	return piece->page;
}

static void link_piece_free(struct ntb_link *link, struct link_piece *piece)
{
	if (link->iommu)
		free_pages_exact(page_address(piece->page), piece->size);
	else
		dma_free_pages(link->base.dma, piece->size, piece->page,
			       piece->dma, DMA_BIDIRECTIONAL);
	kfree(piece);
}

/* Without @kept->lock. */
static struct link_piece *link_piece_new(struct ntb_link *link, size_t size,
					 gfp_t gfp)
{
	struct link_piece *piece = kzalloc(sizeof(*piece), gfp);

	if (!piece)
		return NULL;
	piece->size = size;
	if (link_piece_fill(link, piece, gfp))
		return piece;
	kfree(piece);
	return NULL;
}

/*
 * Frees unused pages until the kept ones, with @size bytes more, don't exceed
 * the peak of use.
 */
static void link_kept_trim(struct ntb_link *link, size_t size)
{
	struct link_kept *kept = &link->kept;
	struct link_piece *piece, *next;

	lockdep_assert_held(&kept->lock);
	list_for_each_entry_safe(piece, next, &kept->pieces, entry) {
		if (kept->used + kept->bytes + size <= kept->peak)
			return;
		if (piece->used)
			continue;
		kept->bytes -= piece->size;
		list_del(&piece->entry);
		link_piece_free(link, piece);
	}
}

static struct link_piece *link_kept_take(struct ntb_link *link, size_t size)
{
	struct link_kept *kept = &link->kept;
	struct link_piece *piece;

	lockdep_assert_held(&kept->lock);
	list_for_each_entry(piece, &kept->pieces, entry) {
		if (piece->used || piece->size != size)
			continue;
		piece->used = true;
		kept->bytes -= size;
		kept->used += size;
		return piece;
	}
	return NULL;
}

static void link_kept_add(struct ntb_link *link, struct link_piece *piece,
			  bool used)
{
	struct link_kept *kept = &link->kept;

	lockdep_assert_held(&kept->lock);
	kept->made++;
	kept->peak = max(kept->peak, kept->used + piece->size);
	link_kept_trim(link, piece->size);
	piece->used = used;
	piece->since = jiffies;
	if (used)
		kept->used += piece->size;
	else
		kept->bytes += piece->size;
	list_add_tail(&piece->entry, &kept->pieces);
}

/*
 * Makes large pieces. When memory is scarce or fragmented, that takes reclaim
 * and compaction. A thread that serves the peer must do neither: reclaim may
 * wait for a disk that is behind this link.
 */
static void link_refill_work(struct work_struct *work)
{
	struct ntb_link *link = container_of(work, struct ntb_link,
					     kept.refill);
	struct link_kept *kept = &link->kept;
	size_t size = READ_ONCE(kept->requested);
	struct link_piece *piece;

	if (!size)
		return;
	piece = link_piece_new(link, size, GFP_KERNEL | __GFP_RETRY_MAYFAIL);
	mutex_lock(&kept->lock);
	if (piece)
		link_kept_add(link, piece, false);
	else
		kept->failed = size;
	kept->requested = 0;
	mutex_unlock(&kept->lock);
	wake_up_all(&kept->refilled);
}

/* Waits for that for a while. Returns a piece, or NULL. */
static struct link_piece *link_piece_wait(struct ntb_link *link, size_t size)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(LINK_REFILL_MS);
	struct link_kept *kept = &link->kept;
	struct link_piece *piece;
	bool failed;

	do {
		mutex_lock(&kept->lock);
		piece = link_kept_take(link, size);
		failed = kept->failed == size;
		if (failed)
			kept->failed = 0;
		if (!piece && !failed && !kept->requested)
			WRITE_ONCE(kept->requested, size);
		mutex_unlock(&kept->lock);
		if (piece || failed)
			return piece;
		queue_work(system_unbound_wq, &kept->refill);
		wait_event_timeout(kept->refilled, !READ_ONCE(kept->requested),
				   max((long)(deadline - jiffies), 1L));
	} while (time_before(jiffies, deadline));
	return NULL;
}

/* One that was in use before, or a new one; it is used. Or NULL. */
static struct link_piece *link_piece_get(struct ntb_link *link, size_t size)
{
	struct link_kept *kept = &link->kept;
	struct link_piece *piece;

	mutex_lock(&kept->lock);
	piece = link_kept_take(link, size);
	mutex_unlock(&kept->lock);
	if (piece)
		return piece;
	piece = link_piece_new(link, size, smartio_recovery_gfp(size));
	if (!piece)
		return link_piece_wait(link, size);
	mutex_lock(&kept->lock);
	link_kept_add(link, piece, true);
	mutex_unlock(&kept->lock);
	return piece;
}

/* The pages are not in use any more, and the peer doesn't reach them. */
static void link_piece_put(struct ntb_link *link, struct page *page)
{
	struct link_kept *kept = &link->kept;
	struct link_piece *piece;

	mutex_lock(&kept->lock);
	list_for_each_entry(piece, &kept->pieces, entry) {
		if (piece->page != page)
			continue;
		piece->used = false;
		piece->since = jiffies;
		kept->used -= piece->size;
		kept->bytes += piece->size;
		break;
	}
	mutex_unlock(&kept->lock);
	queue_delayed_work(system_wq, &kept->age, LINK_KEPT_S * HZ);
}

/* Frees pages that were unused for @s seconds. Returns the bytes still kept. */
static size_t link_kept_drop(struct ntb_link *link, unsigned int s)
{
	struct link_kept *kept = &link->kept;
	struct link_piece *piece, *next;
	size_t left;

	mutex_lock(&kept->lock);
	list_for_each_entry_safe(piece, next, &kept->pieces, entry) {
		if (piece->used || time_before(jiffies, piece->since + s * HZ))
			continue;
		kept->bytes -= piece->size;
		list_del(&piece->entry);
		link_piece_free(link, piece);
	}
	if (!kept->used)
		kept->peak = kept->bytes;
	left = kept->bytes;
	mutex_unlock(&kept->lock);
	return left;
}

static void link_kept_age(struct work_struct *work)
{
	struct ntb_link *link = container_of(to_delayed_work(work),
					     struct ntb_link, kept.age);

	if (link_kept_drop(link, LINK_KEPT_S))
		queue_delayed_work(system_wq, &link->kept.age, LINK_KEPT_S * HZ);
}

/* Unused pages are not kept any longer. */
void link_pages_forget(struct ntb_link *link)
{
	link_kept_drop(link, 0);
}

static void link_kept_exit(struct ntb_link *link)
{
	cancel_work_sync(&link->kept.refill);
	cancel_delayed_work_sync(&link->kept.age);
	link_kept_drop(link, 0);
	WARN_ON(!list_empty(&link->kept.pieces));
}

/*
 * Contiguous zeroed pages that another device can be given too. Those that
 * were in use before are taken again: when the peer returns there may be no
 * other such piece.
 */
struct page *link_pages_alloc(struct ntb_link *link, size_t size,
			      dma_addr_t *dma)
{
	struct link_piece *piece;
	void *cpu;

	if (link->pool) {
		cpu = link_pool_alloc(link, size, dma, GFP_KERNEL);
		return cpu ? virt_to_page(cpu) : NULL;
	}
	piece = link_piece_get(link, size);
	if (!piece)
		return NULL;
	memset(page_address(piece->page), 0, size);
	if (link->iommu) {
		piece->dma = dma_map_page(link->base.dma, piece->page, 0, size,
					  DMA_BIDIRECTIONAL);
		if (dma_mapping_error(link->base.dma, piece->dma)) {
			link_piece_put(link, piece->page);
			return NULL;
		}
	}
	*dma = piece->dma;
	return piece->page;
}

/* And back. The other side can't reach them when they become something else. */
void link_pages_free(struct ntb_link *link, size_t size, struct page *page,
		     dma_addr_t dma)
{
	if (link->pool) {
		gen_pool_free(link->pool, (unsigned long)page_address(page),
			      size);
		return;
	}
	if (link->iommu) {
		dma_unmap_page(link->base.dma, dma, size, DMA_BIDIRECTIONAL);
		link_unmapped(link);
	}
	link_piece_put(link, page);
}
