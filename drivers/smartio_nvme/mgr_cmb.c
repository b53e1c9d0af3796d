// SPDX-License-Identifier: GPL-2.0
/*
 * The controller memory buffer (NVMe base 3.1.11, 3.1.12, 3.1.18): memory of
 * the controller that submission queues can be in. A piece of a session stays its
 * own until the session ends, for the session can write it.
 */
#include <linux/io-64-nonatomic-hi-lo.h>
#include <linux/slab.h>

#include "mgr.h"

#define CMBSZ_UNIT(cmbsz)	(1ULL << (12 + 4 * (((cmbsz) >> 8) & 0xf)))
#define CMBSZ_SIZE(cmbsz)	((u64)(cmbsz) >> 12)
#define CMBLOC_BIR(cmbloc)	((cmbloc) & 0x7)
#define CMBLOC_OFFSET(cmbloc)	((u64)(cmbloc) >> 12)

/* Once, with the controller disabled. No CMB is no error. */
int mgr_cmb_setup(struct mgr *m)
{
	struct mgr_cmb *cmb = &m->cmb;
	resource_size_t length;
	u32 cmbsz, cmbloc;
	u64 offset, size;
	int ret;

	if (NVME_CAP_CMBS(m->ctrl.cap))
		writel(NVME_CMBMSC_CRE, m->bar + NVME_REG_CMBMSC);
	cmbsz = readl(m->bar + NVME_REG_CMBSZ);
	if (!cmbsz || !(cmbsz & NVME_CMBSZ_SQS))
		return 0;
	cmbloc = readl(m->bar + NVME_REG_CMBLOC);
	offset = CMBSZ_UNIT(cmbsz) * CMBLOC_OFFSET(cmbloc);
	size = CMBSZ_UNIT(cmbsz) * CMBSZ_SIZE(cmbsz);
	cmb->bar = CMBLOC_BIR(cmbloc);
	length = cmb->bar < PCI_STD_NUM_BARS ?
		 pci_resource_len(m->pdev, cmb->bar) : 0;
	if (offset >= length || offset % PAGE_SIZE) {
		dev_warn(&m->pdev->dev, "CMB at %#llx of BAR %u not usable\n",
			 offset, cmb->bar);
		return 0;
	}
	cmb->offset = offset;
	cmb->size = ALIGN_DOWN(min_t(u64, size, length - offset), PAGE_SIZE);
	cmb->start = pci_bus_address(m->pdev, cmb->bar) + offset;

	cmb->pool = gen_pool_create(PAGE_SHIFT, dev_to_node(&m->pdev->dev));
	if (!cmb->pool)
		return -ENOMEM;
	ret = gen_pool_add(cmb->pool, cmb->start, cmb->size,
			   dev_to_node(&m->pdev->dev));
	if (ret)
		mgr_cmb_free(m);
	return ret;
}

/* At each start, with the controller disabled: where hosts see it. */
void mgr_cmb_enable(struct mgr *m)
{
	if (m->cmb.pool && NVME_CAP_CMBS(m->ctrl.cap))
		hi_lo_writeq(NVME_CMBMSC_CRE | NVME_CMBMSC_CMSE | m->cmb.start,
			     m->bar + NVME_REG_CMBMSC);
}

void mgr_cmb_free(struct mgr *m)
{
	if (m->cmb.pool)
		gen_pool_destroy(m->cmb.pool);
	m->cmb.pool = NULL;
}

/* Under broker_lock. NULL: there is not that much left. */
struct mgr_cmb_piece *mgr_cmb_get(struct mgr_session *session, size_t size)
{
	struct mgr *m = session->m;
	struct mgr_cmb_piece *piece;

	lockdep_assert_held(&m->broker_lock);
	if (!m->cmb.pool)
		return NULL;
	list_for_each_entry(piece, &session->pieces, entry) {
		if (!piece->used && piece->size >= size) {
			piece->used = true;
			return piece;
		}
	}
	piece = kzalloc(sizeof(*piece), GFP_KERNEL);
	if (!piece)
		return NULL;
	piece->size = PAGE_ALIGN(size);
	piece->addr = gen_pool_alloc(m->cmb.pool, piece->size);
	if (!piece->addr) {
		kfree(piece);
		return NULL;
	}
	piece->used = true;
	list_add(&piece->entry, &session->pieces);
	return piece;
}

/* Under broker_lock; the session is over, its queues are deleted. */
void mgr_cmb_return(struct mgr_session *session)
{
	struct mgr *m = session->m;
	struct mgr_cmb_piece *piece, *next;

	lockdep_assert_held(&m->broker_lock);
	list_for_each_entry_safe(piece, next, &session->pieces, entry) {
		gen_pool_free(m->cmb.pool, piece->addr, piece->size);
		list_del(&piece->entry);
		kfree(piece);
	}
}

/* Under broker_lock: bytes. */
u64 mgr_cmb_left(struct mgr *m)
{
	lockdep_assert_held(&m->broker_lock);
	return m->cmb.pool ? gen_pool_avail(m->cmb.pool) : 0;
}
