// SPDX-License-Identifier: GPL-2.0
/*
 * snvme_late: a function of a driver comes late, as on a host whose CPUs or
 * whose memory others have. Calls of it are held before their first
 * instruction, until they are released. It also counts the calls that are in the
 * scope of smartio_recovery_begin().
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#define LATE_TASKS	8

static char *symbol;
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "the function, which may sleep, of up to three arguments");

static atomic_t hold;
static atomic_t calls;
static atomic_t recovering;
static atomic_t held;
static bool released = true;

/* Tasks that call the function themselves: it is not held a second time. */
static struct task_struct *passing[LATE_TASKS];

static int late_hold_set(const char *text, const struct kernel_param *param)
{
	unsigned int count;
	int ret = kstrtouint(text, 0, &count);

	if (ret)
		return ret;
	WRITE_ONCE(released, !count);
	atomic_set(&hold, count);
	return 0;
}

static int late_count_get(char *buf, const struct kernel_param *param)
{
	return sysfs_emit(buf, "%d\n", atomic_read(param->arg));
}

static const struct kernel_param_ops late_hold_ops = {
	.set = late_hold_set,
	.get = late_count_get,
};

static const struct kernel_param_ops late_count_ops = {
	.get = late_count_get,
};

module_param_cb(hold, &late_hold_ops, &hold, 0644);
MODULE_PARM_DESC(hold, "so many calls more are held; 0: all go on");
module_param_cb(held, &late_count_ops, &held, 0444);
MODULE_PARM_DESC(held, "calls that are held, or were and have not returned");
module_param_cb(calls, &late_count_ops, &calls, 0444);
MODULE_PARM_DESC(calls, "calls so far");
module_param_cb(recovering, &late_count_ops, &recovering, 0444);
MODULE_PARM_DESC(recovering, "of those, in the scope of recovery");

static unsigned long late_call(unsigned long a, unsigned long b,
			       unsigned long c);

static int late_handler(struct kprobe *probe, struct pt_regs *regs)
{
	const unsigned int scope = PF_MEMALLOC | PF_MEMALLOC_NOIO;
	unsigned int context = irq_count();
	int i;

	for (i = 0; i < LATE_TASKS; i++) {
		if (READ_ONCE(passing[i]) == current) {
			WRITE_ONCE(passing[i], NULL);
			return 0;
		}
	}
	atomic_inc(&calls);
	if ((current->flags & scope) == scope)
		atomic_inc(&recovering);
	/*
	 * Without the function tracer the probe is a breakpoint, whose handler
	 * counts as an NMI (exc_int3()).
	 */
	if (in_nmi())
		context -= NMI_OFFSET + HARDIRQ_OFFSET;
	if (context)
		return 0;
	/* before the other: who unloads it waits for this one */
	atomic_inc(&held);
	if (atomic_dec_if_positive(&hold) < 0) {
		atomic_dec(&held);
		return 0;
	}
	instruction_pointer_set(regs, (unsigned long)late_call);
	return 1;
}

/*
 * Keeps the probe from becoming a jump (kprobes.rst, "Changing Execution
 * Path"): what late_handler() does to the registers would be lost.
 */
static void late_after(struct kprobe *probe, struct pt_regs *regs,
		       unsigned long flags)
{
}

static struct kprobe late_probe = {
	.pre_handler = late_handler,
	.post_handler = late_after,
};

/* In place of the function. */
static noinline notrace unsigned long late_call(unsigned long a,
						unsigned long b,
						unsigned long c)
{
	unsigned long (*function)(unsigned long a, unsigned long b,
				  unsigned long c) = (void *)late_probe.addr;
	unsigned long ret;
	int i = 0;

	while (!READ_ONCE(released))
		msleep(20);
	while (cmpxchg(&passing[i], NULL, current))
		i = (i + 1) % LATE_TASKS;
	ret = function(a, b, c);
	atomic_dec(&held);
	return ret;
}

static int __init late_init(void)
{
	late_probe.symbol_name = symbol;
	return symbol ? register_kprobe(&late_probe) : -EINVAL;
}
module_init(late_init);

static void __exit late_exit(void)
{
	atomic_set(&hold, 0);
	WRITE_ONCE(released, true);
	while (atomic_read(&held))
		msleep(20);
	unregister_kprobe(&late_probe);
	while (atomic_read(&held))
		msleep(20);
	/* the last one is about to return */
	msleep(100);
}
module_exit(late_exit);

MODULE_DESCRIPTION("smartio test: a function that comes late");
MODULE_LICENSE("GPL");
