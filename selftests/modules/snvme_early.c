// SPDX-License-Identifier: GPL-2.0
/*
 * A completion that comes before its queue has tags, as a hostile device can
 * post it: just before nvme-core allocates those of a client's I/O queues, an
 * entry is put into the first CQ, and the client's interrupt handler called.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>

#include "../../drivers/smartio_nvme/client.h"

static unsigned int posted;
module_param(posted, uint, 0444);
MODULE_PARM_DESC(posted, "such completions so far");

static unsigned int taken;
module_param(taken, uint, 0444);
MODULE_PARM_DESC(taken, "of those, taken by the client");

static int early_handler(struct kprobe *probe, struct pt_regs *regs)
{
	struct nvme_ctrl *ctrl = (void *)regs_get_kernel_argument(regs, 0);
	struct snvme_queue *q;
	unsigned long flags;

	if (strcmp(ctrl->ops->name, "smartio"))
		return 0;
	q = &to_snvme_path(ctrl)->queues[0];
	local_irq_save(flags);
	q->cq[0].command_id = 1;
	q->cq[0].status = cpu_to_le16(q->phase);
	taken += q->ops->interrupt(0, q) == IRQ_HANDLED;
	q->cq[0].status = 0;
	posted++;
	local_irq_restore(flags);
	return 0;
}

static struct kprobe early_probe = {
	.symbol_name = "nvme_alloc_io_tag_set",
	.pre_handler = early_handler,
};

static int __init early_init(void)
{
	return register_kprobe(&early_probe);
}

static void __exit early_exit(void)
{
	unregister_kprobe(&early_probe);
}

module_init(early_init);
module_exit(early_exit);
MODULE_DESCRIPTION("smartio test: a completion before the tags");
MODULE_LICENSE("GPL");
