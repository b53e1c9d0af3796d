// SPDX-License-Identifier: GPL-2.0
/*
 * A session's resources on the lender: segments, parts of BARs, vectors. This
 * also translates its addresses for the device. All of it is freed when it
 * ends.
 */
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "export.h"

/*
 * Memory of this host that the device reads: the borrower's own (@cpu, @dma),
 * or new. @segment is a copy: the borrower may free it at any time, if only by
 * guessing its handle. The session is entered. Returns 0; -EINVAL; -ENOSPC:
 * more than a session may have; -ENOMEM; -ERANGE.
 */
int session_segment_alloc(struct session *session, size_t size, void *cpu,
			  dma_addr_t dma, struct session_segment *segment)
{
	struct session_segment *new;
	int ret;

	if (!size || size > SESSION_SEGMENT_BYTES_MAX)
		return -EINVAL;
	size = PAGE_ALIGN(size);
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->size = size;
	new->cpu = cpu;
	new->dma = dma;
	mutex_lock(&session->lock);
	if (session->segment_bytes + size > SESSION_SEGMENT_BYTES_MAX) {
		ret = -ENOSPC;
		goto free;
	}
	ret = session->ops->segment_alloc(session, new);
	if (ret)
		goto free;
	ret = xa_alloc(&session->segments, &new->handle, new, xa_limit_31b,
		       GFP_KERNEL);
	if (ret) {
		session->ops->segment_free(session, new);
		goto free;
	}
	session->segment_bytes += size;
	*segment = *new;
	mutex_unlock(&session->lock);
	return 0;

free:
	mutex_unlock(&session->lock);
	kfree(new);
	return ret;
}

static void session_segment_drop(struct session *session,
				 struct session_segment *segment)
{
	session->segment_bytes -= segment->size;
	session->ops->segment_free(session, segment);
	kfree(segment);
}

/* And back. Returns 0; -ENOENT; -EBUSY: the lender's half uses it. */
int session_segment_free(struct session *session, u32 handle)
{
	struct session_segment *segment;
	int ret = 0;

	mutex_lock(&session->lock);
	segment = xa_load(&session->segments, handle);
	if (!segment) {
		ret = -ENOENT;
	} else if (segment->users) {
		ret = -EBUSY;
	} else {
		xa_erase(&session->segments, handle);
		session_segment_drop(session, segment);
	}
	mutex_unlock(&session->lock);
	return ret;
}

/*
 * Lets a session reach registers that it is allowed to reach. Returns 0;
 * -EACCES: not allowed; or the error of the path's ops.
 */
int session_bar_map(struct session *session, unsigned int bar, u64 offset,
		    size_t size, u64 *peer_addr)
{
	struct session_bar *range;
	u64 end;
	int ret = -EACCES;

	if (!size || check_add_overflow(offset, (u64)size, &end))
		return -EINVAL;
	mutex_lock(&session->lock);
	list_for_each_entry(range, &session->bars, entry) {
		if (range->bar != bar || offset < range->offset ||
		    end > range->offset + range->size)
			continue;
		ret = 0;
		if (!range->mapped) {
			ret = session->ops->bar_map(session, range);
			range->mapped = !ret;
		}
		if (!ret)
			*peer_addr = range->peer_addr + offset - range->offset;
		break;
	}
	mutex_unlock(&session->lock);
	return ret;
}

/* Whether a session may reach these registers, which it need not have mapped. */
bool session_bar_allowed(struct session *session, unsigned int bar, u64 offset,
			 size_t size)
{
	struct session_bar *range;
	bool allowed = false;
	u64 end;

	if (!size || check_add_overflow(offset, (u64)size, &end))
		return false;
	mutex_lock(&session->lock);
	list_for_each_entry(range, &session->bars, entry)
		allowed |= range->bar == bar && offset >= range->offset &&
			   end <= range->offset + range->size;
	mutex_unlock(&session->lock);
	return allowed;
}

/*
 * Frees the parts of BARs that a session may reach. Called before the lender's
 * half gives any of that to another borrower.
 */
void session_bars_free(struct session *session)
{
	struct session_bar *range, *next;

	mutex_lock(&session->lock);
	list_for_each_entry_safe(range, next, &session->bars, entry) {
		if (range->mapped)
			session->ops->bar_unmap(session, range);
		list_del(&range->entry);
		kfree(range);
	}
	mutex_unlock(&session->lock);
}

/* What else a session holds. */
void session_resources_free(struct session *session)
{
	struct smartio_export *export = session->s.export;
	struct session_segment *segment;
	unsigned long handle, bit;

	mutex_lock(&session->lock);
	for_each_set_bit(bit, session->irqs, export->vectors) {
		__clear_bit(bit, session->irqs);
		session->ops->irq_clear(session, export->first_vector + bit);
	}
	xa_for_each(&session->segments, handle, segment) {
		xa_erase(&session->segments, handle);
		session_segment_drop(session, segment);
	}
	mutex_unlock(&session->lock);
}

/**
 * smartio_session_dma() - translates a borrower's address for the device
 * @session: the session
 * @addr: a dma_addr_t of the borrower
 * @size: bytes
 * @device_addr: for the device
 *
 * Context: process.
 * Return: 0; -EINVAL; -ERANGE: it lies outside the borrower's open memory.
 */
int smartio_session_dma(struct smartio_session *session, u64 addr, size_t size,
			u64 *device_addr)
{
	struct session *s = to_session(session);
	u64 end;

	if (!size || check_add_overflow(addr, (u64)size, &end))
		return -EINVAL;
	return s->ops->dma(s, addr, size, device_addr);
}
EXPORT_SYMBOL_GPL(smartio_session_dma);

/**
 * smartio_session_segment() - where the device finds a segment
 * @session: the session
 * @handle: as in struct smartio_segment
 * @offset: in it, bytes
 * @size: bytes
 * @device_addr: for the device
 *
 * The borrower can't free it before smartio_session_segment_put(), which may
 * be left out when the session is closed: by then the device uses it no more.
 *
 * Context: process.
 * Return: 0; -ENOENT: no such segment of this session; -ERANGE: outside it.
 */
int smartio_session_segment(struct smartio_session *session, u32 handle,
			    u64 offset, size_t size, u64 *device_addr)
{
	struct session *s = to_session(session);
	struct session_segment *segment;
	int ret = 0;

	mutex_lock(&s->lock);
	segment = xa_load(&s->segments, handle);
	if (!segment)
		ret = -ENOENT;
	else if (!size || offset >= segment->size ||
		 size > segment->size - offset)
		ret = -ERANGE;
	if (!ret) {
		segment->users++;
		*device_addr = segment->device_addr + offset;
	}
	mutex_unlock(&s->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(smartio_session_segment);

/**
 * smartio_session_segment_put() - the device uses it no more
 * @session: the session
 * @handle: with which smartio_session_segment() succeeded
 *
 * Context: process.
 */
void smartio_session_segment_put(struct smartio_session *session, u32 handle)
{
	struct session *s = to_session(session);
	struct session_segment *segment;

	mutex_lock(&s->lock);
	segment = xa_load(&s->segments, handle);
	if (!WARN_ON_ONCE(!segment || !segment->users))
		segment->users--;
	mutex_unlock(&s->lock);
}
EXPORT_SYMBOL_GPL(smartio_session_segment_put);

/**
 * smartio_session_set_irq() - let a vector of the device interrupt a borrower
 * @session: the session
 * @addr: as in struct smartio_irq_message
 * @data: as in struct smartio_irq_message
 * @vector: which of the device's vectors it is
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL: not an interrupt of that borrower; -ENOSPC: no vector
 * left; -ERANGE: the device can't reach it.
 */
int smartio_session_set_irq(struct smartio_session *session, u64 addr,
			    u32 data, unsigned int *vector)
{
	struct session *s = to_session(session);
	int ret;

	mutex_lock(&s->lock);
	ret = s->ops->irq(s, addr, data, vector);
	if (!ret)
		__set_bit(*vector - s->s.export->first_vector, s->irqs);
	mutex_unlock(&s->lock);
	return ret;
}
EXPORT_SYMBOL_GPL(smartio_session_set_irq);

/*
 * An interrupt of the borrower has another message now. Returns 0; -ENOENT: the
 * vector is not the session's, or sends another message than the old one and the
 * new one; -ESTALE: a later request was executed; as smartio_session_set_irq().
 */
int session_irq_move(struct session *session, unsigned int vector, u32 serial,
		     u64 from_addr, u32 from_data, u64 addr, u32 data)
{
	struct smartio_export *export = session->s.export;
	unsigned int bit = vector - export->first_vector;
	int ret = -ENOENT;
	u32 *last;

	mutex_lock(&session->lock);
	if (bit >= export->vectors || !test_bit(bit, session->irqs))
		goto unlock;
	last = &session->irq_moves[bit];
	ret = -ESTALE;
	if (*last && (s32)(serial - *last) <= 0)
		goto unlock;
	ret = session->ops->irq_move(session, vector, from_addr, from_data,
				     addr, data);
	if (!ret)
		*last = serial;
unlock:
	mutex_unlock(&session->lock);
	return ret;
}

/**
 * smartio_session_clear_irq() - and no longer
 * @session: the session
 * @vector: from smartio_session_set_irq()
 *
 * Context: process, may sleep.
 */
void smartio_session_clear_irq(struct smartio_session *session,
			       unsigned int vector)
{
	struct session *s = to_session(session);
	unsigned int bit = vector - s->s.export->first_vector;

	mutex_lock(&s->lock);
	if (bit < s->s.export->vectors && __test_and_clear_bit(bit, s->irqs))
		s->ops->irq_clear(s, vector);
	mutex_unlock(&s->lock);
}
EXPORT_SYMBOL_GPL(smartio_session_clear_irq);

/**
 * smartio_session_irq_target() - where the device sends a borrower's message
 * @session: the session
 * @addr: an address of the borrower, as its interrupt has it
 * @device_addr: for the device's table, which the caller writes
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL: not an interrupt of that borrower; -ERANGE: the device
 * can't reach it; -EOPNOTSUPP: the local path.
 */
int smartio_session_irq_target(struct smartio_session *session, u64 addr,
			       u64 *device_addr)
{
	struct session *s = to_session(session);

	if (!s->ops->irq_target)
		return -EOPNOTSUPP;
	return s->ops->irq_target(s, addr, device_addr);
}
EXPORT_SYMBOL_GPL(smartio_session_irq_target);

/**
 * smartio_session_allow_bar() - registers that a session may map
 * @session: the session
 * @bar: number
 * @offset: in bytes
 * @size: bytes; whole pages around it are reachable then
 *
 * Context: process.
 * Return: 0, -EINVAL: no such part of the BAR, or the BAR shares a page with
 * other registers; -ENOMEM.
 */
int smartio_session_allow_bar(struct smartio_session *session,
			      unsigned int bar, u64 offset, size_t size)
{
	struct session *s = to_session(session);
	struct pci_dev *pdev = s->s.export->pdev;
	struct session_bar *range, *old;
	u64 end;

	if (bar >= PCI_STD_NUM_BARS || !size ||
	    !(pci_resource_flags(pdev, bar) & IORESOURCE_MEM) ||
	    check_add_overflow(offset, (u64)size, &end) ||
	    end > pci_resource_len(pdev, bar) ||
	    !PAGE_ALIGNED(pci_resource_start(pdev, bar) |
			  pci_resource_len(pdev, bar)))
		return -EINVAL;
	range = kzalloc(sizeof(*range), GFP_KERNEL);
	if (!range)
		return -ENOMEM;
	range->bar = bar;
	range->offset = offset & PAGE_MASK;
	range->size = PAGE_ALIGN(end) - range->offset;
	mutex_lock(&s->lock);
	list_for_each_entry(old, &s->bars, entry) {
		if (old->bar == bar && old->offset <= range->offset &&
		    old->offset + old->size >= range->offset + range->size) {
			kfree(range);
			range = NULL;
			break;
		}
	}
	if (range)
		list_add_tail(&range->entry, &s->bars);
	mutex_unlock(&s->lock);
	return 0;
}
EXPORT_SYMBOL_GPL(smartio_session_allow_bar);
