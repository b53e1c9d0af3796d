// SPDX-License-Identifier: GPL-2.0
/*
 * What reservations of other hosts don't let this one do. The manager keeps
 * them, and the drive knows nothing of them: so a client asks when a session
 * begins, after its own reservation commands, and when it is told that
 * something has changed; and refuses here what they forbid. What takes
 * something away ends the session, so that no command is judged by an old
 * answer.
 */
#include <linux/slab.h>

#include "client.h"

/* Under access_lock. */
static void snvme_access_set(struct snvme_path *path,
			     struct snvme_access *access)
{
	struct snvme_access *old;

	old = rcu_replace_pointer(path->access, access,
				  lockdep_is_held(&path->access_lock));
	if (old)
		kfree_rcu(old, rcu);
}

/* The reply as it came; NULL: this host may do all. */
static int snvme_access_check(const struct snvme_access_reply *reply,
			      size_t size, struct snvme_access **access)
{
	struct snvme_access *new;
	u32 count, i;

	*access = NULL;
	if (size < sizeof(*reply))
		return -EPROTO;
	count = le32_to_cpu(reply->count);
	if (count > SNVME_ACCESS_MAX ||
	    size != struct_size(reply, entries, count))
		return -EPROTO;
	if (!count && !reply->others)
		return 0;
	new = kzalloc(struct_size(new, entries, count), GFP_NOIO);
	if (!new)
		return -ENOMEM;
	new->others = le32_to_cpu(reply->others);
	new->count = count;
	for (i = 0; i < count; i++) {
		new->entries[i].nsid = le32_to_cpu(reply->entries[i].nsid);
		new->entries[i].flags = le32_to_cpu(reply->entries[i].flags);
	}
	*access = new;
	return 0;
}

/**
 * snvme_access_fetch() - ask what this host may not do
 * @path: with a session
 *
 * If nobody answers the path is lost: what is known may be wrong.
 *
 * Context: process, may sleep.
 * Return: 0, -EPROTO, -ENOMEM, or what smartio_call() returns.
 */
int snvme_access_fetch(struct snvme_path *path)
{
	struct snvme_access_req request = {
		.op = cpu_to_le16(SNVME_ACCESS),
	};
	struct snvme_access_reply *reply;
	struct snvme_access *access;
	size_t size = struct_size(reply, entries, SNVME_ACCESS_MAX);
	int ret = -ENOMEM;

	reply = kvzalloc(size, GFP_NOIO);
	/* Answers are taken up in the order in which they were asked for. */
	mutex_lock(&path->access_lock);
	if (reply)
		ret = smartio_call(path->sdev, &request, sizeof(request),
				   reply, &size, SNVME_CALL_MS);
	if (!ret)
		ret = snvme_access_check(reply, size, &access);
	if (!ret)
		snvme_access_set(path, access);
	mutex_unlock(&path->access_lock);
	kvfree(reply);
	if (ret && ret != -ENOLINK)
		snvme_path_lose(path, SNVME_LOSS_JOIN);
	return ret;
}

static void snvme_access_work(struct work_struct *work)
{
	struct snvme_path *path = container_of(work, struct snvme_path,
					       access_work);

	if (READ_ONCE(path->admin_live))
		snvme_access_fetch(path);
	nvme_put_ctrl(&path->ctrl);
}

/**
 * snvme_access_changed() - the manager says that it may do more
 * @path: the path
 *
 * Context: process.
 */
void snvme_access_changed(struct snvme_path *path)
{
	nvme_get_ctrl(&path->ctrl);
	if (!queue_work(path->client->calls, &path->access_work))
		nvme_put_ctrl(&path->ctrl);
}

/**
 * snvme_access_forbids() - whether a reservation stands in the way
 * @path: of which path->access is not NULL
 * @rq: set up
 *
 * Context: any.
 * Return: true: the command ends with Reservation Conflict.
 */
bool snvme_access_forbids(struct snvme_path *path, struct request *rq)
{
	const struct nvme_command *cmd = nvme_req(rq)->cmd;
	u8 needs = resv_needs(cmd->common.opcode);
	u32 nsid = le32_to_cpu(cmd->common.nsid);
	const struct snvme_access *access;
	bool found = false;
	u8 flags = 0;
	u32 i;

	rcu_read_lock();
	access = rcu_dereference(path->access);
	for (i = 0; access && i < access->count; i++) {
		if (access->entries[i].nsid != nsid && nsid != NVME_NSID_ALL)
			continue;
		flags |= access->entries[i].flags;
		found = true;
	}
	if (access && !found)
		flags = access->others;
	rcu_read_unlock();
	return flags & needs;
}

/**
 * snvme_access_init() - what a new path needs for the above
 * @path: zeroed
 */
void snvme_access_init(struct snvme_path *path)
{
	mutex_init(&path->access_lock);
	INIT_WORK(&path->access_work, snvme_access_work);
}

/**
 * snvme_access_exit() - and back
 * @path: nobody uses it any more
 */
void snvme_access_exit(struct snvme_path *path)
{
	kfree(rcu_dereference_protected(path->access, true));
}
