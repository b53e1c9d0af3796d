// SPDX-License-Identifier: GPL-2.0
/*
 * Devices are lent and taken back. Listeners announce it to hosts: those that
 * registered first come first.
 */
#include <linux/device.h>
#include <linux/kdev_t.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "export.h"
#include "hosts.h"

static LIST_HEAD(export_listeners);	/* complete before anything is lent */
static DEFINE_MUTEX(export_policy_lock);	/* changes of rules, one by one */

static struct class export_class = {
	.name = "smartio_export",
};

void __init export_listener_add(struct export_listener *listener)
{
	list_add_tail(&listener->entry, &export_listeners);
}

/* /sys/class/smartio_export/PCI */
static int export_show(struct smartio_export *export)
{
	struct device *dev = device_create(&export_class, &export->pdev->dev,
					   MKDEV(0, 0), export, "%s",
					   pci_name(export->pdev));

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	export->dev = dev;
	return 0;
}

/*
 * When this returns, the export is not in use any more, and can't be looked up.
 */
static void export_withdraw(struct smartio_export *export)
{
	struct export_listener *listener;

	mutex_lock(&export->lock);
	export->gone = true;
	mutex_unlock(&export->lock);
	sessions_end(export, NULL, NULL, SESSION_END_LENDER);
	list_for_each_entry(listener, &export_listeners, entry)
		if (listener->removing)
			listener->removing(export);
	export_del(export);
	list_for_each_entry(listener, &export_listeners, entry)
		if (listener->removed)
			listener->removed(export);
	/* waits for readers */
	if (export->dev)
		device_unregister(export->dev);
}

/**
 * smartio_lend() - lend a device
 * @pdev: the device, enabled, and bus master
 * @service: what borrowers' halves match on, shorter than SMARTIO_SERVICE_LEN
 * @ops: the lender's half; valid until smartio_unlend() returned
 * @context: for smartio_export_context()
 * @owner: the module of @ops: no session begins once it is being unloaded
 * @first_vector: of the device's MSI-X vectors that borrowers may have, as in
 *	pci_irq_vector(); allocated, not requested
 * @vectors: how many; 0: none
 *
 * All linked hosts, and the drivers of this one, may use it from now on:
 * @ops may be called before this returns.
 *
 * Context: process, may sleep.
 * Return: the lent device, or an ERR_PTR; -EOPNOTSUPP: it is in one IOMMU group
 * with a link; -EPERM: lent as a whole it would let a borrower reach more than
 * the borrower's own memory. The administrator may allow either.
 */
struct smartio_export *smartio_lend(struct pci_dev *pdev, const char *service,
				    const struct smartio_lender_ops *ops,
				    void *context, struct module *owner,
				    unsigned int first_vector,
				    unsigned int vectors)
{
	struct export_listener *listener;
	struct smartio_export *export;
	int ret;

	if (!ops->open || !ops->close || !ops->request ||
	    strlen(service) >= SMARTIO_SERVICE_LEN)
		return ERR_PTR(-EINVAL);
	export = kzalloc(sizeof(*export), GFP_KERNEL);
	if (!export)
		return ERR_PTR(-ENOMEM);
	export->vectors_used = bitmap_zalloc(max(vectors, 1U), GFP_KERNEL);
	if (!export->vectors_used) {
		kfree(export);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&export->ref);
	mutex_init(&export->lock);
	INIT_LIST_HEAD(&export->sessions);
	export->pdev = pci_dev_get(pdev);
	strscpy(export->service, service);
	export->ops = ops;
	export->context = context;
	export->owner = owner;
	export->first_vector = first_vector;
	export->vectors = vectors;
	export->shares_group = group_allowance_take(pci_name(pdev),
						    GROUP_ALLOWED_SHARED);
	export->trusts_borrowers = group_allowance_take(pci_name(pdev),
							GROUP_ALLOWED_TRUST);

	export_add(export);
	ret = group_check(export);
	if (ret)
		goto remove;
	ret = export_show(export);
	if (ret)
		goto remove;
	list_for_each_entry(listener, &export_listeners, entry) {
		ret = listener->added ? listener->added(export) : 0;
		if (ret)
			goto remove;
	}
	pci_info(pdev, "lent as \"%s\"\n", service);
	return export;

remove:
	/* a link that came up meanwhile may have announced it */
	export_withdraw(export);
	export_put(export);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(smartio_lend);

/**
 * smartio_unlend() - take a device back
 * @export: from smartio_lend(); gone when this returns
 *
 * Ends all sessions, and waits for that; removes the paths to it on all hosts.
 *
 * Context: process, may sleep.
 */
void smartio_unlend(struct smartio_export *export)
{
	export_withdraw(export);
	pci_info(export->pdev, "taken back\n");
	export_put(export);
}
EXPORT_SYMBOL_GPL(smartio_unlend);

/**
 * smartio_export_context() - the lender's half's own pointer
 * @export: from smartio_lend()
 *
 * Context: any.
 * Return: as given to smartio_lend().
 */
void *smartio_export_context(struct smartio_export *export)
{
	return export->context;
}
EXPORT_SYMBOL_GPL(smartio_export_context);

/* Whether sessions may begin; if not, those that there are end. */
static void export_offer(struct smartio_export *export, bool offered)
{
	struct export_listener *listener;

	mutex_lock(&export->lock);
	export->suspended = !offered;
	mutex_unlock(&export->lock);
	if (!offered)
		sessions_end(export, NULL, NULL, SESSION_END_LENDER);
	list_for_each_entry(listener, &export_listeners, entry)
		if (listener->offered)
			listener->offered(export, offered);
}

/**
 * smartio_export_suspend() - end all sessions, begin no more for now
 * @export: the device
 *
 * @close was called for each session, and borrowers were notified, when
 * this returns. Not from the lender's own open, close or request, which it
 * waits for.
 *
 * Context: process, may sleep.
 */
void smartio_export_suspend(struct smartio_export *export)
{
	export_offer(export, false);
}
EXPORT_SYMBOL_GPL(smartio_export_suspend);

/**
 * smartio_export_resume() - sessions may begin again
 * @export: the device
 *
 * Sends all borrowers SMARTIO_READY.
 *
 * Context: process, may sleep.
 */
void smartio_export_resume(struct smartio_export *export)
{
	export_offer(export, true);
}
EXPORT_SYMBOL_GPL(smartio_export_resume);

/* ---- who may borrow ---- */

static bool session_not_allowed(struct session *session, void *unused)
{
	return !policy_allows(session);
}

static void export_policy_changed(struct smartio_export *export)
{
	struct export_listener *listener;

	sessions_end(export, session_not_allowed, NULL, SESSION_END_LENDER);
	/* a host that was refused may be allowed now, and asks again */
	if (!export_offered(export))
		return;
	list_for_each_entry(listener, &export_listeners, entry)
		if (listener->offered)
			listener->offered(export, true);
}

/*
 * Changes who may borrow a device; @text as for policy_change(). Sessions of
 * hosts that may no longer are over when this returns, and their borrowers were
 * notified. May sleep. Returns 0 or a negative error.
 */
int lend_allow(const char *text, size_t size)
{
	struct smartio_export *export;
	char pci[POLICY_PCI_LEN];
	u32 last = 0;
	int ret;

	mutex_lock(&export_policy_lock);
	ret = policy_change(text, size, pci);
	while (ret > 0 && (export = export_after(last))) {
		last = export->id;
		if (!strcmp(pci_name(export->pdev), pci))
			export_policy_changed(export);
		export_put(export);
	}
	mutex_unlock(&export_policy_lock);
	return min(ret, 0);
}

/* ---- fences ---- */

static bool session_of_host(struct session *session, void *uuid)
{
	return uuid_equal(&session->s.host, uuid);
}

static int export_fence_event(struct notifier_block *notifier,
			      unsigned long event, void *uuid)
{
	struct smartio_export *export;

	switch (event) {
	case SMARTIO_HOST_FENCED:
		sessions_end_everywhere(session_of_host, uuid,
					uuid_equal(uuid, &smartio_self.uuid) ?
					SESSION_END_LENDER : SESSION_END_LINK);
		return NOTIFY_OK;
	case SMARTIO_HOST_REJOINS:
		export = export_after(0);
		if (!export)
			return NOTIFY_OK;
		export_put(export);
		return NOTIFY_STOP;
	default:
		return NOTIFY_DONE;
	}
}

static struct notifier_block export_fence_notifier = {
	.notifier_call = export_fence_event,
};

/* Devices may be lent. */
int __init lend_init(const struct attribute_group **class_groups,
		     const struct attribute_group **groups)
{
	int ret;

	export_class.class_groups = class_groups;
	export_class.dev_groups = groups;
	ret = class_register(&export_class);
	if (ret)
		return ret;
	ret = sessions_init();
	if (ret)
		class_unregister(&export_class);
	else
		fence_notifier_add(&export_fence_notifier);
	return ret;
}

void lend_exit(void)
{
	fence_notifier_remove(&export_fence_notifier);
	sessions_exit();
	class_unregister(&export_class);
	group_exit();
	policy_exit();
}
