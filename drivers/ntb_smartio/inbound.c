// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of the windows that lead into this host: their sizes and
 * alignment, where one leads to, and how it is shut.
 */
#include <linux/align.h>
#include <linux/log2.h>

#include "link.h"

/*
 * Some drivers count none without a cable, or fewer. A window that was counted
 * once may be open.
 */
static unsigned int link_inbound_count(struct ntb_link *link)
{
	int count = ntb_mw_count(link->ntb, NTB_DEF_PEER_IDX);

	if (count > 0)
		link->counted = max_t(unsigned int, link->counted,
				      min(count, LINK_WINDOWS_MAX));
	return link->counted ?: link->windows;
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
		link->inbound[i].known = true;
	}
}

/*
 * Bytes of window @mw that can be used. Its translation is this host's, and the
 * window itself is a BAR of the other side. Either may be the smaller one.
 */
u64 link_inbound_reach(struct ntb_link *link, unsigned int mw)
{
	const struct link_inbound *inbound = &link->inbound[mw];

	return link->chosen ? min(inbound->size, inbound->peer) : inbound->size;
}

/*
 * Until they are known: each as the one that leads out, to any page. No aperture
 * is opened before.
 */
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

	if (bytes < *size || bytes > link_inbound_reach(link, mw))
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
	struct link_inbound *inbound = &link->inbound[mw];
	int ret = -EINVAL;

	lockdep_assert_held(&link->window_lock);
	if (IS_ALIGNED(base, inbound->align) &&
	    IS_ALIGNED(size, inbound->size_align) && size <= inbound->size) {
		inbound->away = false;
		ret = ntb_mw_set_trans(link->ntb, NTB_DEF_PEER_IDX, mw, base,
				       size);
	}
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
 * Leads window @mw, whose first @size bytes are open, to the quarantine page.
 * If it can't lead to a page: above all addresses mapped for the NTB, to a
 * multiple of its size, as its alignment may not be known yet. Returns 0;
 * -EINVAL: without an IOMMU there is no such place; -EIO.
 */
static int link_inbound_lead_away(struct ntb_link *link, unsigned int mw,
				  u64 size)
{
	const struct link_inbound *inbound = &link->inbound[mw];
	u64 align = roundup_pow_of_two(max_t(u64, inbound->size, PAGE_SIZE));
	int ret = -EINVAL;

	if (IS_ALIGNED(link->quarantine_dma, inbound->align))
		ret = ntb_mw_set_trans(link->ntb, NTB_DEF_PEER_IDX, mw,
				       link->quarantine_dma, size);
	if (ret == -EINVAL && link->iommu)
		ret = ntb_mw_set_trans(link->ntb, NTB_DEF_PEER_IDX, mw,
				       ALIGN(link->inbound[0].size, align),
				       size);
	return ret;
}

/*
 * Shuts a window, which leads to @base. The limit is cleared first, alone, so
 * that no access slips through. Drivers set the base before the limit: a
 * changed base would send accesses elsewhere meanwhile. If the driver refuses a
 * limit of 0, it has to clear the whole translation. If it refuses that, too,
 * the window leads away, and the least of it is open. Ice Lake's driver writes
 * the log2 of the limit to a register, and there is none of 0. Some bridges
 * take a limit of 0 for no limit, so the base then moves away from there.
 * Drivers read the registers back, which pushes out writes posted through the
 * window before.
 */
int link_inbound_shut(struct ntb_link *link, unsigned int mw, u64 base)
{
	struct link_inbound *inbound = &link->inbound[mw];
	int ret = -EIO;

	/* one that leads away must not lead to @base in between */
	if (!inbound->away)
		ret = ntb_mw_set_trans(link->ntb, NTB_DEF_PEER_IDX, mw, base,
				       0);
	if (ret && !inbound->away)
		ret = ntb_mw_clear_trans(link->ntb, NTB_DEF_PEER_IDX, mw);
	if (ret) {
		ret = link_inbound_lead_away(link, mw,
					     max_t(u64, PAGE_SIZE,
						   inbound->size_align));
		inbound->away = !ret;
		return ret;
	}
	ret = link_inbound_lead_away(link, mw, 0);
	/* there is no other place: nothing was changed */
	return ret == -EINVAL ? 0 : ret;
}
