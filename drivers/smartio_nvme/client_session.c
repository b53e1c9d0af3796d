// SPDX-License-Identifier: GPL-2.0
/*
 * Attempts to get a session with the lender, and a path up in it; when the next
 * one is worth it.
 */
#include <linux/sched/mm.h>

#include "client.h"

#define SNVME_BACKOFF_MAX_MS	2000
/* Nothing to hope for soon: fenced, no queue pair left, or another version. */
#define SNVME_BACKOFF_SLOW_MS	10000

/**
 * snvme_session_over() - is the session before over?
 * @opened: what smartio_open() returned
 *
 * Context: any.
 * Return: false when nobody answered, or the answer came too late.
 */
bool snvme_session_over(int opened)
{
	switch (opened) {
	case 0:
	case -EACCES:	/* fenced */
	case -ESTALE:	/* fenced, and let in again */
	case -EAGAIN:	/* the controller is being reset */
	case -ENODEV:	/* lent no more */
		return true;
	}
	return false;
}

/**
 * snvme_was_fenced() - has this host been fenced since?
 * @opened: what smartio_open() returned
 *
 * What it had under way fails then: others have gone on without it, and it must
 * not come later, over whichever path.
 *
 * Context: any.
 * Return: true or false.
 */
bool snvme_was_fenced(int opened)
{
	return opened == -EACCES || opened == -ESTALE;
}

/**
 * snvme_session_open() - open a session
 * @client: of the way
 * @path: its path, or NULL
 *
 * Context: process, may sleep for seconds; on client->wq, or when nothing runs
 * there.
 * Return: as smartio_open(); -ESTALE: this host was fenced since the path was
 * made.
 */
int snvme_session_open(struct snvme_client *client, struct snvme_path *path)
{
	int ret = smartio_open(client->sdev);

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
	case -ENOSPC:
		return "no queue pair or memory is left for this host";
	case -EPROTO:
	case -EPROTONOSUPPORT:
		return "its manager speaks another version of the protocol";
	case -ERANGE:
		return "a window is too small";
	case -ENOMEM:
		return "out of memory";
	case -ETIMEDOUT:
		return "no answer";
	}
	return "error";
}

/**
 * snvme_join_passes() - does this reason pass by itself?
 * @error: why an attempt came to nothing
 *
 * A link that was lost, a drive that is reset or taken back: told elsewhere.
 * -EINTR: the reset cancelled the manager's admin command (mgr_sync()).
 *
 * Context: any.
 * Return: true or false.
 */
bool snvme_join_passes(int error)
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
	switch (error) {
	case -ENODEV:	/* until SMARTIO_READY, or its time is over */
		if (!path || path->opts.max_reconnects < 0)
			return;
		fallthrough;
	case -EACCES:
	case -EPROTO:
	case -EPROTONOSUPPORT:
	case -ENOSPC:
		client->backoff_ms = SNVME_BACKOFF_SLOW_MS;
		break;
	default:
		client->backoff_ms = clamp(client->backoff_ms * 2,
					   SNVME_RETRY_MS,
					   SNVME_BACKOFF_MAX_MS);
	}
	queue_delayed_work(client->wq, &client->join_work,
			   msecs_to_jiffies(client->backoff_ms));
}

/*
 * A session is open. @gen: of the path, before that.
 * Return: 0 or why it came to nothing; it is closed then.
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
		path = snvme_path_create(client, &limits);
		if (IS_ERR(path)) {
			ret = PTR_ERR(path);
			goto close;
		}
	}
	WRITE_ONCE(path->session, session);
	ret = snvme_path_join(path, gen, &limits);
	if (!ret) {
		dev_info(path->ctrl.device,
			 "drive %s of %s over %s: %u+%u queue pairs of %u, %s\n",
			 sdev->pci_name, sdev->host_name, sdev->link_name,
			 path->nr_queues, path->nr_poll,
			 path->queues[0].entries,
			 path->config.dma_mode == SNVME_DMA_BOUNCE ?
			 "data copied" : "data mapped");
		return 0;
	}
	if (path->started) {
		/* lose_work closes the session, and queues the next attempt. */
		if (ret != -ESTALE)
			snvme_path_lose(path, SNVME_LOSS_JOIN);
		return ret;
	}
	/* Nobody has seen it: all of it goes. */
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

/* May it try? Not while it is up, nor before a loss was dealt with. */
static bool snvme_may_join(struct snvme_path *path, unsigned int *gen)
{
	bool may;

	spin_lock_irq(&path->lock);
	*gen = path->gen;
	may = !path->leaving && !path->fenced &&
	      ((path->state == SNVME_LOST && path->dropped) ||
	       path->state == SNVME_REVOKED);
	spin_unlock_irq(&path->lock);
	return may;
}

static void snvme_join_work(struct work_struct *work)
{
	struct snvme_client *client = container_of(to_delayed_work(work),
						   struct snvme_client,
						   join_work);
	struct snvme_path *path;
	unsigned int noio, gen = 0;

	if (client->removing || client->detached)
		return;
	/* memory may have to be written to this disk before there is some */
	noio = memalloc_noio_save();
	path = snvme_client_path(client);
	if (!path || snvme_may_join(path, &gen))
		snvme_join(client, path, gen);
	if (path)
		nvme_put_ctrl(&path->ctrl);
	memalloc_noio_restore(noio);
}

/**
 * snvme_client_kick() - an attempt is worth it now
 * @client: the client
 *
 * Context: any.
 */
void snvme_client_kick(struct snvme_client *client)
{
	client->backoff_ms = 0;
	mod_delayed_work(client->wq, &client->join_work, 0);
}

/**
 * snvme_client_init() - what a new client needs for the above
 * @client: zeroed
 */
void snvme_client_init(struct snvme_client *client)
{
	spin_lock_init(&client->lock);
	init_waitqueue_head(&client->gone);
	INIT_DELAYED_WORK(&client->join_work, snvme_join_work);
}
