// SPDX-License-Identifier: GPL-2.0
/*
 * The bus "smartio", the paths to exports that are on it, and the drivers that
 * use them.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "hosts.h"
#include "path.h"

static const struct attribute_group **path_groups;

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

	path_events_free(path);
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
	spin_lock_init(&path->lock);
	INIT_LIST_HEAD(&path->kept);
	device_initialize(dev);
	dev->bus = &smartio_bus;
	dev->groups = path_groups;
	dev->parent = parent;
	dev->release = smartio_path_release;
	ret = path_events_init(path);
	if (!ret)
		ret = path_set_name(path);
	if (ret)
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
