// SPDX-License-Identifier: GPL-2.0
/*
 * The controller as nvme-core sees it: one with an admin queue only. Starting,
 * stopping and resetting it. A reset takes all clients' queues away, so it
 * stops the controller, lets their sessions end, and only then starts anew.
 */
#include <linux/io-64-nonatomic-lo-hi.h>

#include "mgr.h"
#include "mgr_trace.h"

#define WATCH_INTERVAL		HZ
#define BACKOFF_MAX_S		60

static int mgr_reg_read32(struct nvme_ctrl *ctrl, u32 offset, u32 *value)
{
	*value = readl(to_mgr(ctrl)->bar + offset);
	return 0;
}

static int mgr_reg_write32(struct nvme_ctrl *ctrl, u32 offset, u32 value)
{
	writel(value, to_mgr(ctrl)->bar + offset);
	return 0;
}

static int mgr_reg_read64(struct nvme_ctrl *ctrl, u32 offset, u64 *value)
{
	*value = lo_hi_readq(to_mgr(ctrl)->bar + offset);
	return 0;
}

static int mgr_get_address(struct nvme_ctrl *ctrl, char *buf, int size)
{
	return snprintf(buf, size, "%s\n", pci_name(to_mgr(ctrl)->pdev));
}

/* The one request for an event that is out; beyond every request's tag. */
static void mgr_submit_async_event(struct nvme_ctrl *ctrl)
{
	struct nvme_command cmd = { };

	cmd.common.opcode = nvme_admin_async_event;
	cmd.common.command_id = NVME_AQ_BLK_MQ_DEPTH;
	mgr_adminq_submit(to_mgr(ctrl), &cmd);
}

const struct nvme_ctrl_ops mgr_ctrl_ops = {
	.name = "pcie",
	.module = THIS_MODULE,
	.reg_read32 = mgr_reg_read32,
	.reg_write32 = mgr_reg_write32,
	.reg_read64 = mgr_reg_read64,
	.free_ctrl = mgr_free_ctrl,
	.submit_async_event = mgr_submit_async_event,
	.get_address = mgr_get_address,
};

/**
 * mgr_sync() - execute an admin command
 * @m: the controller
 * @cmd: the command
 * @result: dwords 0 and 1 of the completion, or NULL
 * @data: data, or NULL
 * @size: its bytes
 * @timeout_s: seconds after which the controller is reset; 0: the usual
 *
 * Context: process; sleeps. Ends at the latest when a reset cancels it.
 * Return: 0, a positive NVMe status, or a negative error: not executed, or
 * nobody knows.
 */
int mgr_sync(struct mgr *m, struct nvme_command *cmd, union nvme_result *result,
	     void *data, size_t size, unsigned int timeout_s)
{
	struct request *rq;
	int ret;

	rq = blk_mq_alloc_request(m->ctrl.admin_q, nvme_req_op(cmd), 0);
	if (IS_ERR(rq))
		return PTR_ERR(rq);
	nvme_init_request(rq, cmd);
	if (timeout_s)
		rq->timeout = timeout_s * HZ;
	if (size) {
		ret = blk_rq_map_kern(rq->q, rq, data, size, GFP_KERNEL);
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

/* All I/O queues are gone: whoever waits for that goes on. */
void mgr_revoke(struct mgr *m)
{
	WRITE_ONCE(m->incarnation, m->incarnation + 1);
	wake_up_all(&m->incarnation_wq);
}

/**
 * mgr_stop() - the controller stops, and clients are sent away
 * @m: the controller, RESETTING, or CONNECTING after a start that failed
 *
 * Afterwards it touches no memory any more, no session is left, and commands
 * fail at once.
 *
 * Context: process; sleeps, at most as long as the controller takes to stop.
 */
void mgr_stop(struct mgr *m)
{
	struct nvme_ctrl *ctrl = &m->ctrl;
	int ret = -ENODEV;

	flush_work(&ctrl->async_event_work);
	nvme_quiesce_admin_queue(ctrl);
	mgr_adminq_close(m);
	if (pci_device_is_present(m->pdev))
		ret = nvme_disable_ctrl(ctrl, false);
	/* If it did not obey it at least reaches no memory. */
	if (ret)
		pci_clear_master(m->pdev);
	mgr_adminq_drain(m);
	nvme_cancel_admin_tagset(ctrl);
	mgr_revoke(m);
	nvme_unquiesce_admin_queue(ctrl);
	mgr_suspend(m, MGR_SUSPEND_RESET);
}

static int mgr_identify(struct mgr *m)
{
	struct nvme_command cmd = { };
	int ret;

	cmd.identify.opcode = nvme_admin_identify;
	cmd.identify.cns = NVME_ID_CNS_CTRL;
	ret = mgr_sync(m, &cmd, NULL, m->id, sizeof(*m->id), 0);
	return ret > 0 ? -EIO : ret;
}

/* Before any I/O queue is created, and not again until the next reset. */
static int mgr_set_queues(struct mgr *m)
{
	int ret, count = MGR_MAX_PAIRS;
	u64 room;

	ret = nvme_set_queue_count(&m->ctrl, &count);
	if (ret)
		return ret < 0 ? ret : -EIO;
	room = (pci_resource_len(m->pdev, 0) - NVME_REG_DBS) /
	       (2 * m->db_stride);
	count = min_t(u64, count, room - 1);
	if (count < 1) {
		dev_err(m->ctrl.device, "no I/O queues to lend\n");
		return -ENOSPC;
	}
	mutex_lock(&m->broker_lock);
	m->nr_pairs = count;
	mutex_unlock(&m->broker_lock);
	return 0;
}

/* nvme_enable_aen() does nothing for a controller that only has others. */
static void mgr_enable_events(struct mgr *m)
{
	u32 result;

	if (m->ctrl.oaes)
		return;
	if (!nvme_set_features(&m->ctrl, NVME_FEAT_ASYNC_EVENT,
			       mgr_event_forced(m), NULL, 0, &result))
		queue_work(nvme_wq, &m->ctrl.async_event_work);
}

/**
 * mgr_start() - enable the controller, up to LIVE
 * @m: the controller, disabled and CONNECTING
 *
 * Context: process; sleeps, at most as long as commands may take.
 * Return: 0 or an error; mgr_stop() comes next then.
 */
int mgr_start(struct mgr *m)
{
	struct nvme_ctrl *ctrl = &m->ctrl;
	int ret;

	if (!pci_device_is_present(m->pdev))
		return -ENODEV;
	/* one that would not stop has queues yet: it must reach no memory */
	ret = nvme_disable_ctrl(ctrl, false);
	if (ret)
		return ret;
	pci_set_master(m->pdev);
	mgr_cmb_enable(m);
	mgr_adminq_program(m);
	ret = nvme_enable_ctrl(ctrl);
	if (ret)
		return ret;
	mgr_adminq_open(m);
	ret = nvme_init_ctrl_finish(ctrl, false);
	if (ret)
		return ret < 0 ? ret : -EIO;
	/* Clients don't run while firmware is activated: no event for it. */
	ctrl->oaes &= NVME_AEN_CFG_NS_ATTR;
	ret = mgr_identify(m);
	if (ret)
		return ret;
	ret = mgr_set_queues(m);
	if (ret)
		return ret;
	ctrl->queue_count = 1;
	if (!nvme_change_ctrl_state(ctrl, NVME_CTRL_LIVE))
		return -EBUSY;
	nvme_start_ctrl(ctrl);
	mgr_enable_events(m);
	return 0;
}

static void mgr_retry_later(struct mgr *m, int error)
{
	if (!m->reported)
		dev_err(m->ctrl.device,
			"reset failed (%d): clients stay away, trying again\n",
			error);
	m->reported = true;
	m->backoff_s = clamp(m->backoff_s * 2, 1U, BACKOFF_MAX_S);
	queue_delayed_work(m->wq, &m->retry_work, m->backoff_s * HZ);
}

/* Queued by nvme_reset_ctrl(), and once more after it failed. */
static void mgr_reset_work(struct work_struct *work)
{
	struct mgr *m = container_of(work, struct mgr, ctrl.reset_work);
	struct nvme_ctrl *ctrl = &m->ctrl;
	int ret;

	if (nvme_ctrl_state(ctrl) != NVME_CTRL_RESETTING &&
	    nvme_ctrl_state(ctrl) != NVME_CTRL_CONNECTING)
		return;
	mgr_stop(m);
	nvme_change_ctrl_state(ctrl, NVME_CTRL_CONNECTING);
	ret = nvme_state_terminal(ctrl) ? -ENODEV : mgr_start(m);
	trace_smartio_nvme_mgr_reset(m, ret);
	if (nvme_state_terminal(ctrl))
		return;
	if (ret) {
		mgr_retry_later(m, ret);
		return;
	}
	dev_info(ctrl->device, "reset done, incarnation %#llx\n",
		 mgr_incarnation(m));
	m->reported = false;
	m->backoff_s = 0;
	mgr_resume(m, MGR_SUSPEND_RESET);
}

static void mgr_retry_work(struct work_struct *work)
{
	struct mgr *m = container_of(to_delayed_work(work), struct mgr,
				     retry_work);

	if (nvme_ctrl_state(&m->ctrl) == NVME_CTRL_CONNECTING)
		queue_work(nvme_reset_wq, &m->ctrl.reset_work);
}

/* A controller that failed says so in CSTS and nowhere else. */
static void mgr_watch_work(struct work_struct *work)
{
	struct mgr *m = container_of(to_delayed_work(work), struct mgr,
				     watch_work);
	u32 csts;

	if (nvme_ctrl_state(&m->ctrl) == NVME_CTRL_LIVE) {
		csts = readl(m->bar + NVME_REG_CSTS);
		if (csts == ~0U || csts & NVME_CSTS_CFS ||
		    !(csts & NVME_CSTS_RDY)) {
			dev_warn(m->ctrl.device,
				 "controller is down, CSTS %#x: resetting\n",
				 csts);
			nvme_reset_ctrl(&m->ctrl);
		}
	}
	queue_delayed_work(m->wq, &m->watch_work, WATCH_INTERVAL);
}

void mgr_init_works(struct mgr *m)
{
	INIT_WORK(&m->ctrl.reset_work, mgr_reset_work);
	INIT_DELAYED_WORK(&m->watch_work, mgr_watch_work);
	INIT_DELAYED_WORK(&m->retry_work, mgr_retry_work);
	INIT_WORK(&m->exclusive_work, mgr_exclusive_work);
	INIT_WORK(&m->event_work, mgr_event_work);
}
