// SPDX-License-Identifier: GPL-2.0
/*
 * Ranges of IOVAs of the NTB, each for one function of the peer, as a driver of
 * this host uses it. Memory for the function is mapped in its range, which no
 * other function can reach.
 *
 * The NTB's domain is the DMA API's, which allocates below the DMA mask. With
 * an IOMMU that mask leaves the upper half of the IOVAs of aperture 0 free
 * (link_limit_addresses()). The ranges are there.
 */
#include <linux/iommu.h>
#include <linux/log2.h>
#include <linux/pci.h>

#include "link.h"

#define LINK_SPACES	BIT(LINK_SPACE_SHIFT)

/* Bits of the addresses that aperture 0 covers. */
static unsigned int link_address_bits(struct ntb_link *link)
{
	return ilog2(link->own[0].size);
}

static u64 link_space_size(struct ntb_link *link)
{
	return 1ULL << (link_address_bits(link) - 1 - LINK_SPACE_SHIFT);
}

static u64 link_space_base(struct ntb_link *link, unsigned int slot)
{
	return (1ULL << (link_address_bits(link) - 1)) +
	       slot * link_space_size(link);
}

static bool link_overlap(u64 base, u64 size, u64 other, u64 other_size)
{
	return base < other + other_size && other < base + size;
}

/*
 * Whether addresses may be taken for this host's memory. Those of interrupts
 * are not memory. The quarantine page is the last one of the own window, and in
 * this half if the peer's window is half as large. A switch routes those of a
 * device below the same port to that device, and no IOMMU sees the access.
 */
static bool link_space_sound(struct ntb_link *link, u64 base, u64 size)
{
	struct pci_dev *port = pcie_find_root_port(link->ntb->pdev);
	struct pci_bus_region region;
	struct resource *window;
	int i;

	if (link_overlap(base, size, LINK_MSI_BASE, LINK_MSI_SIZE) ||
	    link_overlap(base, size, link->quarantine_dma,
			 link->quarantine_size))
		return false;
	for (i = 0; port && i < PCI_BRIDGE_RESOURCE_NUM; i++) {
		window = &port->resource[PCI_BRIDGE_RESOURCES + i];
		if (!(window->flags & IORESOURCE_MEM) || !resource_size(window))
			continue;
		pcibios_resource_to_bus(port->bus, &region, window);
		if (link_overlap(base, size, region.start,
				 region.end - region.start + 1))
			return false;
	}
	return true;
}

/*
 * Returns 0; -EOPNOTSUPP: there is no IOMMU, all of this host's memory is open,
 * or only the pool; -ENOSPC: all are in use.
 */
int link_space_alloc(struct ntb_link *link, struct smartio_space *space)
{
	unsigned int slot;
	int ret = -ENOSPC;
	u64 base;

	if (!link->iommu || !link->own[0].size)
		return -EOPNOTSUPP;
	mutex_lock(&link->spaces_lock);
	for (slot = 0; slot < LINK_SPACES; slot++) {
		base = link_space_base(link, slot);
		if (link->spaces & BIT(slot) ||
		    !link_space_sound(link, base, link_space_size(link)))
			continue;
		link->spaces |= BIT(slot);
		space->base = base;
		space->size = link_space_size(link);
		atomic64_set(&space->mapped, 0);
		ret = 0;
		break;
	}
	mutex_unlock(&link->spaces_lock);
	return ret;
}

/*
 * Unmaps memory that a driver forgot to unmap. The function is out of reach by
 * now. The next function in this range would find the mappings left in the
 * NTB's domain, even after this module is loaded again.
 */
static void link_space_clear(struct ntb_link *link, struct smartio_space *space)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(link->base.dma);
	u64 addr, end = space->base + space->size, left;

	left = atomic64_read(&space->mapped);
	dev_warn(link->base.dma,
		 "%s: the driver of one of the peer's functions left %llu bytes mapped at %#llx: they are unmapped\n",
		 link->base.name, left, space->base);
	for (addr = space->base; addr < end && left; addr += PAGE_SIZE) {
		if (!iommu_iova_to_phys(domain, addr))
			continue;
		left -= min_t(u64, left, iommu_unmap(domain, addr, PAGE_SIZE));
		cond_resched();
	}
}

/* Nothing is mapped there any more when this returns. */
void link_space_free(struct ntb_link *link, struct smartio_space *space)
{
	unsigned int slot = (space->base - link_space_base(link, 0)) /
			    link_space_size(link);

	if (atomic64_read(&space->mapped))
		link_space_clear(link, space);
	mutex_lock(&link->spaces_lock);
	link->spaces &= ~BIT(slot);
	mutex_unlock(&link->spaces_lock);
}

/* Any context. */
int link_space_map(struct ntb_link *link, struct smartio_space *space,
		   u64 addr, phys_addr_t phys, size_t size, int prot, gfp_t gfp)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(link->base.dma);
	int ret;

	if (addr < space->base || size > space->size ||
	    addr - space->base > space->size - size)
		return -ERANGE;
	ret = iommu_map(domain, addr, phys, size, prot, gfp);
	if (!ret)
		atomic64_add(size, &space->mapped);
	return ret;
}

/* The function can't reach it any more when this returns. Any context. */
size_t link_space_unmap(struct ntb_link *link, struct smartio_space *space,
			u64 addr, size_t size)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(link->base.dma);

	size = iommu_unmap(domain, addr, size);
	atomic64_sub(size, &space->mapped);
	return size;
}

phys_addr_t link_space_phys(struct ntb_link *link, u64 addr)
{
	return iommu_iova_to_phys(iommu_get_domain_for_dev(link->base.dma),
				  addr);
}
