// SPDX-License-Identifier: GPL-2.0
/*
 * Virtual controllers: what stays of a host's way to the controller from one
 * session to the next.
 */
#include <linux/jhash.h>
#include <linux/slab.h>

#include "mgr.h"

static bool mgr_cntlid_used(struct mgr *m, u16 cntlid)
{
	struct mgr_vctrl *known;

	if (cntlid == le16_to_cpu(m->id->cntlid))
		return true;
	list_for_each_entry(known, &m->vctrls, entry)
		if (known->cntlid == cntlid)
			return true;
	return false;
}

/* Made from host and link, so that it is mostly the same after a reboot. */
static bool mgr_cntlid_choose(struct mgr *m, struct mgr_vctrl *vctrl)
{
	u32 hash = jhash(&vctrl->host, sizeof(vctrl->host),
			 jhash(vctrl->link_name, sizeof(vctrl->link_name), 0));
	u32 tries;

	for (tries = 0; tries < MGR_CNTLID_COUNT; tries++, hash++) {
		vctrl->cntlid = MGR_CNTLID_FIRST + hash % MGR_CNTLID_COUNT;
		if (!mgr_cntlid_used(m, vctrl->cntlid))
			return true;
	}
	return false;
}

/**
 * mgr_vctrl_get() - the virtual controller of a session
 * @m: the controller
 * @s: the session
 *
 * Context: process, may sleep; under sessions_lock.
 * Return: it, as long as @m is there; or -ENOMEM, -ENOSPC.
 */
struct mgr_vctrl *mgr_vctrl_get(struct mgr *m, const struct smartio_session *s)
{
	struct mgr_vctrl *vctrl;

	list_for_each_entry(vctrl, &m->vctrls, entry)
		if (uuid_equal(&vctrl->host, &s->host) &&
		    !strcmp(vctrl->link_name, s->link_name))
			return vctrl;
	vctrl = kzalloc(sizeof(*vctrl), GFP_KERNEL);
	if (!vctrl)
		return ERR_PTR(-ENOMEM);
	vctrl->host = s->host;
	strscpy(vctrl->link_name, s->link_name);
	export_uuid(vctrl->host_id, &s->host);
	xa_init(&vctrl->notice_masks);
	if (!mgr_cntlid_choose(m, vctrl)) {
		kfree(vctrl);
		return ERR_PTR(-ENOSPC);
	}
	list_add(&vctrl->entry, &m->vctrls);
	return vctrl;
}

/**
 * mgr_vctrls_free() - and back
 * @m: the controller, without sessions
 *
 * Context: process.
 */
void mgr_vctrls_free(struct mgr *m)
{
	struct mgr_vctrl *vctrl, *next;

	list_for_each_entry_safe(vctrl, next, &m->vctrls, entry) {
		list_del(&vctrl->entry);
		xa_destroy(&vctrl->notice_masks);
		kfree(vctrl);
	}
}
