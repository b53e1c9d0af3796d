// SPDX-License-Identifier: GPL-2.0
/*
 * The registry of exports: devices that this host lends.
 */
#include <linux/slab.h>

#include "export.h"

LIST_HEAD(smartio_exports);
DEFINE_MUTEX(smartio_exports_lock);	/* the list of exports */

static void export_release(struct kref *ref)
{
	struct smartio_export *export = container_of(ref, struct smartio_export,
						     ref);

	bitmap_free(export->vectors_used);
	pci_dev_put(export->pdev);
	kfree(export);
}

void export_get(struct smartio_export *export)
{
	kref_get(&export->ref);
}

void export_put(struct smartio_export *export)
{
	kref_put(&export->ref, export_release);
}

/* The first of these numbers, with a reference for export_put(), or NULL. */
static struct smartio_export *export_between(u64 first, u64 last)
{
	struct smartio_export *export, *found = NULL;

	mutex_lock(&smartio_exports_lock);
	list_for_each_entry(export, &smartio_exports, entry) {
		if (export->id < first || export->id > last)
			continue;
		export_get(export);
		found = export;
		break;
	}
	mutex_unlock(&smartio_exports_lock);
	return found;
}

/* An export by its number. */
struct smartio_export *export_find(u32 id)
{
	return export_between(id, id);
}

/*
 * The next export, to visit all of them. Numbers only grow, and the list is in
 * their order: each is visited once, and no lock is held in between.
 */
struct smartio_export *export_after(u32 id)
{
	return export_between((u64)id + 1, U32_MAX);
}

/* Whether sessions may begin. */
bool export_offered(struct smartio_export *export)
{
	bool offered;

	mutex_lock(&export->lock);
	offered = !export->suspended && !export->gone;
	mutex_unlock(&export->lock);
	return offered;
}

/* It can be found from now on. */
void export_add(struct smartio_export *export)
{
	static u32 next_id;	/* under smartio_exports_lock */

	mutex_lock(&smartio_exports_lock);
	export->id = ++next_id;
	list_add_tail(&export->entry, &smartio_exports);
	mutex_unlock(&smartio_exports_lock);
}

void export_del(struct smartio_export *export)
{
	mutex_lock(&smartio_exports_lock);
	list_del(&export->entry);
	mutex_unlock(&smartio_exports_lock);
}

/* One of the device's vectors for a borrower. */
int export_vector_take(struct smartio_export *export)
{
	unsigned long bit;

	mutex_lock(&export->lock);
	bit = find_first_zero_bit(export->vectors_used, export->vectors);
	if (bit < export->vectors)
		__set_bit(bit, export->vectors_used);
	mutex_unlock(&export->lock);
	if (bit >= export->vectors)
		return -ENOSPC;
	return export->first_vector + (int)bit;
}

void export_vector_give(struct smartio_export *export, unsigned int vector)
{
	mutex_lock(&export->lock);
	__clear_bit(vector - export->first_vector, export->vectors_used);
	mutex_unlock(&export->lock);
}
