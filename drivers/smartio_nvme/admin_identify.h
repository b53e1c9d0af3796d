/* SPDX-License-Identifier: GPL-2.0 */
/* Rewrites data in which the controller describes itself, for a client. */
#ifndef _SMARTIO_NVME_ADMIN_IDENTIFY_H
#define _SMARTIO_NVME_ADMIN_IDENTIFY_H

#include <linux/nvme.h>
#include <linux/types.h>

/* Features of asynchronous events that a client may choose. */
#define ADMIN_EVENTS_SMART	0x1f
#define ADMIN_EVENTS		(ADMIN_EVENTS_SMART | NVME_AEN_CFG_NS_ATTR)

/**
 * struct admin_view - the virtual controller of a session
 * @cntlid: its controller identifier
 * @mdts: its largest transfer, as MDTS says it; not 0
 * @subnqn: of the subsystem, NUL-terminated
 */
struct admin_view {
	u16 cntlid;
	u8 mdts;
	const char *subnqn;
};

void admin_rewrite_ctrl(struct nvme_id_ctrl *id, const struct admin_view *view);
void admin_rewrite_ns(struct nvme_id_ns *id);
void admin_rewrite_ns_indep(struct nvme_id_ns_cs_indep *id);
void admin_rewrite_effects(struct nvme_effects_log *log);
u64 admin_rewrite_cap(u64 cap);
u8 admin_mdts(u8 drive, u64 cap, u32 carried);

#endif /* _SMARTIO_NVME_ADMIN_IDENTIFY_H */
