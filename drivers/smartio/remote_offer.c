// SPDX-License-Identifier: GPL-2.0
/*
 * This host as a borrower: a path over a link comes when the lender names its
 * device, and stays while the link is down. link->paths_wq adds paths, in the
 * lender's order. Each is removed by a work of its own in link->removals_wq: its
 * driver may take as long as it likes, as vfio-pci does for a program.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "messages.h"
#include "path.h"
#include "remote.h"

/*
 * The most devices that a host may lend, with those that are going the most
 * paths, and the most news of them that may wait.
 */
#define REMOTE_PATHS_MAX		64
#define REMOTE_PATHS_ALL		(2 * REMOTE_PATHS_MAX)
#define REMOTE_NEWS_MAX		1024

/**
 * struct remote_news - a message of the lender about its devices
 * @entry: in link->news, until it was dealt with, also while it waits for the end
 *	of a path (struct remote, next); under link->paths_lock
 * @work: deals with it
 * @link: about which link; a reference
 * @generation: in which it was said; 0: by this host itself
 * @type: WIRE_DEVICE, WIRE_DEVICE_GONE, WIRE_DEVICE_END; WIRE_PAD: another
 *	host is on the link now, all that is there is the old one's
 * @id: of the device
 * @obsolete: a later message says something else of the device; under
 *	link->paths_lock
 * @device: of WIRE_DEVICE
 */
struct remote_news {
	struct list_head entry;
	struct work_struct work;
	struct smartio_link *link;
	u32 generation;
	u16 type;
	u32 id;
	bool obsolete;
	struct wire_device device;
};

static bool remote_current(struct smartio_link *link, u32 generation)
{
	u32 current_generation;

	return smartio_link_is_up(link, &current_generation) &&
	       current_generation == generation;
}

/* It was dealt with, or is of no interest any more. */
static void remote_news_free(struct remote_news *news)
{
	struct smartio_link *link = news->link;

	lockdep_assert_held(&link->paths_lock);
	list_del(&news->entry);
	link->news_count--;
	smartio_link_put(link);	/* the caller has a reference, too */
	kfree(news);
}

/* Its driver, which is removed here, may wait for the link. */
static void remote_removal_work(struct work_struct *work)
{
	struct remote *remote = container_of(work, struct remote, removal);
	struct device *dev = get_device(&remote->path->sdev.dev);
	struct smartio_link *link = remote->link;

	smartio_link_get(link);
	smartio_path_remove(remote->path);
	mutex_lock(&link->paths_lock);
	list_del(&remote->entry);
	if (remote->next)
		queue_work(link->paths_wq, &remote->next->work);
	mutex_unlock(&link->paths_lock);
	put_device(dev);
	smartio_link_put(link);
}

static void remote_goes(struct remote *remote)
{
	lockdep_assert_held(&remote->link->paths_lock);
	if (remote->going)
		return;
	remote->going = true;
	queue_work(remote->link->removals_wq, &remote->removal);
}

/*
 * What has waited for the end of a path is dealt with behind later messages:
 * those of before @news about the same device are of no interest any more.
 */
static void remote_news_replace(struct smartio_link *link,
				const struct remote_news *news)
{
	struct remote_news *old;

	lockdep_assert_held(&link->paths_lock);
	list_for_each_entry(old, &link->news, entry) {
		if (old == news)
			return;
		if (old->type != WIRE_DEVICE)
			continue;
		if (news->type == WIRE_DEVICE ?
			    !strcmp(old->device.pci, news->device.pci) :
			    old->id == news->id)
			old->obsolete = true;
	}
}

/* Two devices of one name have no room: the new one waits. */
static void remote_waits_for(struct remote *remote, struct remote_news *news)
{
	lockdep_assert_held(&remote->link->paths_lock);
	if (remote->next)
		remote_news_free(remote->next);
	remote->next = news;
}

static void remote_add(struct smartio_link *link,
		       const struct remote_news *news)
{
	struct smartio_path *path = kzalloc(sizeof(*path), GFP_KERNEL);
	struct remote *remote = kzalloc(sizeof(*remote), GFP_KERNEL);
	struct smartio_device *sdev;
	int ret = -ENOMEM;

	if (!path || !remote) {
		kfree(path);
		kfree(remote);
		goto fail;
	}
	sdev = &path->sdev;
	strscpy(sdev->service, news->device.service);
	spin_lock(&link->lock);
	uuid_copy(&sdev->host, &link->peer.uuid);
	strscpy(sdev->host_name, link->peer.name);
	spin_unlock(&link->lock);
	strscpy(sdev->pci_name, news->device.pci);
	strscpy(sdev->link_name, link->name);
	INIT_LIST_HEAD(&remote->entry);
	INIT_WORK(&remote->removal, remote_removal_work);
	smartio_link_get(link);
	remote->link = link;
	remote->path = path;
	remote->device = news->id;
	remote->incarnation = READ_ONCE(link->peer.incarnation);
	path->private = remote;
	path->owner = link->ops->owner;
	path->ops = &remote_path_ops;
	ret = smartio_path_init(path, link->dma);
	if (ret)
		goto fail;
	mutex_lock(&link->paths_lock);
	list_add_tail(&remote->entry, &link->paths);
	remote->named = remote_current(link, news->generation);
	if (remote->named && le32_to_cpu(news->device.flags) & WIRE_OFFERED)
		smartio_path_ready(path);
	mutex_unlock(&link->paths_lock);
	ret = smartio_path_add(path);
	if (!ret)
		return;
	mutex_lock(&link->paths_lock);
	list_del(&remote->entry);
	mutex_unlock(&link->paths_lock);
	put_device(&path->sdev.dev);
fail:
	dev_err(link->dma, "%s: device %s of %s can't be shown: %d\n",
		link->name, news->device.pci, link->peer.name, ret);
}

/* The path is that of a device that the lender names. */
static void remote_offer(struct remote *remote, u32 id, bool offered)
{
	struct smartio_link *link = remote->link;

	lockdep_assert_held(&link->paths_lock);
	WRITE_ONCE(remote->device, id);
	remote->incarnation = READ_ONCE(link->peer.incarnation);
	remote->named = true;
	if (offered)
		smartio_path_ready(remote->path);
	else
		WRITE_ONCE(remote->path->offered, false);
}

/* Returns whether it was dealt with: the news waits otherwise. */
static bool remote_named(struct smartio_link *link, struct remote_news *news)
{
	bool waits, offered = le32_to_cpu(news->device.flags) & WIRE_OFFERED;
	struct remote *remote;
	unsigned int count = 0, all = 0;

	mutex_lock(&link->paths_lock);
	if (news->obsolete || !remote_current(link, news->generation)) {
		mutex_unlock(&link->paths_lock);
		return true;
	}
	remote_news_replace(link, news);
	list_for_each_entry(remote, &link->paths, entry) {
		struct smartio_device *sdev = &remote->path->sdev;

		all++;
		count += !remote->going;
		if (strcmp(sdev->pci_name, news->device.pci))
			continue;
		if (strcmp(sdev->service, news->device.service))
			remote_goes(remote);	/* lent as something else now */
		if (remote->going)
			remote_waits_for(remote, news);
		else
			remote_offer(remote, news->id, offered);
		waits = remote->going;
		mutex_unlock(&link->paths_lock);
		return !waits;
	}
	mutex_unlock(&link->paths_lock);
	if (count < REMOTE_PATHS_MAX && all < REMOTE_PATHS_ALL) {
		remote_add(link, news);
		return true;
	}
	atomic64_inc(&link->refused);
	dev_warn_ratelimited(link->dma,
			     "%s: %s lends more than %u devices: %s is ignored\n",
			     link->name, link->peer.name, REMOTE_PATHS_MAX,
			     news->device.pci);
	return true;
}

static bool remote_ended_by(const struct remote *remote,
			    const struct remote_news *news)
{
	switch (news->type) {
	case WIRE_DEVICE_GONE:
		return remote->named && remote->device == news->id;
	case WIRE_DEVICE_END:
		/*
		 * Taken back while the link was down. A lender that has only
		 * just started again may not lend it yet: its path continues
		 * to wait.
		 */
		return !remote->named &&
		       remote->incarnation == remote->link->peer.incarnation;
	default:
		return true;
	}
}

/* Those that @news is the end of. */
static void remote_gone(struct smartio_link *link,
			const struct remote_news *news)
{
	struct remote *remote;

	mutex_lock(&link->paths_lock);
	if (news->generation && !remote_current(link, news->generation))
		goto unlock;
	if (news->type == WIRE_DEVICE_GONE)
		remote_news_replace(link, news);
	list_for_each_entry(remote, &link->paths, entry) {
		if (remote->going || !remote_ended_by(remote, news))
			continue;
		if (news->type == WIRE_DEVICE_GONE)
			dev_notice(&remote->path->sdev.dev,
				   "its lender took it back\n");
		remote_goes(remote);
	}
unlock:
	mutex_unlock(&link->paths_lock);
}

static void remote_news_work(struct work_struct *work)
{
	struct remote_news *news = container_of(work, struct remote_news, work);
	struct smartio_link *link = news->link;
	bool done = true;

	smartio_link_get(link);
	if (news->type == WIRE_DEVICE)
		done = remote_named(link, news);
	else
		remote_gone(link, news);
	if (done) {
		mutex_lock(&link->paths_lock);
		remote_news_free(news);
		mutex_unlock(&link->paths_lock);
	}
	smartio_link_put(link);
}

/* Returns whether there was memory for it. */
static bool remote_queue(struct smartio_link *link, u32 generation, u16 type,
			 u32 id, const struct wire_device *device)
{
	struct remote_news *news = kzalloc(sizeof(*news),
					   GFP_NOIO | __GFP_NOWARN);

	if (!news)
		return false;
	INIT_WORK(&news->work, remote_news_work);
	smartio_link_get(link);
	news->link = link;
	news->generation = generation;
	news->type = type;
	news->id = id;
	if (device)
		news->device = *device;
	mutex_lock(&link->paths_lock);
	list_add_tail(&news->entry, &link->news);
	link->news_count++;
	queue_work(link->paths_wq, &news->work);
	mutex_unlock(&link->paths_lock);
	return true;
}

/* Whether something that was said before has to be dealt with first. */
static bool remote_waits(struct smartio_link *link,
			 const struct wire_device *device)
{
	struct remote_news *news;

	lockdep_assert_held(&link->paths_lock);
	list_for_each_entry(news, &link->news, entry)
		if (news->type == WIRE_PAD ||
		    (news->type == WIRE_DEVICE &&
		     !strcmp(news->device.pci, device->pci)))
			return true;
	return false;
}

/*
 * A path that is there hears at once that its device is offered again: it must
 * not wait for another one's driver, which may need memory that has to be
 * written to this device first. Returns false if it is not there, or not yet.
 */
static bool remote_known(struct smartio_link *link,
			 const struct wire_message *message,
			 const struct wire_device *device)
{
	struct remote *remote;
	bool known = false;

	mutex_lock(&link->paths_lock);
	list_for_each_entry(remote, &link->paths, entry) {
		struct smartio_device *sdev = &remote->path->sdev;

		if (remote->going || strcmp(sdev->pci_name, device->pci) ||
		    strcmp(sdev->service, device->service) ||
		    !uuid_equal(&sdev->host, &link->host))
			continue;
		known = !remote_waits(link, device);
		if (known)
			remote_offer(remote, message->object,
				     le32_to_cpu(device->flags) & WIRE_OFFERED);
		break;
	}
	mutex_unlock(&link->paths_lock);
	return known;
}

/* The link is down. */
void remote_paths_lost(struct smartio_link *link)
{
	struct remote *remote;

	mutex_lock(&link->paths_lock);
	list_for_each_entry(remote, &link->paths, entry) {
		remote->named = false;
		smartio_path_lost(remote->path, 0, false);
	}
	mutex_unlock(&link->paths_lock);
}

/*
 * Whether a driver may not have stopped yet. It has not said, since the link
 * was lost, that it writes to nothing of the session any more that it had.
 */
bool remote_paths_write(struct smartio_link *link, bool forget)
{
	struct remote *remote;
	bool writes = false;

	mutex_lock(&link->paths_lock);
	list_for_each_entry(remote, &link->paths, entry)
		writes |= smartio_path_writes(remote->path, forget);
	mutex_unlock(&link->paths_lock);
	return writes;
}

/* Whether one has not stopped, even if the link waits for it no longer. */
bool remote_paths_unstopped(struct smartio_link *link)
{
	struct remote *remote;
	bool unstopped = false;

	mutex_lock(&link->paths_lock);
	list_for_each_entry(remote, &link->paths, entry)
		unstopped |= smartio_path_unstopped(remote->path);
	mutex_unlock(&link->paths_lock);
	return unstopped;
}

/* A host introduces itself on a link. Returns 0 or -ENOMEM. */
int remote_paths_host(struct smartio_link *link, const uuid_t *host)
{
	if (link->host_known && !uuid_equal(&link->host, host) &&
	    !remote_queue(link, 0, WIRE_PAD, 0, NULL))
		return -ENOMEM;
	link->host_known = true;
	uuid_copy(&link->host, host);
	return 0;
}

/* A link is being set up. */
int remote_paths_init(struct smartio_link *link)
{
	INIT_LIST_HEAD(&link->paths);
	INIT_LIST_HEAD(&link->news);
	mutex_init(&link->paths_lock);
	link->paths_wq = alloc_ordered_workqueue("smartio-%s-paths",
						 WQ_MEM_RECLAIM, link->name);
	link->removals_wq = alloc_workqueue("smartio-%s-removals",
					    WQ_MEM_RECLAIM | WQ_UNBOUND,
					    REMOTE_PATHS_ALL, link->name);
	return link->paths_wq && link->removals_wq ? 0 : -ENOMEM;
}

/* A link goes. Its paths are removed when this returns. */
void remote_paths_exit(struct smartio_link *link)
{
	if (link->paths_wq && link->removals_wq) {
		while (!remote_queue(link, 0, WIRE_PAD, 0, NULL))
			msleep(20);
		/* all paths go now; a device that waited for one is of no interest */
		flush_workqueue(link->paths_wq);
		flush_workqueue(link->removals_wq);
	}
	if (link->paths_wq)
		destroy_workqueue(link->paths_wq);
	if (link->removals_wq)
		destroy_workqueue(link->removals_wq);
}

/*
 * Takes a message that is no request and no reply. Must not wait for other
 * work. Returns false if there is no memory for it.
 */
bool remote_paths_message(struct smartio_link *link,
			  const struct wire_message *message,
			  const void *payload)
{
	struct remote *remote;
	bool taken = true;

	switch (message->type) {
	case WIRE_DEVICE:
		if (remote_known(link, message, payload))
			return true;
		fallthrough;
	case WIRE_DEVICE_GONE:
	case WIRE_DEVICE_END:
		if (READ_ONCE(link->news_count) >= REMOTE_NEWS_MAX) {
			link->ops->restart(link,
					   "the other side sent too many messages about its devices");
			return true;
		}
		return remote_queue(link, READ_ONCE(link->generation),
				    message->type, message->object, payload);
	}
	mutex_lock(&link->paths_lock);
	list_for_each_entry(remote, &link->paths, entry) {
		/* the numbers of before the link came up are not those of now */
		if (!remote->named || remote->device != message->object)
			continue;
		if (smartio_path_full(remote->path))
			link->ops->restart(link, "the other side sends more than a driver takes");
		else if (message->type == WIRE_NOTIFY)
			taken = !smartio_path_notify(remote->path,
						     message->context, payload,
						     message->length);
		else if (message->type == WIRE_ENDED && message->context)
			smartio_path_lost(remote->path, message->context,
					  message->status);
		break;
	}
	mutex_unlock(&link->paths_lock);
	return taken;
}
