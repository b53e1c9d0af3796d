// SPDX-License-Identifier: GPL-2.0
/*
 * The smallest NVMe driver that does for these tests: an admin queue and one
 * I/O queue pair, both polled, one command at a time. Unlike other drivers it
 * takes any address that the controller can put on the bus. It does so for a
 * command's data and for the I/O completion queue. Such an address is in this
 * host's memory, or in another host's, through an NTB's window.
 *
 * All functions but p2p_nvme_start() are called under p2p_lock.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/jiffies.h>
#include <linux/log2.h>

#include "p2p_drive.h"

#define P2P_IO_QID	1
/* The MSI-X vector of the I/O completion queue; the admin queue has vector 0. */
#define P2P_IO_VECTOR	1
#define P2P_STATUS_CODE	0x7fff	/* a completion's status without the phase tag */

static void __iomem *p2p_doorbell(struct p2p_drive *drive, unsigned int index)
{
	return drive->regs + NVME_REG_DBS +
	       (index * 4UL << NVME_CAP_STRIDE(drive->cap));
}

static int p2p_queue_alloc(struct p2p_drive *drive, struct p2p_queue *queue,
			   unsigned int qid)
{
	struct device *dev = &drive->pdev->dev;

	queue->sq_db = p2p_doorbell(drive, 2 * qid);
	queue->cq_db = p2p_doorbell(drive, 2 * qid + 1);
	queue->sq = dma_alloc_coherent(dev, P2P_QUEUE_DEPTH * sizeof(*queue->sq),
				       &queue->sq_dma, GFP_KERNEL);
	queue->cq = dma_alloc_coherent(dev, P2P_QUEUE_DEPTH * sizeof(*queue->cq),
				       &queue->cq_dma, GFP_KERNEL);
	return queue->sq && queue->cq ? 0 : -ENOMEM;
}

static void p2p_queue_free(struct p2p_drive *drive, struct p2p_queue *queue)
{
	struct device *dev = &drive->pdev->dev;

	if (queue->sq)
		dma_free_coherent(dev, P2P_QUEUE_DEPTH * sizeof(*queue->sq),
				  queue->sq, queue->sq_dma);
	if (queue->cq)
		dma_free_coherent(dev, P2P_QUEUE_DEPTH * sizeof(*queue->cq),
				  queue->cq, queue->cq_dma);
	queue->sq = NULL;
	queue->cq = NULL;
}

/* Clears a queue, before the controller gets its address. */
static void p2p_queue_reset(struct p2p_queue *queue)
{
	size_t bytes = P2P_QUEUE_DEPTH * sizeof(*queue->cq);

	queue->sq_tail = 0;
	queue->cq_head = 0;
	queue->phase = 1;
	memset(queue->cq, 0, bytes);
	if (!queue->cq_remote)
		return;
	memset_io(queue->cq_remote, 0, bytes);
	wmb();	/* out of the write-combining buffers */
	readl(queue->cq_remote);	/* and arrived */
}

static u16 p2p_queue_status(struct p2p_queue *queue)
{
	if (queue->cq_remote)
		return readw(queue->cq_remote +
			     queue->cq_head * sizeof(*queue->cq) +
			     offsetof(struct nvme_completion, status));
	return le16_to_cpu(READ_ONCE(queue->cq[queue->cq_head].status));
}

/*
 * Sends a command and polls for its completion. Return: the NVMe status, 0 for
 * success; -ENODEV if the controller was removed; -ETIMEDOUT without a
 * completion: the caller must reset it then.
 */
static int p2p_submit(struct p2p_drive *drive, struct p2p_queue *queue,
		      struct nvme_command *command)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(p2p_timeout_ms);
	u16 status;
	bool late;

	command->common.command_id = ++queue->cid;
	queue->sq[queue->sq_tail] = *command;
	queue->sq_tail = (queue->sq_tail + 1) % P2P_QUEUE_DEPTH;
	wmb();	/* the command is in memory before the doorbell rings */
	writel(queue->sq_tail, queue->sq_db);

	for (;;) {
		late = time_after(jiffies, deadline);
		status = p2p_queue_status(queue);
		/* A window whose cable is out reads all ones, which is no status. */
		if (status != U16_MAX && (status & 1) == queue->phase)
			break;
		if (readl(drive->regs + NVME_REG_CSTS) == U32_MAX)
			return -ENODEV;
		if (late)
			return -ETIMEDOUT;
		usleep_range(50, 200);
	}
	if (++queue->cq_head == P2P_QUEUE_DEPTH) {
		queue->cq_head = 0;
		queue->phase ^= 1;
	}
	writel(queue->cq_head, queue->cq_db);
	return status >> 1 & P2P_STATUS_CODE;
}

/* An admin command that has to succeed. */
static int p2p_admin(struct p2p_drive *drive, struct nvme_command *command)
{
	int ret = p2p_submit(drive, &drive->admin, command);

	if (ret > 0) {
		dev_err(&drive->pdev->dev, "admin command %#x: status %#x\n",
			command->common.opcode, ret);
		ret = -EIO;
	}
	return ret;
}

static int p2p_wait_status(struct p2p_drive *drive, u32 mask, u32 value)
{
	unsigned int wait_ms = (NVME_CAP_TIMEOUT(drive->cap) + 1) * 500;
	unsigned long deadline = jiffies + msecs_to_jiffies(wait_ms);
	u32 status;
	bool late;

	for (;;) {
		late = time_after(jiffies, deadline);
		status = readl(drive->regs + NVME_REG_CSTS);
		if (status == U32_MAX)
			return -ENODEV;
		if ((status & mask) == value)
			return 0;
		if (late)
			break;
		usleep_range(100, 1000);
	}
	dev_err(&drive->pdev->dev,
		"waited %u ms for CSTS & %#x to be %#x; CSTS is %#x\n",
		wait_ms, mask, value, status);
	return -ETIMEDOUT;
}

static int p2p_disable(struct p2p_drive *drive, bool shut_down)
{
	u32 config = readl(drive->regs + NVME_REG_CC);
	int ret;

	if (config == U32_MAX)
		return -ENODEV;
	if (shut_down && config & NVME_CC_ENABLE) {
		config = (config & ~NVME_CC_SHN_MASK) | NVME_CC_SHN_NORMAL;
		writel(config, drive->regs + NVME_REG_CC);
		ret = p2p_wait_status(drive, NVME_CSTS_SHST_MASK,
				      NVME_CSTS_SHST_CMPLT);
		if (ret)
			return ret;
	}
	config &= ~(NVME_CC_SHN_MASK | NVME_CC_ENABLE);
	writel(config, drive->regs + NVME_REG_CC);
	return p2p_wait_status(drive, NVME_CSTS_RDY, 0);
}

static int p2p_enable(struct p2p_drive *drive)
{
	int ret = p2p_disable(drive, false);

	if (ret)
		return ret;
	p2p_queue_reset(&drive->admin);
	writel((P2P_QUEUE_DEPTH - 1) << 16 | (P2P_QUEUE_DEPTH - 1),
	       drive->regs + NVME_REG_AQA);
	lo_hi_writeq(drive->admin.sq_dma, drive->regs + NVME_REG_ASQ);
	lo_hi_writeq(drive->admin.cq_dma, drive->regs + NVME_REG_ACQ);
	/* pages of 4 KiB, the NVM command set, round robin */
	writel(NVME_CC_ENABLE | NVME_CC_CSS_NVM | NVME_CC_AMS_RR |
	       NVME_CC_IOSQES | NVME_CC_IOCQES, drive->regs + NVME_REG_CC);
	return p2p_wait_status(drive, NVME_CSTS_RDY, NVME_CSTS_RDY);
}

/* Size and block size of namespace 1. */
static int p2p_identify(struct p2p_drive *drive)
{
	struct nvme_command command = {
		.identify = {
			.opcode = nvme_admin_identify,
			.nsid = cpu_to_le32(1),
			.dptr.prp1 = cpu_to_le64(drive->buffer_dma),
			.cns = NVME_ID_CNS_NS,
		},
	};
	struct nvme_id_ns *id = drive->buffer;
	int ret = p2p_admin(drive, &command);

	if (ret)
		return ret;
	drive->blocks = le64_to_cpu(id->nsze);
	drive->block_shift = id->lbaf[id->flbas & 0xf].ds;
	if (drive->block_shift < 9 || drive->block_shift > PAGE_SHIFT) {
		dev_err(&drive->pdev->dev, "blocks of 2^%u bytes\n",
			drive->block_shift);
		return -EINVAL;
	}
	return 0;
}

/*
 * Tells the controller of the I/O queue pair. The completion queue always has
 * its interrupt on: whether and where it goes is a matter of the MSI-X entry.
 */
static int p2p_io_create(struct p2p_drive *drive)
{
	struct p2p_queue *io = &drive->io;
	u64 cq = io->cq_dma;
	struct nvme_command command = {};
	int ret;

	if (io->cq_remote)
		cq = drive->window_dma + drive->cq_address;
	p2p_queue_reset(io);
	command.create_cq.opcode = nvme_admin_create_cq;
	command.create_cq.prp1 = cpu_to_le64(cq);
	command.create_cq.cqid = cpu_to_le16(P2P_IO_QID);
	command.create_cq.qsize = cpu_to_le16(P2P_QUEUE_DEPTH - 1);
	command.create_cq.cq_flags = cpu_to_le16(NVME_QUEUE_PHYS_CONTIG |
						 NVME_CQ_IRQ_ENABLED);
	command.create_cq.irq_vector = cpu_to_le16(P2P_IO_VECTOR);
	ret = p2p_admin(drive, &command);
	if (ret)
		return ret;

	memset(&command, 0, sizeof(command));
	command.create_sq.opcode = nvme_admin_create_sq;
	command.create_sq.prp1 = cpu_to_le64(io->sq_dma);
	command.create_sq.sqid = cpu_to_le16(P2P_IO_QID);
	command.create_sq.qsize = cpu_to_le16(P2P_QUEUE_DEPTH - 1);
	command.create_sq.sq_flags = cpu_to_le16(NVME_QUEUE_PHYS_CONTIG);
	command.create_sq.cqid = cpu_to_le16(P2P_IO_QID);
	return p2p_admin(drive, &command);
}

static int p2p_io_delete(struct p2p_drive *drive)
{
	struct nvme_command command = {
		.delete_queue = {
			.opcode = nvme_admin_delete_sq,
			.qid = cpu_to_le16(P2P_IO_QID),
		},
	};
	int ret = p2p_admin(drive, &command);

	if (ret)
		return ret;
	command.delete_queue.opcode = nvme_admin_delete_cq;
	return p2p_admin(drive, &command);
}

static void p2p_cq_home(struct p2p_drive *drive)
{
	if (drive->io.cq_remote)
		iounmap(drive->io.cq_remote);
	drive->io.cq_remote = NULL;
}

/*
 * Resets the controller, which ends its work; both queues are in this host
 * again.
 */
static int p2p_reset(struct p2p_drive *drive)
{
	int ret;

	ret = p2p_disable(drive, false);
	p2p_cq_home(drive);
	if (!ret)
		ret = p2p_enable(drive);
	if (!ret)
		ret = p2p_io_create(drive);
	if (ret)
		dev_err(&drive->pdev->dev, "controller reset: %d\n", ret);
	return ret;
}

/**
 * p2p_nvme_place_cq() - say where the I/O completion queue is
 * @drive:	the drive
 * @remote:	in the host behind the drive's window, not in this one
 * @address:	for a remote one: where, an offset into the window
 *
 * Return: 0 or a negative errno.
 */
int p2p_nvme_place_cq(struct p2p_drive *drive, bool remote, u64 address)
{
	void __iomem *cq = NULL;
	int ret;

	lockdep_assert_held(&p2p_lock);
	if (remote) {
		if (!drive->window || !IS_ALIGNED(address, PAGE_SIZE))
			return -EINVAL;
		cq = p2p_window_map(drive->window, address, PAGE_SIZE);
		if (!cq)
			return -EINVAL;
	}
	ret = p2p_io_delete(drive);
	p2p_cq_home(drive);
	if (ret) {
		if (cq)
			iounmap(cq);
		return p2p_reset(drive) ?: ret;
	}
	drive->io.cq_remote = cq;
	drive->cq_address = address;
	ret = p2p_io_create(drive);
	return ret ? p2p_reset(drive) ?: ret : 0;
}

/**
 * p2p_nvme_rw() - one read or write of namespace 1
 * @drive:	the drive
 * @opcode:	nvme_cmd_read or nvme_cmd_write
 * @lba:	first block
 * @blocks:	how many
 * @address:	of the data, as the controller puts it on the bus; all of it
 *		lies there in one piece
 *
 * Return: the NVMe status (type and code, with More and Do Not Retry) or 0.
 * -EINVAL for more than a page of PRP entries. -ETIMEDOUT if it did not end;
 * the controller was reset then.
 */
int p2p_nvme_rw(struct p2p_drive *drive, u8 opcode, u64 lba, u32 blocks,
		u64 address)
{
	u64 bytes = (u64)blocks << drive->block_shift;
	u64 end = address + bytes;
	u64 page = (address & PAGE_MASK) + PAGE_SIZE;
	struct nvme_command command = {
		.rw = {
			.opcode = opcode,
			.nsid = cpu_to_le32(1),
			.slba = cpu_to_le64(lba),
			.length = cpu_to_le16(blocks - 1),
			.dptr.prp1 = cpu_to_le64(address),
		},
	};
	unsigned int i;
	int ret;

	lockdep_assert_held(&p2p_lock);
	if (!blocks || bytes > (PAGE_SIZE / sizeof(*drive->list)) << PAGE_SHIFT)
		return -EINVAL;
	if (end > page && end <= page + PAGE_SIZE) {
		command.rw.dptr.prp2 = cpu_to_le64(page);
	} else if (end > page) {
		for (i = 0; page < end; i++, page += PAGE_SIZE)
			drive->list[i] = cpu_to_le64(page);
		command.rw.dptr.prp2 = cpu_to_le64(drive->list_dma);
	}
	ret = p2p_submit(drive, &drive->io, &command);
	if (ret == -ETIMEDOUT) {
		dev_warn(&drive->pdev->dev,
			 "no completion in %u ms: the controller is reset\n",
			 p2p_timeout_ms);
		p2p_reset(drive);
	}
	return ret;
}

/**
 * p2p_nvme_start() - make a controller ready for commands
 * @drive:	with its registers mapped
 *
 * Return: 0 or a negative errno; p2p_nvme_stop() is due in both cases.
 */
int p2p_nvme_start(struct p2p_drive *drive)
{
	struct device *dev = &drive->pdev->dev;
	int ret;

	drive->cap = lo_hi_readq(drive->regs + NVME_REG_CAP);
	if (drive->cap == U64_MAX)
		return -ENODEV;
	/* the doorbells of two queue pairs */
	if (p2p_doorbell(drive, 4) > drive->regs + drive->regs_size)
		return -ENODEV;
	ret = p2p_queue_alloc(drive, &drive->admin, 0);
	if (!ret)
		ret = p2p_queue_alloc(drive, &drive->io, P2P_IO_QID);
	if (ret)
		return ret;
	drive->list = dma_alloc_coherent(dev, PAGE_SIZE, &drive->list_dma,
					 GFP_KERNEL);
	drive->buffer = dma_alloc_coherent(dev, P2P_BUFFER_SIZE,
					   &drive->buffer_dma, GFP_KERNEL);
	if (!drive->list || !drive->buffer)
		return -ENOMEM;
	ret = p2p_enable(drive);
	if (!ret)
		ret = p2p_identify(drive);
	if (!ret)
		ret = p2p_io_create(drive);
	return ret;
}

/**
 * p2p_nvme_stop() - flush and disable a controller, give back its memory
 * @drive:	the drive, however far p2p_nvme_start() got
 */
void p2p_nvme_stop(struct p2p_drive *drive)
{
	struct device *dev = &drive->pdev->dev;

	if (drive->buffer)
		p2p_disable(drive, true);
	/* Even if the controller ignored that, it does no more DMA. */
	pci_clear_master(drive->pdev);
	p2p_cq_home(drive);
	if (drive->buffer)
		dma_free_coherent(dev, P2P_BUFFER_SIZE, drive->buffer,
				  drive->buffer_dma);
	if (drive->list)
		dma_free_coherent(dev, PAGE_SIZE, drive->list, drive->list_dma);
	p2p_queue_free(drive, &drive->io);
	p2p_queue_free(drive, &drive->admin);
}
