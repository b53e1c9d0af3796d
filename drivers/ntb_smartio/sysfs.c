// SPDX-License-Identifier: GPL-2.0
/*
 * What people and tools see: attributes of ways, and the class smartio_lent.
 * smartioctl reads these: names and formats stay as they are.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "internal.h"

/* ---- /sys/bus/smartio/devices/WAY ---- */

static ssize_t service_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%s\n", to_smartio_device(dev)->service);
}
static DEVICE_ATTR_RO(service);

static ssize_t host_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%pUb\n", &to_smartio_device(dev)->host);
}
static DEVICE_ATTR_RO(host);

static ssize_t host_name_show(struct device *dev, struct device_attribute *attr,
			      char *buf)
{
	return sysfs_emit(buf, "%s\n", to_smartio_device(dev)->host_name);
}
static DEVICE_ATTR_RO(host_name);

static ssize_t pci_show(struct device *dev, struct device_attribute *attr,
			char *buf)
{
	return sysfs_emit(buf, "%s\n", to_smartio_device(dev)->pci_name);
}
static DEVICE_ATTR_RO(pci);

static ssize_t link_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%s\n", to_smartio_device(dev)->link_name);
}
static DEVICE_ATTR_RO(link);

static ssize_t state_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	struct smartio_way *way = to_way(to_smartio_device(dev));
	const char *state;

	if (smartio_way_session(way))
		state = "open";
	else if (READ_ONCE(way->offered))
		state = "ready";
	else
		state = "lost";
	return sysfs_emit(buf, "%s\n", state);
}
static DEVICE_ATTR_RO(state);

static ssize_t session_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	struct smartio_way *way = to_way(to_smartio_device(dev));

	return sysfs_emit(buf, "%#llx\n", smartio_way_session(way));
}
static DEVICE_ATTR_RO(session);

static ssize_t modalias_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "smartio:%s\n", to_smartio_device(dev)->service);
}
static DEVICE_ATTR_RO(modalias);

static struct attribute *smartio_way_attrs[] = {
	&dev_attr_service.attr,
	&dev_attr_host.attr,
	&dev_attr_host_name.attr,
	&dev_attr_pci.attr,
	&dev_attr_link.attr,
	&dev_attr_state.attr,
	&dev_attr_session.attr,
	&dev_attr_modalias.attr,
	NULL,
};

static const struct attribute_group smartio_way_group = {
	.attrs = smartio_way_attrs,
};

const struct attribute_group *smartio_way_groups[] = {
	&smartio_way_group,
	NULL,
};

/* ---- /sys/class/smartio_lent/PCI ---- */

static ssize_t lent_service_show(struct device *dev,
				 struct device_attribute *attr, char *buf)
{
	struct smartio_lent *lent = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", lent->service);
}

static struct device_attribute dev_attr_lent_service =
	__ATTR(service, 0444, lent_service_show, NULL);

static ssize_t borrowers_show(struct device *dev, struct device_attribute *attr,
			      char *buf)
{
	struct smartio_lent *lent = dev_get_drvdata(dev);
	struct lend_session *session;
	ssize_t len = 0;

	mutex_lock(&lent->lock);
	list_for_each_entry(session, &lent->sessions, entry)
		len += sysfs_emit_at(buf, len,
				     "session=%#llx host=%pUb name=%s link=%s\n",
				     session->s.id, &session->s.host,
				     session->s.host_name,
				     session->s.link_name);
	mutex_unlock(&lent->lock);
	return len;
}
static DEVICE_ATTR_RO(borrowers);

static ssize_t holdings_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	struct smartio_lent *lent = dev_get_drvdata(dev);
	int len;

	if (!lent->ops->show)
		return 0;
	len = lent->ops->show(lent->context, buf, PAGE_SIZE);
	return clamp(len, 0, (int)PAGE_SIZE - 1);
}
static DEVICE_ATTR_RO(holdings);

static struct attribute *smartio_lent_attrs[] = {
	&dev_attr_lent_service.attr,
	&dev_attr_borrowers.attr,
	&dev_attr_holdings.attr,
	NULL,
};
ATTRIBUTE_GROUPS(smartio_lent);

static const struct class smartio_lent_class = {
	.name = "smartio_lent",
	.dev_groups = smartio_lent_groups,
};

/**
 * smartio_sysfs_lent_add() - show a lent device
 * @lent: the device
 *
 * Context: process, may sleep.
 * Return: 0 or a negative error.
 */
int smartio_sysfs_lent_add(struct smartio_lent *lent)
{
	struct device *dev = device_create(&smartio_lent_class,
					   &lent->pdev->dev, MKDEV(0, 0), lent,
					   "%s", pci_name(lent->pdev));

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	lent->dev = dev;
	return 0;
}

/**
 * smartio_sysfs_lent_remove() - and no longer
 * @lent: the device
 *
 * Context: process, may sleep; waits for readers.
 */
void smartio_sysfs_lent_remove(struct smartio_lent *lent)
{
	device_unregister(lent->dev);
}

int __init smartio_sysfs_init(void)
{
	return class_register(&smartio_lent_class);
}

void smartio_sysfs_exit(void)
{
	class_unregister(&smartio_lent_class);
}
