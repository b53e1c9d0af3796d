// SPDX-License-Identifier: GPL-2.0
/*
 * Paths to exports, the bus "smartio" that they are on, and what
 * include/linux/smartio.h offers to the drivers that use them. Events and
 * notifications reach a driver one at a time, in the order they arose, from an
 * ordered workqueue of the path.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/smartio_recovery.h>
#include <linux/string.h>

#include "hosts.h"
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

static const struct attribute_group **path_groups;

#define to_smartio_driver(d) container_of_const(d, struct smartio_driver, driver)

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

/* A path's own item may be queued already: what it says is said last, then. */
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

/*
 * True if the link was lost with a session, and the driver has neither closed it
 * nor opened another. With @forget the link waits for that session no longer.
 */
bool smartio_path_writes(struct smartio_path *path, bool forget)
{
	bool writes;

	spin_lock(&path->lock);
	writes = path->writes;
	if (forget) {
		path->waived |= writes;
		path->writes = false;
	}
	spin_unlock(&path->lock);
	return writes;
}

/* True if a session is over, and the driver has not stopped. */
bool smartio_path_unstopped(struct smartio_path *path)
{
	bool unstopped;

	spin_lock(&path->lock);
	unstopped = path->over;
	spin_unlock(&path->lock);
	return unstopped;
}

/*
 * The local lender ends a session: when this returns, the driver writes to no
 * register of it any more.
 */
void smartio_path_stop(struct smartio_path *path, u64 session)
{
	struct smartio_driver *driver;
	bool open;

	mutex_lock(&path->stop_lock);
	spin_lock(&path->lock);
	open = path->session == session || path->over == session;
	spin_unlock(&path->lock);
	/* a driver is bound for as long as that is so */
	if (open) {
		driver = to_smartio_driver(path->sdev.dev.driver);
		if (driver->stop)
			driver->stop(&path->sdev);
	}
	mutex_unlock(&path->stop_lock);
}

/* The driver says that it has stopped. Returns the session, if it is open. */
static u64 path_session_take(struct smartio_path *path, u64 *over)
{
	u64 session;

	mutex_lock(&path->stop_lock);
	spin_lock(&path->lock);
	session = path->session;
	*over = path->over;
	path->session = 0;
	path->over = 0;
	path->writes = false;
	spin_unlock(&path->lock);
	mutex_unlock(&path->stop_lock);
	return session;
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

/* ---- the bus ---- */

static int smartio_bus_match(struct device *dev,
			     const struct device_driver *drv)
{
	return !strcmp(to_smartio_device(dev)->service,
		       to_smartio_driver(drv)->service);
}

static int smartio_bus_uevent(const struct device *dev,
			      struct kobj_uevent_env *env)
{
	return add_uevent_var(env, "MODALIAS=smartio:%s",
			      to_smartio_device(dev)->service);
}

static int smartio_bus_probe(struct device *dev)
{
	struct smartio_device *sdev = to_smartio_device(dev);
	struct smartio_driver *driver = to_smartio_driver(dev->driver);
	struct smartio_path *path = to_path(sdev);
	bool offered;
	int ret;

	/* A driver that is bound keeps the transport loaded. */
	if (!try_module_get(path->owner))
		return -ENODEV;
	/* a session that it opens may be lost before it returns: that waits */
	mutex_lock(&path->driver_lock);
	ret = driver->probe(sdev);
	if (!ret)
		path->driver = driver;
	mutex_unlock(&path->driver_lock);
	if (ret) {
		module_put(path->owner);
		return ret;
	}
	spin_lock(&path->lock);
	offered = path->offered;
	spin_unlock(&path->lock);
	if (offered)
		smartio_path_ready(path);
	return 0;
}

static void smartio_bus_remove(struct device *dev)
{
	struct smartio_device *sdev = to_smartio_device(dev);
	struct smartio_driver *driver = to_smartio_driver(dev->driver);
	struct smartio_path *path = to_path(sdev);

	mutex_lock(&path->driver_lock);
	path->driver = NULL;
	mutex_unlock(&path->driver_lock);
	driver->remove(sdev);
	smartio_close(sdev);
	if (path->ops->unbound)
		path->ops->unbound(path);
	module_put(path->owner);
}

static const struct bus_type smartio_bus = {
	.name = "smartio",
	.match = smartio_bus_match,
	.uevent = smartio_bus_uevent,
	.probe = smartio_bus_probe,
	.remove = smartio_bus_remove,
};

/**
 * smartio_register_driver() - a borrower's half is there
 * @driver: filled in, driver.name and driver.owner included; stays valid
 *	until it is unregistered
 *
 * Context: process, may sleep; probes.
 * Return: 0 or a negative error.
 */
int smartio_register_driver(struct smartio_driver *driver)
{
	if (!driver->service || !driver->probe || !driver->remove)
		return -EINVAL;
	driver->driver.bus = &smartio_bus;
	return driver_register(&driver->driver);
}
EXPORT_SYMBOL_GPL(smartio_register_driver);

/**
 * smartio_unregister_driver() - a borrower's half goes
 * @driver: the driver
 *
 * Context: process, may sleep; removes it from its devices first.
 */
void smartio_unregister_driver(struct smartio_driver *driver)
{
	driver_unregister(&driver->driver);
}
EXPORT_SYMBOL_GPL(smartio_unregister_driver);

/* ---- paths ---- */

static void smartio_path_release(struct device *dev)
{
	struct smartio_path *path = to_path(to_smartio_device(dev));
	struct path_item *item, *next;

	if (path->wq)
		destroy_workqueue(path->wq);
	list_for_each_entry_safe(item, next, &path->items, entry)
		if (!path_item_own(path, item))
			kvfree(item);
	kfree(path->lost);
	kfree(path->ready);
	if (path->ops->release)
		path->ops->release(path);
	kfree(path);
}

/*
 * HOST-PCI-LINK. Tools take the last PCI address of a path in sysfs for this
 * host's own device: the lender's address has points instead of colons.
 */
static int path_set_name(struct smartio_path *path)
{
	char pci[sizeof(path->sdev.pci_name)];

	strscpy(pci, path->sdev.pci_name);
	strreplace(pci, ':', '.');
	return dev_set_name(&path->sdev.dev, "%.8s-%s-%s",
			    smartio_uuid_text(&path->sdev.host).text, pci,
			    path->sdev.link_name);
}

/*
 * A path to a device, from kzalloc(), is to be added. It is freed with its last
 * reference from now on; also if this fails.
 */
int smartio_path_init(struct smartio_path *path, struct device *parent)
{
	struct device *dev = &path->sdev.dev;
	int ret;

	mutex_init(&path->session_lock);
	mutex_init(&path->stop_lock);
	mutex_init(&path->driver_lock);
	spin_lock_init(&path->lock);
	INIT_LIST_HEAD(&path->items);
	INIT_LIST_HEAD(&path->kept);
	INIT_WORK(&path->work, path_work);
	device_initialize(dev);
	dev->bus = &smartio_bus;
	dev->groups = path_groups;
	dev->parent = parent;
	dev->release = smartio_path_release;
	ret = path_set_name(path);
	if (ret)
		goto put;
	ret = -ENOMEM;
	path->lost = path_item_alloc(PATH_LOST);
	path->ready = path_item_alloc(PATH_READY);
	if (!path->lost || !path->ready)
		goto put;
	path->wq = alloc_ordered_workqueue("sio-%.16s-%.6s", WQ_MEM_RECLAIM,
					   path->sdev.pci_name,
					   path->sdev.link_name);
	if (!path->wq)
		goto put;
	return 0;

put:
	put_device(dev);
	return ret;
}

/*
 * A path to a device is there: drivers probe. If this fails the caller has to
 * give its reference up.
 */
int smartio_path_add(struct smartio_path *path)
{
	return device_add(&path->sdev.dev);
}

/*
 * A path goes, and the caller's reference. When this returns the driver doesn't
 * use it any more.
 */
void smartio_path_remove(struct smartio_path *path)
{
	device_del(&path->sdev.dev);
	flush_workqueue(path->wq);
	put_device(&path->sdev.dev);
}

/* ---- the API of drivers ---- */

/* The id of the session of now, 0 if there is none. */
u64 smartio_path_session(struct smartio_path *path)
{
	return READ_ONCE(path->session);
}

/**
 * smartio_open() - begin a session
 * @sdev: the path
 *
 * It ends the session that this host had on the device over this link before:
 * when this returns 0, the device touches nothing of that any more. With
 * sdev->era, smartio_fences_between() says whether this host was fenced since
 * an earlier session, over any path to the device.
 *
 * Context: process, may sleep for seconds; not from the driver's event().
 * Return: 0; -ENOLINK: the lender can't be reached; -EAGAIN: later, at
 * SMARTIO_READY; -EACCES: this host is fenced; -EPERM: the lender does not let
 * this host have it, until SMARTIO_READY; -ENOSPC, or the error of the lender's
 * half; -ETIMEDOUT: no answer.
 */
int smartio_open(struct smartio_device *sdev)
{
	struct smartio_path *path = to_path(sdev);
	struct smartio_era era = { };
	u64 id = 0, offset = 0;
	unsigned int losses;
	int ret;

	might_sleep();
	mutex_lock(&path->session_lock);
	spin_lock(&path->lock);
	/* If this fails, the lender may not know that this host has stopped. */
	if (path->session) {
		path->over = path->session;
		path->waived = false;
	}
	path->session = 0;
	path->writes = false;
	losses = path->losses;
	spin_unlock(&path->lock);
	ret = path->ops->open(path, &id, &offset, &era);
	spin_lock(&path->lock);
	/* the link may have gone after the answer came */
	if (!ret && path->losses != losses)
		ret = -ENOLINK;
	if (!ret) {
		sdev->dma_offset = offset;
		sdev->era = era;
		path->session = id;
		path->over = 0;
	}
	spin_unlock(&path->lock);
	mutex_unlock(&path->session_lock);
	trace_smartio_open(sdev, id, ret);
	return ret;
}
EXPORT_SYMBOL_GPL(smartio_open);

/**
 * smartio_close() - end the session
 * @sdev: the path; nothing happens if no session is open
 *
 * When this returns, the device touches nothing of the session any more. If the
 * lender didn't answer, the link was taken down instead, and nothing reaches
 * this host's memory over it. Calls that wait may still wait until their
 * deadline.
 *
 * Call it after SMARTIO_LOST, too: it says that this host writes to nothing of
 * the session any more. Until then, or the next smartio_open(), the lender
 * keeps the memory and registers that it wrote to. A lost link doesn't come up
 * before, for two seconds.
 *
 * Context: process, may sleep for seconds; not from the driver's event().
 */
void smartio_close(struct smartio_device *sdev)
{
	struct smartio_path *path = to_path(sdev);
	u64 id, over;

	might_sleep();
	mutex_lock(&path->session_lock);
	id = path_session_take(path, &over);
	if (over && path->ops->stopped)
		path->ops->stopped(path, over);
	if (id) {
		path->ops->close(path, id);
		trace_smartio_close(sdev, id);
	}
	mutex_unlock(&path->session_lock);
}
EXPORT_SYMBOL_GPL(smartio_close);

/**
 * smartio_link_up() - whether the lender can be reached now
 * @sdev: the path
 *
 * Context: any.
 * Return: true or false; true for the local path.
 */
bool smartio_link_up(struct smartio_device *sdev)
{
	struct smartio_path *path = to_path(sdev);

	return path->ops->link_up(path);
}
EXPORT_SYMBOL_GPL(smartio_link_up);

/**
 * smartio_session_id() - the session of now
 * @sdev: the path
 *
 * Context: any.
 * Return: its id, 0 if none is open.
 */
u64 smartio_session_id(struct smartio_device *sdev)
{
	return smartio_path_session(to_path(sdev));
}
EXPORT_SYMBOL_GPL(smartio_session_id);

/**
 * smartio_revoke() - end a session of this host, over whichever path
 * @via: a path to the same device, with a session open; that isn't touched
 * @session_id: of smartio_session_id(), for a session over any path
 * @era: filled in: of the session of @via; NULL: not needed
 *
 * When this returns 0, the device touches nothing of that session any more. But
 * posted writes may be in flight on the link it used, until that one is lost:
 * see SMARTIO_LOST. The era is that of now: smartio_fences_between() says
 * whether requests that were in flight may be done again. As @via has a
 * session, the lender is in command of the device: a session unknown to it is
 * over.
 *
 * Context: process, may sleep for seconds; not from the driver's event().
 * Return: 0: it is over; -EACCES: it isn't this host's; -ENOLINK: @via has no
 * session, or lost it meanwhile; -ETIMEDOUT.
 */
int smartio_revoke(struct smartio_device *via, u64 session_id,
		   struct smartio_era *era)
{
	struct smartio_path *path = to_path(via);
	int ret;
	u64 id;

	might_sleep();
	spin_lock(&path->lock);
	id = path->session;
	if (era)
		*era = via->era;
	spin_unlock(&path->lock);
	if (!id)
		return -ENOLINK;
	ret = path->ops->revoke(path, session_id);
	/* a fence ends it before it can be lifted again */
	if (!ret && smartio_path_session(path) != id)
		ret = -ENOLINK;
	return ret;
}
EXPORT_SYMBOL_GPL(smartio_revoke);

/**
 * smartio_call() - ask the lender's half
 * @sdev: the path, with a session open
 * @request: what to ask
 * @size: bytes, 1 to SMARTIO_MESSAGE_MAX
 * @reply: where the answer goes; NULL if none is expected
 * @reply_size: room for it in bytes; then its size. NULL as @reply
 * @timeout_ms: how long to wait
 *
 * Context: process, may sleep; not from the driver's event() or notify().
 * Return: 0; what the lender's half returned (negative); -ENOLINK: no session,
 * or it is over; -ETIMEDOUT: no answer in time (it may still be worked on);
 * -EMSGSIZE: too large; -ENOMEM.
 */
int smartio_call(struct smartio_device *sdev, const void *request, size_t size,
		 void *reply, size_t *reply_size, unsigned int timeout_ms)
{
	return smartio_call_in(sdev, smartio_session_id(sdev), request, size,
			       reply, reply_size, timeout_ms);
}
EXPORT_SYMBOL_GPL(smartio_call);

/**
 * smartio_call_in() - the same, in one session and no later one
 * @sdev: the path
 * @session_id: of smartio_session_id(), when it was decided to ask
 * @request: as for smartio_call()
 * @size: as for smartio_call()
 * @reply: as for smartio_call()
 * @reply_size: as for smartio_call()
 * @timeout_ms: as for smartio_call()
 *
 * For a request that may come late: its path may have been lost, and be back.
 *
 * Context: process, may sleep; not from the driver's event() or notify().
 * Return: as smartio_call(); -ENOLINK: that session is over.
 */
int smartio_call_in(struct smartio_device *sdev, u64 session_id,
		    const void *request, size_t size, void *reply,
		    size_t *reply_size, unsigned int timeout_ms)
{
	struct smartio_path *path = to_path(sdev);
	size_t none = 0;

	might_sleep();
	if (!size || size > SMARTIO_MESSAGE_MAX)
		return -EMSGSIZE;
	if (!reply || !reply_size)
		reply_size = &none;
	if (!session_id || session_id != smartio_path_session(path))
		return -ENOLINK;
	return path->ops->call(path, session_id, request, size, reply,
			       reply_size, timeout_ms);
}
EXPORT_SYMBOL_GPL(smartio_call_in);

/**
 * smartio_dma_device() - the device for which memory has to be mapped
 * @sdev: the path
 *
 * If smartio_dma_scattered(), the lent device reaches memory that the DMA API
 * maps for it at smartio_to_device().
 *
 * Context: any.
 * Return: the device; constant.
 */
struct device *smartio_dma_device(struct smartio_device *sdev)
{
	struct smartio_path *path = to_path(sdev);

	return path->ops->dma_device(path);
}
EXPORT_SYMBOL_GPL(smartio_dma_device);

/**
 * smartio_dma_scattered() - whether the device reaches any mapped page
 * @sdev: the path
 *
 * Context: any.
 * Return: true; false: it reaches only what smartio_dma_alloc() gives, and
 * data has to be copied.
 */
bool smartio_dma_scattered(struct smartio_device *sdev)
{
	struct smartio_path *path = to_path(sdev);

	return path->ops->dma_scattered(path);
}
EXPORT_SYMBOL_GPL(smartio_dma_scattered);

/**
 * smartio_dma_alloc() - memory of this host that the device reaches
 * @sdev: the path
 * @size: bytes, rounded up to whole pages
 * @addr: for smartio_to_device()
 * @gfp: as for dma_alloc_coherent()
 *
 * Zeroed, coherent, page aligned. It stays valid over sessions and losses.
 *
 * Context: process, may sleep.
 * Return: where this CPU finds it, or NULL.
 */
void *smartio_dma_alloc(struct smartio_device *sdev, size_t size,
			dma_addr_t *addr, gfp_t gfp)
{
	struct smartio_path *path = to_path(sdev);

	if (!size)
		return NULL;
	return path->ops->dma_alloc(path, PAGE_ALIGN(size), addr, gfp);
}
EXPORT_SYMBOL_GPL(smartio_dma_alloc);

/**
 * smartio_dma_free() - give memory of smartio_dma_alloc() back
 * @sdev: the path
 * @size: as it was allocated
 * @cpu: its return value; NULL is ignored
 * @addr: the address that it filled in
 *
 * Context: process, may sleep.
 */
void smartio_dma_free(struct smartio_device *sdev, size_t size, void *cpu,
		      dma_addr_t addr)
{
	struct smartio_path *path = to_path(sdev);

	if (cpu)
		path->ops->dma_free(path, PAGE_ALIGN(size), cpu, addr);
}
EXPORT_SYMBOL_GPL(smartio_dma_free);

/**
 * smartio_segment_alloc() - memory shared with the device
 * @sdev: the path, with a session open
 * @size: bytes, rounded up to whole pages
 * @hint: who uses it: where it is placed
 * @segment: filled in
 *
 * Memory beside the device ends with the session, its mapping here only with
 * smartio_segment_free(). Stores to it are lost, harmlessly, then, until the
 * driver calls smartio_close() or smartio_open(): from there on it must not be
 * written to.
 *
 * Context: process, may sleep for seconds.
 * Return: 0; -ENOLINK; -ENOMEM; -ENOSPC: more than the lender gives to one
 * session; -ERANGE: the link doesn't reach it; -ETIMEDOUT.
 */
int smartio_segment_alloc(struct smartio_device *sdev, size_t size,
			  enum smartio_hint hint,
			  struct smartio_segment *segment)
{
	struct smartio_path *path = to_path(sdev);
	u64 id = smartio_path_session(path);

	might_sleep();
	memset(segment, 0, sizeof(*segment));
	if (!size)
		return -EINVAL;
	if (!id)
		return -ENOLINK;
	segment->size = PAGE_ALIGN(size);
	segment->session = id;
	if (hint == SMARTIO_DEVICE_READS || sdev->local)
		return path->ops->segment_alloc(path, id, segment);
	segment->cpu = path->ops->dma_alloc(path, segment->size, &segment->dma,
					   GFP_KERNEL);
	if (!segment->cpu)
		return -ENOMEM;
	segment->device_addr = smartio_to_device(sdev, segment->dma);
	return 0;
}
EXPORT_SYMBOL_GPL(smartio_segment_alloc);

/**
 * smartio_segment_free() - give a segment back
 * @sdev: the path; the session in which it was allocated may be over
 * @segment: from smartio_segment_alloc(); zeroed. One that is all zero is
 *	ignored.
 *
 * Context: process, may sleep for seconds.
 */
void smartio_segment_free(struct smartio_device *sdev,
			  struct smartio_segment *segment)
{
	struct smartio_path *path = to_path(sdev);

	if (segment->handle)
		path->ops->segment_free(path, segment);
	else if (segment->cpu)
		path->ops->dma_free(path, segment->size, segment->cpu,
				   segment->dma);
	memset(segment, 0, sizeof(*segment));
}
EXPORT_SYMBOL_GPL(smartio_segment_free);

/**
 * smartio_map_bar() - registers of the device, or memory on it
 * @sdev: the path, with a session open
 * @bar: number
 * @offset: in bytes
 * @size: bytes
 * @write_combining: for memory; not for registers
 *
 * Registers that the lender's half has not allowed are refused. The mapping may
 * be used after the session is over: stores are lost then. After the driver
 * has called smartio_close() or smartio_open(), there must be none.
 *
 * Context: process, may sleep for seconds.
 * Return: for smartio_unmap_bar(), or an ERR_PTR: -ENOLINK, -EACCES, -ENOMEM,
 * -ENOSPC or -ERANGE: the link can't reach it, -ETIMEDOUT.
 */
void __iomem *smartio_map_bar(struct smartio_device *sdev, unsigned int bar,
			      u64 offset, size_t size, bool write_combining)
{
	struct smartio_path *path = to_path(sdev);
	u64 id = smartio_path_session(path);

	might_sleep();
	if (!size)
		return IOMEM_ERR_PTR(-EINVAL);
	if (!id)
		return IOMEM_ERR_PTR(-ENOLINK);
	return path->ops->map_bar(path, id, bar, offset, size, write_combining);
}
EXPORT_SYMBOL_GPL(smartio_map_bar);

/**
 * smartio_unmap_bar() - end a mapping of smartio_map_bar()
 * @sdev: the path
 * @io: what that returned; NULL and errors are ignored
 *
 * Context: process, may sleep.
 */
void smartio_unmap_bar(struct smartio_device *sdev, void __iomem *io)
{
	struct smartio_path *path = to_path(sdev);

	if (!IS_ERR_OR_NULL((__force void *)io))
		path->ops->unmap_bar(path, io);
}
EXPORT_SYMBOL_GPL(smartio_unmap_bar);

/* The bus is there. */
int __init smartio_bus_init(const struct attribute_group **groups)
{
	path_groups = groups;
	return bus_register(&smartio_bus);
}

void smartio_bus_exit(void)
{
	bus_unregister(&smartio_bus);
}
