// SPDX-License-Identifier: GPL-2.0
/*
 * Lent devices and their IOMMU groups. Unless the administrator allowed it for
 * a device, none is lent where its group would let borrowers reach too much.
 *
 * A link in the group: there is one domain. So through the link's window a
 * peer's CPUs reach all memory mapped for the device: queues and data of all
 * its borrowers. Nor does a link join beside such a device.
 *
 * A device that is lent as a whole: its borrower has it read and write all
 * memory that the group may. Without an IOMMU that is all of this host.
 */
#include <linux/iommu.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "export.h"
#include "links.h"

/* Devices allowed and not yet lent. */
#define GROUP_ALLOWED_MAX	64

/**
 * struct group_allowance - a device that may be lent once
 * @entry: in group_allowances
 * @allowed: although what
 * @name: its PCI address
 */
struct group_allowance {
	struct list_head entry;
	enum group_allowed allowed;
	char name[32];
};

static LIST_HEAD(group_allowances);
static DEFINE_MUTEX(group_lock);	/* the allowances */

/* Takes a device's allowance, if there is one. */
bool group_allowance_take(const char *name, enum group_allowed allowed)
{
	struct group_allowance *allowance, *next;
	bool found = false;

	mutex_lock(&group_lock);
	list_for_each_entry_safe(allowance, next, &group_allowances, entry) {
		if (allowance->allowed != allowed ||
		    strcmp(allowance->name, name))
			continue;
		list_del(&allowance->entry);
		kfree(allowance);
		found = true;
	}
	mutex_unlock(&group_lock);
	return found;
}

/*
 * The next lend of the device with this PCI address may do it; with a "-" before
 * the address: it may not any more.
 */
int group_allow(const char *name, size_t size, enum group_allowed allowed)
{
	struct group_allowance *allowance, *other;
	unsigned int count = 0;

	while (size && name[size - 1] == '\n')
		size--;
	if (!size || size >= sizeof(allowance->name))
		return -EINVAL;
	allowance = kzalloc(sizeof(*allowance), GFP_KERNEL);
	if (!allowance)
		return -ENOMEM;
	memcpy(allowance->name, name, size);
	allowance->allowed = allowed;
	if (name[0] == '-') {
		group_allowance_take(allowance->name + 1, allowed);
		kfree(allowance);
		return 0;
	}
	mutex_lock(&group_lock);
	list_for_each_entry(other, &group_allowances, entry)
		count++;
	if (count < GROUP_ALLOWED_MAX)
		list_add_tail(&allowance->entry, &group_allowances);
	mutex_unlock(&group_lock);
	if (count < GROUP_ALLOWED_MAX)
		return 0;
	kfree(allowance);
	return -ENOSPC;
}

/* The devices that may, a line each. */
ssize_t group_allowed_show(char *buf, enum group_allowed allowed)
{
	struct group_allowance *allowance;
	ssize_t len = 0;

	mutex_lock(&group_lock);
	list_for_each_entry(allowance, &group_allowances, entry)
		if (allowance->allowed == allowed)
			len += sysfs_emit_at(buf, len, "%s\n",
					     allowance->name);
	mutex_unlock(&group_lock);
	return len;
}

void group_exit(void)
{
	struct group_allowance *allowance, *next;

	list_for_each_entry_safe(allowance, next, &group_allowances, entry)
		kfree(allowance);
	INIT_LIST_HEAD(&group_allowances);
}

static bool group_translated(struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain && domain->type & __IOMMU_DOMAIN_PAGING;
}

/* Whether one domain translates for both: its group's number, or -1. */
static int group_of_both(struct device *dev, struct device *other)
{
	struct iommu_group *group, *others;
	int id = -1;

	if (!group_translated(dev))
		return -1;
	group = iommu_group_get(dev);
	others = iommu_group_get(other);
	if (group && group == others)
		id = iommu_group_id(group);
	if (others)
		iommu_group_put(others);
	if (group)
		iommu_group_put(group);
	return id;
}

/**
 * struct group_query - who shares a group with a device
 * @export: the device
 * @id: the group's number, or -1
 * @name: of the link's function, or of another device
 */
struct group_query {
	struct smartio_export *export;
	int id;
	char name[32];
};

static void group_query_one(struct smartio_link *link, void *arg)
{
	struct group_query *query = arg;
	int id = group_of_both(&query->export->pdev->dev, link->dma);

	if (id < 0)
		return;
	query->id = id;
	strscpy(query->name, dev_name(link->dma));
}

/* Whether a device may be lent beside the links that there are. */
static int group_check_links(struct smartio_export *export)
{
	struct group_query query = { .export = export, .id = -1 };

	links_for_each(group_query_one, &query);
	if (query.id < 0)
		return 0;
	if (export->shares_group) {
		pci_warn(export->pdev,
			 "in one IOMMU group (%d) with %s, which carries a link: borrowers' CPUs reach all that is mapped for it\n",
			 query.id, query.name);
		return 0;
	}
	pci_err(export->pdev,
		"in one IOMMU group (%d) with %s, which carries a link: borrowers' CPUs would reach all that is mapped for it, so it is not lent (lend --shared-group allows that)\n",
		query.id, query.name);
	return -EOPNOTSUPP;
}

static int group_query_other(struct device *dev, void *arg)
{
	struct group_query *query = arg;

	/* what leads to it is no user of its memory */
	if (dev == &query->export->pdev->dev ||
	    (dev_is_pci(dev) && pci_is_bridge(to_pci_dev(dev))))
		return 0;
	strscpy(query->name, dev_name(dev));
	return 1;
}

/*
 * The group of a device that has it for itself, but for what leads to it. The
 * caller puts it. NULL: there is none, or others are in it.
 */
struct iommu_group *group_of_its_own(struct smartio_export *export)
{
	struct group_query query = { .export = export };
	struct iommu_group *group = iommu_group_get(&export->pdev->dev);

	if (!group || !iommu_group_for_each_dev(group, &query,
						group_query_other))
		return group;
	iommu_group_put(group);
	return NULL;
}

/* Whether a borrower may have all that a device reaches. */
static int group_check_whole(struct smartio_export *export)
{
	struct group_query query = { .export = export };
	struct device *dev = &export->pdev->dev;
	struct iommu_group *group;
	int others;

	if (!group_translated(dev)) {
		if (export->trusts_borrowers)
			return 0;
		dev_err_ratelimited(dev,
				    "no IOMMU holds it: its borrower could reach all memory of this host, so it is not lent (lend --trust-borrowers allows that)\n");
		return -EPERM;
	}
	/* it has a domain, so it has a group */
	group = iommu_group_get(dev);
	query.id = iommu_group_id(group);
	others = iommu_group_for_each_dev(group, &query, group_query_other);
	iommu_group_put(group);
	if (!others || export->shares_group)
		return 0;
	dev_err_ratelimited(dev,
			    "in one IOMMU group (%d) with %s: its borrower could reach what that one can, so it is not lent (lend --shared-group allows that)\n",
			    query.id, query.name);
	return -EPERM;
}

/*
 * Whether a device may be lent. It is in the list of exports, so that
 * group_admits() sees it for a link that comes now.
 */
int group_check(struct smartio_export *export)
{
	int ret = group_check_links(export);

	if (!ret && export->ops->exclusive)
		ret = group_check_whole(export);
	return ret;
}

/* Whether a borrower may have it now: its group may have others by now. */
int group_check_again(struct smartio_export *export)
{
	return export->ops->exclusive ? group_check_whole(export) : 0;
}

/* Whether a link may join beside the devices that are lent. */
int group_admits(struct smartio_link *link)
{
	struct smartio_export *export;
	int ret = 0;
	u32 id = 0;

	while (!ret && (export = export_after(id))) {
		id = export->id;
		if (!export->shares_group &&
		    group_of_both(&export->pdev->dev, link->dma) >= 0) {
			dev_err_ratelimited(link->dma,
					    "%s: in one IOMMU group with %s, which is lent: the peer is refused\n",
					    link->name, pci_name(export->pdev));
			ret = -EOPNOTSUPP;
		}
		export_put(export);
	}
	return ret;
}
