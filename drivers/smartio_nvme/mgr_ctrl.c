// SPDX-License-Identifier: GPL-2.0
/*
 * Starting, stopping and resetting the controller. A reset deletes all clients'
 * queues. So it stops the controller, lets their sessions end, and only then
 * starts it again. Clients are also suspended while a command of the owner
 * changes something that they use. They are suspended as long as there is any
 * reason.
 */

#include <linux/smartio_recovery.h>

#include "mgr.h"
#include "mgr_trace.h"

#define WATCH_INTERVAL		HZ
#define BACKOFF_MAX_S		60
/* How long the kernel may take to reset a link after a fatal error. */
#define LINK_RESET_S		10

/* ---- clients are suspended ---- */

/*
 * Ends all sessions, and refuses new ones. May sleep until queues are deleted,
 * or revoked by a reset.
 */
void mgr_suspend(struct mgr *m, enum mgr_reason reason)
{
	mutex_lock(&m->suspend_lock);
	if (m->export && !m->suspended)
		smartio_export_suspend(m->export);
	m->suspended |= BIT(reason);
	mutex_unlock(&m->suspend_lock);
}

/* Drops a reason; clients may return when there is no other. */
static void mgr_resume(struct mgr *m, enum mgr_reason reason)
{
	mutex_lock(&m->suspend_lock);
	if (m->suspended & BIT(reason)) {
		m->suspended &= ~BIT(reason);
		if (m->export && !m->suspended)
			smartio_export_resume(m->export);
	}
	mutex_unlock(&m->suspend_lock);
}

static bool mgr_exclusive_begin(struct mgr *m, struct request *rq)
{
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&m->exclusive_lock, flags);
	first = !m->exclusive;
	if (first) {
		m->exclusive = rq;
		m->exclusive_sent = false;
		nvme_start_request(rq);
	}
	spin_unlock_irqrestore(&m->exclusive_lock, flags);
	if (first)
		queue_work(m->wq, &m->exclusive_work);
	return first;
}

static bool mgr_exclusive_waits(struct mgr *m, struct request *rq)
{
	unsigned long flags;
	bool waits;

	spin_lock_irqsave(&m->exclusive_lock, flags);
	waits = m->exclusive == rq && !m->exclusive_sent;
	spin_unlock_irqrestore(&m->exclusive_lock, flags);
	return waits;
}

static void mgr_exclusive_done(struct mgr *m, struct request *rq)
{
	unsigned long flags;
	bool ours;

	spin_lock_irqsave(&m->exclusive_lock, flags);
	ours = m->exclusive == rq;
	if (ours)
		m->exclusive = NULL;
	spin_unlock_irqrestore(&m->exclusive_lock, flags);
	if (ours)
		queue_work(m->wq, &m->exclusive_work);
}

/* Queued when such a command comes, and when it ends. */
static void mgr_exclusive_work(struct work_struct *work)
{
	struct mgr *m = container_of(work, struct mgr, exclusive_work);
	struct nvme_command *cmd;
	bool waits, over;

	spin_lock_irq(&m->exclusive_lock);
	waits = m->exclusive && !m->exclusive_sent;
	spin_unlock_irq(&m->exclusive_lock);
	if (waits)
		mgr_suspend(m, MGR_SUSPEND_EXCLUSIVE);

	/* A reset may have cancelled it meanwhile. */
	spin_lock_irq(&m->exclusive_lock);
	over = !m->exclusive;
	if (!over && waits) {
		cmd = nvme_req(m->exclusive)->cmd;
		dev_info(m->ctrl.device,
			 "clients suspended for admin command %#x\n",
			 cmd->common.opcode);
		m->exclusive_sent = true;
		mgr_adminq_submit(m, cmd);
	}
	spin_unlock_irq(&m->exclusive_lock);
	if (over)
		mgr_resume(m, MGR_SUSPEND_EXCLUSIVE);
}

static const struct mgr_adminq_ops mgr_adminq_ops = {
	.event = mgr_event_arrived,
	.exclusive_begin = mgr_exclusive_begin,
	.exclusive_waits = mgr_exclusive_waits,
	.exclusive_done = mgr_exclusive_done,
};

/* ---- start, stop, reset ---- */

/* All I/O queues are deleted: wakes the threads that wait for that. */
void mgr_revoke(struct mgr *m)
{
	WRITE_ONCE(m->incarnation, m->incarnation + 1);
	wake_up_all(&m->incarnation_wq);
}

/*
 * Stops the controller, RESETTING, or CONNECTING after a start that failed, and
 * ends all sessions. Afterwards it touches no memory any more, and commands
 * fail at once. Sleeps, at most as long as the controller takes to stop.
 */
void mgr_stop(struct mgr *m)
{
	struct nvme_ctrl *ctrl = &m->ctrl;
	int ret = -ENODEV;

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
		dev_err(m->ctrl.device, "no I/O queues for clients\n");
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

	if (snvme_core_events(&m->ctrl))
		return;
	if (!nvme_set_features(&m->ctrl, NVME_FEAT_ASYNC_EVENT,
			       mgr_event_forced(m), NULL, 0, &result))
		snvme_core_request_event(&m->ctrl);
}

static int mgr_do_start(struct mgr *m)
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
	snvme_core_no_firmware_events(ctrl);
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

/*
 * Enables the controller, disabled and CONNECTING, up to LIVE. Sleeps, at most
 * as long as commands may take. After an error mgr_stop() comes next.
 */
int mgr_start(struct mgr *m)
{
	int ret;

	WRITE_ONCE(m->starting, true);
	ret = mgr_do_start(m);
	WRITE_ONCE(m->starting, false);
	return ret;
}

static void mgr_retry_later(struct mgr *m, int error)
{
	if (!m->reported)
		dev_err(m->ctrl.device,
			"reset failed (%d): clients stay suspended, trying again\n",
			error);
	m->reported = true;
	m->backoff_s = clamp(m->backoff_s * 2, 1U, BACKOFF_MAX_S);
	queue_delayed_work(m->wq, &m->retry_work, m->backoff_s * HZ);
}

/*
 * A reset of the link by another driver leaves the registers of power-on
 * behind. Without a reset the controller may still have queues: no bus master
 * before it is off.
 */
static void mgr_restore(struct mgr *m)
{
	if (!pci_device_is_present(m->pdev))
		return;
	pci_clear_master(m->pdev);
	/*
	 * The state of when the drive was taken over: the last that was saved may
	 * be restored already, or consist of ones.
	 */
	pci_load_saved_state(m->pdev, m->saved);
	/* It was saved while the controller was one. */
	m->pdev->saved_config_space[PCI_COMMAND / 4] &= ~PCI_COMMAND_MASTER;
	pci_restore_state(m->pdev);
}

/*
 * A fatal error above: the link will be reset. The kernel does not say so if
 * that fails: then the controller is tried all the same. A reset of ours in
 * progress is not waited for: it may not end before that of the link. Another
 * one follows it, whether it fails or not.
 */
void mgr_link_fails(struct mgr *m)
{
	WRITE_ONCE(m->link_error, true);
	if (!nvme_change_ctrl_state(&m->ctrl, NVME_CTRL_RESETTING))
		return;
	mgr_stop(m);
	nvme_change_ctrl_state(&m->ctrl, NVME_CTRL_CONNECTING);
	queue_delayed_work(m->wq, &m->retry_work, LINK_RESET_S * HZ);
}

/*
 * The link was reset: the controller is tried now, or is found to be down. It
 * is LIVE if it was tried before the link's reset, and that lost its registers.
 */
void mgr_link_reset(struct mgr *m)
{
	WRITE_ONCE(m->link_error, true);
	if (nvme_reset_ctrl(&m->ctrl))
		mod_delayed_work(m->wq, &m->retry_work, 0);
}

static void mgr_reset_do(struct work_struct *work)
{
	struct mgr *m = container_of(work, struct mgr, ctrl.reset_work);
	struct nvme_ctrl *ctrl = &m->ctrl;
	bool link_error;
	int ret;

	if (nvme_ctrl_state(ctrl) != NVME_CTRL_RESETTING &&
	    nvme_ctrl_state(ctrl) != NVME_CTRL_CONNECTING)
		return;
	mgr_stop(m);
	nvme_change_ctrl_state(ctrl, NVME_CTRL_CONNECTING);
	/* one that is detected from here on is for the next reset */
	link_error = xchg(&m->link_error, false);
	if (link_error)
		mgr_restore(m);
	ret = nvme_state_terminal(ctrl) ? -ENODEV : mgr_start(m);
	trace_smartio_nvme_mgr_reset(m, ret);
	if (nvme_state_terminal(ctrl))
		return;
	if (ret) {
		if (link_error)
			WRITE_ONCE(m->link_error, true);
		mgr_retry_later(m, ret);
		return;
	}
	dev_info(ctrl->device, "reset done, incarnation %#llx\n",
		 mgr_incarnation(m));
	m->reported = false;
	m->backoff_s = 0;
	mgr_resume(m, MGR_SUSPEND_RESET);
	/* the link was reset meanwhile */
	if (READ_ONCE(m->link_error))
		nvme_reset_ctrl(ctrl);
}

/*
 * Queued by nvme_reset_ctrl(), and again after it failed. Sessions wait for it,
 * and may be those of disks that hosts swap to.
 */
static void mgr_reset_work(struct work_struct *work)
{
	unsigned int flags = smartio_recovery_begin();

	mgr_reset_do(work);
	smartio_recovery_end(flags);
}

static void mgr_retry_work(struct work_struct *work)
{
	struct mgr *m = container_of(to_delayed_work(work), struct mgr,
				     retry_work);

	if (nvme_ctrl_state(&m->ctrl) == NVME_CTRL_CONNECTING)
		snvme_core_reset_again(&m->ctrl);
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

/* Works, and the upward calls of the admin queue. */
void mgr_init_works(struct mgr *m)
{
	m->aq.ops = &mgr_adminq_ops;
	INIT_WORK(&m->ctrl.reset_work, mgr_reset_work);
	INIT_DELAYED_WORK(&m->watch_work, mgr_watch_work);
	INIT_DELAYED_WORK(&m->retry_work, mgr_retry_work);
	INIT_WORK(&m->exclusive_work, mgr_exclusive_work);
	INIT_WORK(&m->event_work, mgr_event_work);
}
