// SPDX-License-Identifier: GPL-2.0
/*
 * Memory windows. Inbound: what of this host the other side reaches, a few
 * apertures, set once and closed when the link goes. Outbound: where in this
 * host an address of the other side is found, by its CPUs and its devices.
 */
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>

#include "link.h"

static bool flat_window;
module_param(flat_window, bool, 0444);
MODULE_PARM_DESC(flat_window, "without an IOMMU, open all memory to linked hosts, so that nothing has to be copied");

/**
 * struct link_map - a part of the NTB that a device of this host can reach
 * @entry: in link->maps
 * @dev: the device; a reference
 * @phys: an outgoing window, or a page of registers
 * @size: bytes
 * @direction: as dma_map_resource() had it
 * @dma: where the device finds it
 */
struct link_map {
	struct list_head entry;
	struct device *dev;
	phys_addr_t phys;
	size_t size;
	enum dma_data_direction direction;
	dma_addr_t dma;
};

/* Whether accesses of this device of the host go through an IOMMU. */
bool link_translated(struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain && (domain->type & __IOMMU_DOMAIN_PAGING);
}

/*
 * Bits of addresses for the DMA API, with a window 0 of @size bytes. A pool may
 * lie anywhere: the window leads there.
 */
static unsigned int link_dma_bits(struct ntb_link *link, u64 size)
{
	unsigned int bits = 64;

	if (link->base.scattered && size)
		bits = ilog2(size);
	/* the upper half is for single functions of the peer: space.c */
	if (link->iommu && size)
		bits--;
	return bits;
}

static int link_limit_addresses(struct ntb_link *link)
{
	unsigned int bits = link_dma_bits(link, link->inbound[0].size);
	int ret;

	link->old_mask = dma_get_mask(link->base.dma);
	link->old_segment = dma_get_max_seg_size(link->base.dma);
	link->old_align = dma_get_min_align_mask(link->base.dma);
	ret = dma_set_mask_and_coherent(link->base.dma, DMA_BIT_MASK(bits));
	if (ret) {
		dev_err(link->base.dma, "%s: no DMA addresses of %u bits: %d\n",
			link->base.name, bits, ret);
		return ret;
	}
	dma_set_max_seg_size(link->base.dma, UINT_MAX);
	dma_set_min_align_mask(link->base.dma, PAGE_SIZE - 1);
	return 0;
}

static void link_unlimit_addresses(struct ntb_link *link)
{
	dma_set_min_align_mask(link->base.dma, link->old_align);
	dma_set_max_seg_size(link->base.dma, link->old_segment);
	if (dma_set_mask_and_coherent(link->base.dma, link->old_mask))
		dev_warn(link->base.dma, "%s: the old DMA mask is refused\n",
			 link->base.name);
}

/*
 * A page. Without an IOMMU windows may lead only to multiples of their size:
 * then as much, since contiguous memory is aligned to its size.
 */
static int link_quarantine_alloc(struct ntb_link *link)
{
	u64 window, size = PAGE_SIZE;
	unsigned int i;

	for (i = 0; i < link->inbounds && !link->iommu; i++) {
		window = link->inbound[i].size;
		if (window > size && window <= PAGE_SIZE << MAX_PAGE_ORDER)
			size = roundup_pow_of_two(window);
	}
	link->quarantine = dma_alloc_coherent(link->base.dma, size,
					      &link->quarantine_dma,
					      GFP_KERNEL | __GFP_NOWARN);
	if (!link->quarantine && size > PAGE_SIZE) {
		size = PAGE_SIZE;
		link->quarantine = dma_alloc_coherent(link->base.dma, size,
						      &link->quarantine_dma,
						      GFP_KERNEL);
	}
	link->quarantine_size = size;
	return link->quarantine ? 0 : -ENOMEM;
}

/*
 * Find the windows, decide what will be open, but for the sizes of the other
 * side's windows (link_windows_choose()). All inbound windows are shut when this
 * returns. Ends with what link_memory_init() needs to know.
 */
int link_windows_init(struct ntb_link *link)
{
	struct ntb_dev *ntb = link->ntb;
	resource_size_t size;
	int i, count, ret;

	mutex_init(&link->window_lock);
	mutex_init(&link->held_lock);
	INIT_LIST_HEAD(&link->held);
	mutex_init(&link->announce_lock);
	mutex_init(&link->maps_lock);
	INIT_LIST_HEAD(&link->maps);
	mutex_init(&link->spaces_lock);
	mutex_init(&link->nested_lock);
	count = ntb_peer_mw_count(ntb);
	if (count <= 0) {
		dev_err(link->base.dma, "%s: no memory window\n", link->base.name);
		return count ? count : -ENODEV;
	}
	link->windows = min(count, LINK_WINDOWS_MAX);
	for (i = 0; i < link->windows; i++) {
		ret = ntb_peer_mw_get_addr(ntb, i, &link->window_phys[i],
					   &size);
		if (ret)
			return ret;
		link->window_size[i] = size;
		if (!size)
			dev_printk(i ? KERN_INFO : KERN_ERR, link->base.dma,
				   "%s: window %d has no bus address: this host found no room for its BAR\n",
				   link->base.name, i);
	}
	mutex_lock(&link->window_lock);
	link_inbound_init(link);
	mutex_unlock(&link->window_lock);
	link->iommu = link_translated(link->base.dma);
	link->base.scattered = link->iommu || flat_window;
	ret = link_limit_addresses(link);
	if (ret)
		return ret;
	ret = link_quarantine_alloc(link);
	if (ret) {
		link_unlimit_addresses(link);
		return ret;
	}
	/*
	 * A reset does not always do it. An earlier driver may have left them
	 * open, or have taken the NTB off the bus as it could not shut them.
	 */
	mutex_lock(&link->window_lock);
	link_windows_close(link);
	if (!link->off_bus)
		pci_set_master(ntb->pdev);
	mutex_unlock(&link->window_lock);
	if (!link->base.scattered)
		return 0;
	link->own[0].size = link->inbound[0].size;
	if (!link->iommu)
		dev_info(link->base.dma,
			 "%s: flat_window: the other side reaches all memory of this host\n",
			 link->base.name);
	return 0;
}

/* The mirror of link_windows_init(). */
void link_windows_exit(struct ntb_link *link)
{
	dma_free_coherent(link->base.dma, link->quarantine_size,
			  link->quarantine, link->quarantine_dma);
	link_unlimit_addresses(link);
}

/*
 * What its window can do is known only with the cable in, maybe not yet when it
 * was asked for. Window 0 leads exactly to the memory.
 */
static int link_aperture_open(struct ntb_link *link,
			      struct link_aperture *aperture)
{
	if (aperture->mw)
		link_inbound_stretch(link, aperture->mw, &aperture->base,
				     &aperture->size);
	return link_inbound_open(link, aperture->mw, aperture->base,
				 aperture->size);
}

static u64 link_window_base(struct ntb_link *link, unsigned int mw)
{
	int i;

	for (i = 0; i < WIRE_APERTURES; i++)
		if (link->own[i].size && link->own[i].mw == mw)
			return link->own[i].base;
	return 0;
}

/*
 * One that stays open takes the NTB off the bus until it can be shut. The peer's
 * messages can't arrive meanwhile: the next tick takes the link down.
 */
static int link_window_shut(struct ntb_link *link, unsigned int mw)
{
	int ret = link_inbound_shut(link, mw, link_window_base(link, mw));

	if (ret && !link->off_bus && pci_device_is_present(link->ntb->pdev)) {
		dev_err(link->base.dma,
			"%s: window %u can't be shut (%d): the NTB is taken off the bus\n",
			link->base.name, mw, ret);
		pci_clear_master(link->ntb->pdev);
		link->off_bus = true;
		WRITE_ONCE(link->restart, "a memory window can't be shut");
	}
	return ret;
}

/*
 * Registers of devices first, memory (window 0) last. A doorbell that still got
 * through after memory was shut would make a device run an earlier command
 * again. Returns the first error; all others are shut.
 */
static int link_windows_shut(struct ntb_link *link)
{
	int error, ret = 0;
	unsigned int i;

	for (i = 1; i <= link->inbounds; i++) {
		error = link_window_shut(link, i % link->inbounds);
		ret = ret ?: error;
	}
	return ret;
}

/* Nothing of the other side lands any more. */
void link_windows_close(struct ntb_link *link)
{
	lockdep_assert_held(&link->window_lock);
	link_windows_shut(link);
	/* while this is set, link_hold() keeps all */
	WRITE_ONCE(link->open, false);
}

/* Back on the bus, once all can be shut. Returns whether it is there. */
bool link_windows_retry(struct ntb_link *link)
{
	bool on_bus;

	mutex_lock(&link->window_lock);
	if (link->off_bus && !link_windows_shut(link)) {
		link->off_bus = false;
		pci_set_master(link->ntb->pdev);
		dev_info(link->base.dma, "%s: all windows are shut: the NTB is back on the bus\n",
			 link->base.name);
	}
	on_bus = !link->off_bus;
	mutex_unlock(&link->window_lock);
	return on_bus;
}

/*
 * Aperture 0 has the bytes of window 0 that both sides have. Memory in use by now
 * has low addresses (link_alloc_low()).
 */
static int link_aperture_choose(struct ntb_link *link, u64 size)
{
	u64 end = max(link->boot_dma + PAGE_SIZE,
		      link->rx.dma + LINK_RING_SIZE);
	unsigned int bits;
	int ret;

	if (!link->base.scattered)
		return link_pool_narrow(link, size);
	if (size == link->own[0].size)
		return 0;
	bits = link_dma_bits(link, size);
	if (!size || end - 1 > DMA_BIT_MASK(bits))
		return -EINVAL;
	ret = dma_set_mask_and_coherent(link->base.dma, DMA_BIT_MASK(bits));
	if (ret) {
		dev_err(link->base.dma, "%s: no DMA addresses of %u bits: %d\n",
			link->base.name, bits, ret);
		return -EINVAL;
	}
	link->own[0].size = size;
	return 0;
}

/* Once for each size. */
static bool link_too_small(struct link_inbound *inbound, u64 peer)
{
	bool news = inbound->too_small != peer + 1;

	inbound->too_small = peer + 1;
	return news;
}

/* The first time that the sizes of the other side's windows are known. */
static int link_windows_choose_first(struct ntb_link *link, u32 packed)
{
	struct link_inbound *inbound;
	unsigned int mw;
	int ret;

	/* its own limit is for good, and not known while the cable is out */
	if (!link->inbound[0].known)
		return -ENOTCONN;
	for (mw = 0; mw < link->inbounds; mw++) {
		inbound = &link->inbound[mw];
		inbound->peer = wire_window_size(packed, mw);
		if (!inbound->known)
			inbound->size = inbound->peer;
	}
	inbound = &link->inbound[0];
	ret = link_aperture_choose(link, min(inbound->size, inbound->peer));
	if (ret) {
		if (link_too_small(inbound, inbound->peer))
			dev_err(link->base.dma,
				"%s: window 0 of the other side has %#llx bytes: too few for the memory that this host has to open\n",
				link->base.name, inbound->peer);
		return ret;
	}
	link->chosen = true;
	for (mw = 0; mw < min(link->windows, link->inbounds); mw++)
		if (link->inbound[mw].peer != link->window_size[mw])
			dev_info(link->base.dma,
				 "%s: window %u has %#llx bytes here, %#llx on the other side: %#llx lead into this host\n",
				 link->base.name, mw, link->window_size[mw],
				 link->inbound[mw].peer,
				 link_inbound_reach(link, mw));
	return 0;
}

/*
 * Another time. A path's memory and interrupts keep their addresses over a loss.
 * So aperture 0 stays, and the other side has to reach all of the apertures.
 */
static int link_windows_choose_again(struct ntb_link *link, u32 packed)
{
	struct link_inbound *first = &link->inbound[0];
	const struct link_aperture *own;
	bool wider;
	u64 peer;
	int i;

	for (i = 0; i < WIRE_APERTURES; i++) {
		own = &link->own[i];
		peer = wire_window_size(packed, own->mw);
		if (own->size <= peer)
			continue;
		if (link_too_small(&link->inbound[own->mw], peer))
			dev_err(link->base.dma,
				"%s: window %u of the other side has %#llx bytes now, and this host needs %#llx: load ntb_smartio here again\n",
				link->base.name, own->mw, peer, own->size);
		return -EINVAL;
	}
	wider = wire_window_size(packed, 0) > first->peer;
	for (i = 0; i < link->inbounds; i++)
		link->inbound[i].peer = wire_window_size(packed, i);
	if (wider && link->base.scattered &&
	    link_inbound_reach(link, 0) > link->own[0].size)
		dev_info(link->base.dma,
			 "%s: window 0 of the other side has %#llx bytes now: this host opens %#llx until ntb_smartio is loaded here again\n",
			 link->base.name, first->peer, link->own[0].size);
	return 0;
}

/*
 * Both sides are there: how much each window can open is known. Returns 0;
 * -EINVAL: too little; -ENOTCONN: the cable is out again.
 */
int link_windows_choose(struct ntb_link *link, u32 packed)
{
	bool first = !link->chosen;
	int ret;

	mutex_lock(&link->window_lock);
	link_inbound_learn(link);
	ret = first ? link_windows_choose_first(link, packed) :
		      link_windows_choose_again(link, packed);
	mutex_unlock(&link->window_lock);
	if (!ret && first && link->base.scattered &&
	    LINK_MSI_BASE + LINK_MSI_SIZE > link->own[0].size)
		link_window_need(link, LINK_MSI_BASE, LINK_MSI_SIZE,
				 "interrupts");
	return ret;
}

/*
 * Let the other side at the apertures. Returns 0; -EINVAL: a window can't lead
 * there, which does not change; another negative error.
 */
int link_windows_open(struct ntb_link *link)
{
	int i, ret = 0;

	lockdep_assert_held(&link->window_lock);
	link_inbound_learn(link);
	link->open = true;
	for (i = 0; i < WIRE_APERTURES && !ret; i++)
		if (link_aperture_open_size(&link->own[i]))
			ret = link_aperture_open(link, &link->own[i]);
	if (ret)
		link_windows_close(link);
	return ret;
}

static bool link_within(const struct link_aperture *aperture, u64 addr,
			u64 size)
{
	return aperture->size && size <= aperture->size &&
	       addr >= aperture->base &&
	       addr - aperture->base <= aperture->size - size;
}

/* Writes the apertures open to the other side, for an announcement. */
void link_apertures_write(struct ntb_link *link, struct wire_aperture *to)
{
	const struct link_aperture *own = link->own;
	int i;

	lockdep_assert_held(&link->window_lock);
	for (i = 0; i < WIRE_APERTURES; i++) {
		to[i].mw = cpu_to_le32(own[i].mw);
		to[i].base = cpu_to_le64(own[i].base);
		to[i].size = cpu_to_le64(link_aperture_open_size(&own[i]));
	}
}

/* Announces to the other side the apertures open to it. */
void link_apertures_announce(struct ntb_link *link)
{
	struct wire_aperture apertures[WIRE_APERTURES] = {};
	struct wire_message message = {
		.type = WIRE_APERTURE,
		.length = sizeof(apertures),
	};
	u32 generation, version;

	mutex_lock(&link->announce_lock);
	mutex_lock(&link->window_lock);
	link_apertures_write(link, apertures);
	version = link->own_version;
	mutex_unlock(&link->window_lock);
	if (link_is_up(link, &generation)) {
		link_send(link, generation, &message, apertures);
		WRITE_ONCE(link->announced, version);
	}
	mutex_unlock(&link->announce_lock);
}

/* Takes the other side's announcement of its apertures. */
void link_apertures_take(struct ntb_link *link,
			 const struct wire_aperture *apertures)
{
	u64 sizes[LINK_WINDOWS_MAX];
	unsigned int i;

	for (i = 0; i < link->windows; i++)
		sizes[i] = link->window_size[i];
	if (!wire_apertures_ok(apertures, link->windows, sizes)) {
		atomic64_inc(&link->base.refused);
		return;
	}
	spin_lock(&link->base.lock);
	for (i = 0; i < WIRE_APERTURES; i++) {
		link->peer_own[i].mw = le32_to_cpu(apertures[i].mw);
		link->peer_own[i].base = le64_to_cpu(apertures[i].base);
		link->peer_own[i].size = le64_to_cpu(apertures[i].size);
	}
	spin_unlock(&link->base.lock);
}

/*
 * The own aperture that was opened for these addresses, or NULL. One that leads
 * there only by its window's alignment is another user's, and is shut with it.
 */
static struct link_aperture *link_own_find(struct ntb_link *link, u64 base,
					   u64 size)
{
	struct link_aperture *own = link->own;
	int i;

	lockdep_assert_held(&link->window_lock);
	if (link_within(&own[0], base, size))
		return &own[0];
	for (i = 1; i < WIRE_APERTURES; i++)
		if (own[i].size && own[i].needed == base &&
		    own[i].needed_size == size)
			return &own[i];
	return NULL;
}

static DEFINE_RATELIMIT_STATE(no_window, 600 * HZ, 4);

/* One more user. Returns 0 or -EIO. */
static int link_aperture_join(struct ntb_link *link,
			      struct link_aperture *aperture)
{
	int ret = 0;

	if (aperture->cut && link->open)
		ret = link_aperture_open(link, aperture);
	if (ret)
		return ret;
	if (aperture->cut)
		link->own_version++;
	aperture->cut = false;
	aperture->users++;
	return 0;
}

/* A new one, if a window is left that can lead there. Returns 0; -ENOSPC; -EIO. */
static int link_aperture_add(struct ntb_link *link, u64 base, u64 size)
{
	struct link_aperture new = {
		.base = base,
		.size = size,
		.needed = base,
		.needed_size = size,
		.users = 1,
	};
	bool used[LINK_WINDOWS_MAX] = { true };
	unsigned int mw;
	int i, ret;

	for (i = 0; i < WIRE_APERTURES; i++)
		if (link->own[i].size)
			used[link->own[i].mw] = true;
	for (mw = 0; mw < link->inbounds; mw++)
		if (!used[mw] &&
		    link_inbound_stretch(link, mw, &new.base, &new.size))
			break;
	for (i = 1; i < WIRE_APERTURES && link->own[i].size; i++)
		;
	if (mw == link->inbounds || i == WIRE_APERTURES)
		return -ENOSPC;
	new.mw = mw;
	ret = link->open ? link_aperture_open(link, &new) : 0;
	if (ret)
		return ret;
	link->own[i] = new;
	link->own_version++;
	return 0;
}

/*
 * Lets the other side reach something outside aperture 0. The announcement
 * precedes any message sent after this, also if another user opens the window.
 * It is open until link_window_done() was called as often as this. Returns 0;
 * -ENOSPC: no window is left; -EIO.
 */
int link_window_need(struct ntb_link *link, u64 base, u64 size,
		     const char *what)
{
	struct link_aperture *aperture;
	u32 version;
	int ret;

	mutex_lock(&link->window_lock);
	aperture = link_own_find(link, base, size);
	ret = aperture ? link_aperture_join(link, aperture) :
			 link_aperture_add(link, base, size);
	version = link->own_version;
	mutex_unlock(&link->window_lock);
	/* a client asks again every ten seconds, for each drive */
	if (ret == -ENOSPC && __ratelimit(&no_window))
		dev_err(link->base.dma,
			"%s: no memory window is left for %s (%#llx, %#llx bytes)\n",
			link->base.name, what, base, size);
	if (!ret && READ_ONCE(link->announced) != version)
		link_apertures_announce(link);
	return ret;
}

static void link_window_leave(struct ntb_link *link, u64 base, u64 size,
			      bool keep)
{
	struct link_aperture *aperture;
	bool shut = false;

	mutex_lock(&link->window_lock);
	aperture = link_own_find(link, base, size);
	if (aperture && aperture != &link->own[0]) {
		aperture->kept += keep;
		shut = !--aperture->users;
	}
	if (shut) {
		if (link->open)
			link_window_shut(link, aperture->mw);
		if (aperture->kept)
			aperture->cut = true;
		else
			aperture->size = 0;
		link->own_version++;
	}
	mutex_unlock(&link->window_lock);
	if (shut)
		link_apertures_announce(link);
}

/*
 * The other side must not reach the range any more, unless another user needs
 * it. The window is reserved for the range nevertheless, until
 * link_window_release() was called as often as this.
 */
void link_window_cut(struct ntb_link *link, u64 base, u64 size)
{
	link_window_leave(link, base, size, true);
}

/*
 * One that was cut off has stopped. After the last one the window may lead
 * elsewhere, unless it was needed again meanwhile.
 */
void link_window_release(struct ntb_link *link, u64 base, u64 size)
{
	struct link_aperture *aperture;

	mutex_lock(&link->window_lock);
	aperture = link_own_find(link, base, size);
	if (aperture && aperture != &link->own[0] && !--aperture->kept &&
	    aperture->cut)
		aperture->size = 0;
	mutex_unlock(&link->window_lock);
}

/* The other side need not reach it any more. */
void link_window_done(struct ntb_link *link, u64 base, u64 size)
{
	link_window_leave(link, base, size, false);
}

/*
 * Which window leads to an address of the other side. Of several the one that
 * ends first: it was opened for that address, the others lead there by their
 * windows' alignment. Returns 0 or -ERANGE, and then a line in the log names
 * the address.
 */
int link_window_reach(struct ntb_link *link, u64 addr, u64 size,
		      unsigned int *mw, u64 *offset)
{
	const struct link_aperture *aperture, *best = NULL;
	int i;

	spin_lock(&link->base.lock);
	for (i = 0; i < WIRE_APERTURES; i++) {
		aperture = &link->peer_own[i];
		if (link_within(aperture, addr, size) &&
		    (!best || aperture->base + aperture->size <
			      best->base + best->size))
			best = aperture;
	}
	if (best) {
		*mw = best->mw;
		*offset = addr - best->base;
	}
	spin_unlock(&link->base.lock);
	if (!best)
		dev_err_ratelimited(link->base.dma,
				    "%s: no window leads to %#llx (%#llx bytes) of %s\n",
				    link->base.name, addr, size, link->base.peer.name);
	return best ? 0 : -ERANGE;
}

/* Where this host's CPUs find an address of the other side. */
int link_window_phys(struct ntb_link *link, u64 addr, u64 size,
		     phys_addr_t *phys)
{
	unsigned int mw;
	u64 offset;
	int ret = link_window_reach(link, addr, size, &mw, &offset);

	if (!ret)
		*phys = link->window_phys[mw] + offset;
	return ret;
}

/* For the NTB's driver, as it had it. */
static void link_bar_claim(struct ntb_link *link, int bar)
{
	struct pci_dev *pdev = link->ntb->pdev;

	if (pci_request_region(pdev, bar, dev_driver_string(&pdev->dev)))
		dev_err(link->base.dma, "%s: BAR %d can't be claimed again\n",
			link->base.name, bar);
}

/*
 * Registers of the peer, in an outgoing window, become a child of the NTB's
 * BAR. So drivers can claim them as those of any device. The NTB's driver has
 * claimed the whole BAR; that claim rests meanwhile. Returns 0; -ERANGE;
 * -EBUSY.
 */
int link_nest(struct ntb_link *link, struct resource *resource)
{
	struct pci_dev *pdev = link->ntb->pdev;
	struct resource *bar;
	int i, ret = -ERANGE;

	mutex_lock(&link->nested_lock);
	for (i = 0; i < PCI_STD_NUM_BARS; i++) {
		bar = &pdev->resource[i];
		if (!(bar->flags & IORESOURCE_MEM) ||
		    !resource_contains(bar, resource))
			continue;
		if (!link->nested[i])
			pci_release_region(pdev, i);
		ret = request_resource(bar, resource);
		if (!ret)
			link->nested[i]++;
		if (ret && !link->nested[i])
			link_bar_claim(link, i);
		break;
	}
	mutex_unlock(&link->nested_lock);
	return ret;
}

/* The mirror of link_nest(). */
void link_unnest(struct ntb_link *link, struct resource *resource)
{
	struct pci_dev *pdev = link->ntb->pdev;
	int i;

	mutex_lock(&link->nested_lock);
	for (i = 0; i < PCI_STD_NUM_BARS; i++)
		if (resource->parent == &pdev->resource[i])
			break;
	release_resource(resource);
	if (i < PCI_STD_NUM_BARS && !--link->nested[i])
		link_bar_claim(link, i);
	mutex_unlock(&link->nested_lock);
}

/*
 * Where a device of this host finds a part of the NTB. It is mapped once, until
 * link_unmap_device(). Returns 0, -ENOMEM, or -EIO: it can't be mapped for it.
 */
int link_map_range(struct ntb_link *link, struct device *dev, phys_addr_t phys,
		   size_t size, enum dma_data_direction direction,
		   dma_addr_t *dma)
{
	struct link_map *map;
	int ret = 0;

	mutex_lock(&link->maps_lock);
	list_for_each_entry(map, &link->maps, entry) {
		if (map->dev == dev && map->phys == phys) {
			*dma = map->dma;
			goto unlock;
		}
	}
	ret = -ENOMEM;
	map = kzalloc(sizeof(*map), GFP_KERNEL);
	if (!map)
		goto unlock;
	/*
	 * Other devices may have it mapped, too, which DMA debugging takes for a
	 * defect of memory that is cached.
	 */
	map->dma = dma_map_resource(dev, phys, size, direction,
				    DMA_ATTR_SKIP_CPU_SYNC);
	if (dma_mapping_error(dev, map->dma)) {
		kfree(map);
		ret = -EIO;
		goto unlock;
	}
	map->dev = get_device(dev);
	map->phys = phys;
	map->size = size;
	map->direction = direction;
	list_add(&map->entry, &link->maps);
	*dma = map->dma;
	ret = 0;
unlock:
	mutex_unlock(&link->maps_lock);
	return ret;
}

/* Where a device of this host finds an outgoing window; as link_map_range(). */
int link_map_device(struct ntb_link *link, struct device *dev,
		    unsigned int mw, dma_addr_t *dma)
{
	int ret = link_map_range(link, dev, link->window_phys[mw],
				 link->window_size[mw], DMA_BIDIRECTIONAL, dma);

	if (ret == -EIO)
		dev_err(dev, "window %u of %s can't be mapped for it\n", mw,
			link->base.name);
	return ret;
}

/* End its mappings. */
void link_unmap_device(struct ntb_link *link, struct device *dev)
{
	struct link_map *map, *next;

	mutex_lock(&link->maps_lock);
	list_for_each_entry_safe(map, next, &link->maps, entry) {
		if (dev && map->dev != dev)
			continue;
		dma_unmap_resource(map->dev, map->dma, map->size,
				   map->direction, DMA_ATTR_SKIP_CPU_SYNC);
		list_del(&map->entry);
		put_device(map->dev);
		kfree(map);
	}
	mutex_unlock(&link->maps_lock);
}
