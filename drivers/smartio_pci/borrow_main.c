// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_pci: PCI functions of other hosts, for the stock drivers of this one.
 * Each path to one has these files, beside those that all have:
 *
 *    borrowed  write 1: it is borrowed, and again whenever it was lost and is
 *              available; 0: it is given back. Reads the value written.
 *              EINPROGRESS: its driver here does not release it yet, as
 *              vfio-pci for a program.
 *    function  its PCI address here, while it is there
 *    addresses its addresses for DMA, while it is there: "own": a domain of the
 *              lender's IOMMU, from 0 on; "window": addresses of the link's
 *              window; "flat": the same, and all memory of this host is open
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "borrow.h"

/* Until the next attempt: another host has it, or its lender did not answer. */
#define BORROW_RETRY_MS	5000
/*
 * How long a writer waits for a driver to be removed, before it gets an error.
 */
#define BORROW_GONE_MS	30000

static bool auto_borrow;
module_param(auto_borrow, bool, 0644);
MODULE_PARM_DESC(auto_borrow, "borrow whatever is lent, as it comes");

/**
 * struct borrow_path - a path to a function
 * @sdev: the path
 * @wq: ordered, runs @attach and @detach
 * @attach: adds the function
 * @detach: removes it
 * @borrow: it is to be borrowed
 * @error: why it was not; negative
 * @here: from when it was added until it and its driver are removed
 * @gone: waits for the end of @here
 * @lock: protects the next two
 * @f: from before its driver comes until that has been removed
 * @ready: it is here, and not being removed
 */
struct borrow_path {
	struct smartio_device *sdev;
	struct workqueue_struct *wq;
	struct delayed_work attach;
	struct work_struct detach;
	bool borrow;
	int error;
	bool here;
	wait_queue_head_t gone;
	struct mutex lock;	/* f, ready */
	struct borrow_function *f;
	bool ready;
};

static bool borrow_later(int error)
{
	/*
	 * After a time-out it may have a session here, which the next one ends.
	 * Of memory and of the link's addresses there may be enough later. The
	 * function may not have come out of its reset, and may the next time.
	 */
	return error == -EBUSY || error == -EAGAIN || error == -ETIMEDOUT ||
	       error == -ENOMEM || error == -ENOSPC || error == -ENOTTY ||
	       error == -ENODEV || error == -EIO;
}

/* Those of borrow_later() that may last, and that nothing else tells. */
static bool borrow_may_last(int error)
{
	return error != -EBUSY && error != -EAGAIN && error != -ETIMEDOUT;
}

static void borrow_attach_work(struct work_struct *work)
{
	struct borrow_path *path = container_of(to_delayed_work(work),
						struct borrow_path, attach);
	struct borrow_function *f;
	int ret, last = path->error;

	if (path->f || !READ_ONCE(path->borrow))
		return;
	path->error = 0;
	ret = borrow_function_add(path->sdev, &f);
	path->error = ret;
	if (ret) {
		if (borrow_later(ret)) {
			queue_delayed_work(path->wq, &path->attach,
					   msecs_to_jiffies(BORROW_RETRY_MS));
			/* once, not with each attempt */
			if (borrow_may_last(ret) && ret != last)
				dev_warn(&path->sdev->dev,
					 "not borrowed: %d\n", ret);
		} else if (ret == -EPERM) {	/* SMARTIO_READY if it does */
			dev_warn(&path->sdev->dev,
				 "not borrowed: its lender does not allow this host to use it\n");
		} else if (ret != -ENOLINK) {	/* the lender will be ready again */
			dev_warn(&path->sdev->dev, "not borrowed: %d\n", ret);
		}
		return;
	}
	mutex_lock(&path->lock);
	path->f = f;
	/* the session may have been lost before the function was known */
	if (!smartio_session_id(path->sdev)) {
		borrow_function_lose(f);
		queue_work(path->wq, &path->detach);
	}
	mutex_unlock(&path->lock);
	borrow_function_start(f);
	mutex_lock(&path->lock);
	WRITE_ONCE(path->here, true);
	path->ready = true;
	mutex_unlock(&path->lock);
	dev_info(&path->sdev->dev, "here as %04x:00:00.0\n", f->domain);
}

static void borrow_detach_work(struct work_struct *work)
{
	struct borrow_path *path = container_of(work, struct borrow_path,
						detach);
	struct borrow_function *f = path->f;

	if (!f) {
		/* the link waits for that */
		smartio_close(path->sdev);
		return;
	}
	if (READ_ONCE(path->borrow) && smartio_session_id(path->sdev))
		return;
	mutex_lock(&path->lock);
	path->ready = false;
	/*
	 * not lost yet, if its driver or the path is removed at the same time
	 */
	if (!smartio_session_id(path->sdev))
		borrow_function_lose(f);
	mutex_unlock(&path->lock);
	borrow_function_stop(f);
	mutex_lock(&path->lock);
	path->f = NULL;
	mutex_unlock(&path->lock);
	borrow_function_remove(f);
	WRITE_ONCE(path->here, false);
	wake_up_all(&path->gone);
	dev_info(&path->sdev->dev, "gone\n");
	/* offered again meanwhile */
	if (READ_ONCE(path->borrow))
		queue_delayed_work(path->wq, &path->attach,
				   msecs_to_jiffies(BORROW_RETRY_MS));
}

static void borrow_notify(struct smartio_device *sdev, const void *message,
			  size_t size)
{
	struct borrow_path *path = dev_get_drvdata(&sdev->dev);
	const struct spci_note *note = message;

	if (size < sizeof(*note) ||
	    le16_to_cpu(note->notice) != SPCI_PEERS_LOST)
		return;		/* of a later version: nothing depends on it */
	mutex_lock(&path->lock);
	if (path->f)
		borrow_peers_lost(path->f);
	mutex_unlock(&path->lock);
}

static void borrow_event(struct smartio_device *sdev, enum smartio_event event)
{
	struct borrow_path *path = dev_get_drvdata(&sdev->dev);

	if (event == SMARTIO_READY) {
		mod_delayed_work(path->wq, &path->attach, 0);
		return;
	}
	mutex_lock(&path->lock);
	if (path->f)
		borrow_function_lose(path->f);
	mutex_unlock(&path->lock);
	queue_work(path->wq, &path->detach);
}

/* ---- sysfs ---- */

static ssize_t borrowed_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	struct borrow_path *path = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d\n", READ_ONCE(path->borrow));
}

/*
 * A driver may take as long as it likes to be removed: vfio-pci waits for the
 * program that has the function open. So no caller waits for the works before
 * this has returned 0.
 */
static int borrow_wait_gone(struct borrow_path *path)
{
	long left;

	left = wait_event_interruptible_timeout(path->gone,
						!READ_ONCE(path->here),
						msecs_to_jiffies(BORROW_GONE_MS));
	if (left < 0)
		return left;
	return left ? 0 : -EINPROGRESS;
}

/*
 * Returns when it is here, or gone; an error says why it is not. Without a link
 * it comes when that is there.
 */
static ssize_t borrowed_store(struct device *dev,
			      struct device_attribute *attr, const char *buf,
			      size_t count)
{
	struct borrow_path *path = dev_get_drvdata(dev);
	bool borrow, going;
	int ret = kstrtobool(buf, &borrow);

	if (ret)
		return ret;
	WRITE_ONCE(path->borrow, borrow);
	if (!borrow) {
		cancel_delayed_work_sync(&path->attach);
		queue_work(path->wq, &path->detach);
		ret = borrow_wait_gone(path);
		if (ret)
			return ret;
		flush_work(&path->detach);
		return count;
	}
	mutex_lock(&path->lock);
	going = path->here && !path->ready;
	mutex_unlock(&path->lock);
	ret = going ? borrow_wait_gone(path) : 0;
	if (ret) {
		WRITE_ONCE(path->borrow, false);
		return ret;
	}
	mod_delayed_work(path->wq, &path->attach, 0);
	flush_delayed_work(&path->attach);
	if (!path->error || path->error == -ENOLINK)
		return count;
	/* not later, when the user doesn't expect it */
	WRITE_ONCE(path->borrow, false);
	cancel_delayed_work_sync(&path->attach);
	return path->error;
}
static DEVICE_ATTR_RW(borrowed);

static ssize_t function_show(struct device *dev, struct device_attribute *attr,
			     char *buf)
{
	struct borrow_path *path = dev_get_drvdata(dev);
	ssize_t length = sysfs_emit(buf, "\n");

	mutex_lock(&path->lock);
	if (path->ready)
		length = sysfs_emit(buf, "%04x:00:00.0\n", path->f->domain);
	mutex_unlock(&path->lock);
	return length;
}
static DEVICE_ATTR_RO(function);

static ssize_t addresses_show(struct device *dev,
			      struct device_attribute *attr, char *buf)
{
	struct borrow_path *path = dev_get_drvdata(dev);
	const char *addresses = "";

	mutex_lock(&path->lock);
	if (path->ready && path->f->flat)
		addresses = "flat";
	else if (path->ready)
		addresses = path->f->space.own ? "own" : "window";
	mutex_unlock(&path->lock);
	return sysfs_emit(buf, "%s\n", addresses);
}
static DEVICE_ATTR_RO(addresses);

static struct attribute *borrow_attrs[] = {
	&dev_attr_borrowed.attr,
	&dev_attr_function.attr,
	&dev_attr_addresses.attr,
	NULL,
};
ATTRIBUTE_GROUPS(borrow);

/* ---- the driver ---- */

static int borrow_probe(struct smartio_device *sdev)
{
	struct borrow_path *path;

	/* the lender has it without any of this: it takes it back */
	if (sdev->local)
		return -ENODEV;
	path = kzalloc(sizeof(*path), GFP_KERNEL);
	if (!path)
		return -ENOMEM;
	path->sdev = sdev;
	mutex_init(&path->lock);
	init_waitqueue_head(&path->gone);
	INIT_DELAYED_WORK(&path->attach, borrow_attach_work);
	INIT_WORK(&path->detach, borrow_detach_work);
	path->borrow = auto_borrow;
	path->wq = alloc_ordered_workqueue("spci-%.20s", WQ_MEM_RECLAIM,
					   sdev->pci_name);
	if (!path->wq) {
		kfree(path);
		return -ENOMEM;
	}
	dev_set_drvdata(&sdev->dev, path);
	return 0;
}

static void borrow_remove(struct smartio_device *sdev)
{
	struct borrow_path *path = dev_get_drvdata(&sdev->dev);

	WRITE_ONCE(path->borrow, false);
	cancel_delayed_work_sync(&path->attach);
	queue_work(path->wq, &path->detach);
	flush_work(&path->detach);
	/* an earlier detach may have seen that the path still borrows */
	cancel_delayed_work_sync(&path->attach);
	destroy_workqueue(path->wq);
	kfree(path);
}

static struct smartio_driver borrow_driver = {
	.driver = {
		.name = KBUILD_MODNAME,
		.owner = THIS_MODULE,
		.dev_groups = borrow_groups,
	},
	.service = SPCI_SERVICE,
	.probe = borrow_probe,
	.remove = borrow_remove,
	.event = borrow_event,
	.notify = borrow_notify,
};

static int __init borrow_init(void)
{
	int ret = borrow_posts_init();

	if (ret)
		return ret;
	ret = borrow_iommu_init();
	if (ret)
		goto exit_posts;
	ret = borrow_functions_init();
	if (ret)
		goto exit_iommu;
	ret = smartio_register_driver(&borrow_driver);
	if (ret)
		goto exit_functions;
	return 0;

exit_functions:
	borrow_functions_exit();
exit_iommu:
	borrow_iommu_exit();
exit_posts:
	borrow_posts_exit();
	return ret;
}
module_init(borrow_init);

static void __exit borrow_exit(void)
{
	smartio_unregister_driver(&borrow_driver);
	borrow_functions_exit();
	borrow_iommu_exit();
	borrow_posts_exit();
}
module_exit(borrow_exit);

MODULE_ALIAS("smartio:" SPCI_SERVICE);
MODULE_DESCRIPTION("smartio: PCI functions of other hosts");
MODULE_LICENSE("GPL");
