// SPDX-License-Identifier: GPL-2.0
/*
 * The events of a path, for its driver: a session is over, the device is
 * offered, the lender's half sent a notification. They reach the driver one at
 * a time, in the order they arose, from an ordered workqueue of the path.
 */
#include <linux/slab.h>
#include <linux/smartio_recovery.h>
#include <linux/string.h>

#include "path.h"
#include "trace.h"

enum path_item_kind {
	PATH_LOST,
	PATH_READY,
	PATH_NOTIFY,
};

/**
 * struct path_item - something the driver has to hear of
 * @entry: in path->items
 * @kind: what
 * @session: the one it is about
 * @size: bytes of @message
 * @message: of a notification
 */
struct path_item {
	struct list_head entry;
	enum path_item_kind kind;
	u64 session;
	size_t size;
	u8 message[];
};

/* More than this, not yet delivered, takes the link down. */
#define PATH_ITEM_BYTES_MAX	(256 * 1024)

static bool path_item_own(const struct smartio_path *path,
			  const struct path_item *item)
{
	return item == path->lost || item == path->ready;
}

static size_t path_item_bytes(const struct smartio_path *path,
			      const struct path_item *item)
{
	return path_item_own(path, item) ? 0 :
	       struct_size(item, message, item->size);
}

/* A path's own item may be queued already: it moves to the end then. */
static void path_queue(struct smartio_path *path, struct path_item *item)
{
	lockdep_assert_held(&path->lock);
	list_move_tail(&item->entry, &path->items);
	path->item_bytes += path_item_bytes(path, item);
	queue_work(path->wq, &path->work);
}

/*
 * Whether too much waits for the path's driver. No more data from another host
 * may be queued then, or it could fill the memory of this one: delivery waits
 * for an open that runs.
 */
bool smartio_path_full(struct smartio_path *path)
{
	bool full;

	spin_lock(&path->lock);
	full = path->item_bytes > PATH_ITEM_BYTES_MAX;
	spin_unlock(&path->lock);
	return full;
}

static struct path_item *path_item_alloc(enum path_item_kind kind)
{
	struct path_item *item = kzalloc(sizeof(*item), GFP_KERNEL);

	if (!item)
		return NULL;
	INIT_LIST_HEAD(&item->entry);
	item->kind = kind;
	return item;
}

/* The lender offers the device (again). Any context. */
void smartio_path_ready(struct smartio_path *path)
{
	spin_lock(&path->lock);
	path->offered = true;
	path_queue(path, path->ready);
	spin_unlock(&path->lock);
}

/* The lender ended a session that smartio_open() has not stored yet. */
static void path_lost_early(struct smartio_path *path, u64 session,
			    bool offered)
{
	/* Small, and a failure could not be reported to the caller. */
	struct path_item *item = smartio_recovery_alloc(sizeof(*item));

	INIT_LIST_HEAD(&item->entry);
	item->kind = PATH_LOST;
	item->session = session;
	spin_lock(&path->lock);
	path->offered = offered;
	path_queue(path, item);
	spin_unlock(&path->lock);
}

/*
 * A session is over without the borrower's doing; 0: whichever there is, and
 * whichever is being opened now.
 */
void smartio_path_lost(struct smartio_path *path, u64 session, bool offered)
{
	spin_lock(&path->lock);
	if (session && path->session != session) {
		spin_unlock(&path->lock);
		path_lost_early(path, session, offered);
		return;
	}
	path->lost->session = path->session;
	if (!session) {
		path->losses++;
		if (path->session) {
			path->over = path->session;
			path->waived = false;
		}
		path->writes = path->over && !path->waived;
	} else {
		path->over = session;
		path->waived = false;
	}
	path->session = 0;
	path->offered = offered;
	path_queue(path, path->lost);
	spin_unlock(&path->lock);
}

/* A message of the lender's half. */
int smartio_path_notify(struct smartio_path *path, u64 session,
			const void *message, size_t size)
{
	size_t bytes = struct_size_t(struct path_item, message, size);
	struct path_item *item = kvmalloc(bytes, smartio_recovery_gfp(bytes));

	if (!item)
		return -ENOMEM;
	INIT_LIST_HEAD(&item->entry);
	item->kind = PATH_NOTIFY;
	item->session = session;
	item->size = size;
	memcpy(item->message, message, size);
	spin_lock(&path->lock);
	path_queue(path, item);
	spin_unlock(&path->lock);
	return 0;
}

/*
 * Items of a session that is not the current one are stale. A loss may be
 * queued before smartio_open() has stored the new session: the caller has
 * waited for that.
 */
static bool path_item_counts(struct smartio_path *path,
			     const struct path_item *item)
{
	bool counts = true;

	spin_lock(&path->lock);
	switch (item->kind) {
	case PATH_LOST:
		/* the lender ended it before smartio_open() stored it */
		if (path->session && path->session == item->session) {
			path->over = item->session;
			path->waived = false;
			path->session = 0;
		}
		counts = !path->session;
		break;
	case PATH_NOTIFY:
		counts = path->session == item->session;
		break;
	case PATH_READY:
		counts = path->offered;
		break;
	}
	spin_unlock(&path->lock);
	return counts;
}

/*
 * @now: what @item says. One of the path's own may be queued again meanwhile,
 * with something else.
 */
static void path_deliver(struct smartio_path *path,
			 const struct path_item *now,
			 const struct path_item *item)
{
	struct smartio_driver *driver;

	/* An open that runs ends first; see above. */
	mutex_lock(&path->session_lock);
	mutex_unlock(&path->session_lock);

	mutex_lock(&path->driver_lock);
	driver = path->driver;
	if (driver && path_item_counts(path, now)) {
		trace_smartio_path(&path->sdev, now->kind, now->session);
		if (now->kind == PATH_NOTIFY) {
			if (driver->notify)
				driver->notify(&path->sdev, item->message,
					       item->size);
		} else if (driver->event) {
			driver->event(&path->sdev, now->kind == PATH_LOST ?
				      SMARTIO_LOST : SMARTIO_READY);
		}
	}
	mutex_unlock(&path->driver_lock);
}

static void path_work(struct work_struct *work)
{
	struct smartio_path *path = container_of(work, struct smartio_path, work);
	unsigned int flags = smartio_recovery_begin();
	struct path_item *item, now;

	for (;;) {
		spin_lock(&path->lock);
		item = list_first_entry_or_null(&path->items, struct path_item,
						entry);
		if (item) {
			list_del_init(&item->entry);
			path->item_bytes -= path_item_bytes(path, item);
			now = *item;
		}
		spin_unlock(&path->lock);
		if (!item)
			break;
		path_deliver(path, &now, item);
		if (!path_item_own(path, item))
			kvfree(item);
	}
	smartio_recovery_end(flags);
}

/* A path is to be added. If this fails, path_events_free() does the rest. */
int path_events_init(struct smartio_path *path)
{
	mutex_init(&path->stop_lock);
	mutex_init(&path->driver_lock);
	INIT_LIST_HEAD(&path->items);
	INIT_WORK(&path->work, path_work);
	path->lost = path_item_alloc(PATH_LOST);
	path->ready = path_item_alloc(PATH_READY);
	if (!path->lost || !path->ready)
		return -ENOMEM;
	path->wq = alloc_ordered_workqueue("sio-%.16s-%.6s", WQ_MEM_RECLAIM,
					   path->sdev.pci_name,
					   path->sdev.link_name);
	return path->wq ? 0 : -ENOMEM;
}

/* The last reference to the path was dropped. */
void path_events_free(struct smartio_path *path)
{
	struct path_item *item, *next;

	if (path->wq)
		destroy_workqueue(path->wq);
	list_for_each_entry_safe(item, next, &path->items, entry)
		if (!path_item_own(path, item))
			kvfree(item);
	kfree(path->lost);
	kfree(path->ready);
}
