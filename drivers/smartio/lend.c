// SPDX-License-Identifier: GPL-2.0
/*
 * Devices are lent and taken back. Listeners tell hosts of it: those that
 * registered first come first.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "export.h"
#include "hosts.h"

static LIST_HEAD(lend_listeners);	/* complete before anything is lent */

static struct class lend_class = {
	.name = "smartio_lent",
};

void __init lend_listener_add(struct lend_listener *listener)
{
	list_add_tail(&listener->entry, &lend_listeners);
}

/* /sys/class/smartio_lent/PCI */
static int lend_show(struct smartio_lent *lent)
{
	struct device *dev = device_create(&lend_class, &lent->pdev->dev,
					   MKDEV(0, 0), lent, "%s",
					   pci_name(lent->pdev));

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	lent->dev = dev;
	return 0;
}

/* Nobody uses it any more, nor finds it, when this returns. */
static void lend_withdraw(struct smartio_lent *lent)
{
	struct lend_listener *listener;

	mutex_lock(&lent->lock);
	lent->gone = true;
	mutex_unlock(&lent->lock);
	lend_end_all(lent, LEND_END_LENDER);
	list_for_each_entry(listener, &lend_listeners, entry)
		if (listener->removing)
			listener->removing(lent);
	lend_del(lent);
	list_for_each_entry(listener, &lend_listeners, entry)
		if (listener->removed)
			listener->removed(lent);
	/* waits for readers */
	if (lent->dev)
		device_unregister(lent->dev);
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
	struct lend_listener *listener;
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

	lend_add(lent);
	ret = lend_show(lent);
	if (ret)
		goto remove;
	list_for_each_entry(listener, &lend_listeners, entry) {
		ret = listener->added ? listener->added(lent) : 0;
		if (ret)
			goto remove;
	}
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
 * Ends all sessions, and waits for that; removes the paths to it on all hosts.
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
	struct lend_listener *listener;

	mutex_lock(&lent->lock);
	lent->suspended = true;
	mutex_unlock(&lent->lock);
	lend_end_all(lent, LEND_END_LENDER);
	list_for_each_entry(listener, &lend_listeners, entry)
		if (listener->suspended)
			listener->suspended(lent);
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
	struct lend_listener *listener;

	mutex_lock(&lent->lock);
	lent->suspended = false;
	mutex_unlock(&lent->lock);
	list_for_each_entry(listener, &lend_listeners, entry)
		if (listener->resumed)
			listener->resumed(lent);
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

/* ---- fences ---- */

static bool lend_session_of(struct lend_session *session, void *uuid)
{
	return uuid_equal(&session->s.host, uuid);
}

static int lend_fence_event(struct notifier_block *notifier,
			    unsigned long event, void *uuid)
{
	struct smartio_lent *lent;

	switch (event) {
	case SMARTIO_HOST_FENCED:
		lend_end_matching(lend_session_of, uuid,
				  uuid_equal(uuid, &smartio_self.uuid) ?
				  LEND_END_LENDER : LEND_END_LINK);
		return NOTIFY_OK;
	case SMARTIO_HOST_REJOINS:
		lent = lend_after(0);
		if (!lent)
			return NOTIFY_OK;
		lend_put(lent);
		return NOTIFY_STOP;
	default:
		return NOTIFY_DONE;
	}
}

static struct notifier_block lend_fence_notifier = {
	.notifier_call = lend_fence_event,
};

/* Devices may be lent. */
int __init lend_init(const struct attribute_group **groups)
{
	int ret;

	lend_class.dev_groups = groups;
	ret = class_register(&lend_class);
	if (ret)
		return ret;
	ret = sessions_init();
	if (ret)
		class_unregister(&lend_class);
	else
		fence_notifier_add(&lend_fence_notifier);
	return ret;
}

void lend_exit(void)
{
	fence_notifier_remove(&lend_fence_notifier);
	sessions_exit();
	class_unregister(&lend_class);
}
