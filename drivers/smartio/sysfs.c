// SPDX-License-Identifier: GPL-2.0
/*
 * What people and tools see of hosts, exports and paths. smartioctl reads
 * these: names and formats stay as they are.
 */
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "export.h"
#include "hosts.h"
#include "links.h"
#include "path.h"
#include "sysfs.h"

#define SMARTIO_GROUPS(_name)						\
static const struct attribute_group _name##_group = {			\
	.attrs = _name##_attrs,						\
};									\
									\
const struct attribute_group *_name##_groups[] = {			\
	&_name##_group,							\
	NULL,								\
}

/* ---- /sys/class/smartio_host ---- */

static ssize_t name_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	struct smartio_host *host = dev_get_drvdata(dev);
	ssize_t len;

	spin_lock(&smartio_hosts_lock);
	len = sysfs_emit(buf, "%s\n", host->name);
	spin_unlock(&smartio_hosts_lock);
	return len;
}
static DEVICE_ATTR_RO(name);

static ssize_t self_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	struct smartio_host *host = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d\n",
			  uuid_equal(&host->uuid, &smartio_self.uuid));
}
static DEVICE_ATTR_RO(self);

static ssize_t fenced_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct smartio_host *host = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d\n", READ_ONCE(host->fenced));
}
static DEVICE_ATTR_RO(fenced);

static ssize_t links_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	struct smartio_host *host = dev_get_drvdata(dev);

	return links_names(&host->uuid, buf);
}
static DEVICE_ATTR_RO(links);

/* At that host: it fences or admits a third one, and lists those it knows. */
static ssize_t fence_at_store(struct device *dev, const char *buf, size_t count,
			      bool fenced)
{
	struct smartio_host *host = dev_get_drvdata(dev);
	int ret = fence_at(&host->uuid, buf, fenced);

	return ret ? ret : count;
}

static ssize_t host_fence_store(struct device *dev,
				struct device_attribute *attr, const char *buf,
				size_t count)
{
	return fence_at_store(dev, buf, count, true);
}

static struct device_attribute dev_attr_fence =
	__ATTR(fence, 0200, NULL, host_fence_store);

static ssize_t host_unfence_store(struct device *dev,
				  struct device_attribute *attr,
				  const char *buf, size_t count)
{
	return fence_at_store(dev, buf, count, false);
}

static struct device_attribute dev_attr_unfence =
	__ATTR(unfence, 0200, NULL, host_unfence_store);

static ssize_t hosts_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	struct smartio_host *host = dev_get_drvdata(dev);

	return fence_hosts_show(&host->uuid, buf);
}
static DEVICE_ATTR_ADMIN_RO(hosts);

static struct attribute *smartio_host_attrs[] = {
	&dev_attr_name.attr,
	&dev_attr_self.attr,
	&dev_attr_fenced.attr,
	&dev_attr_links.attr,
	&dev_attr_fence.attr,
	&dev_attr_unfence.attr,
	&dev_attr_hosts.attr,
	NULL,
};

SMARTIO_GROUPS(smartio_host);

static ssize_t fence_store(const struct class *class,
			   const struct class_attribute *attr, const char *buf,
			   size_t count)
{
	int ret = fence_here(buf, true);

	return ret ? ret : count;
}
static CLASS_ATTR_WO(fence);

static ssize_t unfence_store(const struct class *class,
			     const struct class_attribute *attr,
			     const char *buf, size_t count)
{
	int ret = fence_here(buf, false);

	return ret ? ret : count;
}
static CLASS_ATTR_WO(unfence);

static ssize_t rejoin_store(const struct class *class,
			    const struct class_attribute *attr,
			    const char *buf, size_t count)
{
	bool rejoin;
	int ret = kstrtobool(buf, &rejoin);

	if (!ret)
		ret = rejoin ? fence_rejoin() : -EINVAL;
	return ret ? ret : count;
}
static CLASS_ATTR_WO(rejoin);

static struct attribute *smartio_host_class_attrs[] = {
	&class_attr_fence.attr,
	&class_attr_unfence.attr,
	&class_attr_rejoin.attr,
	NULL,
};

SMARTIO_GROUPS(smartio_host_class);

/* ---- /sys/bus/smartio/devices/PATH ---- */

#define PATH_ATTR(_name, _format, _value)				\
static ssize_t _name##_show(struct device *dev,				\
			    struct device_attribute *attr, char *buf)	\
{									\
	struct smartio_device *sdev = to_smartio_device(dev);		\
									\
	return sysfs_emit(buf, _format "\n", _value);			\
}									\
static DEVICE_ATTR_RO(_name)

PATH_ATTR(service, "%s", sdev->service);
PATH_ATTR(host, "%pUb", &sdev->host);
PATH_ATTR(host_name, "%s", sdev->host_name);
PATH_ATTR(pci, "%s", sdev->pci_name);
PATH_ATTR(link, "%s", sdev->link_name);
PATH_ATTR(session, "%#llx", smartio_path_session(to_path(sdev)));
PATH_ATTR(modalias, "smartio:%s", sdev->service);

static ssize_t state_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	struct smartio_path *path = to_path(to_smartio_device(dev));
	const char *state;

	if (smartio_path_session(path))
		state = "open";
	else if (READ_ONCE(path->offered))
		state = "ready";
	else
		state = "lost";
	return sysfs_emit(buf, "%s\n", state);
}
static DEVICE_ATTR_RO(state);

static struct attribute *smartio_path_attrs[] = {
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

SMARTIO_GROUPS(smartio_path);

/* ---- /sys/module/smartio/parameters ---- */

static enum group_allowed allowed_shared = GROUP_ALLOWED_SHARED;
static enum group_allowed allowed_trust = GROUP_ALLOWED_TRUST;

static int allowed_get(char *buf, const struct kernel_param *param)
{
	return group_allowed_show(buf, *(enum group_allowed *)param->arg);
}

static int allowed_set(const char *value, const struct kernel_param *param)
{
	return group_allow(value, strlen(value),
			   *(enum group_allowed *)param->arg);
}

static const struct kernel_param_ops allowed_ops = {
	.get = allowed_get,
	.set = allowed_set,
};

module_param_cb(shared_group, &allowed_ops, &allowed_shared, 0600);
MODULE_PARM_DESC(shared_group, "write a PCI address: the next time that this device is lent, it may be in one IOMMU group with a link's function, and, lent as a whole, with any device; -ADDRESS takes that back");
module_param_cb(trust_borrowers, &allowed_ops, &allowed_trust, 0600);
MODULE_PARM_DESC(trust_borrowers, "write a PCI address: the next time that this device is lent as a whole, it may reach all memory of this host; -ADDRESS takes that back");

/* ---- /sys/class/smartio_export/PCI ---- */

static ssize_t export_service_show(struct device *dev,
				   struct device_attribute *attr, char *buf)
{
	struct smartio_export *export = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", export->service);
}

static struct device_attribute dev_attr_export_service =
	__ATTR(service, 0444, export_service_show, NULL);

static ssize_t borrowers_show(struct device *dev, struct device_attribute *attr,
			      char *buf)
{
	struct smartio_export *export = dev_get_drvdata(dev);
	struct session *session;
	ssize_t len = 0;

	mutex_lock(&export->lock);
	list_for_each_entry(session, &export->sessions, entry)
		len += sysfs_emit_at(buf, len,
				     "session=%#llx host=%pUb name=%s link=%s\n",
				     session->s.id, &session->s.host,
				     session->s.host_name,
				     session->s.link_name);
	mutex_unlock(&export->lock);
	return len;
}
static DEVICE_ATTR_RO(borrowers);

static ssize_t holdings_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	struct smartio_export *export = dev_get_drvdata(dev);
	int len;

	if (!export->ops->show)
		return 0;
	len = export->ops->show(export->context, buf, PAGE_SIZE);
	return clamp(len, 0, (int)PAGE_SIZE - 1);
}
static DEVICE_ATTR_RO(holdings);

static ssize_t allowed_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	struct smartio_export *export = dev_get_drvdata(dev);

	return policy_show(pci_name(export->pdev), buf);
}
static DEVICE_ATTR_RO(allowed);

static struct attribute *smartio_export_attrs[] = {
	&dev_attr_export_service.attr,
	&dev_attr_allowed.attr,
	&dev_attr_borrowers.attr,
	&dev_attr_holdings.attr,
	NULL,
};

SMARTIO_GROUPS(smartio_export);

/* ---- /sys/class/smartio_export ---- */

static ssize_t allow_show(const struct class *class,
			  const struct class_attribute *attr, char *buf)
{
	return policy_show_all(buf);
}

static ssize_t allow_store(const struct class *class,
			   const struct class_attribute *attr, const char *buf,
			   size_t count)
{
	int ret = lend_allow(buf, count);

	return ret ? ret : count;
}
static CLASS_ATTR_RW(allow);

static struct attribute *smartio_export_class_attrs[] = {
	&class_attr_allow.attr,
	NULL,
};

SMARTIO_GROUPS(smartio_export_class);
