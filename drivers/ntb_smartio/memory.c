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
#include <linux/module.h>

#include "link.h"

static unsigned int pool_mib = 4;
module_param(pool_mib, uint, 0444);
MODULE_PARM_DESC(pool_mib, "without an IOMMU: MiB of memory for each link that the other side may reach (at most 4)");

/*
 * Bits of the lowest addresses that are tried: of an IOMMU's, where the first MiB
 * has the range of VGA, and of memory, where x86 has a zone for them.
 */
#define LINK_LOW_IOVA_BITS	22
#define LINK_LOW_MEMORY_BITS	24

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
	link_kept_init(&link->kept, link->base.dma, link->iommu);
	if (link->base.scattered || !link->inbound[0].size)
		return 0;
	return link_pool_init(link);
}

/* The mirror of link_memory_init(). */
void link_memory_exit(struct ntb_link *link)
{
	link_kept_exit(&link->kept);
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

/*
 * Contiguous zeroed pages that another device can be given too, for @owner, a
 * number of the core. Those that it had before are taken again.
 */
struct page *link_pages_alloc(struct ntb_link *link, u32 owner, size_t size,
			      dma_addr_t *dma)
{
	struct link_piece *piece;
	void *cpu;

	if (link->pool) {
		cpu = link_pool_alloc(link, size, dma, GFP_KERNEL);
		return cpu ? virt_to_page(cpu) : NULL;
	}
	piece = link_piece_get(&link->kept, owner, size);
	if (!piece)
		return NULL;
	memset(page_address(piece->page), 0, size);
	if (link->iommu) {
		piece->dma = dma_map_page(link->base.dma, piece->page, 0, size,
					  DMA_BIDIRECTIONAL);
		if (dma_mapping_error(link->base.dma, piece->dma)) {
			link_piece_put(&link->kept, piece->page);
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
	link_piece_put(&link->kept, page);
}
