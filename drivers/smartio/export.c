// SPDX-License-Identifier: GPL-2.0
/*
 * The registry of devices that this host lends.
 */
#include <linux/slab.h>

#include "export.h"

LIST_HEAD(smartio_lents);
DEFINE_MUTEX(smartio_lents_lock);	/* the list of lent devices */

static void lend_release(struct kref *ref)
{
	struct smartio_lent *lent = container_of(ref, struct smartio_lent, ref);

	bitmap_free(lent->vectors_used);
	pci_dev_put(lent->pdev);
	kfree(lent);
}

void lend_get(struct smartio_lent *lent)
{
	kref_get(&lent->ref);
}

void lend_put(struct smartio_lent *lent)
{
	kref_put(&lent->ref, lend_release);
}

/*
 * A lent device by its number. Returns it, with a reference for lend_put(), or
 * NULL.
 */
struct smartio_lent *lend_find(u32 id)
{
	struct smartio_lent *lent, *found = NULL;

	mutex_lock(&smartio_lents_lock);
	list_for_each_entry(lent, &smartio_lents, entry) {
		if (lent->id != id)
			continue;
		lend_get(lent);
		found = lent;
		break;
	}
	mutex_unlock(&smartio_lents_lock);
	return found;
}

/*
 * The next lent device, for whoever visits all of them. Numbers only grow, and
 * the list is in their order: each is visited once, and no lock is held in
 * between. Returns it, with a reference for lend_put(), or NULL.
 */
struct smartio_lent *lend_after(u32 id)
{
	struct smartio_lent *lent, *found = NULL;

	mutex_lock(&smartio_lents_lock);
	list_for_each_entry(lent, &smartio_lents, entry) {
		if (lent->id <= id)
			continue;
		lend_get(lent);
		found = lent;
		break;
	}
	mutex_unlock(&smartio_lents_lock);
	return found;
}

/* It can be found from now on. */
void lend_add(struct smartio_lent *lent)
{
	static u32 next_id;	/* under smartio_lents_lock */

	mutex_lock(&smartio_lents_lock);
	lent->id = ++next_id;
	list_add_tail(&lent->entry, &smartio_lents);
	mutex_unlock(&smartio_lents_lock);
}

void lend_del(struct smartio_lent *lent)
{
	mutex_lock(&smartio_lents_lock);
	list_del(&lent->entry);
	mutex_unlock(&smartio_lents_lock);
}

/* One of the device's vectors for a borrower. */
int lend_vector_take(struct smartio_lent *lent)
{
	unsigned long bit;

	mutex_lock(&lent->lock);
	bit = find_first_zero_bit(lent->vectors_used, lent->vectors);
	if (bit < lent->vectors)
		__set_bit(bit, lent->vectors_used);
	mutex_unlock(&lent->lock);
	return bit < lent->vectors ? lent->first_vector + (int)bit : -ENOSPC;
}

void lend_vector_give(struct smartio_lent *lent, unsigned int vector)
{
	mutex_lock(&lent->lock);
	__clear_bit(vector - lent->first_vector, lent->vectors_used);
	mutex_unlock(&lent->lock);
}
