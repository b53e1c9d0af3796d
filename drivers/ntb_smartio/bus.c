// SPDX-License-Identifier: GPL-2.0
/*
 * The bus "smartio": ways to lent devices, and the drivers that use them.
 * Events and notifications reach a driver one at a time, in the order they
 * arose, from an ordered workqueue of the way.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"
#include "trace.h"

enum way_item_kind {
	WAY_LOST,
	WAY_READY,
	WAY_NOTIFY,
};

/**
 * struct way_item - something the driver has to hear of
 * @entry: in way->items
 * @kind: what
 * @session: the one it is about
 * @size: bytes of @message
 * @message: of a notification
 */
struct way_item {
	struct list_head entry;
	enum way_item_kind kind;
	u64 session;
	size_t size;
	u8 message[];
};

/* A driver that is so much behind, with another host that doesn't care. */
#define WAY_ITEM_BYTES_MAX	(256 * 1024)

#define to_smartio_driver(d) container_of_const(d, struct smartio_driver, driver)

static void way_queue(struct smartio_way *way, struct way_item *item)
{
	lockdep_assert_held(&way->lock);
	list_add_tail(&item->entry, &way->items);
	way->item_bytes += struct_size(item, message, item->size);
	queue_work(way->wq, &way->work);
}

/**
 * smartio_way_behind() - whether too much waits for the way's driver
 * @way: the way
 *
 * Of what another host sends no more may be queued then, or it could fill the
 * memory of this one: delivery waits for an open that is under way.
 *
 * Context: any but interrupts.
 * Return: true or false.
 */
bool smartio_way_behind(struct smartio_way *way)
{
	bool behind;

	spin_lock(&way->lock);
	behind = way->item_bytes > WAY_ITEM_BYTES_MAX;
	spin_unlock(&way->lock);
	return behind;
}

/* Small, and there is nobody to whom a failure could be told. */
static struct way_item *way_item_alloc(enum way_item_kind kind, u64 session)
{
	struct way_item *item = kzalloc(sizeof(*item), GFP_NOIO | __GFP_NOFAIL);

	item->kind = kind;
	item->session = session;
	return item;
}

/**
 * smartio_way_offered() - the lender offers the device (again)
 * @way: the way
 *
 * Context: process.
 */
void smartio_way_offered(struct smartio_way *way)
{
	struct way_item *item = way_item_alloc(WAY_READY, 0);

	spin_lock(&way->lock);
	way->offered = true;
	way_queue(way, item);
	spin_unlock(&way->lock);
}

/**
 * smartio_way_lost() - a session is over without the borrower's doing
 * @way: the way
 * @session: its id; 0: whichever there is, and whichever is being opened now
 * @offered: whether the device is offered still
 *
 * Context: process.
 */
void smartio_way_lost(struct smartio_way *way, u64 session, bool offered)
{
	struct way_item *item = way_item_alloc(WAY_LOST, session);

	spin_lock(&way->lock);
	if (!session) {
		item->session = way->session;
		way->losses++;
		if (way->session || way->over)
			way->writes = true;
		way->over = 0;
	} else if (way->session == session) {
		way->over = session;
	}
	if (way->session == item->session)
		way->session = 0;
	way->offered = offered;
	way_queue(way, item);
	spin_unlock(&way->lock);
}

/**
 * smartio_way_writes() - whether its driver may still write to a lost session's
 * @way: the way
 * @forget: from now on the answer is no
 *
 * Context: process.
 * Return: true if the link was lost with a session, and the driver has neither
 * closed it nor opened another.
 */
bool smartio_way_writes(struct smartio_way *way, bool forget)
{
	bool writes;

	spin_lock(&way->lock);
	writes = way->writes;
	if (forget)
		way->writes = false;
	spin_unlock(&way->lock);
	return writes;
}

/**
 * smartio_way_notify() - a message of the lender's half
 * @way: the way
 * @session: to which it was sent
 * @message: is copied
 * @size: bytes
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int smartio_way_notify(struct smartio_way *way, u64 session,
		       const void *message, size_t size)
{
	struct way_item *item = kvmalloc(struct_size(item, message, size),
					 GFP_NOIO);

	if (!item)
		return -ENOMEM;
	item->kind = WAY_NOTIFY;
	item->session = session;
	item->size = size;
	memcpy(item->message, message, size);
	spin_lock(&way->lock);
	way_queue(way, item);
	spin_unlock(&way->lock);
	return 0;
}

/*
 * What is about a session that is not the one of now is old news. A loss may
 * be queued while smartio_open() has not yet told the way its new session: the
 * caller has waited for that.
 */
static bool way_item_counts(struct smartio_way *way, struct way_item *item)
{
	bool counts = true;

	spin_lock(&way->lock);
	switch (item->kind) {
	case WAY_LOST:
		/* the lender ended it before smartio_open() told the way */
		if (way->session && way->session == item->session) {
			way->over = item->session;
			way->session = 0;
		}
		counts = !way->session;
		break;
	case WAY_NOTIFY:
		counts = way->session == item->session;
		break;
	case WAY_READY:
		counts = way->offered;
		break;
	}
	spin_unlock(&way->lock);
	return counts;
}

static void way_deliver(struct smartio_way *way, struct way_item *item)
{
	struct smartio_driver *driver;

	/* An open that is under way ends first; see above. */
	mutex_lock(&way->session_lock);
	mutex_unlock(&way->session_lock);

	mutex_lock(&way->driver_lock);
	driver = way->driver;
	if (driver && way_item_counts(way, item)) {
		trace_smartio_way(&way->sdev, item->kind, item->session);
		if (item->kind == WAY_NOTIFY) {
			if (driver->notify)
				driver->notify(&way->sdev, item->message,
					       item->size);
		} else if (driver->event) {
			driver->event(&way->sdev, item->kind == WAY_LOST ?
				      SMARTIO_LOST : SMARTIO_READY);
		}
	}
	mutex_unlock(&way->driver_lock);
}

static void way_work(struct work_struct *work)
{
	struct smartio_way *way = container_of(work, struct smartio_way, work);
	struct way_item *item;

	for (;;) {
		spin_lock(&way->lock);
		item = list_first_entry_or_null(&way->items, struct way_item,
						entry);
		if (item) {
			list_del(&item->entry);
			way->item_bytes -= struct_size(item, message,
						       item->size);
		}
		spin_unlock(&way->lock);
		if (!item)
			return;
		way_deliver(way, item);
		kvfree(item);
	}
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
	struct smartio_way *way = to_way(sdev);
	bool offered;
	int ret;

	/* a session that it opens may be lost before it returns: that waits */
	mutex_lock(&way->driver_lock);
	ret = driver->probe(sdev);
	if (!ret)
		way->driver = driver;
	mutex_unlock(&way->driver_lock);
	if (ret)
		return ret;
	spin_lock(&way->lock);
	offered = way->offered;
	spin_unlock(&way->lock);
	if (offered)
		smartio_way_offered(way);
	return 0;
}

static void smartio_bus_remove(struct device *dev)
{
	struct smartio_device *sdev = to_smartio_device(dev);
	struct smartio_driver *driver = to_smartio_driver(dev->driver);
	struct smartio_way *way = to_way(sdev);

	mutex_lock(&way->driver_lock);
	way->driver = NULL;
	mutex_unlock(&way->driver_lock);
	driver->remove(sdev);
	smartio_close(sdev);
}

static const struct bus_type smartio_bus = {
	.name = "smartio",
	.dev_groups = smartio_way_groups,
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

/* ---- ways ---- */

static void smartio_way_release(struct device *dev)
{
	struct smartio_way *way = to_way(to_smartio_device(dev));
	struct way_item *item, *next;

	if (way->wq)
		destroy_workqueue(way->wq);
	list_for_each_entry_safe(item, next, &way->items, entry)
		kvfree(item);
	if (way->ops->release)
		way->ops->release(way);
	kfree(way);
}

/**
 * smartio_way_init() - a way to a device is to be added
 * @way: from kzalloc(); ops, lent or private and the public part of sdev but
 *	its dev filled in. From now on it is freed with its last reference.
 * @parent: of its device
 *
 * Context: process, may sleep.
 * Return: 0, or a negative error, and then the way is gone.
 */
int smartio_way_init(struct smartio_way *way, struct device *parent)
{
	struct device *dev = &way->sdev.dev;
	int ret;

	mutex_init(&way->session_lock);
	mutex_init(&way->driver_lock);
	spin_lock_init(&way->lock);
	INIT_LIST_HEAD(&way->items);
	INIT_WORK(&way->work, way_work);
	device_initialize(dev);
	dev->bus = &smartio_bus;
	dev->parent = parent;
	dev->release = smartio_way_release;
	ret = dev_set_name(dev, "%.8s-%s-%s",
			   smartio_uuid_text(&way->sdev.host).text,
			   way->sdev.pci_name, way->sdev.link_name);
	if (ret)
		goto put;
	ret = -ENOMEM;
	way->wq = alloc_ordered_workqueue("sio-%.16s-%.6s", WQ_MEM_RECLAIM,
					  way->sdev.pci_name,
					  way->sdev.link_name);
	if (!way->wq)
		goto put;
	return 0;

put:
	put_device(dev);
	return ret;
}

/**
 * smartio_way_add() - a way to a device is there
 * @way: after smartio_way_init(); the caller's reference is the way's
 *
 * Context: process, may sleep; probes.
 * Return: 0, or a negative error; then the caller has to give up its reference.
 */
int smartio_way_add(struct smartio_way *way)
{
	return device_add(&way->sdev.dev);
}

/**
 * smartio_way_remove() - a way goes
 * @way: the way; the caller's reference is given up
 *
 * When it returns the driver doesn't use it any more.
 * Context: process, may sleep.
 */
void smartio_way_remove(struct smartio_way *way)
{
	device_del(&way->sdev.dev);
	flush_workqueue(way->wq);
	put_device(&way->sdev.dev);
}

int __init smartio_bus_init(void)
{
	return bus_register(&smartio_bus);
}

void smartio_bus_exit(void)
{
	bus_unregister(&smartio_bus);
}
