// SPDX-License-Identifier: GPL-2.0
/*
 * Commands to a page that this host has not mapped for the drive, or to an
 * address where smartio_nvme had one for a request. A Read command to it must
 * leave it as it is. A Write command from it must bring nothing onto the media.
 * Around them the same queue pair executes correct commands.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/iommu.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/nvme.h>

#include "probe.h"

#define UNMAPPED_ENTRIES	16
#define UNMAPPED_WAIT_MS	10000
#define UNMAPPED_FAULT_MS	200
#define MEDIA_PATTERN		0x5a
#define PAGE_PATTERN		0xa5

/**
 * struct unmapped - one run
 * @p: the path
 * @dma: the function for which memory is mapped
 * @pair: the queue pair
 * @db: both of its doorbells
 * @tail: of the SQ
 * @head: of the CQ
 * @phase: that the next completion has
 * @lba: first block of the media to use
 * @blocks: that one page has
 * @good: a page that is mapped
 * @good_dma: where
 * @stray: a page that is not, which shows whether it is left alone
 * @stray_dma: the address under which the drive looks for it
 */
struct unmapped {
	struct probe *p;
	struct device *dma;
	struct probe_pair pair;
	void __iomem *db;
	u16 tail;
	u16 head;
	u8 phase;
	u64 lba;
	u16 blocks;
	u8 *good;
	dma_addr_t good_dma;
	struct page *stray;
	dma_addr_t stray_dma;
};

static size_t doorbell(struct unmapped *u, bool cq)
{
	u32 stride = le32_to_cpu(u->p->attached.db_stride);

	return le32_to_cpu(u->p->attached.db_offset) +
	       (2 * (size_t)u->pair.qid + cq) * stride;
}

static void ring(struct unmapped *u, bool cq, u16 value)
{
	size_t first = round_down(doorbell(u, false), PAGE_SIZE);

	writel(value, u->db + (doorbell(u, cq) - first));
}

/* One command of one page; its status without the phase, or an error. */
static int command(struct unmapped *u, u8 opcode, dma_addr_t addr)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(UNMAPPED_WAIT_MS);
	struct nvme_completion *cqe = u->pair.cq.cpu;
	struct nvme_command cmd = {
		.rw.opcode = opcode,
		.rw.command_id = u->tail,
		.rw.nsid = cpu_to_le32(1),
		.rw.dptr.prp1 = cpu_to_le64(smartio_to_device(u->p->sdev,
							      addr)),
		.rw.slba = cpu_to_le64(u->lba),
		.rw.length = cpu_to_le16(u->blocks - 1),
	};
	size_t at = u->tail * sizeof(cmd);
	u16 status;

	if (u->pair.sq.io)
		memcpy_toio(u->pair.sq.io + at, &cmd, sizeof(cmd));
	else
		memcpy(u->pair.sq.cpu + at, &cmd, sizeof(cmd));
	u->tail = (u->tail + 1) % UNMAPPED_ENTRIES;
	wmb();	/* the command before its doorbell */
	ring(u, false, u->tail);

	cqe += u->head;
	while ((le16_to_cpu(READ_ONCE(cqe->status)) & 1) != u->phase) {
		if (time_after(jiffies, deadline))
			return -ETIMEDOUT;
		usleep_range(100, 500);
	}
	dma_rmb();	/* the rest of it was written before */
	status = le16_to_cpu(cqe->status) >> 1;
	if (++u->head == UNMAPPED_ENTRIES) {
		u->head = 0;
		u->phase ^= 1;
	}
	ring(u, true, u->head);
	return status;
}

static bool filled(const u8 *page, u8 pattern)
{
	return !memchr_inv(page, pattern, PAGE_SIZE);
}

/*
 * Where a request was; or never mapped: the physical address of a page. An
 * address that leads somewhere after all is none to try.
 */
static int stray_address(struct unmapped *u, u64 used)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(u->dma);

	if (!domain || !(domain->type & __IOMMU_DOMAIN_PAGING))
		return -EOPNOTSUPP;
	u->stray_dma = used ? used : page_to_phys(u->stray);
	return iommu_iova_to_phys(domain, u->stray_dma) ? -EADDRINUSE : 0;
}

static int unmapped_run(struct unmapped *u, u64 used)
{
	struct probe *p = u->p;
	u8 *stray = page_address(u->stray);
	int write, read, ret;
	const char *media;
	bool same;

	ret = stray_address(u, used);
	if (ret)
		return ret;
	memset(stray, PAGE_PATTERN, PAGE_SIZE);
	memset(u->good, MEDIA_PATTERN, PAGE_SIZE);
	ret = command(u, nvme_cmd_write, u->good_dma);
	if (ret)
		return ret < 0 ? ret : -EIO;

	read = command(u, nvme_cmd_read, u->stray_dma);
	if (read < 0)
		return read;
	/*
	 * An emulated IOMMU drops a fault of a device whose last one was not
	 * read yet (QEMU, vtd_try_collapse_fault()).
	 */
	msleep(UNMAPPED_FAULT_MS);
	write = command(u, nvme_cmd_write, u->stray_dma);
	if (write < 0)
		return write;
	same = filled(stray, PAGE_PATTERN);

	memset(u->good, 0, PAGE_SIZE);
	ret = command(u, nvme_cmd_read, u->good_dma);
	if (ret)
		return ret < 0 ? ret : -EIO;
	if (filled(u->good, MEDIA_PATTERN))
		media = "as it was";
	else if (filled(u->good, 0xff))
		media = "all ones";
	else
		media = filled(u->good, PAGE_PATTERN) ? "the page" : "other";
	snprintf(p->result, sizeof(p->result),
		 "address %#llx read %#x write %#x page %s media %s\n",
		 (u64)u->stray_dma, read, write, same ? "as it was" : "changed",
		 media);
	return 0;
}

static int unmapped_memory(struct unmapped *u)
{
	u->stray = alloc_page(GFP_KERNEL);
	u->good = dma_alloc_coherent(u->dma, PAGE_SIZE, &u->good_dma,
				     GFP_KERNEL);
	return u->stray && u->good ? 0 : -ENOMEM;
}

/**
 * probe_unmapped() - Read and Write with a page that the drive can't reach
 * @p: the path, over a link
 * @used: its address in the DMA address space of the path's device; 0: that of a
 *	page of its own, never mapped
 * @lba: first block to write
 * @blocks: that 4096 bytes are
 *
 * Return: 0 if all commands were completed; p->result says how.
 */
int probe_unmapped(struct probe *p, u64 used, u64 lba, unsigned int blocks)
{
	struct unmapped u = {
		.p = p, .lba = lba, .blocks = blocks, .phase = 1,
		.dma = smartio_dma_device(p->sdev),
	};
	size_t first;
	int ret, err;

	if (p->sdev->local || !blocks || blocks > 8)
		return -EINVAL;
	ret = probe_attach(p);
	if (ret)
		return ret;
	ret = probe_pair_create(p, &u.pair, SNVME_SQ_SEGMENT, false,
				UNMAPPED_ENTRIES);
	if (ret)
		goto close;
	first = round_down(doorbell(&u, false), PAGE_SIZE);
	u.db = smartio_map_bar(p->sdev, 0, first,
			       PAGE_ALIGN(doorbell(&u, true) + 4) - first,
			       false);
	ret = PTR_ERR_OR_ZERO((__force void *)u.db);
	if (!ret)
		ret = unmapped_memory(&u);
	if (!ret)
		ret = unmapped_run(&u, used);
	/* From here on the drive does nothing of it any more. */
	err = probe_pair_delete(p, &u.pair);
	if (!ret)
		ret = err;
	smartio_unmap_bar(p->sdev, u.db);
close:
	smartio_close(p->sdev);
	if (u.good)
		dma_free_coherent(u.dma, PAGE_SIZE, u.good, u.good_dma);
	if (u.stray)
		__free_page(u.stray);
	return ret;
}
