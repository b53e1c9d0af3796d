// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_absent: the next lent function that is reset is out of reach of this
 * host during the reset, as one that was pulled out. When the stub has
 * restored its registers, and clears its bus mastering, it is there again.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/ptrace.h>

static bool armed = true;
module_param(armed, bool, 0444);
MODULE_PARM_DESC(armed, "no function has been reset yet");

static struct pci_dev *absent;

static int absent_begin(struct kprobe *probe, struct pt_regs *regs)
{
	struct pci_dev *pdev = (void *)regs_get_kernel_argument(regs, 0);

	if (!armed || !pdev->dev.driver ||
	    strcmp(pdev->dev.driver->name, "smartio_pci_stub"))
		return 0;
	armed = false;
	absent = pdev;
	pdev->error_state = pci_channel_io_perm_failure;
	return 0;
}

static int absent_end(struct kprobe *probe, struct pt_regs *regs)
{
	struct pci_dev *pdev = (void *)regs_get_kernel_argument(regs, 0);

	if (pdev != absent)
		return 0;
	absent = NULL;
	pdev->error_state = pci_channel_io_normal;
	return 0;
}

static struct kprobe absent_resets = {
	.symbol_name = "__pci_reset_function_locked",
	.pre_handler = absent_begin,
};

static struct kprobe absent_ends = {
	.symbol_name = "pci_clear_master",
	.pre_handler = absent_end,
};

static struct kprobe *absent_probes[] = { &absent_ends, &absent_resets };

static int __init absent_init(void)
{
	return register_kprobes(absent_probes, ARRAY_SIZE(absent_probes));
}
module_init(absent_init);

static void __exit absent_exit(void)
{
	unregister_kprobes(absent_probes, ARRAY_SIZE(absent_probes));
}
module_exit(absent_exit);

MODULE_DESCRIPTION("smartio test: a function that does not answer while it is reset");
MODULE_LICENSE("GPL");
