// SPDX-License-Identifier: GPL-2.0
/*
 * The IOMMU of borrowed functions, as this host's kernel sees it. A function's
 * requests arrive through the NTB. So memory mapped for the function is mapped
 * for the NTB, in a range of addresses that no other function has. If the
 * lender's IOMMU has a domain for the function, that leads to the range, and
 * the function's addresses begin at 0. Otherwise they are those of the range
 * plus the offset of the session. The DMA API and vfio use this IOMMU as they
 * use any.
 *
 * Without an IOMMU behind the NTB, all memory is open, and the function's
 * addresses are this host's plus the offset: an identity domain, and a range
 * for the DMA API.
 */
#include <linux/bitmap.h>
#include <linux/dma-direct.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/property.h>
#include <linux/slab.h>
#include <linux/smartio_compat.h>

#include "borrow.h"

/*
 * Addresses that every IOMMU of a lender's has (VT-d specification 10.4.2: 39
 * bits).
 */
#define BORROW_PEERS_END	BIT_ULL(39)

/**
 * struct borrow_domain - a domain for one function
 * @domain: the IOMMU core's part
 * @f: the function
 * @entry: in its list
 * @mapped: a bit for each page of the function's range. Of vfio's: the DMA API
 *	unmaps all that it mapped, vfio frees a domain with its mappings.
 */
struct borrow_domain {
	struct iommu_domain domain;
	struct borrow_function *f;
	struct list_head entry;
	unsigned long *mapped;
};

#define to_borrow_domain(d) container_of(d, struct borrow_domain, domain)

static bool peer_pages;
module_param(peer_pages, bool, 0644);
MODULE_PARM_DESC(peer_pages, "drivers map registers of other borrowed functions by the DMA API: what is borrowed from now on has a place for them, and large pages nowhere near it");

static DEFINE_SPINLOCK(borrow_domains_lock);	/* the lists of all functions */
static DECLARE_WAIT_QUEUE_HEAD(borrow_domain_freed);

static struct iommu_device borrow_iommu;
static struct fwnode_handle *borrow_node;

struct borrow_function *borrow_of_device(struct device *dev)
{
	if (!dev_is_pci(dev) || to_pci_dev(dev)->bus->ops != &borrow_pci_ops)
		return NULL;
	return borrow_of_bus(to_pci_dev(dev)->bus);
}

/* ---- domains ---- */

static int borrow_attach(COMPAT_ATTACH_ARGS)
{
	struct borrow_function *f = to_borrow_domain(domain)->f;

	if (borrow_of_device(dev) != f)
		return -EINVAL;
	/* who chooses addresses has some for others' registers, which no memory has */
	if (domain->type == IOMMU_DOMAIN_UNMANAGED && f->space.own)
		domain->geometry.aperture_end = BORROW_PEERS_END - 1;
	return 0;
}

/* Beyond it are other functions' spaces. */
static bool borrow_in_space(struct borrow_function *f, u64 iova)
{
	return iova - f->dma_offset - f->space.base < f->space.size;
}

/* How many bytes of a range are of this function's space. */
static size_t borrow_of_space(struct borrow_function *f, u64 iova, size_t size)
{
	u64 at = iova - f->dma_offset - f->space.base;

	return borrow_in_space(f, iova) ? min_t(u64, size, f->space.size - at) :
					  0;
}

static unsigned long borrow_page(struct iommu_domain *domain,
				 unsigned long iova)
{
	return (iova - domain->geometry.aperture_start) / PAGE_SIZE;
}

static int borrow_map(struct iommu_domain *domain, unsigned long iova,
		      phys_addr_t phys, size_t page, size_t count, int prot,
		      gfp_t gfp, size_t *mapped)
{
	struct borrow_domain *own = to_borrow_domain(domain);
	struct borrow_function *f = own->f;
	size_t i;
	int ret;

	ret = borrow_peer_map(f, iova, phys, page * count, prot);
	if (ret == -ENODEV) {
		ret = smartio_space_map(f->sdev, &f->space,
					iova - f->dma_offset, phys,
					page * count, prot, gfp);
		if (!ret && domain->type == IOMMU_DOMAIN_UNMANAGED)
			for (i = 0; i < count; i++)
				set_bit(borrow_page(domain, iova) + i,
					own->mapped);
	}
	if (!ret)
		*mapped = page * count;
	return ret;
}

/*
 * A range may consist of memory and of registers of others. This unmaps what
 * lies at its beginning, and the IOMMU core asks for the rest.
 */
static size_t borrow_unmap(struct iommu_domain *domain, unsigned long iova,
			   size_t page, size_t count,
			   struct iommu_iotlb_gather *gather)
{
	struct borrow_domain *own = to_borrow_domain(domain);
	struct borrow_function *f = own->f;
	size_t size = borrow_peer_unmap(f, iova, page * count);
	size_t i;

	if (size)
		return size;
	size = borrow_peer_before(f, iova,
				  borrow_of_space(f, iova, page * count));
	if (!size)
		return 0;
	if (domain->type == IOMMU_DOMAIN_UNMANAGED)
		for (i = 0; i < size / page; i++)
			clear_bit(borrow_page(domain, iova) + i, own->mapped);
	return smartio_space_unmap(f->sdev, &f->space, iova - f->dma_offset,
				   size);
}

static phys_addr_t borrow_phys(struct iommu_domain *domain, dma_addr_t iova)
{
	struct borrow_function *f = to_borrow_domain(domain)->f;
	phys_addr_t phys = borrow_peer_phys(f, iova);

	if (phys || !borrow_in_space(f, iova))
		return phys;
	return smartio_space_phys(f->sdev, iova - f->dma_offset);
}

/*
 * Mappings that are left are removed with the domain. That happens with a
 * virtual machine with several functions: vfio unmaps its memory from the last
 * domain alone.
 */
static void borrow_domain_free(struct iommu_domain *domain)
{
	struct borrow_domain *own = to_borrow_domain(domain);
	struct borrow_function *f = own->f;
	unsigned long pages = f->space.size / PAGE_SIZE, first, end;

	if (domain->type == IOMMU_DOMAIN_UNMANAGED)
		borrow_peer_unmap_all(f);
	for_each_set_bitrange(first, end, own->mapped, pages)
		smartio_space_unmap(f->sdev, &f->space,
				    f->space.base + first * PAGE_SIZE,
				    (end - first) * PAGE_SIZE);
	spin_lock(&borrow_domains_lock);
	list_del(&own->entry);
	spin_unlock(&borrow_domains_lock);
	kvfree(own->mapped);
	kfree(own);
	wake_up_all(&borrow_domain_freed);
	put_device(&f->bridge->dev);
}

static const struct iommu_domain_ops borrow_domain_ops = {
	.attach_dev = borrow_attach,
	.map_pages = borrow_map,
	.unmap_pages = borrow_unmap,
	.iova_to_phys = borrow_phys,
	.free = borrow_domain_free,
};

static int borrow_identity_attach(COMPAT_ATTACH_ARGS)
{
	return 0;
}

static const struct iommu_domain_ops borrow_identity_ops = {
	.attach_dev = borrow_identity_attach,
};

static struct iommu_domain borrow_identity = {
	.type = IOMMU_DOMAIN_IDENTITY,
	.ops = &borrow_identity_ops,
};

/* ---- the IOMMU ---- */

static bool borrow_capable(struct device *dev, enum iommu_cap cap)
{
	return cap == IOMMU_CAP_CACHE_COHERENCY;
}

static struct iommu_domain *borrow_domain_alloc(struct device *dev)
{
	struct borrow_function *f = dev ? borrow_of_device(dev) : NULL;
	struct borrow_domain *domain;

	if (!f || f->flat)
		return ERR_PTR(-EOPNOTSUPP);
	domain = kzalloc(sizeof(*domain), GFP_KERNEL);
	if (!domain)
		return ERR_PTR(-ENOMEM);
	domain->mapped = kvcalloc(BITS_TO_LONGS(f->space.size / PAGE_SIZE),
				  sizeof(*domain->mapped), GFP_KERNEL);
	if (!domain->mapped) {
		kfree(domain);
		return ERR_PTR(-ENOMEM);
	}
	domain->f = f;
	get_device(&f->bridge->dev);
	spin_lock(&borrow_domains_lock);
	list_add_tail(&domain->entry, &f->domains);
	spin_unlock(&borrow_domains_lock);
	domain->domain.pgsize_bitmap = PAGE_SIZE;
	domain->domain.geometry.aperture_start = f->space.base + f->dma_offset;
	domain->domain.geometry.aperture_end = f->space.base + f->dma_offset +
					       f->space.size - 1;
	domain->domain.geometry.force_aperture = true;
	return &domain->domain;
}

/* The lender's domain leads elsewhere there. */
static void borrow_reserved(struct device *dev, struct list_head *head)
{
	struct borrow_function *f = borrow_of_device(dev);
	struct iommu_resv_region *region;

	if (!f->space.hole_size)
		return;
	region = iommu_alloc_resv_region(f->space.hole, f->space.hole_size, 0,
					 IOMMU_RESV_RESERVED, GFP_KERNEL);
	if (region)
		list_add_tail(&region->list, head);
}

static struct iommu_device *borrow_probe_device(struct device *dev)
{
	return borrow_of_device(dev) ? &borrow_iommu : ERR_PTR(-ENODEV);
}

static int borrow_domain_type(struct device *dev)
{
	return borrow_of_device(dev)->flat ? IOMMU_DOMAIN_IDENTITY :
					     IOMMU_DOMAIN_DMA;
}

/* The module stays loaded as long as a function is here. */
static const struct iommu_ops borrow_iommu_ops = {
	.owner = THIS_MODULE,
	.capable = borrow_capable,
	.domain_alloc_paging = borrow_domain_alloc,
	.identity_domain = &borrow_identity,
	.probe_device = borrow_probe_device,
	.get_resv_regions = borrow_reserved,
	.device_group = generic_device_group,
	.def_domain_type = borrow_domain_type,
	.default_domain_ops = &borrow_domain_ops,
};

/* ---- functions, as they come ---- */

/*
 * Runs before the IOMMU core's own notifier, of priority 0, looks for the IOMMU
 * in charge: the machine's IOMMU never sees the function. This does the same as
 * iommu_fwspec_init(), which needs a lock that no module can take. No other
 * code knows the device yet. The core frees both with it.
 */
int borrow_dma_added(struct borrow_function *f, struct device *dev)
{
	struct iommu_fwspec *fwspec;
	struct dev_iommu *param;

	if (dev->iommu)
		return -EBUSY;
	param = kzalloc(sizeof(*param), GFP_KERNEL);
	fwspec = kzalloc(struct_size(fwspec, ids, 1), GFP_KERNEL);
	if (!param || !fwspec) {
		kfree(param);
		kfree(fwspec);
		return -ENOMEM;
	}
	mutex_init(&param->lock);
	fwspec->iommu_fwnode = fwnode_handle_get(borrow_node);
	param->fwspec = fwspec;
	dev->iommu = param;
	return 0;
}

/* A driver comes. The core frees it when that goes, so each gets a new one. */
void borrow_dma_range(struct borrow_function *f, struct device *dev)
{
	struct bus_dma_region *map;

	if (!f->flat || dev->dma_range_map)
		return;
	/* the second is the end */
	map = kcalloc(2, sizeof(*map), GFP_KERNEL);
	if (!map)
		return;
	map[0].dma_start = f->dma_offset;
	map[0].size = f->flat_size;
	dev->dma_range_map = map;
}

/*
 * A driver has been bound, or has failed to be. It has chosen how many address
 * bits the function uses, unless it failed earlier. The DMA API finds no address
 * for it if all of the function's are above that, and does not say why.
 */
void borrow_dma_bound(struct borrow_function *f, struct device *dev)
{
	u64 first = f->dma_offset + (f->flat ? 0 : f->space.base);
	u64 mask = dma_get_mask(dev);

	if (mask >= first || to_pci_driver(dev->driver)->driver_managed_dma)
		return;
	dev_notice(dev,
		   "no memory can be mapped: %s uses %u address bits, the lender's window begins at %#llx\n",
		   dev->driver->name, fls64(mask), first);
}

/* A session is open. Returns 0; -EOPNOTSUPP: nothing is open but a pool. */
int borrow_dma_init(struct borrow_function *f)
{
	int ret = smartio_space_alloc(f->sdev, &f->space,
				      READ_ONCE(peer_pages));

	INIT_LIST_HEAD(&f->domains);
	f->dma_offset = f->space.device_base - f->space.base;
	if (ret != -EOPNOTSUPP)
		return ret;
	f->dma_offset = smartio_to_device(f->sdev, 0);
	if (!smartio_dma_scattered(f->sdev)) {
		dev_err(&f->sdev->dev,
			"no IOMMU is behind the NTB: what a function writes needs all memory open (flat_window=1)\n");
		return ret;
	}
	f->flat = true;
	f->flat_size = (u64)dma_get_mask(smartio_dma_device(f->sdev)) + 1;
	return 0;
}

static bool borrow_addresses_used(struct borrow_function *f)
{
	struct borrow_domain *own;
	bool used = false;

	spin_lock(&borrow_domains_lock);
	list_for_each_entry(own, &f->domains, entry)
		used |= own->domain.type == IOMMU_DOMAIN_UNMANAGED;
	spin_unlock(&borrow_domains_lock);
	return used;
}

/*
 * The device was removed. A program may have a domain of it longer, by iommufd
 * (IOMMU_HWPT_ALLOC), and map memory in it and unmap it. iommufd asks the domain
 * which pages it has to unpin. So the domain needs its part of the session.
 */
void borrow_dma_wait(struct borrow_function *f)
{
	if (borrow_addresses_used(f))
		dev_notice(&f->sdev->dev,
			   "a program has addresses of the function still (iommufd): the function goes when it ends\n");
	wait_event_idle(borrow_domain_freed, !borrow_addresses_used(f));
}

/* The session is over, and the function gone. */
void borrow_dma_exit(struct borrow_function *f)
{
	if (!f->flat)
		smartio_space_free(f->sdev, &f->space);
}

int __init borrow_iommu_init(void)
{
	int ret;

	borrow_node = fwnode_create_software_node(NULL, NULL);
	if (IS_ERR(borrow_node))
		return PTR_ERR(borrow_node);
	ret = iommu_device_sysfs_add(&borrow_iommu, NULL, NULL, "smartio");
	if (ret)
		goto remove_node;
	borrow_iommu.fwnode = borrow_node;
	ret = iommu_device_register(&borrow_iommu, &borrow_iommu_ops, NULL);
	if (!ret)
		return 0;
	iommu_device_sysfs_remove(&borrow_iommu);
remove_node:
	fwnode_remove_software_node(borrow_node);
	return ret;
}

void borrow_iommu_exit(void)
{
	iommu_device_unregister(&borrow_iommu);
	iommu_device_sysfs_remove(&borrow_iommu);
	fwnode_remove_software_node(borrow_node);
}
