// SPDX-License-Identifier: GPL-2.0
/*
 * When clients must be away: while the controller is reset, and while a
 * command of the owner runs that changes what they use. They are suspended as
 * long as there is any reason.
 */
#include "mgr.h"

/**
 * mgr_suspend() - end all sessions, and refuse new ones
 * @m: the controller
 * @reason: why
 *
 * Context: process; may sleep until queues are deleted, or revoked by a reset.
 */
void mgr_suspend(struct mgr *m, enum mgr_reason reason)
{
	mutex_lock(&m->suspend_lock);
	if (m->lent && !m->suspended)
		smartio_lent_suspend(m->lent);
	m->suspended |= BIT(reason);
	mutex_unlock(&m->suspend_lock);
}

/* The reason is gone; without another one clients may come. */
void mgr_resume(struct mgr *m, enum mgr_reason reason)
{
	mutex_lock(&m->suspend_lock);
	if (m->suspended & BIT(reason)) {
		m->suspended &= ~BIT(reason);
		if (m->lent && !m->suspended)
			smartio_lent_resume(m->lent);
	}
	mutex_unlock(&m->suspend_lock);
}

/* Commands of the owner that no client may run beside. */
bool mgr_is_exclusive(u8 opcode)
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

/**
 * mgr_exclusive_begin() - run a request with all clients away
 * @m: the controller
 * @rq: mapped, not started; it is started here
 *
 * Context: any.
 * Return: false if there is one already.
 */
bool mgr_exclusive_begin(struct mgr *m, struct request *rq)
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

/* Whether the request still waits for clients to be away. */
bool mgr_exclusive_waits(struct mgr *m, struct request *rq)
{
	unsigned long flags;
	bool waits;

	spin_lock_irqsave(&m->exclusive_lock, flags);
	waits = m->exclusive == rq && !m->exclusive_sent;
	spin_unlock_irqrestore(&m->exclusive_lock, flags);
	return waits;
}

/* Of every request that ends: any context. */
void mgr_exclusive_done(struct mgr *m, struct request *rq)
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
void mgr_exclusive_work(struct work_struct *work)
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
