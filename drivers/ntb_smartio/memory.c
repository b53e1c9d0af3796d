// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of this host that the other side of a link, and the devices there,
 * can reach: whatever the DMA API maps for the NTB if aperture 0 covers that,
 * else out of one contiguous pool, and the window leads there only.
 */
#include <linux/dma-mapping.h>
#include <linux/genalloc.h>
#include <linux/iommu.h>
#include <linux/module.h>

#include "link.h"

static unsigned int pool_mib = 4;
module_param(pool_mib, uint, 0444);
MODULE_PARM_DESC(pool_mib, "without an IOMMU: MiB of memory for each link that the other side may reach (at most 4)");

static int link_pool_init(struct ntb_link *link)
{
	size_t size = (size_t)clamp(pool_mib, 1U, 4U) << 20;
	resource_size_t align = PAGE_SIZE;
	int ret;

	link->pool_pages = dma_alloc_pages(link->base.dma, size, &link->pool_dma,
					   DMA_BIDIRECTIONAL,
					   GFP_KERNEL | __GFP_NOWARN);
	if (!link->pool_pages) {
		dev_err(link->base.dma, "%s: no %zu bytes of contiguous memory\n",
			link->base.name, size);
		return -ENOMEM;
	}
	link->pool_size = size;
	/* With the cable out some drivers can't tell: then opening fails. */
	if (!ntb_mw_get_align(link->ntb, NTB_DEF_PEER_IDX, 0, &align, NULL,
			      NULL) &&
	    align && !IS_ALIGNED(link->pool_dma, align)) {
		dev_err(link->base.dma,
			"%s: this NTB's window can only lead to multiples of %pa: without an IOMMU it needs flat_window=1\n",
			link->base.name, &align);
		ret = -EOPNOTSUPP;
		goto free;
	}
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
	return link->base.scattered ? 0 : link_pool_init(link);
}

/* The mirror of link_memory_init(). */
void link_memory_exit(struct ntb_link *link)
{
	if (!link->pool)
		return;
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

static void *link_pool_alloc(struct ntb_link *link, size_t size,
			     dma_addr_t *dma)
{
	void *cpu = gen_pool_dma_zalloc(link->pool, size, dma);

	if (!cpu)
		dev_warn_ratelimited(link->base.dma,
				     "%s: the pool has no %zu bytes left (pool_mib)\n",
				     link->base.name, size);
	return cpu;
}

/* Memory that both sides use at once. */
void *link_alloc(struct ntb_link *link, size_t size, dma_addr_t *dma,
		 gfp_t gfp)
{
	if (link->pool)
		return link_pool_alloc(link, size, dma);
	return dma_alloc_coherent(link->base.dma, size, dma, gfp);
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
 * What was just unmapped can't be reached any more. An IOMMU in lazy mode,
 * Linux's default on most machines, keeps translations for some milliseconds
 * after the DMA API has removed them, which the other side could use to write
 * to what this memory or register is next.
 */
void link_unmapped(struct ntb_link *link)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(link->base.dma);

	if (link->iommu && domain)
		iommu_flush_iotlb_all(domain);
}

/* Pages of one's own, for unmapping and freeing are two steps then. */
static struct page *link_pages_map(struct ntb_link *link, size_t size,
				   dma_addr_t *dma)
{
	void *cpu = alloc_pages_exact(size, GFP_KERNEL | __GFP_ZERO |
				      __GFP_NOWARN);

	if (!cpu)
		return NULL;
	*dma = dma_map_page(link->base.dma, virt_to_page(cpu), 0, size,
			    DMA_BIDIRECTIONAL);
	if (!dma_mapping_error(link->base.dma, *dma))
		return virt_to_page(cpu);
	free_pages_exact(cpu, size);
	return NULL;
}

/* Contiguous pages that another device can be given too. */
struct page *link_pages_alloc(struct ntb_link *link, size_t size,
			      dma_addr_t *dma)
{
	struct page *page;
	void *cpu;

	if (link->pool) {
		cpu = link_pool_alloc(link, size, dma);
		return cpu ? virt_to_page(cpu) : NULL;
	}
	if (link->iommu)
		return link_pages_map(link, size, dma);
	page = dma_alloc_pages(link->base.dma, size, dma, DMA_BIDIRECTIONAL,
			       GFP_KERNEL | __GFP_NOWARN);
	if (page)
		memset(page_address(page), 0, size);
	return page;
}

/* And back. The other side can't reach them when they become something else. */
void link_pages_free(struct ntb_link *link, size_t size, struct page *page,
		     dma_addr_t dma)
{
	if (link->pool) {
		gen_pool_free(link->pool, (unsigned long)page_address(page),
			      size);
	} else if (link->iommu) {
		dma_unmap_page(link->base.dma, dma, size, DMA_BIDIRECTIONAL);
		link_unmapped(link);
		free_pages_exact(page_address(page), size);
	} else {
		dma_free_pages(link->base.dma, size, page, dma, DMA_BIDIRECTIONAL);
	}
}
