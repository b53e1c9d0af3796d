// SPDX-License-Identifier: GPL-2.0
/*
 * Several ways to one drive: two links to its lender ("dual adapters"). Each
 * has a client and a path of its own, which nvme-core joins to one disk.
 *
 * A lost path's requests may go to another path only when the device touches
 * nothing of them any more. Its own link may be down for long; so the lender
 * is asked to end the session over any other way that has one. And before a
 * path comes up, all sessions that were lost are over, those of paths that are
 * gone, too: what failed must not be done after something newer.
 *
 * A fence is of the host: all its paths of before go before a new one comes.
 * The era of a session tells which those are.
 */
#include <linux/slab.h>

#include "client.h"

/* So many paths to one drive are looked at. */
#define SNVME_WAYS_MAX	16

static LIST_HEAD(snvme_clients);
static LIST_HEAD(snvme_orphans);
static DEFINE_MUTEX(snvme_clients_lock);	/* both lists */

/**
 * struct snvme_orphan - a session that was not ended when its path went
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

/* Is it this one that the client's way leads to? */
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

/**
 * snvme_drive_add() - a way is there
 * @client: of the way
 *
 * Context: process, may sleep.
 */
void snvme_drive_add(struct snvme_client *client)
{
	mutex_lock(&snvme_clients_lock);
	list_add_tail(&client->entry, &snvme_clients);
	mutex_unlock(&snvme_clients_lock);
}

/**
 * snvme_drive_remove() - a way goes
 * @client: of the way; no other one asks it for anything any more
 *
 * Context: process, may sleep.
 */
void snvme_drive_remove(struct snvme_client *client)
{
	mutex_lock(&snvme_clients_lock);
	list_del(&client->entry);
	mutex_unlock(&snvme_clients_lock);
}

/* The next of the other ways to the drive of @client, under the lock. */
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
 * that to @after is given back: a loop goes to the end. Under the lock.
 */
static struct snvme_path *snvme_next_path(const struct snvme_client *client,
					  struct snvme_path *after)
{
	struct snvme_client *way = after ? after->client : NULL;
	struct snvme_path *path = NULL;

	lockdep_assert_held(&snvme_clients_lock);
	way = list_prepare_entry(way, &snvme_clients, entry);
	list_for_each_entry_continue(way, &snvme_clients, entry) {
		if (snvme_same_drive(way, client))
			path = snvme_client_path(way);
		if (path)
			break;
	}
	if (after)
		nvme_put_ctrl(&after->ctrl);
	return path;
}

/* The @n-th other way, with a reference to its device; NULL: there is none. */
static struct smartio_device *snvme_other_way(struct snvme_client *client,
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

/**
 * snvme_drive_revoke() - end a lost path's session over another way
 * @path: lost, with a session
 *
 * Context: process, may sleep for seconds.
 * Return: 0: it is over; -ESTALE: so it is, and this host was fenced since;
 * -ENOLINK: there is no other way that has a session now; else see
 * smartio_revoke().
 */
int snvme_drive_revoke(struct snvme_path *path)
{
	struct smartio_device *sdev;
	struct smartio_era now;
	unsigned int n = 0;
	int ret = -ENOLINK;

	while (ret && (sdev = snvme_other_way(path->client, n++))) {
		int error = smartio_revoke(sdev, path->session, &now);

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

/**
 * snvme_drive_others() - whether there is another way to the drive
 * @client: of this one
 *
 * It may be down. One that goes itself doesn't count.
 *
 * Context: process, may sleep.
 */
bool snvme_drive_others(struct snvme_client *client)
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

/**
 * snvme_drive_orphan() - a path goes, and its session is not known to be over
 * @client: of the path
 * @session: the session
 *
 * Context: process, may sleep.
 */
void snvme_drive_orphan(struct snvme_client *client, u64 session)
{
	struct snvme_orphan *orphan = kzalloc(sizeof(*orphan),
					      GFP_NOIO | __GFP_NOFAIL);

	uuid_copy(&orphan->host, &client->sdev->host);
	strscpy(orphan->pci_name, client->sdev->pci_name);
	orphan->session = session;
	mutex_lock(&snvme_clients_lock);
	list_add_tail(&orphan->entry, &snvme_orphans);
	mutex_unlock(&snvme_clients_lock);
}

/**
 * snvme_drives_exit() - the module goes
 */
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

/* Sessions of lost paths, over other ways. */
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
		    count < SNVME_WAYS_MAX)
			sessions[count++] = session;
	}
	mutex_unlock(&snvme_clients_lock);
	return count;
}

/* Those who hold requests of such a session may let go now. */
static void snvme_drive_kick(struct snvme_client *client)
{
	struct snvme_path *path = NULL;

	mutex_lock(&snvme_clients_lock);
	while ((path = snvme_next_path(client, path)))
		if (path->client != client)
			snvme_path_failover(path);
	mutex_unlock(&snvme_clients_lock);
}

/**
 * snvme_drive_clear() - a path is about to come up: is all that was lost over?
 * @client: of the way; its session is open
 *
 * Other ways are told as well. Not later: nvme-core may wait for the requests
 * of a lost path before it lets another one come up.
 *
 * Context: process, may sleep for seconds.
 * Return: 0, or what keeps a session from being ended.
 */
int snvme_drive_clear(struct snvme_client *client)
{
	u64 sessions[SNVME_WAYS_MAX], session;
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

/**
 * snvme_drive_may_wait() - what waits for a path to the drive may wait on
 * @client: of a way; a path of it that is new has no namespaces yet, so those
 *          of the others are looked at as well
 *
 * Context: process, may sleep.
 */
void snvme_drive_may_wait(struct snvme_client *client)
{
	struct snvme_path *path = NULL;

	mutex_lock(&snvme_clients_lock);
	while ((path = snvme_next_path(client, path)))
		snvme_path_may_wait(path);
	mutex_unlock(&snvme_clients_lock);
}

static void snvme_path_fenced(struct snvme_client *client,
			      struct snvme_path *path)
{
	WRITE_ONCE(path->fenced, true);
	if (path->client != client)	/* the caller sees to its own */
		snvme_path_lose(path, SNVME_LOSS_FENCED);
}

/**
 * snvme_drive_opened() - a way has a session now: was this host fenced?
 * @client: of the way
 *
 * A path of before a fence fails what it holds, and goes. Until they all are
 * gone there is no new one: the disk would live on, and with it requests that
 * wait for a path.
 *
 * Context: process, may sleep; on client->wq.
 * Return: 0; -ESTALE: the way's own path has to go; -EAGAIN: it has none, and
 * others are still to go; -ENOLINK: the session is of before a fence itself.
 */
int snvme_drive_opened(struct snvme_client *client)
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
			snvme_path_fenced(client, path);
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

/**
 * snvme_drive_refused() - a way is refused, since this host is fenced
 * @client: of the way
 * @own: its path
 *
 * Others of the same time go at once, too, if their links are down as well.
 *
 * Context: process, may sleep; on client->wq.
 */
void snvme_drive_refused(struct snvme_client *client, struct snvme_path *own)
{
	struct snvme_path *path = NULL;

	mutex_lock(&snvme_clients_lock);
	WRITE_ONCE(own->fenced, true);
	while ((path = snvme_next_path(client, path)))
		if (path != own && path->era.lender == own->era.lender &&
		    path->era.fences == own->era.fences)
			snvme_path_fenced(client, path);
	mutex_unlock(&snvme_clients_lock);
}
