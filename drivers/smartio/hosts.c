// SPDX-License-Identifier: GPL-2.0
/*
 * Membership: this host's UUID and name, the hosts that were seen on its
 * links, and which of them are fenced (fence.c). A host stays known, and
 * fenced, until the module is unloaded.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device.h>
#include <linux/dmi.h>
#include <linux/kdev_t.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/utsname.h>

#include "hosts.h"
#include "links.h"

struct smartio_identity smartio_self;

static char *host_id;
module_param(host_id, charp, 0444);
MODULE_PARM_DESC(host_id, "UUID of this host (default: the firmware's system UUID)");

/* A host that is a new one each time must not fill the memory of this one. */
#define SMARTIO_HOSTS_MAX	1024

static LIST_HEAD(smartio_hosts);
static unsigned int smartio_hosts_known;	/* under smartio_hosts_lock */
DEFINE_SPINLOCK(smartio_hosts_lock);	/* the list, names, fences */
static DEFINE_MUTEX(smartio_add_lock);		/* adding to the list */

/* A UUID as people read it. */
struct smartio_uuid_text smartio_uuid_text(const uuid_t *uuid)
{
	struct smartio_uuid_text text;

	snprintf(text.text, sizeof(text.text), "%pUb", uuid);
	return text;
}

static struct smartio_host *smartio_host_find(const uuid_t *uuid)
{
	struct smartio_host *host;

	lockdep_assert_held(&smartio_hosts_lock);
	list_for_each_entry(host, &smartio_hosts, entry)
		if (uuid_equal(&host->uuid, uuid))
			return host;
	return NULL;
}

/* Whether a host is to be refused. */
bool smartio_host_fenced(const uuid_t *uuid)
{
	struct smartio_host *host;
	bool fenced;

	spin_lock(&smartio_hosts_lock);
	host = smartio_host_find(uuid);
	fenced = host && host->fenced;
	spin_unlock(&smartio_hosts_lock);
	return fenced;
}

/*
 * How often a host was fenced. A host that was fenced and did not notice must
 * find it out afterwards: it must not send its earlier commands any more.
 */
u32 smartio_host_fences(const uuid_t *uuid)
{
	struct smartio_host *host;
	u32 fences;

	spin_lock(&smartio_hosts_lock);
	host = smartio_host_find(uuid);
	fences = host ? host->fences : 0;
	spin_unlock(&smartio_hosts_lock);
	return fences;
}

/*
 * Who is meant. Returns 0, -ENOENT, or -ENOTUNIQ: several hosts have that
 * name.
 */
int smartio_host_named(const char *text, uuid_t *uuid, char *name)
{
	struct smartio_host *host;
	int ret = -ENOENT;
	uuid_t named;
	/* a text like a UUID is no name, even if a host has such a name */
	bool by_uuid = strlen(text) == UUID_STRING_LEN &&
		       !uuid_parse(text, &named);

	spin_lock(&smartio_hosts_lock);
	list_for_each_entry(host, &smartio_hosts, entry) {
		if (by_uuid ? !uuid_equal(&host->uuid, &named) :
			      strcmp(host->name, text))
			continue;
		ret = ret ? 0 : -ENOTUNIQ;
		if (ret)
			break;
		uuid_copy(uuid, &host->uuid);
		strscpy(name, host->name, SMARTIO_NAME_LEN);
	}
	spin_unlock(&smartio_hosts_lock);
	return ret;
}

/*
 * A host is to be refused from now on, or no more. Nothing else happens here:
 * see fence.c.
 */
bool smartio_host_mark(const uuid_t *uuid, bool fenced)
{
	struct smartio_host *host;
	bool news = false;

	spin_lock(&smartio_hosts_lock);
	host = smartio_host_find(uuid);
	if (host) {
		news = host->fenced != fenced;
		host->fenced = fenced;
		host->fences += news && fenced;
		if (fenced)
			host->fenced_incarnation = host->incarnation;
	}
	spin_unlock(&smartio_hosts_lock);
	return news;
}

/* A host is to have a session here. */
bool smartio_host_use(const uuid_t *uuid)
{
	struct smartio_host *host;
	bool may = true;

	spin_lock(&smartio_hosts_lock);
	host = smartio_host_find(uuid);
	if (host) {
		may = !host->fenced;
		host->used |= may;
	}
	spin_unlock(&smartio_hosts_lock);
	return may;
}

static void smartio_host_renew(struct smartio_host *host, u32 incarnation)
{
	lockdep_assert_held(&smartio_hosts_lock);
	if (host->incarnation != incarnation)
		host->used = false;
	host->incarnation = incarnation;
}

/*
 * Records the incarnation that a fenced host had when it was fenced. A request
 * of that incarnation to be admitted doesn't count, earlier or later.
 */
void smartio_host_pin(const uuid_t *uuid, u32 incarnation)
{
	struct smartio_host *host;

	spin_lock(&smartio_hosts_lock);
	host = smartio_host_find(uuid);
	if (host) {
		host->incarnation = incarnation;
		host->fenced_incarnation = incarnation;
		host->used = true;
	}
	spin_unlock(&smartio_hosts_lock);
}

/*
 * A fenced host asks to be admitted again. It is, if it has begun again since
 * it was fenced: then all that it planned before is lost. It is also admitted
 * if it has not used a device here since it began. A host that died is often
 * fenced when it is up again already, because its lender was away, or is
 * itself.
 */
bool smartio_host_rejoin(const uuid_t *uuid, u32 incarnation)
{
	char name[SMARTIO_NAME_LEN];
	struct smartio_host *host;
	bool changed = false;

	spin_lock(&smartio_hosts_lock);
	host = smartio_host_find(uuid);
	if (host && host->fenced &&
	    (host->fenced_incarnation != incarnation || !host->used)) {
		host->fenced = false;
		/* the next fence is of this one */
		smartio_host_renew(host, incarnation);
		changed = true;
		strscpy(name, host->name);
	}
	spin_unlock(&smartio_hosts_lock);
	if (changed)
		pr_info_ratelimited("host %s (%pUb) is not fenced any more, at its own request\n",
				    name, uuid);
	return changed;
}

static u32 smartio_host_flags(const uuid_t *uuid, bool fenced)
{
	bool self = uuid_equal(uuid, &smartio_self.uuid);

	return (fenced ? WIRE_HOST_FENCED : 0) |
	       (self || links_lead_to(uuid) ? WIRE_HOST_LINKED : 0);
}

/* Lists the hosts that this host knows, itself included. */
size_t smartio_hosts_fill(struct wire_host *hosts, size_t room)
{
	struct smartio_host *host;
	size_t count = 0, i;

	spin_lock(&smartio_hosts_lock);
	list_for_each_entry(host, &smartio_hosts, entry) {
		if (room < (count + 1) * sizeof(*hosts))
			break;
		memset(&hosts[count], 0, sizeof(*hosts));
		export_uuid(hosts[count].uuid, &host->uuid);
		hosts[count].flags = cpu_to_le32(host->fenced);
		strscpy(hosts[count].name, host->name);
		count++;
	}
	spin_unlock(&smartio_hosts_lock);
	/* links have locks of their own */
	for (i = 0; i < count; i++) {
		uuid_t uuid;

		import_uuid(&uuid, hosts[i].uuid);
		hosts[i].flags =
			cpu_to_le32(smartio_host_flags(&uuid,
						       hosts[i].flags));
	}
	return count * sizeof(*hosts);
}

static struct class smartio_host_class = {
	.name = "smartio_host",
};

static bool smartio_host_again(const struct smartio_identity *who)
{
	struct smartio_host *host;

	spin_lock(&smartio_hosts_lock);
	host = smartio_host_find(&who->uuid);
	if (host) {
		strscpy(host->name, who->name);
		smartio_host_renew(host, who->incarnation);
	}
	spin_unlock(&smartio_hosts_lock);
	return host;
}

static int smartio_host_add(const struct smartio_identity *who)
{
	struct smartio_host *host;
	bool full;

	lockdep_assert_held(&smartio_add_lock);
	if (smartio_host_again(who))
		return 0;
	spin_lock(&smartio_hosts_lock);
	full = smartio_hosts_known >= SMARTIO_HOSTS_MAX;
	spin_unlock(&smartio_hosts_lock);
	if (full) {
		pr_warn_ratelimited("more than %u hosts have been seen: %s is refused\n",
				    SMARTIO_HOSTS_MAX, who->name);
		return -ENOSPC;
	}
	host = kzalloc(sizeof(*host), GFP_KERNEL);
	if (!host)
		return -ENOMEM;
	uuid_copy(&host->uuid, &who->uuid);
	strscpy(host->name, who->name);
	host->incarnation = who->incarnation;
	host->dev = device_create(&smartio_host_class, NULL, MKDEV(0, 0), host,
				  "%s", smartio_uuid_text(&who->uuid).text);
	if (IS_ERR(host->dev)) {
		int ret = PTR_ERR(host->dev);

		kfree(host);
		return ret;
	}
	spin_lock(&smartio_hosts_lock);
	list_add_tail(&host->entry, &smartio_hosts);
	smartio_hosts_known++;
	spin_unlock(&smartio_hosts_lock);
	return 0;
}

/*
 * A host is on a link. Returns 0, -ENOMEM, or -ENOSPC: too many of them. One
 * that has been seen before takes no memory and no mutex: a link that returns
 * does not wait for one that brings a new host.
 */
int smartio_host_seen(const struct smartio_identity *who)
{
	int ret;

	if (smartio_host_again(who))
		return 0;
	/* two links to one host may come up at the same time */
	mutex_lock(&smartio_add_lock);
	ret = smartio_host_add(who);
	mutex_unlock(&smartio_add_lock);
	return ret;
}

static int __init smartio_self_init(void)
{
	const char *product = dmi_get_system_info(DMI_PRODUCT_UUID);

	smartio_self.incarnation = get_random_u32();
	strscpy(smartio_self.name, init_utsname()->nodename);
	if (host_id) {
		if (uuid_parse(host_id, &smartio_self.uuid) ||
		    uuid_is_null(&smartio_self.uuid)) {
			pr_err("host_id=%s is no UUID\n", host_id);
			return -EINVAL;
		}
		return 0;
	}
	if (product && !uuid_parse(product, &smartio_self.uuid) &&
	    !uuid_is_null(&smartio_self.uuid))
		return 0;
	uuid_gen(&smartio_self.uuid);
	pr_warn("the firmware has no system UUID, and host_id is not given: this host is %pUb until the module is loaded again\n",
		&smartio_self.uuid);
	return 0;
}

/* This host is known. */
int __init smartio_hosts_init(const struct attribute_group **class_groups,
			      const struct attribute_group **groups)
{
	int ret = smartio_self_init();

	if (ret)
		return ret;
	smartio_host_class.class_groups = class_groups;
	smartio_host_class.dev_groups = groups;
	ret = class_register(&smartio_host_class);
	if (ret)
		return ret;
	ret = smartio_host_seen(&smartio_self);
	if (ret)
		class_unregister(&smartio_host_class);
	return ret;
}

void smartio_hosts_exit(void)
{
	struct smartio_host *host, *next;

	list_for_each_entry(host, &smartio_hosts, entry)
		device_unregister(host->dev);
	/* this waits for writes to the class's files */
	class_unregister(&smartio_host_class);
	list_for_each_entry_safe(host, next, &smartio_hosts, entry)
		kfree(host);
}
