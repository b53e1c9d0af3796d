// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of the windows that lead into this host: their sizes and
 * alignment, where one leads to, and how it is shut.
 */
#include <linux/align.h>

#include "link.h"

/* Some drivers count none without a cable. */
static unsigned int link_inbound_count(struct ntb_link *link)
{
	int count = ntb_mw_count(link->ntb, NTB_DEF_PEER_IDX);

	return count > 0 ? min(count, LINK_WINDOWS_MAX) : link->windows;
}

/*
 * Reads the limits of the inbound windows, which the driver gives only with the
 * cable in. Without it nothing changes.
 */
void link_inbound_learn(struct ntb_link *link)
{
	resource_size_t align, size_align, size;
	unsigned int i;

	lockdep_assert_held(&link->window_lock);
	link->inbounds = link_inbound_count(link);
	for (i = 0; i < link->inbounds; i++) {
		if (ntb_mw_get_align(link->ntb, NTB_DEF_PEER_IDX, i, &align,
				     &size_align, &size))
			continue;
		link->inbound[i].size = size;
		link->inbound[i].align = max_t(u64, align, 1);
		link->inbound[i].size_align = max_t(u64, size_align, 1);
	}
}

/* Until they are known: each as the one that leads out, to any page. */
void link_inbound_init(struct ntb_link *link)
{
	unsigned int i;

	for (i = 0; i < LINK_WINDOWS_MAX; i++) {
		link->inbound[i].size = link->window_size[i];
		link->inbound[i].align = PAGE_SIZE;
		link->inbound[i].size_align = 1;
	}
	link_inbound_learn(link);
}

/*
 * What window @mw has to lead to, for these addresses to be reached: more, where
 * it leads to multiples of something larger. False: it is too small for that.
 */
bool link_inbound_stretch(struct ntb_link *link, unsigned int mw, u64 *base,
			  u64 *size)
{
	const struct link_inbound *inbound = &link->inbound[mw];
	u64 first = ALIGN_DOWN(*base, inbound->align);
	u64 bytes = ALIGN(*base + *size - first, inbound->size_align);

	if (bytes < *size || bytes > inbound->size)
		return false;
	*base = first;
	*size = bytes;
	return true;
}

/*
 * Opens a window. Returns 0; -EINVAL: it can't lead there, which holds as long
 * as the NTB is there; -EIO.
 */
int link_inbound_open(struct ntb_link *link, unsigned int mw, u64 base,
		      u64 size)
{
	const struct link_inbound *inbound = &link->inbound[mw];
	int ret = -EINVAL;

	lockdep_assert_held(&link->window_lock);
	if (IS_ALIGNED(base, inbound->align) &&
	    IS_ALIGNED(size, inbound->size_align) && size <= inbound->size)
		ret = ntb_mw_set_trans(link->ntb, NTB_DEF_PEER_IDX, mw, base,
				       size);
	if (ret == -EINVAL)
		dev_err_ratelimited(link->base.dma,
				    "%s: window %u can't be set to %#llx (%#llx bytes): it takes %#llx bytes at most, at multiples of %#llx\n",
				    link->base.name, mw, base, size,
				    inbound->size, inbound->align);
	else if (ret)
		dev_err_ratelimited(link->base.dma,
				    "%s: window %u can't be set to %#llx: %d\n",
				    link->base.name, mw, base, ret);
	return ret;
}

/*
 * Where window @mw, which led to @base, leads while it is shut, should its limit
 * not hold: to the quarantine page or, if it can't lead to a page, above all
 * addresses mapped for the NTB. Without an IOMMU there is no such place.
 */
static u64 link_inbound_away(struct ntb_link *link, unsigned int mw, u64 base)
{
	u64 align = link->inbound[mw].align;

	if (IS_ALIGNED(link->quarantine_dma, align))
		return link->quarantine_dma;
	return link->iommu ? ALIGN(link->inbound[0].size, align) : base;
}

/*
 * Shuts a window, which leads to @base. The limit is cleared first, alone, so
 * that no access slips through. Drivers set the base before the limit: a
 * changed base would send accesses elsewhere meanwhile. If the driver refuses a
 * limit of 0, it has to clear the whole translation. Some bridges take a limit
 * of 0 for no limit, so the base then moves away from there. Drivers read the
 * registers back, which pushes out writes posted through the window before.
 */
int link_inbound_shut(struct ntb_link *link, unsigned int mw, u64 base)
{
	int ret = ntb_mw_set_trans(link->ntb, NTB_DEF_PEER_IDX, mw, base, 0);

	if (ret)
		ret = ntb_mw_clear_trans(link->ntb, NTB_DEF_PEER_IDX, mw);
	if (ret)
		return ret;
	ret = ntb_mw_set_trans(link->ntb, NTB_DEF_PEER_IDX, mw,
			       link_inbound_away(link, mw, base), 0);
	/* an alignment that isn't known yet: nothing was changed */
	return ret == -EINVAL ? 0 : ret;
}
