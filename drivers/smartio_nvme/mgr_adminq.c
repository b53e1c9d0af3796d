// SPDX-License-Identifier: GPL-2.0
/*
 * The admin queue, the manager's lowest layer: its memory and doorbells, and
 * the block layer's requests on it. Every admin command passes here, the
 * owner's on /dev/nvmeN too; those that would take queues or events away from
 * clients are refused or changed.
 */
#include <linux/blk-integrity.h>
#include <linux/dmapool.h>
#include <linux/io-64-nonatomic-lo-hi.h>

#include "admin_entry.h"
#include "admin_identify.h"
#include "mgr.h"

/* Here, since all users of tracepoints are above this file. */
#define CREATE_TRACE_POINTS
#include "mgr_trace.h"

/* An owner's largest transfer: one page of PRPs describes it. */
#define MAX_SECTORS	1024
#define MAX_SEGMENTS	(MAX_SECTORS / 8 + 1)

#define LOG_RETAIN_EVENT	0x80	/* in the byte of LSP */

/* Of each request. */
struct mgr_iod {
	struct nvme_request req;	/* first: nvme_req() */
	struct nvme_command cmd;
	struct sg_table sgt;
	__le64 *prps;
	dma_addr_t prps_dma;
	struct scatterlist sg[MAX_SEGMENTS];
};

int mgr_adminq_alloc(struct mgr *m)
{
	struct mgr_adminq *aq = &m->aq;
	struct device *dev = &m->pdev->dev;

	spin_lock_init(&aq->sq_lock);
	spin_lock_init(&aq->cq_lock);
	m->prps = dma_pool_create("smartio_nvme_mgr", dev, NVME_CTRL_PAGE_SIZE,
				  NVME_CTRL_PAGE_SIZE, 0);
	aq->sq = dma_alloc_coherent(dev, NVME_AQ_DEPTH * sizeof(*aq->sq),
				    &aq->sq_dma, GFP_KERNEL);
	aq->cq = dma_alloc_coherent(dev, NVME_AQ_DEPTH * sizeof(*aq->cq),
				    &aq->cq_dma, GFP_KERNEL);
	if (m->prps && aq->sq && aq->cq)
		return 0;
	mgr_adminq_free(m);
	return -ENOMEM;
}

void mgr_adminq_free(struct mgr *m)
{
	struct mgr_adminq *aq = &m->aq;
	struct device *dev = &m->pdev->dev;

	if (aq->sq)
		dma_free_coherent(dev, NVME_AQ_DEPTH * sizeof(*aq->sq), aq->sq,
				  aq->sq_dma);
	if (aq->cq)
		dma_free_coherent(dev, NVME_AQ_DEPTH * sizeof(*aq->cq), aq->cq,
				  aq->cq_dma);
	dma_pool_destroy(m->prps);
	aq->sq = NULL;
	aq->cq = NULL;
	m->prps = NULL;
}

/*
 * Makes entries that the controller has fetched invalid. Clients that have the
 * doorbells of the first queues have, on the same page, that of this one:
 * ringing it must not execute an old Format or Delete again.
 */
static void mgr_adminq_scrub(struct mgr_adminq *aq, u16 until)
{
	lockdep_assert_held(&aq->sq_lock);
	while (aq->sq_fetched != until) {
		admin_entry_clear(&aq->sq[aq->sq_fetched]);
		if (++aq->sq_fetched == NVME_AQ_DEPTH)
			aq->sq_fetched = 0;
	}
}

/* Tells the disabled controller where the queue is; it is empty then. */
void mgr_adminq_program(struct mgr *m)
{
	struct mgr_adminq *aq = &m->aq;
	u32 depth = NVME_AQ_DEPTH - 1;

	spin_lock_irq(&aq->sq_lock);
	aq->sq_tail = 0;
	aq->sq_fetched = 0;
	aq->event_out = false;
	mgr_adminq_scrub(aq, NVME_AQ_DEPTH - 1);
	mgr_adminq_scrub(aq, 0);
	spin_unlock_irq(&aq->sq_lock);

	spin_lock_irq(&aq->cq_lock);
	aq->cq_head = 0;
	aq->phase = 1;
	memset(aq->cq, 0, NVME_AQ_DEPTH * sizeof(*aq->cq));
	aq->running = true;
	spin_unlock_irq(&aq->cq_lock);

	writel(depth | depth << 16, m->bar + NVME_REG_AQA);
	lo_hi_writeq(aq->sq_dma, m->bar + NVME_REG_ASQ);
	lo_hi_writeq(aq->cq_dma, m->bar + NVME_REG_ACQ);
}

void mgr_adminq_open(struct mgr *m)
{
	spin_lock_irq(&m->aq.sq_lock);
	m->aq.open = true;
	spin_unlock_irq(&m->aq.sq_lock);
}

void mgr_adminq_close(struct mgr *m)
{
	spin_lock_irq(&m->aq.sq_lock);
	m->aq.open = false;
	spin_unlock_irq(&m->aq.sq_lock);
}

/* Under sq_lock, of an open queue. */
static void mgr_adminq_write(struct mgr *m, const struct nvme_command *cmd)
{
	struct mgr_adminq *aq = &m->aq;

	lockdep_assert_held(&aq->sq_lock);
	admin_entry_write(&aq->sq[aq->sq_tail], cmd);
	if (++aq->sq_tail == NVME_AQ_DEPTH)
		aq->sq_tail = 0;
	writel(aq->sq_tail, m->bar + NVME_REG_DBS);
}

/* Any context. A closed queue drops the command: mgr_stop() cancels it. */
void mgr_adminq_submit(struct mgr *m, const struct nvme_command *cmd)
{
	unsigned long flags;

	spin_lock_irqsave(&m->aq.sq_lock, flags);
	if (m->aq.open)
		mgr_adminq_write(m, cmd);
	spin_unlock_irqrestore(&m->aq.sq_lock, flags);
}

/*
 * The one request for an event; its identifier is beyond every request's tag.
 * nvme-core's work, which calls this, may have begun before a reset, which does
 * not wait for it. So the request may be out already. Any context.
 */
void mgr_adminq_submit_event(struct mgr *m)
{
	struct nvme_command cmd = {
		.common.opcode = nvme_admin_async_event,
		.common.command_id = NVME_AQ_BLK_MQ_DEPTH,
	};
	unsigned long flags;

	spin_lock_irqsave(&m->aq.sq_lock, flags);
	if (m->aq.open && !m->aq.event_out) {
		m->aq.event_out = true;
		mgr_adminq_write(m, &cmd);
	}
	spin_unlock_irqrestore(&m->aq.sq_lock, flags);
}

/* Under cq_lock. A request that has ended here is put into @done. */
static void mgr_handle_cqe(struct mgr *m, struct nvme_completion *cqe,
			   struct rq_list *done)
{
	u16 fetched = le16_to_cpu(cqe->sq_head);
	struct request *rq;

	if (fetched < NVME_AQ_DEPTH) {
		spin_lock(&m->aq.sq_lock);
		mgr_adminq_scrub(&m->aq, fetched);
		spin_unlock(&m->aq.sq_lock);
	}
	if (nvme_is_aen_req(0, cqe->command_id)) {
		spin_lock(&m->aq.sq_lock);
		m->aq.event_out = false;
		spin_unlock(&m->aq.sq_lock);
		if (!(le16_to_cpu(cqe->status) >> 1))
			m->aq.ops->event(m, le32_to_cpu(cqe->result.u32));
		nvme_complete_async_event(&m->ctrl, cqe->status, &cqe->result);
		return;
	}
	rq = nvme_find_rq(m->tags.tags[0], cqe->command_id);
	if (!rq) {
		dev_warn_ratelimited(&m->pdev->dev,
				     "completion of unknown command %#x\n",
				     le16_to_cpu((__force __le16)cqe->command_id));
		return;
	}
	if (!nvme_try_complete_req(rq, cqe->status, cqe->result))
		rq_list_add_tail(done, rq);
}

/* Under cq_lock. Returns whether there was anything. mgr_end() comes after it. */
static bool mgr_reap(struct mgr *m, struct rq_list *done)
{
	struct mgr_adminq *aq = &m->aq;
	bool found = false;

	lockdep_assert_held(&aq->cq_lock);
	while (aq->running) {
		struct nvme_completion *cqe = &aq->cq[aq->cq_head];

		if ((le16_to_cpu(READ_ONCE(cqe->status)) & 1) != aq->phase)
			break;
		dma_rmb();
		if (++aq->cq_head == NVME_AQ_DEPTH) {
			aq->cq_head = 0;
			aq->phase ^= 1;
		}
		mgr_handle_cqe(m, cqe, done);
		found = true;
	}
	if (found)
		writel(aq->cq_head, m->bar + NVME_REG_DBS + m->db_stride);
	return found;
}

/*
 * Ends what mgr_reap() has collected. Not under cq_lock with interrupts off: who
 * waits for a request may continue in its end.
 */
static void mgr_end(struct rq_list *done)
{
	struct request *rq;

	while ((rq = rq_list_pop(done)))
		rq->q->mq_ops->complete(rq);
}

irqreturn_t mgr_adminq_irq(int irq, void *data)
{
	struct rq_list done = { };
	struct mgr *m = data;
	unsigned long flags;
	bool found;

	spin_lock_irqsave(&m->aq.cq_lock, flags);
	found = mgr_reap(m, &done);
	spin_unlock_irqrestore(&m->aq.cq_lock, flags);
	mgr_end(&done);
	return found ? IRQ_HANDLED : IRQ_NONE;
}

/* After the controller was disabled: its last completions, then no more. */
void mgr_adminq_drain(struct mgr *m)
{
	struct rq_list done = { };

	spin_lock_irq(&m->aq.cq_lock);
	mgr_reap(m, &done);
	m->aq.running = false;
	spin_unlock_irq(&m->aq.cq_lock);
	mgr_end(&done);
}

static void mgr_unmap(struct mgr *m, struct request *rq)
{
	struct mgr_iod *iod = blk_mq_rq_to_pdu(rq);

	if (iod->prps)
		dma_pool_free(m->prps, iod->prps, iod->prps_dma);
	if (iod->sgt.sgl)
		dma_unmap_sgtable(&m->pdev->dev, &iod->sgt, rq_dma_dir(rq), 0);
	iod->prps = NULL;
	iod->sgt.sgl = NULL;
}

/* PRPs (NVMe base 4.1.1): the first two in the command, or one and a list. */
static void mgr_set_prps(struct mgr_iod *iod, unsigned int pages)
{
	union nvme_data_ptr *dptr = &iod->cmd.common.dptr;
	struct scatterlist *sg;
	unsigned int n = 0;
	int i;

	dptr->prp2 = 0;
	for_each_sgtable_dma_sg(&iod->sgt, sg, i) {
		dma_addr_t addr = sg_dma_address(sg);
		dma_addr_t end = addr + sg_dma_len(sg);

		while (addr < end) {
			if (!n)
				dptr->prp1 = cpu_to_le64(addr);
			else if (pages == 2)
				dptr->prp2 = cpu_to_le64(addr);
			else
				iod->prps[n - 1] = cpu_to_le64(addr);
			n++;
			addr = ALIGN_DOWN(addr, NVME_CTRL_PAGE_SIZE) +
			       NVME_CTRL_PAGE_SIZE;
		}
	}
	if (pages > 2)
		dptr->prp2 = cpu_to_le64(iod->prps_dma);
}

static blk_status_t mgr_map(struct mgr *m, struct request *rq)
{
	struct mgr_iod *iod = blk_mq_rq_to_pdu(rq);
	unsigned int pages, offset;

	iod->prps = NULL;
	iod->sgt.sgl = NULL;
	/* Without data the pointer stays: Create I/O CQ and SQ use it. */
	if (!blk_rq_nr_phys_segments(rq))
		return BLK_STS_OK;

	sg_init_table(iod->sg, blk_rq_nr_phys_segments(rq));
	iod->sgt.sgl = iod->sg;
	iod->sgt.orig_nents = compat_rq_map_sg(rq, iod->sg);
	if (dma_map_sgtable(&m->pdev->dev, &iod->sgt, rq_dma_dir(rq), 0)) {
		iod->sgt.sgl = NULL;
		return BLK_STS_RESOURCE;
	}
	offset = sg_dma_address(iod->sgt.sgl) & (NVME_CTRL_PAGE_SIZE - 1);
	pages = DIV_ROUND_UP(blk_rq_payload_bytes(rq) + offset,
			     NVME_CTRL_PAGE_SIZE);
	if (pages > 2) {
		iod->prps = dma_pool_alloc(m->prps, GFP_ATOMIC, &iod->prps_dma);
		if (!iod->prps) {
			mgr_unmap(m, rq);
			return BLK_STS_RESOURCE;
		}
	}
	mgr_set_prps(iod, pages);
	return BLK_STS_OK;
}

/*
 * The events that the manager needs, independent of the owner's configuration.
 */
u32 mgr_event_forced(struct mgr *m)
{
	return ADMIN_EVENTS_SMART |
	       (snvme_core_events(&m->ctrl) & NVME_AEN_CFG_NS_ATTR);
}

/* Commands of the owner that no client may run beside. */
static bool mgr_is_exclusive(u8 opcode)
{
	switch (opcode) {
	case nvme_admin_format_nvm:
	case nvme_admin_sanitize_nvm:
	case nvme_admin_activate_fw:
	case nvme_admin_ns_mgmt:
	case nvme_admin_ns_attach:
		return true;
	}
	return false;
}

/*
 * A command of the owner on /dev/nvmeN, or of nvme-core itself: keeps what
 * clients need. Returns an NVMe status to refuse it with.
 */
static u16 mgr_filter(struct mgr *m, struct request *rq)
{
	struct nvme_command *cmd = nvme_req(rq)->cmd;
	bool user = nvme_req(rq)->flags & NVME_REQ_USERCMD;

	switch (cmd->common.opcode) {
	case nvme_admin_delete_sq:
	case nvme_admin_create_sq:
	case nvme_admin_delete_cq:
	case nvme_admin_create_cq:
	case nvme_admin_async_event:
	case nvme_admin_dbbuf:
		return user ? NVME_SC_INVALID_OPCODE | NVME_STATUS_DNR : 0;
	case nvme_admin_set_features:
		switch (le32_to_cpu(cmd->features.fid) & 0xff) {
		case NVME_FEAT_NUM_QUEUES:
		case NVME_FEAT_KATO:
			if (user)
				return NVME_SC_INVALID_FIELD | NVME_STATUS_DNR;
			break;
		case NVME_FEAT_ASYNC_EVENT:
			cmd->features.dword11 |=
				cpu_to_le32(mgr_event_forced(m));
			break;
		}
		return 0;
	case nvme_admin_get_log_page:
		/* The manager reads that log, and clears it. */
		if (user && cmd->get_log_page.lid == NVME_LOG_CHANGED_NS)
			cmd->get_log_page.lsp |= LOG_RETAIN_EVENT;
		return 0;
	}
	return 0;
}

/* Completes a request with a status before the controller has seen it. */
static blk_status_t mgr_refuse(struct request *rq, u16 status)
{
	nvme_req(rq)->status = status;
	blk_mq_set_request_complete(rq);
	nvme_complete_rq(rq);
	return BLK_STS_OK;
}

static blk_status_t mgr_queue_rq(struct blk_mq_hw_ctx *hctx,
				 const struct blk_mq_queue_data *bd)
{
	struct mgr *m = hctx->driver_data;
	struct request *rq = bd->rq;
	struct nvme_command *cmd = nvme_req(rq)->cmd;
	blk_status_t ret;
	u16 status;

	if (!nvme_check_ready(&m->ctrl, rq, READ_ONCE(m->aq.open)))
		return nvme_fail_nonready_command(&m->ctrl, rq);
	ret = nvme_setup_cmd(NULL, rq);
	if (ret)
		return ret;
	status = mgr_filter(m, rq);
	if (status)
		return mgr_refuse(rq, status);
	ret = mgr_map(m, rq);
	if (ret) {
		nvme_cleanup_cmd(rq);
		return ret;
	}
	if (nvme_req(rq)->flags & NVME_REQ_USERCMD &&
	    mgr_is_exclusive(cmd->common.opcode)) {
		if (m->aq.ops->exclusive_begin(m, rq))
			return BLK_STS_OK;
		mgr_unmap(m, rq);
		return mgr_refuse(rq, NVME_SC_CMD_INTERRUPTED);
	}
	nvme_start_request(rq);
	mgr_adminq_submit(m, cmd);
	return BLK_STS_OK;
}

static void mgr_complete_rq(struct request *rq)
{
	struct mgr *m = to_mgr(nvme_req(rq)->ctrl);

	lockdep_assert_not_held(&m->aq.cq_lock);
	mgr_unmap(m, rq);
	m->aq.ops->exclusive_done(m, rq);
	nvme_complete_rq(rq);
}

/*
 * The controller is no bus master any more, so no completion comes after this.
 * Under cq_lock it is decided who ends a request, once. One of a queue that was
 * drained is left to nvme_cancel_admin_tagset().
 */
static enum blk_eh_timer_return mgr_give_up(struct mgr *m, struct request *rq)
{
	enum blk_eh_timer_return ret = BLK_EH_DONE;
	struct rq_list done = { };
	unsigned long flags;

	spin_lock_irqsave(&m->aq.cq_lock, flags);
	mgr_reap(m, &done);
	if (!m->aq.running) {
		ret = BLK_EH_RESET_TIMER;
	} else if (blk_mq_rq_state(rq) == MQ_RQ_IN_FLIGHT) {
		nvme_req(rq)->status = NVME_SC_HOST_ABORTED_CMD;
		nvme_req(rq)->flags |= NVME_REQ_CANCELLED;
		if (!blk_mq_complete_request_remote(rq))
			rq_list_add_tail(&done, rq);
	}
	spin_unlock_irqrestore(&m->aq.cq_lock, flags);
	mgr_end(&done);
	return ret;
}

static enum blk_eh_timer_return mgr_timeout(struct request *rq)
{
	struct nvme_ctrl *ctrl = nvme_req(rq)->ctrl;
	struct mgr *m = to_mgr(ctrl);
	u8 opcode = nvme_req(rq)->cmd->common.opcode;
	enum nvme_ctrl_state state;

	mgr_adminq_irq(0, m);
	/* It may even have ended, and be idle. */
	if (blk_mq_rq_state(rq) != MQ_RQ_IN_FLIGHT)
		return BLK_EH_DONE;
	if (m->aq.ops->exclusive_waits(m, rq))
		return BLK_EH_RESET_TIMER;

	state = nvme_ctrl_state(ctrl);
	/* The reset itself may wait for a command of its start. */
	if (state == NVME_CTRL_RESETTING && !READ_ONCE(m->starting))
		return BLK_EH_RESET_TIMER;	/* it is cancelled soon */
	if (state == NVME_CTRL_LIVE) {
		dev_warn(ctrl->device,
			 "admin command %#x timed out: resetting\n", opcode);
		nvme_reset_ctrl(ctrl);
		if (!READ_ONCE(m->starting))
			return BLK_EH_RESET_TIMER;
	} else {
		dev_warn(ctrl->device,
			 "admin command %#x timed out: given up\n", opcode);
	}
	/* The start, reset or removal of the controller waits for this. */
	pci_clear_master(m->pdev);
	return mgr_give_up(m, rq);
}

static int mgr_init_hctx(struct blk_mq_hw_ctx *hctx, void *data,
			 unsigned int index)
{
	hctx->driver_data = to_mgr(data);
	return 0;
}

static int mgr_init_request(struct blk_mq_tag_set *set, struct request *rq,
			    unsigned int hctx, compat_node_t node)
{
	struct mgr_iod *iod = blk_mq_rq_to_pdu(rq);

	nvme_req(rq)->ctrl = set->driver_data;
	nvme_req(rq)->cmd = &iod->cmd;
	return 0;
}

static const struct blk_mq_ops mgr_mq_ops = {
	.queue_rq = mgr_queue_rq,
	.complete = mgr_complete_rq,
	.init_hctx = mgr_init_hctx,
	.init_request = mgr_init_request,
	.timeout = mgr_timeout,
};

/**
 * mgr_sync() - execute an admin command
 * @m: the controller
 * @cmd: the command
 * @result: dwords 0 and 1 of the completion, or NULL
 * @data: data, or NULL
 * @size: its bytes
 * @timeout_s: seconds after which the controller is reset; 0: the default
 *
 * It waits for no command of the owner, who has other tags.
 *
 * Context: process; sleeps. Ends at the latest when a reset cancels it.
 * Return: 0, a positive NVMe status, or a negative error: not executed, or
 * unknown.
 */
int mgr_sync(struct mgr *m, struct nvme_command *cmd, union nvme_result *result,
	     void *data, size_t size, unsigned int timeout_s)
{
	struct request *rq;
	int ret;

	rq = blk_mq_alloc_request(m->ctrl.admin_q, nvme_req_op(cmd),
				  BLK_MQ_REQ_RESERVED);
	if (IS_ERR(rq))
		return PTR_ERR(rq);
	nvme_init_request(rq, cmd);
	if (timeout_s)
		rq->timeout = timeout_s * HZ;
	if (size) {
		ret = compat_rq_map_kern(rq, data, size, GFP_KERNEL);
		if (ret)
			goto out;
	}
	ret = blk_status_to_errno(blk_execute_rq(rq, false));
	if (nvme_req(rq)->flags & NVME_REQ_CANCELLED)
		ret = -EINTR;
	else if (nvme_req(rq)->status == NVME_SC_HOST_PATH_ERROR)
		ret = -EAGAIN;
	else if (nvme_req(rq)->status)
		ret = nvme_req(rq)->status;
	if (result)
		*result = nvme_req(rq)->result;
out:
	blk_mq_free_request(rq);
	return ret;
}

/* Before the first command; nvme-core then has ctrl.admin_q. */
int mgr_adminq_alloc_tags(struct mgr *m)
{
	m->ctrl.max_hw_sectors = MAX_SECTORS;
	m->ctrl.max_segments = MAX_SEGMENTS;
	return snvme_core_alloc_admin_tags(&m->ctrl, &m->tags, &mgr_mq_ops,
					   sizeof(struct mgr_iod),
					   NVME_AQ_MQ_TAG_DEPTH -
					   MGR_OWNER_TAGS);
}
