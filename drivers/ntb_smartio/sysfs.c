// SPDX-License-Identifier: GPL-2.0
/*
 * What people and tools see of links: the class smartio_link, and counters in
 * debugfs. smartioctl reads the class: names and formats stay as they are.
 */
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/kdev_t.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/sysfs.h>

#include "link.h"

static struct dentry *link_debug;

static const char * const link_states[] = {
	[SMARTIO_LINK_DOWN] = "down",
	[SMARTIO_LINK_JOINING] = "joining",
	[SMARTIO_LINK_UP] = "up",
	[SMARTIO_LINK_REFUSED] = "refused",
};

static ssize_t state_show(struct device *dev, struct device_attribute *attr,
			  char *buf)
{
	struct ntb_link *link = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%s\n", link_states[READ_ONCE(link->base.state)]);
}
static DEVICE_ATTR_RO(state);

#define LINK_UINT_ATTR(_name, _value)					\
static ssize_t _name##_show(struct device *dev,				\
			    struct device_attribute *attr, char *buf)	\
{									\
	struct ntb_link *link = dev_get_drvdata(dev);			\
									\
	return sysfs_emit(buf, "%u\n", _value);				\
}									\
static DEVICE_ATTR_RO(_name)

LINK_UINT_ATTR(generation, READ_ONCE(link->base.generation));
LINK_UINT_ATTR(losses, READ_ONCE(link->losses));
LINK_UINT_ATTR(heartbeat_age_ms, READ_ONCE(link->silent_ms));

#define LINK_PEER_ATTR(_name, _format, _value)				\
static ssize_t _name##_show(struct device *dev,				\
			    struct device_attribute *attr, char *buf)	\
{									\
	struct ntb_link *link = dev_get_drvdata(dev);			\
	ssize_t len = 0;						\
									\
	spin_lock(&link->base.lock);					\
	if (link->base.known)						\
		len = sysfs_emit(buf, _format "\n", _value);		\
	spin_unlock(&link->base.lock);					\
	return len;							\
}									\
static DEVICE_ATTR_RO(_name)

LINK_PEER_ATTR(peer, "%pUb", &link->base.peer.uuid);
LINK_PEER_ATTR(peer_name, "%s", link->base.peer.name);

static ssize_t reason_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct ntb_link *link = dev_get_drvdata(dev);
	ssize_t len;

	spin_lock(&link->base.lock);
	len = sysfs_emit(buf, "%s\n",
			 link->base.state == SMARTIO_LINK_UP ? "" : link->reason);
	spin_unlock(&link->base.lock);
	return len;
}
static DEVICE_ATTR_RO(reason);

static ssize_t link_aperture_show(char *buf, ssize_t len, const char *direction,
				  const struct link_aperture *aperture,
				  u64 used)
{
	if (!aperture->size)
		return 0;
	return sysfs_emit_at(buf, len,
			     "%s mw=%u base=%#llx size=%#llx used=%#llx\n",
			     direction, aperture->mw, aperture->base, aperture->size,
			     used);
}

/*
 * The bytes in use of an aperture are known for the pool only. The DMA API, or
 * the device, uses the others.
 */
static ssize_t windows_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	struct ntb_link *link = dev_get_drvdata(dev);
	struct link_aperture peer[WIRE_APERTURES];
	ssize_t len = 0;
	u64 used;
	int i;

	mutex_lock(&link->window_lock);
	for (i = 0; i < WIRE_APERTURES; i++) {
		if (!link->open)
			used = 0;
		else if (link->pool && !i)
			used = link->pool_size - link->pool_cut -
			       gen_pool_avail(link->pool);
		else
			used = link_aperture_open_size(&link->own[i]);
		len += link_aperture_show(buf, len, "in", &link->own[i], used);
	}
	mutex_unlock(&link->window_lock);
	spin_lock(&link->base.lock);
	memcpy(peer, link->peer_own, sizeof(peer));
	spin_unlock(&link->base.lock);
	for (i = 0; i < WIRE_APERTURES; i++)
		len += link_aperture_show(buf, len, "out", &peer[i],
					  peer[i].size);
	return len;
}
static DEVICE_ATTR_RO(windows);

/*
 * Bytes of each window, as BAR of this host and of the other side, and how many
 * of the latter lead into this host. The other side's are 0 until it was there.
 */
static ssize_t window_sizes_show(struct device *dev,
				 struct device_attribute *attr, char *buf)
{
	struct ntb_link *link = dev_get_drvdata(dev);
	ssize_t len = 0;
	int i;

	mutex_lock(&link->window_lock);
	for (i = 0; i < link->windows; i++)
		len += sysfs_emit_at(buf, len,
				     "mw=%d here=%#llx there=%#llx in=%#llx\n",
				     i, link->window_size[i],
				     link->chosen ? link->inbound[i].peer : 0,
				     link->chosen ? link_inbound_reach(link, i) : 0);
	mutex_unlock(&link->window_lock);
	return len;
}
static DEVICE_ATTR_RO(window_sizes);

/*
 * The most registers of a device that the other side can reach. With an IOMMU
 * each BAR is mapped by itself, in the lower half of window 0. Without, one of
 * the other windows spans all of them.
 */
static ssize_t registers_show(struct device *dev, struct device_attribute *attr,
			      char *buf)
{
	struct ntb_link *link = dev_get_drvdata(dev);
	u64 most = 0;
	int i;

	mutex_lock(&link->window_lock);
	if (link->iommu)
		most = link->own[0].size / 2;
	else
		for (i = 1; i < link->inbounds; i++)
			most = max(most, link_inbound_reach(link, i));
	mutex_unlock(&link->window_lock);
	return sysfs_emit(buf, "max=%#llx span=%d\n", most, !link->iommu);
}
static DEVICE_ATTR_RO(registers);

static struct attribute *smartio_link_attrs[] = {
	&dev_attr_state.attr,
	&dev_attr_peer.attr,
	&dev_attr_peer_name.attr,
	&dev_attr_generation.attr,
	&dev_attr_losses.attr,
	&dev_attr_heartbeat_age_ms.attr,
	&dev_attr_windows.attr,
	&dev_attr_window_sizes.attr,
	&dev_attr_registers.attr,
	&dev_attr_reason.attr,
	NULL,
};
ATTRIBUTE_GROUPS(smartio_link);

static const struct class smartio_link_class = {
	.name = "smartio_link",
	.dev_groups = smartio_link_groups,
};

static int link_counters_show(struct seq_file *s, void *unused)
{
	struct ntb_link *link = s->private;
	unsigned int doorbells = hweight64(link_doorbells(link));
	struct link_counters *c = &link->counters;

	seq_printf(s, "sent %lld\n", atomic64_read(&c->sent));
	seq_printf(s, "sent_bytes %lld\n", atomic64_read(&c->sent_bytes));
	seq_printf(s, "received %lld\n", atomic64_read(&c->received));
	seq_printf(s, "received_bytes %lld\n",
		   atomic64_read(&c->received_bytes));
	seq_printf(s, "held %llu\n", READ_ONCE(link->held_bytes));
	seq_printf(s, "refused %lld\n", atomic64_read(&link->base.refused));
	seq_printf(s, "busy %lld\n", atomic64_read(&c->busy));
	seq_printf(s, "late %lld\n", atomic64_read(&c->late));
	seq_printf(s, "full %lld\n", atomic64_read(&c->full));
	seq_printf(s, "starved %lld\n", atomic64_read(&c->starved));
	seq_printf(s, "kept %zu\n", READ_ONCE(link->kept.bytes));
	seq_printf(s, "pieces %llu\n", READ_ONCE(link->kept.made));
	seq_printf(s, "running %d\n", atomic_read(&link->jobs));
	seq_printf(s, "losses %u\n", READ_ONCE(link->losses));
	seq_printf(s, "doorbells %u\n", doorbells);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(link_counters);

/* Show a link. */
int link_sysfs_add(struct ntb_link *link)
{
	struct device *dev = device_create(&smartio_link_class, link->base.dma,
					   MKDEV(0, 0), link, "%s", link->base.name);

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	link->dev = dev;
	link->debug = debugfs_create_dir(link->base.name, link_debug);
	debugfs_create_file("counters", 0400, link->debug, link,
			    &link_counters_fops);
	return 0;
}

/* And no longer. Waits for readers. */
void link_sysfs_remove(struct ntb_link *link)
{
	debugfs_remove_recursive(link->debug);
	device_unregister(link->dev);
}

int __init link_sysfs_init(void)
{
	int ret = class_register(&smartio_link_class);

	if (!ret)
		link_debug = debugfs_create_dir("smartio", NULL);
	return ret;
}

void link_sysfs_exit(void)
{
	debugfs_remove_recursive(link_debug);
	class_unregister(&smartio_link_class);
}
