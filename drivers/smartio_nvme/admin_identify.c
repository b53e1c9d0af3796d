// SPDX-License-Identifier: GPL-2.0
/*
 * Rewriting of Identify data and the effects log for clients: a controller
 * among several of its subsystem, without functions that a client may not use.
 * User space compiles this file too.
 */
#include <linux/bits.h>
#include <linux/string.h>

#include "admin_identify.h"
#include "admin_table.h"

/* CAP (NVMe base 3.1.1): the virtual controller does not have these. */
#define CAP_NSSRS		BIT_ULL(36)
#define CAP_BPS			BIT_ULL(45)
#define CAP_PMRS		BIT_ULL(56)
#define CAP_CMBS		BIT_ULL(57)
#define CAP_NSSS		BIT_ULL(58)
#define CAP_CRMS		(3ULL << 59)

/*
 * LPA: SMART per namespace, effects log, offsets. Telemetry and others are
 * masked.
 */
#define LPA_KEPT		0x07
/* ONCS: without Save in Set Features and Timestamp. */
#define ONCS_KEPT		(~((1 << 4) | NVME_CTRL_ONCS_TIMESTAMP))
/* RESCAP: all types, through a loss of power, IEKEY as of version 1.3. */
#define RESCAP			0xff

/* I/O commands that the manager executes: reservations. */
static const u8 own_io[] = {
	nvme_cmd_resv_register, nvme_cmd_resv_report,
	nvme_cmd_resv_acquire, nvme_cmd_resv_release,
};

/**
 * admin_rewrite_ctrl() - Identify Controller for a client
 * @id: the controller's data; changed
 * @view: the client's virtual controller
 *
 * Context: any.
 */
void admin_rewrite_ctrl(struct nvme_id_ctrl *id, const struct admin_view *view)
{
	size_t length = strnlen(view->subnqn, sizeof(id->subnqn) - 1);

	id->cntlid = cpu_to_le16(view->cntlid);
	id->mdts = view->mdts;
	memset(id->subnqn, 0, sizeof(id->subnqn));
	memcpy(id->subnqn, view->subnqn, length);

	/* One of several controllers, with no asymmetric access. */
	id->cmic = NVME_CTRL_CMIC_MULTI_CTRL;
	id->anatt = 0;
	id->anacap = 0;
	id->anagrpmax = 0;
	id->nanagrpid = 0;

	/* Events that are passed on; one request for them at a time. */
	id->oaes &= cpu_to_le32(NVME_AEN_CFG_NS_ATTR);
	id->aerl = 0;

	/* No optional admin command, and what goes with them. */
	id->oacs = 0;
	id->frmw = 0;
	id->fwug = 0;
	id->mtfa = 0;
	id->edstt = 0;
	id->dsto = 0;
	id->sanicap = 0;
	id->fna = 0;
	id->rpmbs = 0;
	id->nwpc = 0;
	id->lpa &= LPA_KEPT;

	id->oncs &= cpu_to_le16(ONCS_KEPT);
	id->oncs |= cpu_to_le16(NVME_CTRL_ONCS_RESERVATIONS);
	id->ctratt = cpu_to_le32(NVME_CTRL_ATTR_HID_128_BIT);
	id->kas = 0;
	id->crdt1 = 0;
	id->crdt2 = 0;
	id->crdt3 = 0;

	/* Power and heat are the lender's; so is its memory. */
	id->npss = 0;
	id->apsta = 0;
	id->hctma = 0;
	id->mntmt = 0;
	id->mxtmt = 0;
	memset(&id->psd[1], 0, sizeof(id->psd) - sizeof(id->psd[0]));
	id->hmpre = 0;
	id->hmmin = 0;
	id->hmminds = 0;
	id->hmmaxd = 0;
}

/* Several hosts use the namespace; reservations are the manager's. */
void admin_rewrite_ns(struct nvme_id_ns *id)
{
	/* All zero says that there is no such namespace. */
	if (!id->nsze && !id->ncap)
		return;
	id->nmic |= NVME_NS_NMIC_SHARED;
	id->rescap = RESCAP;
	id->anagrpid = 0;
}

void admin_rewrite_ns_indep(struct nvme_id_ns_cs_indep *id)
{
	static const struct nvme_id_ns_cs_indep none;

	if (!memcmp(id, &none, sizeof(none)))
		return;
	id->nmic |= NVME_NS_NMIC_SHARED;
	id->rescap = RESCAP;
	id->anagrpid = 0;
}

/* Marks commands that the manager refuses as not supported. */
void admin_rewrite_effects(struct nvme_effects_log *log)
{
	size_t i;

	for (i = 0; i < 256; i++)
		if (!admin_supported(i))
			log->acs[i] = 0;
	for (i = 0; i < sizeof(own_io); i++)
		log->iocs[own_io[i]] = cpu_to_le32(NVME_CMD_EFFECTS_CSUPP);
}

u64 admin_rewrite_cap(u64 cap)
{
	return cap & ~(CAP_NSSRS | CAP_BPS | CAP_PMRS | CAP_CMBS | CAP_NSSS |
		       CAP_CRMS);
}

/**
 * admin_mdts() - the largest transfer for clients
 * @drive: the controller's own MDTS, 0: no limit
 * @cap: its CAP register
 * @carried: bytes that clients can carry, a power of two from 64 KiB on
 *
 * Context: any.
 * Return: an MDTS, in the controller's unit, never 0.
 */
u8 admin_mdts(u8 drive, u64 cap, u32 carried)
{
	u32 unit = 4096u << ((cap >> 48) & 0xf);
	u8 mdts = 1;

	while (mdts < 20 && ((u64)unit << (mdts + 1)) <= carried)
		mdts++;
	return drive && drive < mdts ? drive : mdts;
}
