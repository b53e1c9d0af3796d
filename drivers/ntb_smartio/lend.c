// SPDX-License-Identifier: GPL-2.0
/*
 * The registry of devices that this host lends.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "internal.h"

LIST_HEAD(smartio_lents);
DEFINE_MUTEX(smartio_lents_lock);	/* the list of lent devices */

static void lend_release(struct kref *ref)
{
	struct smartio_lent *lent = container_of(ref, struct smartio_lent, ref);

	bitmap_free(lent->vectors_used);
	pci_dev_put(lent->pdev);
	kfree(lent);
}

void lend_get(struct smartio_lent *lent)
{
	kref_get(&lent->ref);
}

void lend_put(struct smartio_lent *lent)
{
	kref_put(&lent->ref, lend_release);
}

/**
 * lend_find() - a lent device by its number
 * @id: the number
 *
 * Context: process.
 * Return: it, with a reference for lend_put(), or NULL.
 */
struct smartio_lent *lend_find(u32 id)
{
	struct smartio_lent *lent, *found = NULL;

	mutex_lock(&smartio_lents_lock);
	list_for_each_entry(lent, &smartio_lents, entry) {
		if (lent->id != id)
			continue;
		lend_get(lent);
		found = lent;
		break;
	}
	mutex_unlock(&smartio_lents_lock);
	return found;
}

/* Nobody uses it any more, nor finds it, when this returns. */
static void lend_withdraw(struct smartio_lent *lent)
{
	mutex_lock(&lent->lock);
	lent->gone = true;
	mutex_unlock(&lent->lock);
	lend_end_all(lent, LEND_END_LENDER);
	if (lent->local)
		smartio_local_remove(lent);
	mutex_lock(&smartio_lents_lock);
	list_del(&lent->entry);
	mutex_unlock(&smartio_lents_lock);
	smartio_links_unlend(lent);
	if (lent->dev)
		smartio_sysfs_lent_remove(lent);
}

/**
 * lend_after() - the next lent device, for whoever visits all of them
 * @id: number of the one before; 0: the first
 *
 * Numbers only grow, and the list is in their order: each is visited once, and
 * no lock is held in between.
 *
 * Context: process.
 * Return: it, with a reference for lend_put(), or NULL.
 */
struct smartio_lent *lend_after(u32 id)
{
	struct smartio_lent *lent, *found = NULL;

	mutex_lock(&smartio_lents_lock);
	list_for_each_entry(lent, &smartio_lents, entry) {
		if (lent->id <= id)
			continue;
		lend_get(lent);
		found = lent;
		break;
	}
	mutex_unlock(&smartio_lents_lock);
	return found;
}

/**
 * smartio_lend() - lend a device
 * @pdev: the device, enabled, and bus master
 * @service: what borrowers' halves match on, shorter than SMARTIO_SERVICE_LEN
 * @ops: the lender's half; valid until smartio_unlend() returned
 * @context: for smartio_lent_context()
 * @owner: the module of @ops: no session begins once it is being unloaded
 * @first_vector: of the device's MSI-X vectors that borrowers may have, as in
 *	pci_irq_vector(); allocated, not requested
 * @vectors: how many; 0: none
 *
 * All linked hosts, and the drivers of this one, may use it from now on:
 * @ops may be called before this returns.
 *
 * Context: process, may sleep.
 * Return: the lent device, or an ERR_PTR.
 */
struct smartio_lent *smartio_lend(struct pci_dev *pdev, const char *service,
				  const struct smartio_lender_ops *ops,
				  void *context, struct module *owner,
				  unsigned int first_vector,
				  unsigned int vectors)
{
	static u32 next_id;	/* under smartio_lents_lock */
	struct smartio_lent *lent;
	int ret;

	if (!ops->open || !ops->close || !ops->request ||
	    strlen(service) >= SMARTIO_SERVICE_LEN)
		return ERR_PTR(-EINVAL);
	lent = kzalloc(sizeof(*lent), GFP_KERNEL);
	if (!lent)
		return ERR_PTR(-ENOMEM);
	lent->vectors_used = bitmap_zalloc(max(vectors, 1U), GFP_KERNEL);
	if (!lent->vectors_used) {
		kfree(lent);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&lent->ref);
	mutex_init(&lent->lock);
	INIT_LIST_HEAD(&lent->sessions);
	lent->pdev = pci_dev_get(pdev);
	strscpy(lent->service, service);
	lent->ops = ops;
	lent->context = context;
	lent->owner = owner;
	lent->first_vector = first_vector;
	lent->vectors = vectors;

	mutex_lock(&smartio_lents_lock);
	lent->id = ++next_id;
	list_add_tail(&lent->entry, &smartio_lents);
	mutex_unlock(&smartio_lents_lock);

	ret = smartio_sysfs_lent_add(lent);
	if (ret)
		goto remove;
	ret = smartio_local_add(lent);
	if (ret)
		goto remove;
	smartio_links_announce(lent, true);
	pci_info(pdev, "lent as \"%s\"\n", service);
	return lent;

remove:
	/* a link that came up meanwhile may have announced it */
	lend_withdraw(lent);
	lend_put(lent);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(smartio_lend);

/**
 * smartio_unlend() - take a device back
 * @lent: from smartio_lend(); gone when this returns
 *
 * Ends all sessions, and waits for that; removes the ways to it on all hosts.
 *
 * Context: process, may sleep.
 */
void smartio_unlend(struct smartio_lent *lent)
{
	lend_withdraw(lent);
	pci_info(lent->pdev, "taken back\n");
	lend_put(lent);
}
EXPORT_SYMBOL_GPL(smartio_unlend);

/**
 * smartio_lent_context() - the lender's half's own pointer
 * @lent: from smartio_lend()
 *
 * Context: any.
 * Return: as given to smartio_lend().
 */
void *smartio_lent_context(struct smartio_lent *lent)
{
	return lent->context;
}
EXPORT_SYMBOL_GPL(smartio_lent_context);

/**
 * smartio_lent_suspend() - end all sessions, begin no more for now
 * @lent: the device
 *
 * @close was called for each session, and borrowers were told, when this
 * returns. Not from the lender's own open, close or request, which it waits
 * for.
 *
 * Context: process, may sleep.
 */
void smartio_lent_suspend(struct smartio_lent *lent)
{
	mutex_lock(&lent->lock);
	lent->suspended = true;
	mutex_unlock(&lent->lock);
	lend_end_all(lent, LEND_END_LENDER);
	smartio_links_announce(lent, false);
}
EXPORT_SYMBOL_GPL(smartio_lent_suspend);

/**
 * smartio_lent_resume() - sessions may begin again
 * @lent: the device
 *
 * Tells all borrowers SMARTIO_READY.
 *
 * Context: process, may sleep.
 */
void smartio_lent_resume(struct smartio_lent *lent)
{
	mutex_lock(&lent->lock);
	lent->suspended = false;
	mutex_unlock(&lent->lock);
	smartio_local_offer(lent);
	smartio_links_announce(lent, true);
}
EXPORT_SYMBOL_GPL(smartio_lent_resume);

/**
 * smartio_lent_notify_all() - a message to all borrowers
 * @lent: the device
 * @message: is copied
 * @size: bytes, at most SMARTIO_MESSAGE_MAX
 *
 * Context: process, may sleep.
 * Return: 0, or the first error; the others are sent all the same.
 */
int smartio_lent_notify_all(struct smartio_lent *lent, const void *message,
			    size_t size)
{
	struct lend_session **sessions, *session;
	unsigned int count = 0, i = 0;
	int ret = 0, err;

	if (size > SMARTIO_MESSAGE_MAX)
		return -EMSGSIZE;
	mutex_lock(&lent->lock);
	list_for_each_entry(session, &lent->sessions, entry)
		count++;
	sessions = kcalloc(count, sizeof(*sessions), GFP_NOIO);
	if (sessions) {
		list_for_each_entry(session, &lent->sessions, entry) {
			if (session->state != LEND_OPEN)
				continue;
			lend_session_get(session);
			sessions[i++] = session;
		}
	}
	mutex_unlock(&lent->lock);
	if (!sessions)
		return -ENOMEM;
	/* without the lock: a slow link must not stop the others */
	while (i--) {
		err = sessions[i]->ops->notify(sessions[i], message, size);
		if (err && !ret)
			ret = err;
		lend_session_put(sessions[i]);
	}
	kfree(sessions);
	return ret;
}
EXPORT_SYMBOL_GPL(smartio_lent_notify_all);

/**
 * lend_vector_take() - one of the device's vectors for a borrower
 * @lent: the device
 *
 * Context: process.
 * Return: its number as in pci_irq_vector(), or -ENOSPC.
 */
int lend_vector_take(struct smartio_lent *lent)
{
	unsigned long bit;

	mutex_lock(&lent->lock);
	bit = find_first_zero_bit(lent->vectors_used, lent->vectors);
	if (bit < lent->vectors)
		__set_bit(bit, lent->vectors_used);
	mutex_unlock(&lent->lock);
	return bit < lent->vectors ? lent->first_vector + (int)bit : -ENOSPC;
}

/**
 * lend_vector_give() - and back
 * @lent: the device
 * @vector: from lend_vector_take()
 *
 * Context: process.
 */
void lend_vector_give(struct smartio_lent *lent, unsigned int vector)
{
	mutex_lock(&lent->lock);
	__clear_bit(vector - lent->first_vector, lent->vectors_used);
	mutex_unlock(&lent->lock);
}
