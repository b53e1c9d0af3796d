// SPDX-License-Identifier: GPL-2.0
/*
 * Registers of a lent device that other hosts reach. Its borrower has them by
 * its session (region.c). It may grant a part of them to one other host, whose
 * device reaches them over that host's own link with this one:
 *
 *    borrower        WIRE_PEER_GRANT  names the part and the host
 *    the other host  WIRE_PEER_TAKE   over its link; gets an address there
 *    this host       WIRE_PEER_END    before the address is used for another
 *
 * Only the host that was named can take a grant, for a device that it lends to
 * the same borrower, and only once. A grant ends when its borrower revokes it,
 * with the session, or with the link over which it was taken.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "export.h"
#include "links.h"
#include "messages.h"
#include "remote.h"

/* The most grants of a session. */
#define SESSION_GRANTS_MAX	256
/* The most revocations at once: the other lender has others to serve. */
#define SESSION_REVOKES_MAX	16
/* A lender that is too busy is asked again. */
#define SESSION_GRANT_AGAIN_MS	10
/* The holder of their addresses; exports have lower numbers. */
#define SESSION_GRANT_OWNER	U32_MAX

/**
 * struct session_grant - registers of a device, for another host
 * @entry: in session_grants
 * @session: whose device; the session lasts longer
 * @id: by which all three hosts know it
 * @host: the host that may take it
 * @bar: number
 * @offset: in it
 * @size: bytes
 * @access: WIRE_PEER_...
 * @link: over which it was taken, a reference; NULL: it was not
 * @peer_addr: then where @host finds it, an address of @link
 */
struct session_grant {
	struct list_head entry;
	struct session *session;
	u64 id;
	uuid_t host;
	u32 bar;
	u64 offset;
	u64 size;
	u32 access;
	struct smartio_link *link;
	u64 peer_addr;
};

/* The list, and @link and @peer_addr of those in it. */
static DEFINE_MUTEX(session_grants_lock);
static LIST_HEAD(session_grants);

/*
 * A borrower of a whole function needs all of its BARs. Without an IOMMU one
 * window leads to them, and to the range between them.
 */
static void session_all_bars(struct pci_dev *pdev,
			     struct smartio_registers *registers)
{
	u64 start = registers->phys, end = start + registers->length;
	int i;

	for (i = 0; i < PCI_STD_NUM_BARS; i++) {
		if (!(pci_resource_flags(pdev, i) & IORESOURCE_MEM) ||
		    !pci_resource_len(pdev, i) ||
		    pci_resource_start(pdev, i) - pci_bus_address(pdev, i) !=
		    registers->phys - registers->bus)
			continue;
		start = min(start, pci_resource_start(pdev, i));
		end = max(end, pci_resource_end(pdev, i) + 1);
	}
	start &= PAGE_MASK;
	registers->offset += registers->phys - start;
	registers->bus -= registers->phys - start;
	registers->phys = start;
	registers->length = PAGE_ALIGN(end) - start;
}

/* Registers of a session's device, as links have them. */
void session_registers(const struct session *session, unsigned int bar,
		       u64 offset, u64 size,
		       struct smartio_registers *registers)
{
	struct pci_dev *pdev = session->s.export->pdev;

	registers->phys = pci_resource_start(pdev, bar);
	registers->bus = pci_bus_address(pdev, bar);
	registers->length = PAGE_ALIGN(pci_resource_len(pdev, bar));
	registers->offset = offset;
	if (session->s.export->ops->exclusive)
		session_all_bars(pdev, registers);
	registers->size = size;
	registers->name = pci_name(pdev);
}

/*
 * Whether another device may have these registers: the session's borrower may,
 * and their pages have nothing else.
 */
bool session_grant_allowed(struct session *session, u32 bar, u64 offset,
			   u64 size)
{
	struct pci_dev *pdev = session->s.export->pdev;

	/* a drive that is shared has registers of its other borrowers, too */
	return session->s.export->ops->exclusive &&
	       session_bar_allowed(session, bar, offset, size) &&
	       PAGE_ALIGNED(pci_resource_start(pdev, bar)) &&
	       offset + size <= pci_resource_len(pdev, bar);
}

static struct session_grant *session_grant_find(u64 id)
{
	struct session_grant *grant;

	lockdep_assert_held(&session_grants_lock);
	list_for_each_entry(grant, &session_grants, entry)
		if (grant->id == id)
			return grant;
	return NULL;
}

static unsigned int session_grant_count(const struct session *session)
{
	struct session_grant *grant;
	unsigned int count = 0;

	lockdep_assert_held(&session_grants_lock);
	list_for_each_entry(grant, &session_grants, entry)
		count += grant->session == session;
	return count;
}

/*
 * Let a host have registers of the session's device. The session is entered.
 * Returns 0; -EACCES: the borrower may not reach that itself, or the device is
 * shared; -EXDEV: no link to that host is up; -ENOSPC; -EINVAL; -ENOMEM.
 */
int session_grant_add(struct session *session, const struct wire_grant *wish,
		      struct wire_granted *granted)
{
	u64 offset = le64_to_cpu(wish->offset), size = le64_to_cpu(wish->size);
	u32 access = le32_to_cpu(wish->access), bar = le32_to_cpu(wish->bar);
	struct session_grant *grant;
	int ret = 0;

	if (!size || !PAGE_ALIGNED(offset | size) || !access ||
	    access & ~(WIRE_PEER_READ | WIRE_PEER_WRITE))
		return -EINVAL;
	if (!session_grant_allowed(session, bar, offset, size))
		return -EACCES;
	grant = kzalloc(sizeof(*grant), GFP_KERNEL);
	if (!grant)
		return -ENOMEM;
	grant->session = session;
	import_uuid(&grant->host, wish->host);
	grant->bar = bar;
	grant->offset = offset;
	grant->size = size;
	grant->access = access;
	if (!links_lead_to(&grant->host)) {
		kfree(grant);
		return -EXDEV;
	}
	mutex_lock(&session_grants_lock);
	do {
		grant->id = get_random_u64();
	} while (!grant->id || session_grant_find(grant->id));
	if (session_grant_count(session) < SESSION_GRANTS_MAX)
		list_add_tail(&grant->entry, &session_grants);
	else
		ret = -ENOSPC;
	mutex_unlock(&session_grants_lock);
	if (ret)
		kfree(grant);
	else
		granted->grant = cpu_to_le64(grant->id);
	return ret;
}

static int session_grant_expose(struct session_grant *grant,
				struct smartio_link *link)
{
	struct smartio_registers registers;

	session_registers(grant->session, grant->bar, grant->offset,
			  grant->size, &registers);
	return link->ops->expose(link, &registers, &grant->peer_addr);
}

static void session_grant_conceal(struct session_grant *grant,
				  struct smartio_link *link,
				  const struct smartio_holder *holder)
{
	struct smartio_registers registers;

	session_registers(grant->session, grant->bar, grant->offset,
			  grant->size, &registers);
	link->ops->conceal(link, &registers, grant->peer_addr, holder);
}

/* In the session of the grant, which is entered. */
static int session_grant_give(struct session_grant *grant,
			      struct smartio_link *link, u32 generation)
{
	u32 current_generation;
	int ret;

	lockdep_assert_held(&session_grants_lock);
	ret = session_grant_expose(grant, link);
	if (ret)
		return ret;
	/* session_grants_lost() may have been here before */
	if (!smartio_link_is_up(link, &current_generation) ||
	    current_generation != generation) {
		session_grant_conceal(grant, link, NULL);
		return -ENOLINK;
	}
	smartio_link_get(link);
	grant->link = link;
	return 0;
}

/* Whether the grant is for the host on a link, and for this access. */
static bool session_grant_fits(const struct session_grant *grant,
			       struct smartio_link *link,
			       const struct wire_take *take)
{
	uuid_t borrower;
	bool named;

	import_uuid(&borrower, take->borrower);
	spin_lock(&link->lock);
	named = uuid_equal(&grant->host, &link->peer.uuid);
	spin_unlock(&link->lock);
	return named && uuid_equal(&grant->session->s.host, &borrower) &&
	       grant->size == le64_to_cpu(take->size) &&
	       grant->access == le32_to_cpu(take->access);
}

/*
 * A host takes its grant. Returns 0; -ENOENT: there is no such grant, or it
 * ends; -EACCES: it is for another host, for the device of another borrower, or
 * for something else; -EBUSY: it was taken; -ENOLINK; or the error of the link.
 */
int session_grant_take(struct smartio_link *link, u32 generation,
		       const struct wire_take *take,
		       struct wire_segment *reply)
{
	struct session_grant *grant;
	int ret = -ENOENT;

	mutex_lock(&session_grants_lock);
	grant = session_grant_find(le64_to_cpu(take->grant));
	/* it doesn't end before session_grants_withdraw() sees that it is taken */
	if (!grant || session_enter(grant->session))
		goto unlock;
	if (!session_grant_fits(grant, link, take))
		ret = -EACCES;
	else if (grant->link)
		ret = -EBUSY;
	else
		ret = session_grant_give(grant, link, generation);
	if (!ret)
		reply->peer_addr = cpu_to_le64(grant->peer_addr);
	session_leave(grant->session);
unlock:
	mutex_unlock(&session_grants_lock);
	return ret;
}

static unsigned long session_grant_deadline(void)
{
	return jiffies + msecs_to_jiffies(SESSION_PEER_MS);
}

static int session_grant_ask_end(struct smartio_link *link, u64 grant,
				 unsigned long deadline)
{
	const struct wire_granted id = { .grant = cpu_to_le64(grant) };
	const struct wire_message message = {
		.type = WIRE_PEER_END,
		.length = sizeof(id),
	};
	int ret = -ETIMEDOUT;
	size_t none = 0;
	long left;

	while ((left = deadline - jiffies) > 0) {
		ret = link->ops->call(link, &message, &id, NULL, &none,
				      jiffies_to_msecs(left));
		if (ret != -EBUSY)
			return ret;
		msleep(SESSION_GRANT_AGAIN_MS);
	}
	return ret;
}

static void session_grant_holder(const struct session_grant *grant,
				 struct smartio_holder *holder)
{
	holder->owner = SESSION_GRANT_OWNER;
	holder->key = grant->id;
}

/*
 * Takes a grant out of the list. The other host's device doesn't reach the
 * registers any more when this returns: the link may be removed after that.
 */
static void session_grant_drop(struct session_grant *grant)
{
	struct smartio_holder holder;

	lockdep_assert_held(&session_grants_lock);
	list_del(&grant->entry);
	session_grant_holder(grant, &holder);
	if (grant->link)
		session_grant_conceal(grant, grant->link, &holder);
}

/*
 * Ends a grant that is no longer in the list. The address stays unused until
 * the other host has said that its device does not use it. A host that does not
 * say so before the deadline loses the link.
 */
static void session_grant_end(struct session_grant *grant,
			      unsigned long deadline)
{
	struct smartio_link *link = grant->link;
	struct smartio_holder holder;
	int ret;

	if (link) {
		session_grant_holder(grant, &holder);
		ret = session_grant_ask_end(link, grant->id, deadline);
		if (!ret)
			link->ops->stopped(link, &holder);
		else if (ret != -ENOLINK)
			link->ops->restart(link,
					   "the other side did not unmap registers");
		smartio_link_put(link);
	}
	kfree(grant);
}

/*
 * Its borrower takes it back; the session is entered. Returns 0; -ENOENT: there
 * is none, or it is over; -EBUSY: too many at once, and it stays.
 */
int session_grant_revoke(struct session *session, u64 id)
{
	struct session_grant *grant;

	if (atomic_inc_return(&session->revoking) > SESSION_REVOKES_MAX) {
		atomic_dec(&session->revoking);
		return -EBUSY;
	}
	mutex_lock(&session_grants_lock);
	grant = session_grant_find(id);
	if (grant && grant->session == session)
		session_grant_drop(grant);
	else
		grant = NULL;
	mutex_unlock(&session_grants_lock);
	if (grant)
		session_grant_end(grant, session_grant_deadline());
	atomic_dec(&session->revoking);
	return grant ? 0 : -ENOENT;
}

/* One that was taken over this link, if there is any; or NULL. */
static struct session_grant *
session_grant_next(struct session *session, const struct smartio_link *link)
{
	struct session_grant *grant, *found = NULL;

	mutex_lock(&session_grants_lock);
	list_for_each_entry(grant, &session_grants, entry) {
		if (grant->session != session)
			continue;
		if (!found || grant->link == link)
			found = grant;
		if (found->link == link)
			break;
	}
	if (found)
		session_grant_drop(found);
	mutex_unlock(&session_grants_lock);
	return found;
}

/*
 * The session ends, and nothing is asked in it any more: no device of another
 * host reaches its device when this returns.
 */
void session_grants_withdraw(struct session *session)
{
	const struct smartio_link *link = NULL;
	struct session_grant *grant;
	unsigned long deadline = 0;

	/* a host that answers each just in time must not hold up the end */
	while ((grant = session_grant_next(session, link))) {
		if (grant->link != link)
			deadline = session_grant_deadline();
		link = grant->link;
		session_grant_end(grant, deadline);
	}
}

/* The link is down, and its windows are shut: grants taken over it end. */
void session_grants_lost(struct smartio_link *link)
{
	const struct smartio_holder all = { .owner = SESSION_GRANT_OWNER };
	struct session_grant *grant, *next;

	mutex_lock(&session_grants_lock);
	list_for_each_entry_safe(grant, next, &session_grants, entry) {
		if (grant->link != link)
			continue;
		list_del(&grant->entry);
		session_grant_conceal(grant, link, NULL);
		smartio_link_put(link);
		kfree(grant);
	}
	mutex_unlock(&session_grants_lock);
	/* those that it could not say that it let go of */
	link->ops->stopped(link, &all);
}
