// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses of a request's data, for the controller.
 *
 * Mapped for the smartio device's DMA device, a request is one run of addresses
 * where an IOMMU translates: then one SGL descriptor says it all, if the
 * controller knows SGLs. Else a PRP list is written beside the SQ, with the
 * same posted write-combining stores as the command: each tag has its slot
 * there.
 *
 * A request in one page is mapped at the address of its tag (its slot), where
 * an IOMMU is strict.
 *
 * Where the device reaches only memory made for it, data is copied (bounced).
 */
#include <linux/blk-integrity.h>
#include <linux/dma-map-ops.h>
#include <linux/genalloc.h>
#include <linux/iommu.h>
#include <linux/pci.h>

#include "client.h"

/* Here, since all other users of tracepoints are above this file. */
#define CREATE_TRACE_POINTS
#include "client_trace.h"

/* ---- the bounce memory ---- */

/* Allocates it, with a session open: 0 or -ENOMEM. May sleep. */
int snvme_bounce_init(struct snvme_path *path)
{
	struct snvme_bounce *b = &path->bounce;

	b->size = max(path->config.bounce_bytes, path->max_bytes);
	/* The pool may be small and shared: less will do. */
	for (;;) {
		b->cpu = smartio_dma_alloc(path->sdev, b->size, &b->dma,
					   GFP_KERNEL | __GFP_NOWARN);
		if (b->cpu || b->size / 2 < path->max_bytes)
			break;
		b->size = PAGE_ALIGN(b->size / 2);
	}
	if (!b->cpu)
		return -ENOMEM;
	b->pool = gen_pool_create(NVME_CTRL_PAGE_SHIFT, NUMA_NO_NODE);
	if (!b->pool || gen_pool_add_virt(b->pool, (unsigned long)b->cpu,
					  b->dma, b->size, NUMA_NO_NODE)) {
		snvme_bounce_exit(path);
		return -ENOMEM;
	}
	return 0;
}

/* Frees it; no request has any of it. */
void snvme_bounce_exit(struct snvme_path *path)
{
	struct snvme_bounce *b = &path->bounce;

	if (b->pool)
		gen_pool_destroy(b->pool);
	smartio_dma_free(path->sdev, b->size, b->cpu, b->dma);
	memset(b, 0, sizeof(*b));
}

static void snvme_bounce_copy(struct request *rq, void *buf, bool to_rq)
{
	struct req_iterator it;
	struct bio_vec bv;

	/* The ranges of a deallocate are not in the bio. */
	if (rq->rq_flags & RQF_SPECIAL_PAYLOAD) {
		if (!to_rq)
			memcpy_from_bvec(buf, &rq->special_vec);
		return;
	}
	rq_for_each_segment(bv, rq, it) {
		if (to_rq)
			memcpy_to_bvec(&bv, buf);
		else
			memcpy_from_bvec(buf, &bv);
		buf += bv.bv_len;
	}
}

/* ---- slots: an address for each tag ---- */

/*
 * The DMA API searches for addresses for each request, and looks for the page
 * when it unmaps one. Slots save both. The IOMMU's own calls map a page there
 * for as long as a request has it. iommu_unmap() invalidates at once, so slots
 * are for strict IOMMUs only.
 *
 * The DMA API allocates the addresses, for the page of zeros. It never gives
 * them to others. Nothing is mapped there between requests.
 */

static bool snvme_slots_suit(struct device *dev, struct iommu_domain *domain)
{
	/* the DMA API copies parts of pages for an untrusted device */
	return domain && domain->type == IOMMU_DOMAIN_DMA &&
	       domain->pgsize_bitmap & PAGE_SIZE && dev_is_dma_coherent(dev) &&
	       !(dev_is_pci(dev) && to_pci_dev(dev)->untrusted);
}

/* The addresses of a slot are one run; a part of all addresses at most. */
static bool snvme_slots_fit(struct snvme_queue *q)
{
	u64 all = (u64)q->path->max_queues * q->entries * PAGE_SIZE;

	return all <= dma_get_mask(q->path->dma_dev) / 16;
}

/* I/O works without them. May sleep. */
void snvme_slots_alloc(struct snvme_queue *q)
{
	struct device *dev = q->path->dma_dev;
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);
	struct sg_table *sgt = &q->slots_sgt;
	struct scatterlist *sg;
	dma_addr_t dma;
	unsigned int i;

	if (!snvme_slots_suit(dev, domain) || !snvme_slots_fit(q) ||
	    sg_alloc_table(sgt, q->entries, GFP_KERNEL | __GFP_NOWARN))
		return;
	for_each_sgtable_sg(sgt, sg, i)
		sg_set_page(sg, ZERO_PAGE(0), PAGE_SIZE, 0);
	if (dma_map_sgtable(dev, sgt, DMA_TO_DEVICE, DMA_ATTR_NO_WARN)) {
		sg_free_table(sgt);
		return;
	}
	dma = sg_dma_address(sgt->sgl);
	if (sgt->nents > 1) {
		dma_unmap_sgtable(dev, sgt, DMA_TO_DEVICE, 0);
		sg_free_table(sgt);
		return;
	}
	iommu_unmap(domain, dma, q->entries * PAGE_SIZE);
	q->slots_domain = domain;
	q->slots = dma;
}

/* No request has one. May sleep. */
void snvme_slots_free(struct snvme_queue *q)
{
	struct sg_table *sgt = &q->slots_sgt;

	if (!q->slots_domain)
		return;
	/* The DMA API unmaps the page of zeros. Else the addresses are lost. */
	if (iommu_map_sg(q->slots_domain, q->slots, sgt->sgl, sgt->orig_nents,
			 IOMMU_READ, GFP_NOIO) > 0)
		dma_unmap_sgtable(q->path->dma_dev, sgt, DMA_TO_DEVICE, 0);
	sg_free_table(sgt);
	q->slots_domain = NULL;
}

/* ---- data pointers of the command ---- */

static void snvme_list_put(struct snvme_queue *q, struct request *rq,
			   unsigned int index, u64 addr)
{
	size_t at = (size_t)rq->tag * q->list_slot + index * sizeof(__le64);

	if (q->list_io)
		__raw_writeq((__force u64)cpu_to_le64(addr), q->list_io + at);
	else
		*(__le64 *)(q->list_cpu + at) = cpu_to_le64(addr);
}

static u64 snvme_list_addr(struct snvme_queue *q, struct request *rq)
{
	return q->list_addr + (u64)rq->tag * q->list_slot;
}

/* For snvme_set_one(): more than the @first bytes to the end of a page. */
static void snvme_set_more(struct snvme_queue *q, struct request *rq, u64 addr,
			   u32 len, unsigned int first)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);
	struct snvme_path *path = q->path;
	struct nvme_command *cmd = &iod->cmd;
	unsigned int n = 0;

	if (len <= first + NVME_CTRL_PAGE_SIZE) {
		cmd->common.dptr.prp2 = cpu_to_le64(addr + first);
		goto out;
	}
	if (path->config.sgl_threshold && len >= path->config.sgl_threshold &&
	    nvme_ctrl_sgl_supported(&path->ctrl)) {
		cmd->common.flags |= NVME_CMD_SGL_METABUF;
		memset(&cmd->common.dptr, 0, sizeof(cmd->common.dptr));
		cmd->common.dptr.sgl.addr = cpu_to_le64(addr);
		cmd->common.dptr.sgl.length = cpu_to_le32(len);
		cmd->common.dptr.sgl.type = NVME_SGL_FMT_DATA_DESC << 4;
		snvme_count(path, SNVME_STAT_SGLS, 1);
		trace_snvme_map(q, rq, iod, true, 0);
		return;
	}
	for (u64 at = addr + first; at < addr + len; at += NVME_CTRL_PAGE_SIZE)
		snvme_list_put(q, rq, n++, at);
	cmd->common.dptr.prp2 = cpu_to_le64(snvme_list_addr(q, rq));
	snvme_count(path, SNVME_STAT_LISTS, 1);
out:
	trace_snvme_map(q, rq, iod, false, n);
}

/* @len bytes at @addr, a device address. */
static inline void snvme_set_one(struct snvme_queue *q, struct request *rq,
				 u64 addr, u32 len)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);
	struct nvme_command *cmd = &iod->cmd;
	unsigned int first = NVME_CTRL_PAGE_SIZE -
			     (addr & (NVME_CTRL_PAGE_SIZE - 1));

	cmd->common.flags &= ~NVME_CMD_SGL_ALL;
	cmd->common.dptr.prp1 = cpu_to_le64(addr);
	cmd->common.dptr.prp2 = 0;
	if (len > first)
		snvme_set_more(q, rq, addr, len, first);
	else
		trace_snvme_map(q, rq, iod, false, 0);
}

/*
 * Several runs: all but the first begin, and all but the last end, at a page
 * boundary, as the queue limits demand (virt_boundary_mask).
 */
static void snvme_set_scattered(struct snvme_queue *q, struct request *rq)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);
	struct nvme_command *cmd = &iod->cmd;
	unsigned int i, n = 0;
	struct scatterlist *sg;
	u64 second = 0;

	cmd->common.flags &= ~NVME_CMD_SGL_ALL;
	for_each_sgtable_dma_sg(&iod->sgt, sg, i) {
		u64 at = smartio_to_device(q->path->sdev, sg_dma_address(sg));
		u64 end = at + sg_dma_len(sg);

		while (at < end) {
			/* One entry late: two pages need no list. */
			if (!n)
				cmd->common.dptr.prp1 = cpu_to_le64(at);
			else if (n == 1)
				second = at;
			else
				snvme_list_put(q, rq, n - 1, at);
			n++;
			at = (at | (NVME_CTRL_PAGE_SIZE - 1)) + 1;
		}
	}
	if (n > 2) {
		snvme_list_put(q, rq, 0, second);
		second = snvme_list_addr(q, rq);
		snvme_count(q->path, SNVME_STAT_LISTS, 1);
	}
	cmd->common.dptr.prp2 = cpu_to_le64(second);
	trace_snvme_map(q, rq, iod, false, n > 2 ? n - 1 : 0);
}

/* ---- the mapping ---- */

/* Out of line, as for several runs: most requests are one, and mapped. */
static noinline blk_status_t snvme_map_bounce(struct snvme_queue *q,
					      struct request *rq)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);
	struct snvme_path *path = q->path;
	u32 len = blk_rq_payload_bytes(rq);

	iod->bounce = gen_pool_dma_alloc(path->bounce.pool, len, &iod->dma);
	if (!iod->bounce) {
		/* Requests of any queue may have it all: come back in a while. */
		snvme_count(path, SNVME_STAT_BOUNCE_FULL, 1);
		return BLK_STS_RESOURCE;
	}
	iod->mapped = SNVME_MAPPED_BOUNCE;
	iod->len = len;
	if (rq_data_dir(rq) == WRITE)
		snvme_bounce_copy(rq, iod->bounce, false);
	snvme_count(path, SNVME_STAT_BOUNCED, 1);
	snvme_count(path, SNVME_STAT_BOUNCED_BYTES, len);
	snvme_set_one(q, rq, smartio_to_device(path->sdev, iod->dma), len);
	return BLK_STS_OK;
}

/* Out of line: the benchmark counts its calls as mappings. */
static noinline blk_status_t snvme_map_slot(struct snvme_queue *q,
					    struct request *rq,
					    phys_addr_t phys, u32 len)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);
	dma_addr_t slot = q->slots + (dma_addr_t)rq->tag * PAGE_SIZE;
	int prot = IOMMU_CACHE;

	prot |= rq_data_dir(rq) == WRITE ? IOMMU_READ : IOMMU_WRITE;
	if (iommu_map(q->slots_domain, slot, phys & PAGE_MASK, PAGE_SIZE, prot,
		      GFP_ATOMIC))
		return BLK_STS_RESOURCE;
	iod->mapped = SNVME_MAPPED_SLOT;
	iod->dma = slot + offset_in_page(phys);
	snvme_set_one(q, rq, smartio_to_device(q->path->sdev, iod->dma), len);
	return BLK_STS_OK;
}

static void snvme_unmap_slot(struct request *rq)
{
	struct snvme_queue *q = rq->mq_hctx->driver_data;
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);

	WARN_ON_ONCE(iommu_unmap(q->slots_domain, iod->dma & PAGE_MASK,
				 PAGE_SIZE) != PAGE_SIZE);
}

static blk_status_t snvme_map_one(struct snvme_queue *q, struct request *rq)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);
	struct bio_vec bv = req_bvec(rq);
	phys_addr_t phys = page_to_phys(bv.bv_page) + bv.bv_offset;

	if (q->slots_domain && offset_in_page(phys) + bv.bv_len <= PAGE_SIZE)
		return snvme_map_slot(q, rq, phys, bv.bv_len);
	iod->dma = dma_map_bvec(q->path->dma_dev, &bv, rq_dma_dir(rq),
				DMA_ATTR_NO_WARN);
	if (dma_mapping_error(q->path->dma_dev, iod->dma))
		return BLK_STS_RESOURCE;
	iod->mapped = SNVME_MAPPED_ONE;
	iod->len = bv.bv_len;
	snvme_set_one(q, rq, smartio_to_device(q->path->sdev, iod->dma),
		      iod->len);
	return BLK_STS_OK;
}

static noinline blk_status_t snvme_map_sg(struct snvme_queue *q,
					  struct request *rq)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);
	u64 addr;
	int ret;

	sg_init_table(iod->sg, blk_rq_nr_phys_segments(rq));
	iod->sgt.sgl = iod->sg;
	iod->sgt.orig_nents = compat_rq_map_sg(rq, iod->sg);
	if (!iod->sgt.orig_nents)
		return BLK_STS_IOERR;
	ret = dma_map_sgtable(q->path->dma_dev, &iod->sgt, rq_dma_dir(rq),
			      DMA_ATTR_NO_WARN);
	if (ret)
		return ret == -EREMOTEIO ? BLK_STS_TARGET : BLK_STS_RESOURCE;
	iod->mapped = SNVME_MAPPED_SG;
	if (iod->sgt.nents > 1) {
		snvme_set_scattered(q, rq);
		return BLK_STS_OK;
	}
	addr = smartio_to_device(q->path->sdev, sg_dma_address(iod->sgt.sgl));
	snvme_set_one(q, rq, addr, blk_rq_payload_bytes(rq));
	return BLK_STS_OK;
}

/*
 * Lets the device reach the data of a request, and puts the addresses into its
 * command, which has been set up. BLK_STS_RESOURCE: later. Any context.
 */
blk_status_t snvme_map(struct snvme_queue *q, struct request *rq)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);

	iod->mapped = SNVME_MAPPED_NONE;
	if (!blk_rq_nr_phys_segments(rq))
		return BLK_STS_OK;
	if (q->path->bounce.pool)
		return snvme_map_bounce(q, rq);
	if (blk_rq_nr_phys_segments(rq) == 1)
		return snvme_map_one(q, rq);
	return snvme_map_sg(q, rq);
}

/* The device has done with the data. Any context. */
void snvme_unmap(struct snvme_path *path, struct request *rq)
{
	struct snvme_iod *iod = blk_mq_rq_to_pdu(rq);

	switch (iod->mapped) {
	case SNVME_MAPPED_SLOT:
		snvme_unmap_slot(rq);
		break;
	case SNVME_MAPPED_ONE:
		dma_unmap_page(path->dma_dev, iod->dma, iod->len,
			       rq_dma_dir(rq));
		break;
	case SNVME_MAPPED_SG:
		dma_unmap_sgtable(path->dma_dev, &iod->sgt, rq_dma_dir(rq), 0);
		break;
	case SNVME_MAPPED_BOUNCE:
		if (rq_data_dir(rq) == READ && !nvme_req(rq)->status)
			snvme_bounce_copy(rq, iod->bounce, true);
		gen_pool_free(path->bounce.pool, (unsigned long)iod->bounce,
			      iod->len);
		break;
	}
	iod->mapped = SNVME_MAPPED_NONE;
}
