// SPDX-License-Identifier: GPL-2.0
/*
 * Registers, and memory on a device, of one lent device, for another one that
 * the same host borrows from this one. They are mapped in the other one's
 * domain.
 *
 * Those of a device of this host it reaches through the root complex, and
 * nothing crosses a link. Those of a device that another host lends it reaches
 * over the link between the two lenders: that host has a grant of the borrower
 * for this one (session_grant.c).
 *
 * A mapping ends with either session, and with the link that it needs. After
 * that the IOMMU refuses accesses of the other device. So the first one can be
 * reset, and another host can get it, or its address of the link.
 */
#include <linux/iommu.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "export.h"
#include "links.h"
#include "messages.h"
#include "remote.h"

/* The most mappings of a session. */
#define SESSION_PEERS_MAX	256
/* The most that wait for another lender, which has others to serve. */
#define SESSION_PENDING_MAX	16

/**
 * struct session_peer - a mapping
 * @of_session: in session->reaches
 * @of_target: in target->reached, or in session_peers_far
 * @session: whose device reaches
 * @addr: a device address in its domain
 * @size: bytes
 * @in_range: in the place of pages of the borrower's range
 * @link: over which, a reference; NULL: they are in this host
 * @grant: of the host there
 * @pending: that host is asked, and nothing is mapped yet
 * @over: it ended meanwhile
 */
struct session_peer {
	struct list_head of_session;
	struct list_head of_target;
	struct session *session;
	u64 addr;
	u64 size;
	bool in_range;
	struct smartio_link *link;
	u64 grant;
	bool pending;
	bool over;
};

/* All mappings: session->reaches and session->reached of all sessions, and: */
static DEFINE_MUTEX(session_peers_lock);
static LIST_HEAD(session_peers_far);

static void session_peer_free(struct session_peer *mapping)
{
	if (mapping->link)
		smartio_link_put(mapping->link);
	kfree(mapping);
}

static void session_peer_end(struct session_peer *mapping)
{
	lockdep_assert_held(&session_peers_lock);
	if (mapping->pending) {
		/* who asks finds that, and frees it */
		mapping->over = true;
		return;
	}
	iommu_unmap(mapping->session->domain, mapping->addr, mapping->size);
	if (mapping->in_range)
		session_domain_rejoin(mapping->session, mapping->addr,
				      mapping->size);
	list_del(&mapping->of_session);
	list_del(&mapping->of_target);
	session_peer_free(mapping);
}

/* Where the domain leads nowhere, or where it consists of single pages. */
static int session_peer_place(struct session_peer *new)
{
	struct session *session = new->session;
	struct session_peer *mapping;
	unsigned int count = 0, pending = 0;

	lockdep_assert_held(&session_peers_lock);
	new->in_range = session_domain_is_pages(session, new->addr, new->size);
	if (!new->in_range &&
	    !session_domain_is_free(session, new->addr, new->size))
		return -ERANGE;
	list_for_each_entry(mapping, &session->reaches, of_session) {
		if (new->addr < mapping->addr + mapping->size &&
		    mapping->addr < new->addr + new->size)
			return mapping->pending ? -EBUSY : -EEXIST;
		count++;
		pending += mapping->pending;
	}
	if (new->pending && pending >= SESSION_PENDING_MAX)
		return -EBUSY;
	return count < SESSION_PEERS_MAX ? 0 : -ENOSPC;
}

/* In a place that was found for it. */
static int session_peer_lead(struct session_peer *new, phys_addr_t phys,
			     int prot)
{
	int ret;

	if (new->in_range)
		session_domain_leave(new->session, new->addr, new->size);
	ret = iommu_map(new->session->domain, new->addr, phys, new->size, prot,
			GFP_KERNEL);
	if (ret && new->in_range)
		session_domain_rejoin(new->session, new->addr, new->size);
	return ret;
}

static int session_peer_prot(const struct wire_peer *peer)
{
	u32 access = le32_to_cpu(peer->access);

	return IOMMU_MMIO | (access & WIRE_PEER_READ ? IOMMU_READ : 0) |
	       (access & WIRE_PEER_WRITE ? IOMMU_WRITE : 0);
}

static struct session_peer *session_peer_new(struct session *session,
					     const struct wire_peer *peer)
{
	struct session_peer *mapping = kzalloc(sizeof(*mapping), GFP_KERNEL);

	if (!mapping)
		return NULL;
	mapping->session = session;
	mapping->addr = le64_to_cpu(peer->addr);
	mapping->size = le64_to_cpu(peer->size);
	return mapping;
}

static int session_peer_add(struct session *session, struct session *target,
			    const struct wire_peer *peer)
{
	struct pci_dev *pdev = target->s.export->pdev;
	u64 offset = le64_to_cpu(peer->offset);
	u32 bar = le32_to_cpu(peer->bar);
	struct session_peer *mapping;
	int ret;

	if (!uuid_equal(&target->s.host, &session->s.host) ||
	    !session_grant_allowed(target, bar, offset,
				   le64_to_cpu(peer->size)))
		return -EACCES;
	mapping = session_peer_new(session, peer);
	if (!mapping)
		return -ENOMEM;
	mutex_lock(&session_peers_lock);
	ret = session_peer_place(mapping);
	if (!ret)
		ret = session_peer_lead(mapping,
					pci_resource_start(pdev, bar) + offset,
					session_peer_prot(peer));
	if (ret) {
		kfree(mapping);
	} else {
		list_add_tail(&mapping->of_session, &session->reaches);
		list_add_tail(&mapping->of_target, &target->reached);
	}
	mutex_unlock(&session_peers_lock);
	return ret;
}

/*
 * Asks the other lender for the address of registers that its borrower granted.
 */
static int session_peer_take(const struct session_peer *mapping,
			     const struct wire_peer *peer, phys_addr_t *phys)
{
	struct smartio_link *link = mapping->link;
	struct wire_take take = {
		.grant = peer->target,
		.size = peer->size,
		.access = peer->access,
	};
	const struct wire_message message = {
		.type = WIRE_PEER_TAKE,
		.length = sizeof(take),
	};
	struct wire_segment reply;
	size_t size = sizeof(reply);
	int ret;

	export_uuid(take.borrower, &mapping->session->s.host);
	ret = link->ops->call(link, &message, &take, &reply, &size,
			      SESSION_PEER_MS);
	if (ret)
		return ret;
	if (size != sizeof(reply))
		return -EPROTO;
	ret = link->ops->peer_phys(link, le64_to_cpu(reply.peer_addr),
				   mapping->size, phys);
	return !ret && !PAGE_ALIGNED(*phys) ? -EPROTO : ret;
}

/*
 * The mapping is in the list before the other lender is asked. So code that
 * ends it meanwhile finds it.
 */
static int session_peer_add_far(struct session *session, const uuid_t *host,
				const struct wire_peer *peer)
{
	struct session_peer *mapping = session_peer_new(session, peer);
	phys_addr_t phys = 0;
	int ret;

	if (!mapping)
		return -ENOMEM;
	mapping->grant = le64_to_cpu(peer->target);
	mapping->pending = true;
	mapping->link = links_up_to(host);
	if (!mapping->link) {
		kfree(mapping);
		return -EXDEV;
	}
	mutex_lock(&session_peers_lock);
	ret = session_peer_place(mapping);
	if (!ret) {
		list_add_tail(&mapping->of_session, &session->reaches);
		list_add_tail(&mapping->of_target, &session_peers_far);
	}
	mutex_unlock(&session_peers_lock);
	if (ret) {
		session_peer_free(mapping);
		return ret;
	}
	ret = session_peer_take(mapping, peer, &phys);
	mutex_lock(&session_peers_lock);
	mapping->pending = false;
	if (!ret && mapping->over)
		ret = -ENOLINK;
	if (!ret)
		ret = session_peer_lead(mapping, phys, session_peer_prot(peer));
	if (ret) {
		list_del(&mapping->of_session);
		list_del(&mapping->of_target);
		session_peer_free(mapping);
	}
	mutex_unlock(&session_peers_lock);
	return ret;
}

/*
 * Let the session's device reach registers of another one. The session is
 * entered. Returns 0; -EOPNOTSUPP: it has no domain of its own; -ENOENT: there
 * is no such other session or grant, or it ends; -EACCES: the borrower may not
 * reach that itself; -EXDEV: no link to the other lender is up; -EEXIST; -ERANGE:
 * not a place for it; -ENOSPC; -EBUSY: too many at once, or it is being mapped;
 * -ENOLINK: a link was lost, or it was unmapped, meanwhile; -EINVAL; -ENOMEM; or
 * why the other lender, or the link to it, does not have it.
 */
int session_peer_map(struct session *session, const struct wire_peer *peer)
{
	u64 addr = le64_to_cpu(peer->addr), size = le64_to_cpu(peer->size), end;
	u32 access = le32_to_cpu(peer->access);
	struct session *target;
	int ret = -ENOENT;
	uuid_t host;

	if (!session_domain_is_own(session))
		return -EOPNOTSUPP;
	if (!size || !PAGE_ALIGNED(addr | size | le64_to_cpu(peer->offset)) ||
	    check_add_overflow(addr, size, &end) || !access ||
	    access & ~(WIRE_PEER_READ | WIRE_PEER_WRITE))
		return -EINVAL;
	import_uuid(&host, peer->host);
	if (!uuid_is_null(&host))
		return session_peer_add_far(session, &host, peer);
	target = session_find(le64_to_cpu(peer->target));
	if (!target)
		return ret;
	/* it doesn't end before session_peer_withdraw() can find the mapping */
	if (!session_enter(target)) {
		ret = session_peer_add(session, target, peer);
		session_leave(target);
	}
	session_put(target);
	return ret;
}

/*
 * And no longer: what lies in a range. Returns 0; -ENOENT: nothing does, or its
 * session is over; -EINVAL: part of a mapping does.
 */
int session_peer_unmap(struct session *session, u64 addr, u64 size)
{
	struct session_peer *mapping, *next;
	int ret = -ENOENT;
	u64 end;

	if (check_add_overflow(addr, size, &end))
		return -EINVAL;
	mutex_lock(&session_peers_lock);
	list_for_each_entry_safe(mapping, next, &session->reaches, of_session) {
		if (mapping->addr >= end || mapping->addr + mapping->size <= addr)
			continue;
		if (mapping->addr < addr || mapping->addr + mapping->size > end) {
			ret = -EINVAL;
			break;
		}
		session_peer_end(mapping);
		ret = 0;
	}
	mutex_unlock(&session_peers_lock);
	return ret;
}

/* The session's device is quiet, and its domain goes. */
void session_peer_forget(struct session *session)
{
	struct session_peer *mapping, *next;

	mutex_lock(&session_peers_lock);
	list_for_each_entry_safe(mapping, next, &session->reaches, of_session)
		session_peer_end(mapping);
	mutex_unlock(&session_peers_lock);
}

/* The session ends: no other device reaches its device when this returns. */
void session_peer_withdraw(struct session *session)
{
	struct session_peer *mapping, *next;

	mutex_lock(&session_peers_lock);
	list_for_each_entry_safe(mapping, next, &session->reached, of_target)
		session_peer_end(mapping);
	mutex_unlock(&session_peers_lock);
}

/*
 * The host on a link takes a grant back: no device of this host uses its
 * registers when this returns, nor will.
 */
void session_peers_ended(struct smartio_link *link, u64 grant)
{
	struct session_peer *mapping, *next;

	mutex_lock(&session_peers_lock);
	list_for_each_entry_safe(mapping, next, &session_peers_far, of_target)
		if (mapping->link == link && mapping->grant == grant)
			session_peer_end(mapping);
	mutex_unlock(&session_peers_lock);
}

/* The link is down. When it is up again, another host may be behind it. */
void session_peers_lost(struct smartio_link *link)
{
	struct session_peer *mapping, *next;
	unsigned int count = 0;

	mutex_lock(&session_peers_lock);
	list_for_each_entry_safe(mapping, next, &session_peers_far, of_target) {
		if (mapping->link != link)
			continue;
		if (!mapping->pending)
			session_report_peers(mapping->session);
		session_peer_end(mapping);
		count++;
	}
	mutex_unlock(&session_peers_lock);
	if (count)
		dev_notice(link->dma,
			   "%s: devices lent here reached registers over it: %u mappings have ended\n",
			   link->name, count);
}
