// SPDX-License-Identifier: GPL-2.0
/*
 * Registers, and memory on a device, of one lent device, for another one that
 * the same host borrows from this one. They are mapped in the other one's
 * domain, so that it reaches them through this host's root complex, and nothing
 * crosses a link.
 *
 * A mapping ends with either session. The IOMMU refuses what the other device
 * still does when the first one is reset, and before somebody else gets it.
 */
#include <linux/iommu.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "export.h"
#include "messages.h"
#include "remote.h"

/* So many a session may have. */
#define SESSION_PEERS_MAX	256

/**
 * struct session_peer - a mapping
 * @of_session: in session->reaches
 * @of_target: in target->reached
 * @session: whose device reaches
 * @addr: a device address in its domain
 * @size: bytes
 * @in_range: in the place of pages of the borrower's range
 */
struct session_peer {
	struct list_head of_session;
	struct list_head of_target;
	struct session *session;
	u64 addr;
	u64 size;
	bool in_range;
};

/* All mappings: session->reaches and session->reached of all sessions. */
static DEFINE_MUTEX(session_peers_lock);

static void session_peer_end(struct session_peer *mapping)
{
	lockdep_assert_held(&session_peers_lock);
	iommu_unmap(mapping->session->domain, mapping->addr, mapping->size);
	if (mapping->in_range)
		session_domain_rejoin(mapping->session, mapping->addr,
				      mapping->size);
	list_del(&mapping->of_session);
	list_del(&mapping->of_target);
	kfree(mapping);
}

/* Where the domain leads nowhere, or where it consists of single pages. */
static int session_peer_place(struct session_peer *new)
{
	struct session *session = new->session;
	struct session_peer *mapping;
	unsigned int count = 0;

	lockdep_assert_held(&session_peers_lock);
	new->in_range = session_domain_is_pages(session, new->addr, new->size);
	if (!new->in_range &&
	    !session_domain_is_free(session, new->addr, new->size))
		return -ERANGE;
	list_for_each_entry(mapping, &session->reaches, of_session) {
		if (new->addr < mapping->addr + mapping->size &&
		    mapping->addr < new->addr + new->size)
			return -EEXIST;
		count++;
	}
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

/* Whether whole pages have registers of this BAR and of no other. */
static bool session_peer_pages(struct pci_dev *pdev, u32 bar, u64 offset,
			       u64 size)
{
	return PAGE_ALIGNED(pci_resource_start(pdev, bar)) &&
	       offset + size <= pci_resource_len(pdev, bar);
}

static int session_peer_add(struct session *session, struct session *target,
			    const struct wire_peer *peer)
{
	struct pci_dev *pdev = target->s.export->pdev;
	u32 bar = le32_to_cpu(peer->bar), access = le32_to_cpu(peer->access);
	struct session_peer *mapping;
	int prot = IOMMU_MMIO, ret;

	/* a drive that is shared has registers of its other borrowers, too */
	if (!target->s.export->ops->exclusive ||
	    !uuid_equal(&target->s.host, &session->s.host) ||
	    !session_bar_allowed(target, bar, le64_to_cpu(peer->offset),
				 le64_to_cpu(peer->size)) ||
	    !session_peer_pages(pdev, bar, le64_to_cpu(peer->offset),
				le64_to_cpu(peer->size)))
		return -EACCES;
	prot |= access & WIRE_PEER_READ ? IOMMU_READ : 0;
	prot |= access & WIRE_PEER_WRITE ? IOMMU_WRITE : 0;
	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL);
	if (!mapping)
		return -ENOMEM;
	mapping->session = session;
	mapping->addr = le64_to_cpu(peer->addr);
	mapping->size = le64_to_cpu(peer->size);
	mutex_lock(&session_peers_lock);
	ret = session_peer_place(mapping);
	if (!ret)
		ret = session_peer_lead(mapping, pci_resource_start(pdev, bar) +
					le64_to_cpu(peer->offset), prot);
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
 * Let the session's device reach registers of another one. The session is
 * entered. Returns 0; -EOPNOTSUPP: it has no domain of its own; -ENOENT: there
 * is no such other session, or it ends; -EACCES: the borrower may not reach that
 * itself; -EEXIST; -ERANGE: not a place for it; -ENOSPC; -EINVAL; -ENOMEM.
 */
int session_peer_map(struct session *session, const struct wire_peer *peer)
{
	u64 addr = le64_to_cpu(peer->addr), size = le64_to_cpu(peer->size), end;
	u32 access = le32_to_cpu(peer->access);
	struct session *target;
	int ret = -ENOENT;

	if (!session_domain_is_own(session))
		return -EOPNOTSUPP;
	if (!size || !PAGE_ALIGNED(addr | size | le64_to_cpu(peer->offset)) ||
	    check_add_overflow(addr, size, &end) || !access ||
	    access & ~(WIRE_PEER_READ | WIRE_PEER_WRITE))
		return -EINVAL;
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
