// SPDX-License-Identifier: GPL-2.0
/*
 * Peer to peer: a driver may map registers of another function that this host
 * borrows, or memory on it, for a function. This host has a window of the NTB
 * for those. Through that each access would cross the cable twice. So the
 * lender is asked to map them in the function's domain there. If another host
 * lends the other function, that one is asked first to grant the lender its
 * registers. The lender reaches them over a link of its own.
 *
 * A mapping is added or removed only when the lender has answered. The caller
 * has to be able to wait for that. Without an answer the lender may have the
 * mapping. So nothing else gets its address, and a work asks again until the
 * lender has unmapped it.
 *
 * The link between two lenders may be lost. Then the function's lender unmaps
 * the registers that it reached over that link, and notifies this host. The work
 * asks for them until the link is back: they are then at the same addresses. In
 * between the function's reads fail, and its posted writes are lost.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "borrow.h"

/* Until the lender is asked again. */
#define BORROW_AGAIN_MS	1000
/* Until an answer to the work is looked for again. */
#define BORROW_ANSWER_MS	10

/* Functions that are here, whose registers may be mapped for others. */
static LIST_HEAD(borrow_peers);
static DEFINE_SPINLOCK(borrow_peers_lock);	/* the list, and the next two */
/* All their registers are between these: most other mappings are not. */
static phys_addr_t borrow_peers_start = PHYS_ADDR_MAX;
static phys_addr_t borrow_peers_end;

/**
 * struct borrow_reach - registers of another function that one reaches
 * @entry: in f->reaches
 * @iova: where, for the function
 * @size: bytes
 * @phys: where this host finds them
 * @peer: as the lenders know them
 * @gone: for this host. Something of it may be left in a lender, and only
 *	borrow_gone_work() frees this. Nothing else is mapped there.
 * @unsure: the lender did not answer the request to map it
 * @unmapped: only its grant is left: anything else may be mapped there
 * @lost: the link between its lender and the function's may have been lost
 * @reported: the log has that
 * @asking: the work maps it again, and has it until it is done
 * @leaving: it is being unmapped
 */
struct borrow_reach {
	struct list_head entry;
	u64 iova;
	u64 size;
	phys_addr_t phys;
	struct smartio_peer peer;
	bool gone;
	bool unsure;
	bool unmapped;
	bool lost;
	bool reported;
	bool asking;
	bool leaving;
};

static void borrow_peers_bound(void)
{
	phys_addr_t start = PHYS_ADDR_MAX, end = 0;
	struct borrow_function *f;
	unsigned int i;

	lockdep_assert_held(&borrow_peers_lock);
	list_for_each_entry(f, &borrow_peers, peers) {
		for (i = 0; i < f->bar_count; i++) {
			start = min(start, f->bars[i].start);
			end = max(end, PAGE_ALIGN(f->bars[i].end + 1));
		}
	}
	WRITE_ONCE(borrow_peers_start, start);
	WRITE_ONCE(borrow_peers_end, end);
}

static void borrow_gone_work(struct work_struct *work);

/* A function has its registers. */
void borrow_peer_add(struct borrow_function *f)
{
	INIT_LIST_HEAD(&f->reaches);
	spin_lock_init(&f->reaches_lock);
	INIT_DELAYED_WORK(&f->gone, borrow_gone_work);
	f->session = smartio_session_id(f->sdev);
	spin_lock_irq(&borrow_peers_lock);
	list_add_tail(&f->peers, &borrow_peers);
	borrow_peers_bound();
	spin_unlock_irq(&borrow_peers_lock);
}

/*
 * The path to a function by its session, with a reference; NULL: the session is
 * over, and its grants with it.
 */
static struct smartio_device *
borrow_peer_path(const struct smartio_peer *peer)
{
	struct smartio_device *sdev = NULL;
	struct borrow_function *f;

	spin_lock_irq(&borrow_peers_lock);
	list_for_each_entry(f, &borrow_peers, peers) {
		if (f->session != peer->session ||
		    !uuid_equal(&f->sdev->host, &peer->host))
			continue;
		sdev = f->sdev;
		get_device(&sdev->dev);
		break;
	}
	spin_unlock_irq(&borrow_peers_lock);
	return sdev;
}

/* Its function does not use it any more. May sleep. */
static int borrow_peer_revoke(const struct smartio_peer *peer)
{
	struct smartio_device *target;
	int ret = 0;

	if (!peer->grant)
		return 0;
	target = borrow_peer_path(peer);
	if (target) {
		ret = smartio_peer_revoke(target, peer);
		put_device(&target->dev);
	}
	return ret;
}

/* It gives them back. Nothing is mapped for it any more. */
void borrow_peer_del(struct borrow_function *f)
{
	struct borrow_reach *reach, *next;

	spin_lock_irq(&borrow_peers_lock);
	list_del(&f->peers);
	borrow_peers_bound();
	spin_unlock_irq(&borrow_peers_lock);
	WRITE_ONCE(f->leaving, true);
	cancel_delayed_work_sync(&f->gone);
	list_for_each_entry_safe(reach, next, &f->reaches, entry) {
		borrow_peer_revoke(&reach->peer);
		kfree(reach);
	}
}

static bool borrow_in_bar(const struct resource *bar, phys_addr_t phys,
			  size_t size)
{
	return phys < PAGE_ALIGN(bar->end + 1) && bar->start < phys + size;
}

/*
 * Whose registers these are. Returns 0 and how their lender calls them;
 * -ENODEV: no function's; -EINVAL: they lie in no BAR as a whole.
 */
static int borrow_peer_find(phys_addr_t phys, size_t size,
			    struct smartio_peer *peer)
{
	struct borrow_function *f;
	const struct resource *bar;
	int ret = -ENODEV;
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&borrow_peers_lock, flags);
	list_for_each_entry(f, &borrow_peers, peers) {
		for (i = 0; i < f->bar_count && ret == -ENODEV; i++) {
			bar = &f->bars[i];
			if (!borrow_in_bar(bar, phys, size))
				continue;
			ret = phys < bar->start ||
			      phys + size > PAGE_ALIGN(bar->end + 1) ?
			      -EINVAL : 0;
			uuid_copy(&peer->host, &f->sdev->host);
			peer->session = f->session;
			peer->bar = f->bar_number[i];
			peer->offset = phys - bar->start;
			peer->size = size;
		}
	}
	spin_unlock_irqrestore(&borrow_peers_lock, flags);
	return ret;
}

/* The first mapping in a range, or NULL. Under the lock. */
static struct borrow_reach *borrow_reach_find(struct borrow_function *f,
					      u64 iova, u64 size)
{
	struct borrow_reach *reach, *found = NULL;

	lockdep_assert_held(&f->reaches_lock);
	list_for_each_entry(reach, &f->reaches, entry)
		if (!reach->unmapped && iova < reach->iova + reach->size &&
		    reach->iova < iova + size &&
		    (!found || reach->iova < found->iova))
			found = reach;
	return found;
}

/* Both lenders are asked. */
static int borrow_peer_ask_far(struct borrow_function *f, u64 iova,
			       struct smartio_peer *peer)
{
	struct smartio_device *target = borrow_peer_path(peer);
	int ret;

	if (!target)
		return -ENOENT;
	ret = smartio_peer_grant(target, &f->sdev->host, peer);
	if (!ret)
		ret = smartio_peer_map(f->sdev, iova, peer);
	put_device(&target->dev);
	return ret;
}

static int borrow_peer_ask(struct borrow_function *f, u64 iova,
			   struct smartio_peer *peer)
{
	/* PREEMPT_COUNT is on, or no caller without GFP_KERNEL can do it */
	if (!preemptible())
		return -EWOULDBLOCK;
	if (!f->space.own)
		return -EOPNOTSUPP;
	if (!uuid_equal(&f->sdev->host, &peer->host))
		return borrow_peer_ask_far(f, iova, peer);
	return smartio_peer_map(f->sdev, iova, peer);
}

static bool borrow_peer_is_own(const struct borrow_function *f,
			       const struct smartio_peer *peer)
{
	return peer->session == f->session &&
	       uuid_equal(&peer->host, &f->sdev->host);
}

static const char *borrow_peer_why(int error)
{
	switch (error) {
	case -EXDEV:
		return "they are of another lender, to which its own has no link";
	case -EOPNOTSUPP:
		return "it has no domain of its own in the lender";
	case -EWOULDBLOCK:
		return "the driver that maps them can't wait for the lender";
	case -ERANGE:
		return "the lender has no room for them at that address (see peer_pages)";
	case -ETIMEDOUT:
		return "the lender does not answer";
	default:
		return "the lender refuses";
	}
}

static void borrow_gone_later(struct borrow_function *f)
{
	queue_delayed_work(system_long_wq, &f->gone,
			   msecs_to_jiffies(BORROW_AGAIN_MS));
}

/* One more attempt. Returns whether nothing of it is left in any lender. */
static bool borrow_gone_retry(struct borrow_function *f,
			      struct borrow_reach *reach)
{
	if (!reach->unmapped) {
		if (smartio_peer_unmap(f->sdev, reach->iova, reach->size))
			return false;
		/*
		 * Requests to a lender run side by side. This one may have
		 * overtaken the one to map, but the next one does not.
		 */
		if (reach->unsure) {
			reach->unsure = false;
			return false;
		}
		dev_info(&f->sdev->dev,
			 "registers of another function are unmapped at %#llx, late\n",
			 reach->iova);
		spin_lock_irq(&f->reaches_lock);
		reach->unmapped = true;
		spin_unlock_irq(&f->reaches_lock);
	}
	return !borrow_peer_revoke(&reach->peer);
}

/*
 * Maps again what may have been lost. Returns whether that is settled: it is
 * there, or can't be.
 */
static bool borrow_lost_retry(struct borrow_function *f,
			      struct borrow_reach *reach)
{
	struct smartio_peer peer = reach->peer;
	struct smartio_device *target;
	int ret;

	/* this function is lost itself */
	if (smartio_session_id(f->sdev) != f->session)
		return true;
	peer.grant = 0;
	ret = borrow_peer_ask_far(f, reach->iova, &peer);
	/* It may be mapped, and if so, it is not known by which grant. */
	if (ret == -ETIMEDOUT && peer.grant)
		smartio_peer_unmap(f->sdev, reach->iova, reach->size);
	/* One is left: that of now, or the one that mapped it before. */
	borrow_peer_revoke(ret ? &peer : &reach->peer);
	if (!ret)
		reach->peer = peer;
	switch (ret) {
	case 0:
		dev_notice(&f->sdev->dev,
			   "registers of another function are reached again at %#llx\n",
			   reach->iova);
		return true;
	case -EEXIST:	/* another link was lost */
		return true;
	case -ENOENT:	/* settled if that function is returned */
		target = borrow_peer_path(&peer);
		if (target)
			put_device(&target->dev);
		return !target;
	case -EXDEV:
		if (!reach->reported)
			dev_warn(&f->sdev->dev,
				 "registers of another function are not reached at %#llx: the link between the lenders is lost\n",
				 reach->iova);
		reach->reported = true;
		return false;
	}
	return false;
}

static void borrow_gone_work(struct work_struct *work)
{
	struct borrow_function *f = container_of(to_delayed_work(work),
						 struct borrow_function, gone);
	struct borrow_reach *reach, *next;
	bool done, lost, left = false;

	spin_lock_irq(&f->reaches_lock);
	reach = list_first_entry(&f->reaches, struct borrow_reach, entry);
	while (!list_entry_is_head(reach, &f->reaches, entry) &&
	       !READ_ONCE(f->leaving)) {
		done = false;
		/* it stays in the list meanwhile */
		if (reach->lost && !reach->gone && !reach->leaving) {
			reach->asking = true;
			reach->lost = false;
			spin_unlock_irq(&f->reaches_lock);
			lost = !borrow_lost_retry(f, reach);
			spin_lock_irq(&f->reaches_lock);
			reach->lost |= lost;
			reach->asking = false;
			left |= reach->lost;
		}
		if (reach->gone) {
			spin_unlock_irq(&f->reaches_lock);
			done = borrow_gone_retry(f, reach);
			spin_lock_irq(&f->reaches_lock);
			left |= !done;
		}
		next = list_next_entry(reach, entry);
		if (done) {
			list_del(&reach->entry);
			kfree(reach);
		}
		reach = next;
	}
	spin_unlock_irq(&f->reaches_lock);
	if (left)
		borrow_gone_later(f);
}

/*
 * The function's lender has lost its link to another one. Does not wait for
 * other work.
 */
void borrow_peers_lost(struct borrow_function *f)
{
	struct borrow_reach *reach;
	bool any = false;

	spin_lock_irq(&f->reaches_lock);
	f->losses++;
	list_for_each_entry(reach, &f->reaches, entry) {
		if (uuid_equal(&reach->peer.host, &f->sdev->host))
			continue;
		reach->lost = true;
		reach->reported = false;
		any = true;
	}
	spin_unlock_irq(&f->reaches_lock);
	if (any)
		mod_delayed_work(system_long_wq, &f->gone, 0);
}

/* It was not mapped, as far as this host knows. */
static void borrow_peer_cancel(struct borrow_function *f,
			       struct borrow_reach *reach, int error)
{
	unsigned long flags;

	reach->unsure = error == -ETIMEDOUT;
	reach->unmapped = !reach->unsure;
	if (reach->unmapped && !borrow_peer_revoke(&reach->peer)) {
		kfree(reach);
		return;
	}
	reach->gone = true;
	spin_lock_irqsave(&f->reaches_lock, flags);
	list_add_tail(&reach->entry, &f->reaches);
	spin_unlock_irqrestore(&f->reaches_lock, flags);
	borrow_gone_later(f);
}

/*
 * Map something for a function that may be another's registers. Returns 0;
 * -ENODEV: it is not; else it can't be mapped.
 */
int borrow_peer_map(struct borrow_function *f, u64 iova, phys_addr_t phys,
		    size_t size, int prot)
{
	struct smartio_peer peer = {
		.read = prot & IOMMU_READ,
		.write = prot & IOMMU_WRITE,
	};
	struct borrow_reach *reach;
	unsigned long flags;
	unsigned int losses;
	bool taken;
	int ret;

	if (list_empty(&f->reaches) &&
	    (phys >= READ_ONCE(borrow_peers_end) ||
	     phys + size <= READ_ONCE(borrow_peers_start)))
		return -ENODEV;
	spin_lock_irqsave(&f->reaches_lock, flags);
	taken = borrow_reach_find(f, iova, size);
	losses = f->losses;
	spin_unlock_irqrestore(&f->reaches_lock, flags);
	if (taken)
		return -EBUSY;
	ret = borrow_peer_find(phys, size, &peer);
	if (ret == -ENODEV)
		return ret;
	reach = kzalloc(sizeof(*reach), GFP_ATOMIC);
	if (!reach)
		return -ENOMEM;
	reach->iova = iova;
	reach->size = size;
	reach->phys = phys;
	if (!ret)
		ret = borrow_peer_ask(f, iova, &peer);
	reach->peer = peer;
	if (ret) {
		/* QEMU maps all of a guest's for all, and its own too, again and again */
		if (!borrow_peer_is_own(f, &peer) && !f->refused) {
			f->refused = true;
			dev_notice(&f->sdev->dev,
				   "registers at %pa are not mapped for it: %s (%d)\n",
				   &phys, borrow_peer_why(ret), ret);
		}
		borrow_peer_cancel(f, reach, ret);
		return ret;
	}
	spin_lock_irqsave(&f->reaches_lock, flags);
	list_add_tail(&reach->entry, &f->reaches);
	/* lost before it was in the list, maybe */
	reach->lost = losses != f->losses &&
		      !uuid_equal(&peer.host, &f->sdev->host);
	if (reach->lost)
		mod_delayed_work(system_long_wq, &f->gone, 0);
	spin_unlock_irqrestore(&f->reaches_lock, flags);
	return 0;
}

/*
 * Unmap the first such mapping in a range, if it lies there as a whole. Returns
 * its bytes; 0: there is none at the beginning of the range.
 */
size_t borrow_peer_unmap(struct borrow_function *f, u64 iova, size_t size)
{
	struct borrow_reach *reach;
	bool unmapped, asking, can_wait = preemptible();
	unsigned long flags;
	int ret;

	if (list_empty(&f->reaches))
		return 0;
again:
	spin_lock_irqsave(&f->reaches_lock, flags);
	reach = borrow_reach_find(f, iova, size);
	if (reach && (reach->gone || reach->iova != iova || reach->size > size))
		reach = NULL;
	if (reach)
		size = reach->size;
	asking = reach && reach->asking;
	if (asking && !can_wait)
		reach->gone = true;	/* the work unmaps it */
	else if (reach && !asking)
		reach->leaving = true;
	spin_unlock_irqrestore(&f->reaches_lock, flags);
	if (!reach)
		return 0;
	if (asking && !can_wait)
		return size;
	if (asking) {
		msleep(BORROW_ANSWER_MS);
		goto again;
	}
	ret = can_wait ? smartio_peer_unmap(f->sdev, iova, size) :
			 -EWOULDBLOCK;
	unmapped = !ret;
	/* this function does not reach them: only its lender may */
	if (!ret)
		ret = borrow_peer_revoke(&reach->peer);
	spin_lock_irqsave(&f->reaches_lock, flags);
	if (ret) {
		reach->leaving = false;
		reach->unmapped = unmapped;
		reach->gone = true;
	} else {
		list_del(&reach->entry);
	}
	spin_unlock_irqrestore(&f->reaches_lock, flags);
	if (!ret) {
		kfree(reach);
		return size;
	}
	dev_err(&f->sdev->dev,
		unmapped ?
		"its lender may have registers of another function, of %#llx before: %d\n" :
		"registers of another function may be left mapped at %#llx: %d\n",
		iova, ret);
	borrow_gone_later(f);
	return size;
}

/*
 * How many bytes of a range lie before the first such mapping, or where one was
 * that may be left.
 */
size_t borrow_peer_before(struct borrow_function *f, u64 iova, size_t size)
{
	struct borrow_reach *reach;
	unsigned long flags;

	if (list_empty(&f->reaches))
		return size;
	spin_lock_irqsave(&f->reaches_lock, flags);
	reach = borrow_reach_find(f, iova, size);
	if (reach)
		size = reach->iova > iova ? reach->iova - iova : 0;
	spin_unlock_irqrestore(&f->reaches_lock, flags);
	return size;
}

/*
 * Removes the mappings of an owner that is removed without unmapping. May
 * sleep.
 */
void borrow_peer_unmap_all(struct borrow_function *f)
{
	struct borrow_reach *reach;
	u64 iova = 0, size = 0;
	bool found;

	do {
		found = false;
		spin_lock_irq(&f->reaches_lock);
		list_for_each_entry(reach, &f->reaches, entry) {
			if (reach->gone)
				continue;
			iova = reach->iova;
			size = reach->size;
			found = true;
			break;
		}
		spin_unlock_irq(&f->reaches_lock);
		if (found)
			borrow_peer_unmap(f, iova, size);
	} while (found);
}

/* Where such a mapping leads, as this host sees it, or 0. */
phys_addr_t borrow_peer_phys(struct borrow_function *f, u64 iova)
{
	struct borrow_reach *reach;
	phys_addr_t phys = 0;
	unsigned long flags;

	if (list_empty(&f->reaches))
		return 0;
	spin_lock_irqsave(&f->reaches_lock, flags);
	reach = borrow_reach_find(f, iova, 1);
	if (reach && !reach->gone)
		phys = reach->phys + iova - reach->iova;
	spin_unlock_irqrestore(&f->reaches_lock, flags);
	return phys;
}
