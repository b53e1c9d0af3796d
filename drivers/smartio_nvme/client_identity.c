// SPDX-License-Identifier: GPL-2.0
/*
 * The identity of the manager and the drive, compared when a session begins.
 *
 * When a link is up again, another drive may be behind it. nvme-core doesn't
 * look when a controller reconnects. By the time it rescans namespaces, I/O
 * reaches them again. So this compares before.
 */
#include <linux/slab.h>

#include "client.h"

/* ---- the manager ---- */

/* The reply as it came. -EPROTO; -ENOSPC: no queue pair left. */
static int snvme_limits_check(const struct snvme_attach_reply *r,
			      struct snvme_limits *limits)
{
	limits->cntlid = le16_to_cpu(r->cntlid);
	limits->queue_pairs = le16_to_cpu(r->queue_pairs);
	limits->max_entries = le16_to_cpu(r->max_entries);
	limits->cap = le64_to_cpu(r->cap);
	limits->vs = le32_to_cpu(r->vs);
	limits->max_bytes = le32_to_cpu(r->max_bytes) &
			    ~(NVME_CTRL_PAGE_SIZE - 1);
	limits->sgls = le32_to_cpu(r->sgls);
	limits->db_offset = le32_to_cpu(r->db_offset);
	limits->db_stride = le32_to_cpu(r->db_stride);
	limits->incarnation = le64_to_cpu(r->incarnation);
	limits->quirks = le64_to_cpu(r->quirks);
	if (strscpy(limits->subnqn, r->subnqn) <= 0)
		return -EPROTO;
	/* No subsystem reset, no CRTO: there are no such registers here. */
	limits->cap &= ~(BIT_ULL(36) | BIT_ULL(59) | BIT_ULL(60));
	if (le16_to_cpu(r->version) != SNVME_VERSION ||
	    limits->max_entries < 2 || !limits->max_bytes ||
	    limits->db_stride < 4 || limits->db_stride > SZ_128K ||
	    !is_power_of_2(limits->db_stride) || limits->db_offset % 4)
		return -EPROTO;
	if (!limits->queue_pairs)
		return -ENOSPC;
	return 0;
}

/*
 * The first message of a session. May sleep. Return: 0; -EPROTO: another
 * version, or nonsense; -ENOSPC: no queue pair left; that of smartio_call().
 */
int snvme_attach(struct smartio_device *sdev, struct snvme_limits *limits)
{
	struct snvme_attach_req request = {
		.op = cpu_to_le16(SNVME_ATTACH),
		.version = cpu_to_le16(SNVME_VERSION),
	};
	struct snvme_attach_reply *reply;
	size_t size = sizeof(*reply);
	int ret;

	reply = kzalloc(sizeof(*reply), GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	ret = smartio_call(sdev, &request, sizeof(request), reply, &size,
			   SNVME_CALL_MS);
	if (!ret && size != sizeof(*reply))
		ret = -EPROTO;
	if (!ret)
		ret = snvme_limits_check(reply, limits);
	kfree(reply);
	return ret;
}

/*
 * Whether a path that was up before can continue in a session with these
 * limits. Queue and request sizes are fixed when the path is made, since
 * requests of that size may wait. A queue pair less is no problem.
 */
bool snvme_limits_fit(struct snvme_path *path,
		      const struct snvme_limits *limits)
{
	return !strcmp(limits->subnqn, path->limits.subnqn) &&
	       limits->max_bytes >= path->max_bytes &&
	       limits->max_entries >= path->queues[0].entries &&
	       NVME_CAP_MQES(limits->cap) + 1 >= path->queues[0].entries &&
	       limits->quirks == path->limits.quirks;
}

/* ---- the drive ---- */

static int snvme_identify(struct snvme_path *path, u8 cns, u32 nsid,
			  void *data)
{
	struct nvme_command cmd = { };

	cmd.identify.opcode = nvme_admin_identify;
	cmd.identify.cns = cns;
	cmd.identify.nsid = cpu_to_le32(nsid);
	memset(data, 0, NVME_IDENTIFY_DATA_SIZE);
	return nvme_submit_sync_cmd(path->ctrl.admin_q, &cmd, data,
				    NVME_IDENTIFY_DATA_SIZE);
}

/* Does a descriptor say something else than nvme-core knows? */
static bool snvme_id_differs(const struct nvme_ns_ids *ids, u8 type, u8 len,
			     const u8 *id)
{
	switch (type) {
	case NVME_NIDT_EUI64:
		return len != NVME_NIDT_EUI64_LEN ||
		       memcmp(ids->eui64, id, sizeof(ids->eui64));
	case NVME_NIDT_NGUID:
		return len != NVME_NIDT_NGUID_LEN ||
		       memcmp(ids->nguid, id, sizeof(ids->nguid));
	case NVME_NIDT_UUID:
		return len != NVME_NIDT_UUID_LEN ||
		       memcmp(&ids->uuid, id, sizeof(ids->uuid));
	}
	return false;
}

static bool snvme_descriptors_differ(const struct nvme_ns_ids *ids,
				     const u8 *data)
{
	size_t at = 0;

	while (at + sizeof(struct nvme_ns_id_desc) < NVME_IDENTIFY_DATA_SIZE) {
		const struct nvme_ns_id_desc *d = (const void *)(data + at);

		at += sizeof(*d);
		if (!d->nidl || at + d->nidl > NVME_IDENTIFY_DATA_SIZE)
			break;
		if (snvme_id_differs(ids, d->nidt, d->nidl, data + at))
			return true;
		at += d->nidl;
	}
	return false;
}

static bool snvme_zero(const void *data, size_t size)
{
	return !memchr_inv(data, 0, size);
}

/* For drives without the descriptors. */
static bool snvme_ns_differs(const struct nvme_ns_ids *ids,
			     const struct nvme_id_ns *id)
{
	return (!snvme_zero(ids->eui64, sizeof(ids->eui64)) &&
		memcmp(ids->eui64, id->eui64, sizeof(ids->eui64))) ||
	       (!snvme_zero(ids->nguid, sizeof(ids->nguid)) &&
		memcmp(ids->nguid, id->nguid, sizeof(ids->nguid)));
}

/* A namespace that was removed is no reason: the rescan removes it. */
static int snvme_check_ns(struct nvme_ns *ns, void *data)
{
	struct snvme_path *path = to_snvme_path(ns->ctrl);
	const struct nvme_ns_ids *ids = snvme_core_ns_ids(ns);
	u32 nsid = snvme_core_nsid(ns);
	int ret = NVME_SC_INVALID_FIELD;
	bool differs = false;

	if (snvme_core_ids_bogus(&path->ctrl))
		return 0;
	if (snvme_core_has_descriptors(&path->ctrl))
		ret = snvme_identify(path, NVME_ID_CNS_NS_DESC_LIST, nsid,
				     data);
	if (!ret) {
		differs = snvme_descriptors_differ(ids, data);
	} else if (ret > 0 && ret != NVME_SC_HOST_PATH_ERROR) {
		ret = snvme_identify(path, NVME_ID_CNS_NS, nsid, data);
		if (!ret)
			differs = snvme_ns_differs(ids, data);
	}
	if (differs) {
		dev_err(path->ctrl.device,
			"namespace %u is another one than before\n", nsid);
		return -ESTALE;
	}
	return ret < 0 || ret == NVME_SC_HOST_PATH_ERROR ? -ENOLINK : 0;
}

/*
 * Is it the drive of before? Its admin commands work. May sleep. Return: 0;
 * -ESTALE: another one, said in the log; another negative error: unknown.
 */
int snvme_identity_check(struct snvme_path *path)
{
	struct nvme_ctrl *ctrl = &path->ctrl;
	struct nvme_id_ctrl *id;
	int ret;

	id = kmalloc(NVME_IDENTIFY_DATA_SIZE, GFP_KERNEL);
	if (!id)
		return -ENOMEM;
	ret = snvme_identify(path, NVME_ID_CNS_CTRL, 0, id);
	if (ret) {
		ret = -ENOLINK;
		goto out;
	}
	if (!snvme_core_same_drive(ctrl, id) ||
	    strncmp(id->subnqn, path->opts.subsysnqn, sizeof(id->subnqn))) {
		dev_err(ctrl->device,
			"another drive than before: serial %.20s, was %.20s\n",
			id->sn, snvme_core_serial(ctrl));
		ret = -ESTALE;
		goto out;
	}
	ret = snvme_core_each_ns(ctrl, snvme_check_ns, id);
out:
	kfree(id);
	return ret;
}
