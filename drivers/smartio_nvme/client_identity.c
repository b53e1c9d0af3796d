// SPDX-License-Identifier: GPL-2.0
/*
 * Behind a link that comes back may be another drive. nvme-core doesn't look
 * when a controller reconnects, and by the time it rescans namespaces, I/O goes
 * to them again: so this compares before.
 */
#include <linux/slab.h>
#include <linux/unaligned.h>

#include "client.h"

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

/* As nvme_identify_ns_descs(): then it has not asked either. */
static bool snvme_has_descriptors(struct nvme_ctrl *ctrl)
{
	return (ctrl->vs >= NVME_VS(1, 3, 0) || nvme_multi_css(ctrl)) &&
	       !(ctrl->quirks & NVME_QUIRK_NO_NS_DESC_LIST);
}

/* A namespace that is gone is no reason: the rescan removes it. */
static int snvme_check_ns(struct snvme_path *path, struct nvme_ns *ns,
			  void *data)
{
	const struct nvme_ns_ids *ids = &ns->head->ids;
	int ret = NVME_SC_INVALID_FIELD;
	bool differs = false;

	if (path->ctrl.quirks & NVME_QUIRK_BOGUS_NID)
		return 0;
	if (snvme_has_descriptors(&path->ctrl))
		ret = snvme_identify(path, NVME_ID_CNS_NS_DESC_LIST,
				     ns->head->ns_id, data);
	if (!ret) {
		differs = snvme_descriptors_differ(ids, data);
	} else if (ret > 0 && ret != NVME_SC_HOST_PATH_ERROR) {
		ret = snvme_identify(path, NVME_ID_CNS_NS, ns->head->ns_id,
				     data);
		if (!ret)
			differs = snvme_ns_differs(ids, data);
	}
	if (differs) {
		dev_err(path->ctrl.device,
			"namespace %u is another one than before\n",
			ns->head->ns_id);
		return -ESTALE;
	}
	return ret < 0 || ret == NVME_SC_HOST_PATH_ERROR ? -ENOLINK : 0;
}

/**
 * snvme_identity_check() - is it the drive that it was?
 * @path: that was up once; its admin commands work
 *
 * Context: process, may sleep.
 * Return: 0; -ESTALE: another one, said in the log; another negative error:
 * can't say.
 */
int snvme_identity_check(struct snvme_path *path)
{
	struct nvme_ctrl *ctrl = &path->ctrl;
	struct nvme_subsystem *subsys = ctrl->subsys;
	struct nvme_id_ctrl *id;
	struct nvme_ns *ns;
	int ret, idx;

	id = kmalloc(NVME_IDENTIFY_DATA_SIZE, GFP_KERNEL);
	if (!id)
		return -ENOMEM;
	ret = snvme_identify(path, NVME_ID_CNS_CTRL, 0, id);
	if (ret) {
		ret = -ENOLINK;
		goto out;
	}
	if (memcmp(id->sn, subsys->serial, sizeof(id->sn)) ||
	    memcmp(id->mn, subsys->model, sizeof(id->mn)) ||
	    strncmp(id->subnqn, path->opts.subsysnqn, sizeof(id->subnqn))) {
		dev_err(ctrl->device,
			"another drive than before: serial %.20s, was %.20s\n",
			id->sn, subsys->serial);
		ret = -ESTALE;
		goto out;
	}
	idx = srcu_read_lock(&ctrl->srcu);
	list_for_each_entry_srcu(ns, &ctrl->namespaces, list,
				 srcu_read_lock_held(&ctrl->srcu)) {
		ret = snvme_check_ns(path, ns, id);
		if (ret)
			break;
	}
	srcu_read_unlock(&ctrl->srcu, idx);
out:
	kfree(id);
	return ret;
}
