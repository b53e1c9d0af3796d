// SPDX-License-Identifier: GPL-2.0
/*
 * A path that goes: its controller is being deleted. What it holds is another
 * path's to send again only when the lender has ended the session.
 */
#include <linux/delay.h>
#include <linux/sched/mm.h>

#include "client.h"

/* How long a path that goes waits for the lender to end its session. */
#define SNVME_LEAVE_S		30

/* Return: whether there is a hope that it ends. */
static bool snvme_leave_waits(struct snvme_path *path)
{
	if (time_after(jiffies, path->leave_by)) {
		dev_err(path->ctrl.device,
			"%s did not end the session within %u s, going anyway\n",
			path->sdev->host_name, SNVME_LEAVE_S);
		return false;
	}
	return smartio_link_up(path->sdev) ||
	       (snvme_path_held(path) && snvme_drive_others(path->client));
}

/*
 * Return: whether the lender has ended the session, and another path may send
 * again what was under way. If not, the link is down, and the window shut; or
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
			/* The device is lent no more, or not to us: all ended. */
			if (snvme_session_over(ret))
				return !snvme_was_fenced(ret);
		}
		if (!snvme_leave_waits(path)) {
			snvme_drive_orphan(client, path->session);
			return false;
		}
		msleep(SNVME_RETRY_MS);
	}
	return !READ_ONCE(path->fenced);
}

/**
 * snvme_path_leave() - the controller is being deleted
 * @path: in state DELETING
 *
 * When it returns no request of it is with the device.
 *
 * Context: process, may sleep; not on client->wq.
 */
void snvme_path_leave(struct snvme_path *path)
{
	struct snvme_client *client = path->client;
	unsigned int noio = memalloc_noio_save();

	spin_lock_irq(&path->lock);
	path->leave_by = jiffies + SNVME_LEAVE_S * HZ;
	path->leaving = true;
	spin_unlock_irq(&path->lock);
	snvme_path_lose(path, SNVME_LOSS_REMOVED);
	/*
	 * A path that is DELETING is chosen by multipath still, and a bio would
	 * spin on it, for its queues take nothing.
	 */
	nvme_change_ctrl_state(&path->ctrl, NVME_CTRL_DELETING_NOIO);
	cancel_delayed_work_sync(&client->join_work);
	queue_work(client->wq, &path->lose_work);
	flush_work(&path->lose_work);
	snvme_path_close(path);
	snvme_path_revoked(path, snvme_leave_session(path));
	memalloc_noio_restore(noio);
}
