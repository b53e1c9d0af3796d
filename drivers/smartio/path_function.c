// SPDX-License-Identifier: GPL-2.0
/*
 * The parts of the path for a borrower of a whole PCI function: addresses of
 * its own, registers as resources, interrupts as the PCI core makes them. Only
 * links have them.
 */
#include <linux/ioport.h>
#include <linux/module.h>
#include <linux/smartio_transport.h>

#include "path.h"

static struct smartio_link *path_link(struct smartio_device *sdev)
{
	struct smartio_path *path = to_path(sdev);

	return path->ops->link ? path->ops->link(path) : NULL;
}

/**
 * smartio_space_alloc() - addresses that no other function has
 * @sdev: the path, with a session open
 * @space: filled in; stays valid until smartio_space_free()
 * @single: as in @space; it costs the lender's IOMMU its large pages there
 *
 * Once in a session. The function gets a domain of its own, if the lender's
 * IOMMU can do that.
 *
 * Context: process, may sleep for seconds.
 * Return: 0; -EOPNOTSUPP: this host has no IOMMU: smartio_dma_scattered() says
 * whether all of its memory is open; -ENOSPC; -ENOLINK; -ETIMEDOUT; or the
 * lender's error.
 */
int smartio_space_alloc(struct smartio_device *sdev,
			struct smartio_space *space, bool single)
{
	struct smartio_link *link = path_link(sdev);
	struct smartio_path *path = to_path(sdev);
	u64 id = smartio_path_session(path);
	int ret;

	might_sleep();
	if (!link || !link->ops->space_alloc)
		return -EOPNOTSUPP;
	if (!id)
		return -ENOLINK;
	*space = (struct smartio_space){ .single = single };
	ret = link->ops->space_alloc(link, space);
	if (ret)
		return ret;
	space->device_base = smartio_to_device(sdev, space->base);
	ret = path->ops->own_addresses ?
	      path->ops->own_addresses(path, id, space) : -EOPNOTSUPP;
	if (!ret || ret == -EOPNOTSUPP)
		return 0;
	link->ops->space_free(link, space);
	return ret;
}
EXPORT_SYMBOL_GPL(smartio_space_alloc);

/**
 * smartio_space_free() - and back
 * @sdev: the path; the session is over
 * @space: nothing is mapped there any more
 *
 * Context: process, may sleep.
 */
void smartio_space_free(struct smartio_device *sdev,
			struct smartio_space *space)
{
	struct smartio_link *link = path_link(sdev);

	link->ops->space_free(link, space);
}
EXPORT_SYMBOL_GPL(smartio_space_free);

/**
 * smartio_space_map() - let addresses lead to memory of this host
 * @sdev: the path
 * @space: from smartio_space_alloc()
 * @addr: in it
 * @phys: the memory
 * @size: bytes, whole pages
 * @prot: IOMMU_...
 * @gfp: for page tables
 *
 * Context: any.
 * Return: 0; -ERANGE: not in @space; another negative error.
 */
int smartio_space_map(struct smartio_device *sdev, struct smartio_space *space,
		      u64 addr, phys_addr_t phys, size_t size, int prot,
		      gfp_t gfp)
{
	struct smartio_link *link = path_link(sdev);

	return link->ops->space_map(link, space, addr, phys, size, prot, gfp);
}
EXPORT_SYMBOL_GPL(smartio_space_map);

/**
 * smartio_space_unmap() - and no longer
 * @sdev: the path
 * @space: from smartio_space_alloc()
 * @addr: in it
 * @size: bytes, whole pages
 *
 * Context: any.
 * Return: how many bytes were mapped; nothing reaches them any more.
 */
size_t smartio_space_unmap(struct smartio_device *sdev,
			   struct smartio_space *space, u64 addr, size_t size)
{
	struct smartio_link *link = path_link(sdev);

	return link->ops->space_unmap(link, space, addr, size);
}
EXPORT_SYMBOL_GPL(smartio_space_unmap);

/**
 * smartio_space_phys() - where an address leads
 * @sdev: the path
 * @addr: in a space of it
 *
 * Context: any.
 * Return: the memory, or 0.
 */
phys_addr_t smartio_space_phys(struct smartio_device *sdev, u64 addr)
{
	struct smartio_link *link = path_link(sdev);

	return link->ops->space_phys(link, addr);
}
EXPORT_SYMBOL_GPL(smartio_space_phys);

/**
 * smartio_peer_grant() - let another lender have registers of a function
 * @target: the path to the function, with a session open
 * @host: the lender of another function that this host has, too
 * @peer: of @target; its grant is filled in
 *
 * Only @host can take the grant, when smartio_peer_map() asks it for that, over
 * its own link with the lender of @target. The grant ends with
 * smartio_peer_revoke(), or with the session.
 *
 * Context: process, may sleep for seconds.
 * Return: 0; -EXDEV: the two lenders have no link; -EACCES: not registers of
 * @target; -EOPNOTSUPP; -EINVAL; -ENOSPC; -ENOLINK; -ETIMEDOUT.
 */
int smartio_peer_grant(struct smartio_device *target, const uuid_t *host,
		       struct smartio_peer *peer)
{
	struct smartio_path *path = to_path(target);

	might_sleep();
	return path->ops->peer_grant ?
	       path->ops->peer_grant(path, host, peer) : -EOPNOTSUPP;
}
EXPORT_SYMBOL_GPL(smartio_peer_grant);

/**
 * smartio_peer_revoke() - and no longer
 * @target: as with smartio_peer_grant()
 * @peer: as that filled it in
 *
 * Context: process, may sleep for seconds.
 * Return: 0: no other function reaches them, also if the session is over;
 * -ETIMEDOUT.
 */
int smartio_peer_revoke(struct smartio_device *target,
			const struct smartio_peer *peer)
{
	struct smartio_path *path = to_path(target);
	int ret;

	might_sleep();
	ret = path->ops->peer_revoke(path, peer);
	return ret == -ENOLINK || ret == -ENOENT ? 0 : ret;
}
EXPORT_SYMBOL_GPL(smartio_peer_revoke);

/**
 * smartio_peer_map() - let the function reach registers of another one
 * @sdev: the path, with a session open that has addresses of its own
 *	(struct smartio_space, @own)
 * @addr: where the function finds them: a device address beyond its space, or
 *	in @single pages of it, where nothing else is mapped meanwhile
 * @peer: the registers, of a function that this host has, too: of the same
 *	lender, or of another one, which has granted them to this one
 *
 * It goes from the one to the other inside the lender, or over the link between
 * the two lenders. It ends with smartio_peer_unmap(), with either session, or
 * with that link; then accesses are refused.
 *
 * Context: process, may sleep for seconds.
 * Return: 0; -EOPNOTSUPP: it has no addresses of its own; -ENOENT: no such
 * session or grant; -EACCES: not this host's, or not its registers; -EXDEV: the
 * two lenders have no link; -EEXIST; -ERANGE: the lender's IOMMU has no such
 * address; -EINVAL; -ENOSPC; -ENOLINK; -ETIMEDOUT.
 */
int smartio_peer_map(struct smartio_device *sdev, u64 addr,
		     const struct smartio_peer *peer)
{
	struct smartio_path *path = to_path(sdev);
	u64 id = smartio_path_session(path);

	might_sleep();
	if (!path->ops->peer_map)
		return -EOPNOTSUPP;
	return id ? path->ops->peer_map(path, id, addr, peer) : -ENOLINK;
}
EXPORT_SYMBOL_GPL(smartio_peer_map);

/**
 * smartio_peer_unmap() - and no longer
 * @sdev: the path
 * @addr: with which smartio_peer_map() succeeded
 * @size: as there
 *
 * Context: process, may sleep for seconds.
 * Return: 0: it reaches them no more, also if a session is over; -ETIMEDOUT.
 */
int smartio_peer_unmap(struct smartio_device *sdev, u64 addr, u64 size)
{
	struct smartio_path *path = to_path(sdev);
	u64 id = smartio_path_session(path);
	int ret = id ? path->ops->peer_unmap(path, id, addr, size) : 0;

	/*
	 * the lender has ended it, or does so before another host gets the
	 * device
	 */
	return ret == -ENOLINK || ret == -ENOENT ? 0 : ret;
}
EXPORT_SYMBOL_GPL(smartio_peer_unmap);

/**
 * smartio_bar_resource() - registers of the device, as drivers claim them
 * @sdev: the path, with a session open
 * @bar: number
 * @size: bytes, from its beginning
 * @resource: start, end, and parent are filled in; stays valid until
 *	smartio_bar_resource_put()
 *
 * Context: process, may sleep for seconds.
 * Return: 0; -EOPNOTSUPP; -ENOLINK; -EACCES; -ENOSPC or -ERANGE: the link can't
 * reach it; -EBUSY: another user has claimed it; -ETIMEDOUT.
 */
int smartio_bar_resource(struct smartio_device *sdev, unsigned int bar,
			 size_t size, struct resource *resource)
{
	struct smartio_link *link = path_link(sdev);
	struct smartio_path *path = to_path(sdev);
	u64 id = smartio_path_session(path);
	phys_addr_t phys;
	int ret;

	might_sleep();
	if (!link || !link->ops->nest || !path->ops->bar_phys)
		return -EOPNOTSUPP;
	if (!id)
		return -ENOLINK;
	ret = path->ops->bar_phys(path, id, bar, 0, size, &phys);
	if (ret)
		return ret;
	resource->start = phys;
	resource->end = phys + size - 1;
	return link->ops->nest(link, resource);
}
EXPORT_SYMBOL_GPL(smartio_bar_resource);

/**
 * smartio_bar_resource_put() - they are not claimed any more
 * @sdev: the path; the session may be over, but not closed
 * @resource: from smartio_bar_resource()
 *
 * Context: process, may sleep.
 */
void smartio_bar_resource_put(struct smartio_device *sdev,
			      struct resource *resource)
{
	struct smartio_link *link = path_link(sdev);

	link->ops->unnest(link, resource);
}
EXPORT_SYMBOL_GPL(smartio_bar_resource_put);

/**
 * smartio_msi_create() - a parent for the function's MSI domains
 * @sdev: the path
 * @ops: get the messages that the function has to send
 * @context: for @ops
 * @domain: filled in, for dev_set_msi_domain()
 *
 * Context: process, may sleep.
 * Return: 0; -EOPNOTSUPP; -ENOSPC: no window leads to interrupts; -ENOMEM.
 */
int smartio_msi_create(struct smartio_device *sdev,
		       const struct smartio_msi_ops *ops, void *context,
		       struct irq_domain **domain)
{
	struct smartio_link *link = path_link(sdev);

	if (!link || !link->ops->msi_create)
		return -EOPNOTSUPP;
	return link->ops->msi_create(link, ops, context, domain);
}
EXPORT_SYMBOL_GPL(smartio_msi_create);

/**
 * smartio_msi_remove() - and back
 * @sdev: the path
 * @domain: from smartio_msi_create(); nothing stands on it any more
 *
 * Context: process, may sleep.
 */
void smartio_msi_remove(struct smartio_device *sdev, struct irq_domain *domain)
{
	struct smartio_link *link = path_link(sdev);

	link->ops->msi_remove(link, domain);
}
EXPORT_SYMBOL_GPL(smartio_msi_remove);
