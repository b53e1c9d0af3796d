// SPDX-License-Identifier: GPL-2.0
/*
 * The IOMMU domain of a device that one borrower has as a whole. It maps the
 * range of the borrower's addresses that is the device's. It also maps the
 * pages with the borrower's interrupts that the device was given. It maps
 * nothing else: no memory of this host, no other device, nothing of another
 * function over the same link.
 *
 * Its addresses begin at 0, where a virtual machine's memory does, and where a
 * device of 32 address bits reaches them.
 */
#include <linux/iommu.h>

#include "export.h"
#include "messages.h"
#include "remote.h"

/*
 * The borrower's interrupts. Above them are this host's own (Intel SDM 3A
 * 12.11.1), which an IOMMU takes before it translates: nothing is mapped there.
 * PCs have no memory at these addresses, so virtual machines don't miss them.
 */
#define DOMAIN_IRQ_BASE	0xfed00000ULL
#define DOMAIN_IRQ_SIZE	(SESSION_IRQ_PAGES * PAGE_SIZE)
#define DOMAIN_HOLE_END	0xfef00000ULL

/*
 * If the borrower asks for that, the end of the range consists of single pages.
 * So one can lead elsewhere (session_peer.c) while its neighbours are in use.
 * The DMA API takes addresses from there first. The rest is mapped in large
 * pages.
 */
#define DOMAIN_PAGES_SIZE	(2ULL << 20)

static int domain_map(struct smartio_link *link, struct iommu_domain *domain,
		      u64 iova, u64 addr, u64 size, int prot)
{
	phys_addr_t phys;
	int ret;

	ret = link->ops->peer_phys(link, addr, size, &phys);
	if (ret)
		return ret;
	return iommu_map(domain, iova, phys, size, prot | IOMMU_MMIO,
			 GFP_KERNEL);
}

/* Where the single pages of a range of @size bytes begin. */
static u64 domain_pages(u64 size)
{
	u64 pages = size > DOMAIN_PAGES_SIZE ? size - DOMAIN_PAGES_SIZE : 0;

	return pages < DOMAIN_HOLE_END && size > DOMAIN_IRQ_BASE ? size : pages;
}

/* Each by itself, or the IOMMU's driver would join them. */
static int domain_map_pages(struct smartio_link *link,
			    struct iommu_domain *domain, u64 from, u64 base,
			    u64 to)
{
	int ret = 0;

	for (; from < to && !ret; from += PAGE_SIZE)
		ret = domain_map(link, domain, from, base + from, PAGE_SIZE,
				 IOMMU_READ | IOMMU_WRITE);
	return ret;
}

/* @pages: where the single pages begin. */
static int domain_fill(struct smartio_link *link, struct iommu_domain *domain,
		       u64 base, u64 size, u64 pages)
{
	u64 below = min(pages, DOMAIN_IRQ_BASE);
	int ret = 0;

	if (below)
		ret = domain_map(link, domain, 0, base, below,
				 IOMMU_READ | IOMMU_WRITE);
	if (!ret && pages > DOMAIN_HOLE_END)
		ret = domain_map(link, domain, DOMAIN_HOLE_END,
				 base + DOMAIN_HOLE_END,
				 pages - DOMAIN_HOLE_END,
				 IOMMU_READ | IOMMU_WRITE);
	return ret ? ret : domain_map_pages(link, domain, pages, base, size);
}

/*
 * From now on the device has just [@base, @base + @size) of the borrower, as
 * [0, @size), with @single pages at its end. The session is entered. Returns 0;
 * -EOPNOTSUPP: no IOMMU can do that for this device, or others are in its group,
 * and stay in the domain that they share; -EBUSY: it was asked before; -EINVAL;
 * -ERANGE: the borrower has not opened that; -ENOMEM.
 */
int session_domain_open(struct session *session, u64 base, u64 size,
			bool single, struct wire_addresses *addresses)
{
	u64 pages = single ? domain_pages(size) : size;
	struct device *dev = &session->s.export->pdev->dev;
	struct smartio_link *link = session->peer;
	struct iommu_domain *domain;
	struct iommu_group *group;
	int ret;

	if (!session->s.export->ops->exclusive)
		return -EOPNOTSUPP;
	if (!size || !PAGE_ALIGNED(base | size) || base + size < base)
		return -EINVAL;
	group = group_of_its_own(session->s.export);
	if (!group)
		return -EOPNOTSUPP;
	mutex_lock(&session->lock);
	if (session->domain) {
		ret = -EBUSY;
		goto unlock;
	}
	domain = iommu_paging_domain_alloc(dev);
	if (IS_ERR(domain)) {
		ret = PTR_ERR(domain);
		goto unlock;
	}
	ret = iommu_attach_group(domain, group);
	if (ret)
		goto free;
	/* VT-d knows large pages for a domain only when a device is in it */
	ret = domain_fill(link, domain, base, size, pages);
	if (ret)
		goto detach;
	/* its mappings in the domain of this host's drivers */
	link->ops->unmap(link, dev);
	session->group = group;
	memset(session->domain_irqs, 0, sizeof(session->domain_irqs));
	session->domain_base = base;
	session->domain_size = size;
	session->domain_pages = pages;
	/* before the borrower learns an address of it */
	smp_store_release(&session->domain, domain);
	addresses->base = 0;
	addresses->hole = cpu_to_le64(DOMAIN_IRQ_BASE);
	addresses->hole_size = cpu_to_le64(DOMAIN_HOLE_END - DOMAIN_IRQ_BASE);
	mutex_unlock(&session->lock);
	return 0;

detach:
	iommu_detach_group(domain, group);
free:
	iommu_domain_free(domain);
unlock:
	mutex_unlock(&session->lock);
	iommu_group_put(group);
	return ret;
}

/* The device is quiet. It reaches nothing of the borrower when this returns. */
void session_domain_close(struct session *session)
{
	if (!session->domain)
		return;
	iommu_detach_group(session->domain, session->group);
	iommu_domain_free(session->domain);
	iommu_group_put(session->group);
	session->domain = NULL;
}

/* Whether the session's device has a domain of its own. */
bool session_domain_is_own(struct session *session)
{
	/* its base and size were there before it, in session_domain_open() */
	return smp_load_acquire(&session->domain);
}

/*
 * Whether it leads nowhere from [@addr, @addr + @size) on, and could: beside
 * the borrower's range and the interrupts of both hosts. The range has not been
 * found to overflow.
 */
bool session_domain_is_free(struct session *session, u64 addr, u64 size)
{
	u64 end = addr + size, last = session->domain->geometry.aperture_end;

	return addr >= session->domain_size && end - 1 <= last &&
	       (addr >= DOMAIN_HOLE_END || end <= DOMAIN_IRQ_BASE);
}

/* Whether a part of it consists of single pages of the borrower's range. */
bool session_domain_is_pages(struct session *session, u64 addr, u64 size)
{
	return addr >= session->domain_pages &&
	       addr + size <= session->domain_size;
}

/* Such a part leads to the borrower no more. */
void session_domain_leave(struct session *session, u64 addr, u64 size)
{
	iommu_unmap(session->domain, addr, size);
}

/* And again. The borrower has to know before it uses such an address. */
void session_domain_rejoin(struct session *session, u64 addr, u64 size)
{
	if (domain_map_pages(session->peer, session->domain, addr,
			     session->domain_base, addr + size))
		pci_err(session->s.export->pdev,
			"session %#llx of %s: no memory to map %#llx again\n",
			session->s.id, session->s.host_name, addr);
}

/* As session_ops.dma, in it. */
int session_domain_dma(struct session *session, u64 addr, u64 size,
		       u64 *device_addr)
{
	u64 at = addr - session->domain_base;

	if (addr < session->domain_base || at >= session->domain_size ||
	    size > session->domain_size - at ||
	    (at < DOMAIN_HOLE_END && at + size > DOMAIN_IRQ_BASE))
		return -ERANGE;
	*device_addr = at;
	return 0;
}

/*
 * As session_ops.irq_target, in it. With interrupt remapping a page has 128
 * entries of the borrower's, without it the vectors of a CPU: the device could
 * send any of those unasked, and no others.
 */
int session_domain_irq(struct session *session, u64 addr, u64 *device_addr)
{
	struct smartio_link *link = session->peer;
	u64 at = addr - link->msi_base;
	unsigned long page;
	int ret = 0;

	if (addr < link->msi_base || addr % 4 ||
	    at >= min(link->msi_size, DOMAIN_IRQ_SIZE))
		return -EINVAL;
	page = at / PAGE_SIZE;
	mutex_lock(&session->domain_lock);
	if (!session->domain_irqs[page])
		ret = domain_map(link, session->domain,
				 DOMAIN_IRQ_BASE + page * PAGE_SIZE,
				 link->msi_base + page * PAGE_SIZE, PAGE_SIZE,
				 IOMMU_WRITE);
	if (!ret) {
		session->domain_irqs[page] = true;
		*device_addr = DOMAIN_IRQ_BASE + at;
	}
	mutex_unlock(&session->domain_lock);
	return ret;
}
