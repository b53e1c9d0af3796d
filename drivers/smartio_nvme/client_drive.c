// SPDX-License-Identifier: GPL-2.0
/*
 * The paths of one drive: two links to its lender ("dual adapters") give two,
 * which nvme-core joins to one disk. Each link has a client with its session;
 * this decides when an attempt at one is worth it.
 *
 * A lost path's requests may take another path only when the device touches
 * nothing of them any more. Its own link may be down for long; so the lender
 * is asked to end the session over any other link that has one. And before a
 * path comes up, all sessions that were lost are over, those of removed paths,
 * too: a command that failed must not be done after something newer.
 *
 * A fence is of the host: all its paths of before leave before a new one comes.
 * The era of a session tells which those are.
 */
#include <linux/delay.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/smartio_recovery.h>

#include "client.h"

/* Lost sessions of a drive that are ended at once. */
#define SNVME_PATHS_MAX		16
/* Until the lender is tried again, the first time, and at most. */
#define SNVME_BACKOFF_MIN_MS	100
#define SNVME_BACKOFF_MAX_MS	2000
/* Nothing to hope for soon: fenced, no queue pair left, or another version. */
#define SNVME_BACKOFF_SLOW_MS	10000
/* How long a path that leaves waits for the lender to end its session. */
#define SNVME_LEAVE_S		30

static LIST_HEAD(snvme_clients);
static unsigned int snvme_clients_gone;	/* how many have left the list */
static LIST_HEAD(snvme_orphans);
static DEFINE_MUTEX(snvme_clients_lock);	/* both lists */

/**
 * struct snvme_orphan - a session that was not ended when its path left
 * @entry: in snvme_orphans
 * @host: the lender
 * @pci_name: the device
 * @session: the session
 */
struct snvme_orphan {
	struct list_head entry;
	uuid_t host;
	char pci_name[32];
	u64 session;
};

/* The path of a client, with a reference for nvme_put_ctrl(); or NULL. */
struct snvme_path *snvme_client_path(struct snvme_client *client)
{
	struct snvme_path *path;

	spin_lock(&client->lock);
	path = client->path;
	if (path)
		nvme_get_ctrl(&path->ctrl);
	spin_unlock(&client->lock);
	return path;
}

/* ---- the list ---- */

/* Does the client's link lead to this drive? */
static bool snvme_is_drive(const struct snvme_client *client,
			   const uuid_t *host, const char *pci_name)
{
	return uuid_equal(&client->sdev->host, host) &&
	       !strcmp(client->sdev->pci_name, pci_name);
}

static bool snvme_same_drive(const struct snvme_client *a,
			     const struct snvme_client *b)
{
	return snvme_is_drive(a, &b->sdev->host, b->sdev->pci_name);
}

/* A link to a drive has come. May sleep. */
void snvme_drive_add(struct snvme_client *client)
{
	mutex_lock(&snvme_clients_lock);
	list_add_tail(&client->entry, &snvme_clients);
	mutex_unlock(&snvme_clients_lock);
}

/* And back; no other client uses it any more. May sleep. */
void snvme_drive_remove(struct snvme_client *client)
{
	mutex_lock(&snvme_clients_lock);
	list_del(&client->entry);
	WRITE_ONCE(snvme_clients_gone, snvme_clients_gone + 1);
	mutex_unlock(&snvme_clients_lock);
}

/* The next of the other clients of @client's drive, under the lock. */
static struct snvme_client *snvme_other(const struct snvme_client *client,
					struct snvme_client *after)
{
	struct snvme_client *other = after;

	lockdep_assert_held(&snvme_clients_lock);
	other = list_prepare_entry(other, &snvme_clients, entry);
	list_for_each_entry_continue(other, &snvme_clients, entry)
		if (other != client && snvme_same_drive(other, client))
			return other;
	return NULL;
}

/*
 * The next path to the drive of @client, its own included, with a reference;
 * that to @after is given back: a loop runs to the end. Under the lock.
 */
static struct snvme_path *snvme_next_path(const struct snvme_client *client,
					  struct snvme_path *after)
{
	struct snvme_client *next = after ? after->client : NULL;
	struct snvme_path *path = NULL;

	lockdep_assert_held(&snvme_clients_lock);
	next = list_prepare_entry(next, &snvme_clients, entry);
	list_for_each_entry_continue(next, &snvme_clients, entry) {
		if (snvme_same_drive(next, client))
			path = snvme_client_path(next);
		if (path)
			break;
	}
	if (after)
		nvme_put_ctrl(&after->ctrl);
	return path;
}

/* The @n-th other link, with a reference to its device; NULL: there is none. */
static struct smartio_device *snvme_other_link(struct snvme_client *client,
					       unsigned int n)
{
	struct smartio_device *sdev = NULL;
	struct snvme_client *other = NULL;

	mutex_lock(&snvme_clients_lock);
	while ((other = snvme_other(client, other))) {
		if (n--)
			continue;
		sdev = other->sdev;
		get_device(&sdev->dev);
		break;
	}
	mutex_unlock(&snvme_clients_lock);
	return sdev;
}

/* ---- sessions of lost paths ---- */

/* See struct snvme_drive_ops. */
static int snvme_drive_revoke(struct snvme_path *path)
{
	struct smartio_device *sdev;
	struct smartio_era now;
	unsigned int gone = READ_ONCE(snvme_clients_gone);
	unsigned int n = 0;
	int error, ret = -ENOLINK;

	while (ret) {
		sdev = snvme_other_link(path->client, n++);
		if (!sdev && gone == READ_ONCE(snvme_clients_gone))
			break;
		if (!sdev) {
			/* those behind one that has left have other numbers */
			gone = READ_ONCE(snvme_clients_gone);
			n = 0;
			continue;
		}
		error = smartio_revoke(sdev, path->session, &now);
		if (error != -ENOLINK)
			ret = error;
		put_device(&sdev->dev);
	}
	if (ret)
		return ret;
	mutex_lock(&snvme_clients_lock);
	if (smartio_fences_between(&path->era, &now) > 0)
		ret = -ESTALE;
	mutex_unlock(&snvme_clients_lock);
	return ret;
}

/*
 * Whether there is another link to the drive. It may be down. One that is being
 * removed doesn't count. May sleep.
 */
static bool snvme_drive_others(struct snvme_client *client)
{
	struct snvme_client *other = NULL;
	struct snvme_path *path;
	bool found = false;

	mutex_lock(&snvme_clients_lock);
	while ((other = snvme_other(client, other))) {
		if (other->removing || other->detached)
			continue;
		path = snvme_client_path(other);
		found |= !path || !READ_ONCE(path->leaving);
		if (path)
			nvme_put_ctrl(&path->ctrl);
	}
	mutex_unlock(&snvme_clients_lock);
	return found;
}

/* A path leaves, and its session may not be over. May sleep. */
static void snvme_drive_orphan(struct snvme_client *client, u64 session)
{
	struct snvme_orphan *orphan = smartio_recovery_alloc(sizeof(*orphan));

	uuid_copy(&orphan->host, &client->sdev->host);
	strscpy(orphan->pci_name, client->sdev->pci_name);
	orphan->session = session;
	mutex_lock(&snvme_clients_lock);
	list_add_tail(&orphan->entry, &snvme_orphans);
	mutex_unlock(&snvme_clients_lock);
}

void snvme_drives_exit(void)
{
	struct snvme_orphan *orphan, *next;

	list_for_each_entry_safe(orphan, next, &snvme_orphans, entry)
		kfree(orphan);
}

/* Return: the session of such an orphan, 0 if there is none. */
static u64 snvme_orphan_first(struct snvme_client *client)
{
	struct snvme_orphan *orphan;
	u64 session = 0;

	mutex_lock(&snvme_clients_lock);
	list_for_each_entry(orphan, &snvme_orphans, entry)
		if (!session && snvme_is_drive(client, &orphan->host,
					       orphan->pci_name))
			session = orphan->session;
	mutex_unlock(&snvme_clients_lock);
	return session;
}

static void snvme_orphan_over(struct snvme_client *client, u64 session)
{
	struct snvme_orphan *orphan, *next;

	mutex_lock(&snvme_clients_lock);
	list_for_each_entry_safe(orphan, next, &snvme_orphans, entry) {
		if (orphan->session != session ||
		    !snvme_is_drive(client, &orphan->host, orphan->pci_name))
			continue;
		list_del(&orphan->entry);
		kfree(orphan);
	}
	mutex_unlock(&snvme_clients_lock);
}

/* Sessions of lost paths, over other links. */
static unsigned int snvme_lost_sessions(struct snvme_client *client,
					u64 *sessions)
{
	struct snvme_path *path = NULL;
	unsigned int count = 0;
	u64 session;

	mutex_lock(&snvme_clients_lock);
	while ((path = snvme_next_path(client, path))) {
		session = READ_ONCE(path->session);
		if (path->client != client && session &&
		    READ_ONCE(path->state) == SNVME_LOST &&
		    count < SNVME_PATHS_MAX)
			sessions[count++] = session;
	}
	mutex_unlock(&snvme_clients_lock);
	return count;
}

/* Paths that hold requests of such a session may let go now. */
static void snvme_drive_kick(struct snvme_client *client)
{
	struct snvme_path *path = NULL;

	mutex_lock(&snvme_clients_lock);
	while ((path = snvme_next_path(client, path)))
		if (path->client != client)
			snvme_path_failover(path);
	mutex_unlock(&snvme_clients_lock);
}

/*
 * A path is about to come up, its session is open: ends all that was lost, and
 * lets other paths know. Not later: nvme-core may wait for the requests of a
 * lost path before it lets another one come up. May sleep for seconds. Return:
 * 0, or the error that keeps a session from being ended.
 */
static int snvme_drive_clear(struct snvme_client *client)
{
	u64 sessions[SNVME_PATHS_MAX], session;
	unsigned int count, i;
	int ret = 0;

	count = snvme_lost_sessions(client, sessions);
	for (i = 0; i < count && !ret; i++)
		ret = smartio_revoke(client->sdev, sessions[i], NULL);
	while (!ret && (session = snvme_orphan_first(client))) {
		ret = smartio_revoke(client->sdev, session, NULL);
		if (!ret)
			snvme_orphan_over(client, session);
	}
	snvme_drive_kick(client);
	return ret;
}

/* A new path has no namespaces yet: so those of the others are included. */
static void snvme_drive_may_wait(struct snvme_path *path)
{
	struct snvme_client *client = path->client;

	path = NULL;
	mutex_lock(&snvme_clients_lock);
	while ((path = snvme_next_path(client, path)))
		snvme_core_may_wait(&path->ctrl);
	mutex_unlock(&snvme_clients_lock);
}

/* ---- fences ---- */

static void snvme_fence_path(struct snvme_client *client,
			     struct snvme_path *path)
{
	WRITE_ONCE(path->fenced, true);
	if (path->client != client)	/* the caller sees to its own */
		snvme_path_lose(path, SNVME_LOSS_FENCED);
}

/*
 * A client has a session now: was this host fenced? A path from before a fence
 * fails its requests, and leaves. A new one is made only after all of those
 * have left. Otherwise the disk would live on, and with it requests that wait
 * for a path. May sleep; on client->wq.
 *
 * Return: 0; -ESTALE: the client's own path has to leave; -EAGAIN: it has none,
 * and others have still to leave; -ENOLINK: the session is from before a fence.
 */
static int snvme_drive_opened(struct snvme_client *client)
{
	struct smartio_era now = client->sdev->era;
	struct snvme_path *path = NULL;
	bool own = false;
	int ret = 0, fences;

	mutex_lock(&snvme_clients_lock);
	while ((path = snvme_next_path(client, path))) {
		own |= path->client == client;
		fences = smartio_fences_between(&path->era, &now);
		if (fences > 0 || READ_ONCE(path->fenced)) {
			snvme_fence_path(client, path);
			if (path->client == client)
				ret = -ESTALE;
			else if (!ret)
				ret = -EAGAIN;
		} else if (fences < 0) {
			ret = -ENOLINK;
		} else {
			path->era = now;	/* the lender may be a new one */
		}
	}
	mutex_unlock(&snvme_clients_lock);
	return ret == -EAGAIN && own ? 0 : ret;
}

/*
 * A client is refused, since this host is fenced. Other paths of the same time
 * leave at once, too, if their links are down as well. May sleep; on
 * client->wq.
 */
static void snvme_drive_refused(struct snvme_client *client,
				struct snvme_path *own)
{
	struct snvme_path *path = NULL;

	mutex_lock(&snvme_clients_lock);
	WRITE_ONCE(own->fenced, true);
	while ((path = snvme_next_path(client, path)))
		if (path != own && path->era.lender == own->era.lender &&
		    path->era.fences == own->era.fences)
			snvme_fence_path(client, path);
	mutex_unlock(&snvme_clients_lock);
}

/* ---- sessions ---- */

/*
 * Is the session before over, after this return of smartio_open()? Not if the
 * lender did not answer, or too late.
 */
static bool snvme_session_over(int opened)
{
	switch (opened) {
	case 0:
	case -EACCES:	/* fenced */
	case -ESTALE:	/* fenced, and admitted again */
	case -EPERM:	/* this host may not have it */
	case -EAGAIN:	/* the controller is being reset */
	case -ENODEV:	/* exported no more */
		return true;
	}
	return false;
}

/*
 * Has this host been fenced, after this return of smartio_open()? Its commands
 * in flight fail then: others have gone on without it, and they must not come
 * later, over any path.
 */
static bool snvme_was_fenced(int opened)
{
	return opened == -EACCES || opened == -ESTALE;
}

/*
 * As smartio_open(), for a client and its path or NULL. -ESTALE: this host was
 * fenced since the path was made. May sleep for seconds; on client->wq, or when
 * nothing runs there.
 */
static int snvme_session_open(struct snvme_client *client,
			      struct snvme_path *path)
{
	int ret;

	if (path)
		snvme_path_may_start(path);
	ret = smartio_open(client->sdev);
	if (ret == -EACCES && path)
		snvme_drive_refused(client, path);
	if (ret)
		return ret;
	ret = snvme_drive_opened(client);
	if (ret)
		smartio_close(client->sdev);
	return ret;
}

static const char *snvme_explain(int error)
{
	switch (error) {
	case -EACCES:
		return "this host is fenced";
	case -EPERM:
		return "its lender does not allow this host to use it";
	case -ENOSPC:
		return "no queue pair or memory is left for this host";
	case -EPROTO:
	case -EPROTONOSUPPORT:
		return "its manager speaks another version of the protocol";
	case -ERANGE:
		return "a window is too small";
	case -ENOMEM:
		return "out of memory";
	case -ENOBUFS:
		return "the link's memory has no room for its smallest queues";
	case -ETIMEDOUT:
		return "no answer";
	}
	return "error";
}

/*
 * Does this reason pass by itself? A link that was lost, a drive that is reset
 * or taken back: the log has it already. -EINTR: the reset cancelled the
 * manager's admin command (mgr_sync()).
 */
static bool snvme_join_passes(int error)
{
	return error == -EAGAIN || error == -ENOLINK || error == -ENODEV ||
	       error == -ESTALE || error == -EINTR;
}

/* Once, until there is another reason. */
static void snvme_join_log(struct snvme_client *client, int error)
{
	struct smartio_device *sdev = client->sdev;

	if (error == client->last_error)
		return;
	client->last_error = error;
	if (!error || snvme_join_passes(error))
		return;
	dev_warn(&sdev->dev, "cannot use drive %s of %s over %s: %s (%d)\n",
		 sdev->pci_name, sdev->host_name, sdev->link_name,
		 snvme_explain(error), error);
}

static void snvme_join_later(struct snvme_client *client,
			     struct snvme_path *path, int error)
{
	/* Users wait for the path, and others may give something back. */
	if (path && (error == -ENOSPC || error == -ERANGE))
		error = -EAGAIN;
	switch (error) {
	case -ENODEV:	/* until SMARTIO_READY, or its time is over */
		if (!path || path->opts.max_reconnects < 0)
			return;
		fallthrough;
	case -EACCES:
	case -EPERM:
	case -EPROTO:
	case -EPROTONOSUPPORT:
	case -ENOSPC:
	case -ENOBUFS:
	case -ERANGE:
		client->backoff_ms = SNVME_BACKOFF_SLOW_MS;
		break;
	default:
		client->backoff_ms = clamp(client->backoff_ms * 2,
					   SNVME_BACKOFF_MIN_MS,
					   SNVME_BACKOFF_MAX_MS);
	}
	queue_delayed_work(client->wq, &client->join_work,
			   msecs_to_jiffies(client->backoff_ms));
}

static const struct snvme_drive_ops snvme_drive_ops;

/*
 * A new path did not come up, with @error. If its queues had no room at the
 * lender, the next attempt has smaller ones; none is smaller: it comes late.
 */
static int snvme_join_smaller(struct snvme_client *client,
			      struct snvme_path *path, int error)
{
	unsigned int entries = path->queues[0].entries / 2;

	if (!path->no_room)
		return error;
	if (entries < SNVME_ENTRIES_MIN)
		return error == -ENOMEM ? -ENOBUFS : error;
	client->entries = entries;
	return -EAGAIN;
}

static void snvme_join_success(struct snvme_path *path)
{
	struct smartio_device *sdev = path->sdev;
	unsigned int entries = path->queues[0].entries;

	dev_info(path->ctrl.device,
		 "drive %s of %s over %s: %u+%u queue pairs of %u, %s\n",
		 sdev->pci_name, sdev->host_name, sdev->link_name,
		 path->nr_queues, path->nr_poll, entries,
		 path->config.dma_mode == SNVME_DMA_BOUNCE ?
		 "data copied" : "data mapped");
	if (snvme_counted(path, SNVME_STAT_JOINS) != 1)
		return;
	if (path->small_queues)
		dev_notice(path->ctrl.device,
			   "no room for queues of more than %u entries\n",
			   entries);
	if (path->small_requests)
		dev_notice(path->ctrl.device,
			   "no room for requests of more than %u KiB\n",
			   path->max_bytes / SZ_1K);
}

/*
 * A session is open. @gen: of the path, before that.
 * Return: 0, or an error, and the session is closed.
 */
static int snvme_join_session(struct snvme_client *client,
			      struct snvme_path *path, unsigned int gen)
{
	struct smartio_device *sdev = client->sdev;
	u64 session = smartio_session_id(sdev);
	struct snvme_limits limits;
	int ret;

	ret = snvme_attach(sdev, &limits);
	if (ret)
		goto close;
	if (path && !snvme_limits_fit(path, &limits)) {
		dev_err(path->ctrl.device,
			"the manager offers another subsystem or smaller queues than before\n");
		ret = -ESTALE;
		goto close;
	}
	if (!path) {
		path = snvme_path_create(client, &snvme_drive_ops, &limits);
		if (IS_ERR(path)) {
			ret = PTR_ERR(path);
			goto close;
		}
		spin_lock(&client->lock);
		client->path = path;
		spin_unlock(&client->lock);
	}
	WRITE_ONCE(path->session, session);
	ret = snvme_path_join(path, gen, &limits);
	if (!ret) {
		snvme_join_success(path);
		return 0;
	}
	if (path->started) {
		/* lose_work closes the session. */
		if (ret != -ESTALE)
			snvme_path_lose(path, SNVME_LOSS_JOIN);
		/* nvme-core's, of a controller that does not get ready */
		return ret == -ENODEV ? -EAGAIN : ret;
	}
	ret = snvme_join_smaller(client, path, ret);
	/* No user has seen it: all of it is freed. */
	snvme_path_lose(path, SNVME_LOSS_JOIN);
	snvme_path_drop(path);
	smartio_close(sdev);
	snvme_path_revoked(path, false);
	snvme_path_discard(path);
	return ret;

close:
	smartio_close(sdev);
	return ret;
}

static bool snvme_loss_expired(struct snvme_path *path)
{
	int attempts = path->opts.max_reconnects;

	return attempts >= 0 && READ_ONCE(path->state) != SNVME_UP &&
	       time_after(jiffies, path->lost_at + (unsigned long)attempts *
			  path->opts.reconnect_delay * HZ);
}

static void snvme_join(struct snvme_client *client, struct snvme_path *path,
		       unsigned int gen)
{
	int ret = snvme_session_open(client, path);

	if (path && snvme_session_over(ret))
		snvme_path_revoked(path, !snvme_was_fenced(ret));
	if (!ret && snvme_drive_clear(client)) {
		smartio_close(client->sdev);
		ret = -EAGAIN;
	}
	if (!ret)
		ret = snvme_join_session(client, path, gen);
	snvme_join_log(client, ret);
	if (!ret) {
		client->backoff_ms = 0;
		return;
	}
	if (path && (snvme_was_fenced(ret) || snvme_loss_expired(path)))
		snvme_path_expel(path);
	else
		snvme_join_later(client, path, ret);
}

/* Not while it is up, nor before a loss was dealt with. */
static bool snvme_may_join(struct snvme_path *path, unsigned int *gen)
{
	bool may;

	spin_lock_irq(&path->lock);
	*gen = path->gen;
	may = !path->leaving && !path->fenced &&
	      ((path->state == SNVME_LOST && path->dropped) ||
	       path->state == SNVME_REVOKED);
	/* This attempt was the next one: lose_work, queued, owes another. */
	if (path->state == SNVME_LOST && !path->dropped)
		path->rejoin = true;
	spin_unlock_irq(&path->lock);
	return may;
}

static void snvme_join_work(struct work_struct *work)
{
	struct snvme_client *client = container_of(to_delayed_work(work),
						   struct snvme_client,
						   join_work);
	unsigned int flags, gen = 0;
	struct snvme_path *path;

	if (client->removing || client->detached)
		return;
	path = snvme_client_path(client);
	if (!path) {
		/* A new one needs much, and may wait for it, but for no disk. */
		flags = memalloc_noio_save();
		snvme_join(client, NULL, 0);
		memalloc_noio_restore(flags);
		return;
	}
	flags = smartio_recovery_begin();
	if (snvme_may_join(path, &gen))
		snvme_join(client, path, gen);
	nvme_put_ctrl(&path->ctrl);
	smartio_recovery_end(flags);
}

/* An attempt is worth it now. Any context. */
void snvme_client_kick(struct snvme_client *client)
{
	client->backoff_ms = 0;
	mod_delayed_work(client->wq, &client->join_work, 0);
}

/* @client: zeroed. */
void snvme_client_init(struct snvme_client *client)
{
	spin_lock_init(&client->lock);
	init_waitqueue_head(&client->gone);
	INIT_DELAYED_WORK(&client->join_work, snvme_join_work);
}

static void snvme_drive_rejoin(struct snvme_path *path, unsigned int delay_ms)
{
	mod_delayed_work(path->wq, &path->client->join_work,
			 msecs_to_jiffies(delay_ms));
}

/* ---- a path that leaves ---- */

/*
 * Its controller is being deleted. Requests that it holds may be sent again by
 * another path only when the lender has ended the session.
 *
 * Return: whether it may still end.
 */
static bool snvme_leave_waits(struct snvme_path *path)
{
	if (time_after(jiffies, path->leave_by)) {
		dev_err(path->ctrl.device,
			"%s did not end the session within %u s, removed anyway\n",
			path->sdev->host_name, SNVME_LEAVE_S);
		return false;
	}
	return smartio_link_up(path->sdev) ||
	       (snvme_path_held(path) && snvme_drive_others(path->client));
}

/*
 * Return: whether the lender has ended the session, and another path may send
 * again what was in flight. If not, the link is down, and the window shut; or
 * this host is fenced.
 */
static bool snvme_leave_session(struct snvme_path *path)
{
	struct snvme_client *client = path->client;
	int ret;

	while (path->session && !READ_ONCE(path->fenced)) {
		if (!snvme_path_revoke(path))
			break;
		if (smartio_link_up(path->sdev)) {
			ret = snvme_session_open(client, path);
			if (!ret)
				smartio_close(path->sdev);
			/* The device is exported no more, or not to us: all ended. */
			if (snvme_session_over(ret))
				return !snvme_was_fenced(ret);
		}
		if (!snvme_leave_waits(path)) {
			snvme_drive_orphan(client, path->session);
			return false;
		}
		msleep(SNVME_BACKOFF_MIN_MS);
	}
	return !READ_ONCE(path->fenced);
}

/* See struct snvme_drive_ops. */
static void snvme_drive_leave(struct snvme_path *path)
{
	struct snvme_client *client = path->client;
	unsigned int flags = smartio_recovery_begin();

	spin_lock_irq(&path->lock);
	path->leave_by = jiffies + SNVME_LEAVE_S * HZ;
	path->leaving = true;
	spin_unlock_irq(&path->lock);
	snvme_path_lose(path, SNVME_LOSS_REMOVED);
	snvme_core_delete_noio(&path->ctrl);
	cancel_delayed_work_sync(&client->join_work);
	queue_work(client->wq, &path->lose_work);
	flush_work(&path->lose_work);
	snvme_path_close(path);
	snvme_path_revoked(path, snvme_leave_session(path));
	smartio_recovery_end(flags);
}

/* Then the client may make a new one; nothing of @path->sdev is used here. */
static void snvme_drive_gone(struct snvme_path *path)
{
	struct snvme_client *client = path->client;

	/* One that was up is deleted by a user, or expelled. */
	if (path->started && !path->expelled)
		client->detached = true;
	/* all of it under the lock: once it is free the client may be, too */
	spin_lock(&client->lock);
	client->path = NULL;
	if (path->expelled && !client->removing)
		snvme_client_kick(client);
	wake_up_all(&client->gone);
	spin_unlock(&client->lock);
}

static const struct snvme_drive_ops snvme_drive_ops = {
	.rejoin = snvme_drive_rejoin,
	.revoke = snvme_drive_revoke,
	.may_wait = snvme_drive_may_wait,
	.leave = snvme_drive_leave,
	.gone = snvme_drive_gone,
};
