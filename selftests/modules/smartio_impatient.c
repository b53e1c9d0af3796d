// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_impatient: this host does not wait for the answer to a request over a
 * link. The request times out at once, and the other host still does it:
 *
 *     modprobe smartio_impatient type=19 count=1
 *
 * With error=-12 the request is not sent, and fails with that error. The types
 * are those of smartio_message.h.
 */
#include <linux/completion.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/smartio_message.h>

static unsigned int type;
module_param(type, uint, 0444);
MODULE_PARM_DESC(type, "of the requests");

static atomic_t left;
static unsigned int count = 1;
module_param(count, uint, 0444);
MODULE_PARM_DESC(count, "so many of them");

static int error;
module_param(error, int, 0444);
MODULE_PARM_DESC(error, "they are not sent, and fail with this; 0: they time out");

static atomic_t early;

static int number_get(char *buf, const struct kernel_param *param)
{
	return sysfs_emit(buf, "%d\n", atomic_read((atomic_t *)param->arg));
}

static const struct kernel_param_ops number_ops = { .get = number_get };
module_param_cb(left, &number_ops, &left, 0444);
MODULE_PARM_DESC(left, "so many of them are still to come");
module_param_cb(early, &number_ops, &early, 0444);
MODULE_PARM_DESC(early, "so many had their answer before the wait for it, and took it");

/* More than the code of link_call(). */
#define IMPATIENT_CODE	4096

/* They ask, and have not begun to wait. */
static struct task_struct *askers[64];

static bool impatient_asks(struct task_struct *from, struct task_struct *to)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(askers); i++)
		if (READ_ONCE(askers[i]) == from &&
		    cmpxchg(&askers[i], from, to) == from)
			return true;
	return false;
}

/* In place of link_call(). */
static noinline notrace unsigned long impatient_fail(void)
{
	return error;
}

static int impatient_call(struct kprobe *probe, struct pt_regs *regs)
{
	const struct wire_message *message =
		(const void *)regs_get_kernel_argument(regs, 1);

	/* a call that failed has left its own */
	impatient_asks(current, NULL);
	if (message->type != type || atomic_dec_if_positive(&left) < 0)
		return 0;
	if (error) {
		instruction_pointer_set(regs, (unsigned long)impatient_fail);
		return 1;
	}
	if (!impatient_asks(NULL, current))
		atomic_inc(&left);
	return 0;
}

/* In place of the wait. */
static noinline notrace unsigned long impatient_timeout(void)
{
	return 0;
}

/*
 * A kernel without ftrace makes a jump of a probe that has no such handler, and
 * that jump ignores where the handler continues (kprobes.rst).
 */
static void impatient_after(struct kprobe *probe, struct pt_regs *regs,
			    unsigned long flags)
{
}

static struct kprobe impatient_calls = {
	.symbol_name = "ntb_smartio:link_call",
	.pre_handler = impatient_call,
	.post_handler = impatient_after,
};

static int impatient_wait(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned long from = *(unsigned long *)kernel_stack_pointer(regs);
	struct completion *answered =
		(struct completion *)regs_get_kernel_argument(regs, 0);

	/* after a call that failed it may wait for something else */
	if (from - (unsigned long)impatient_calls.addr > IMPATIENT_CODE ||
	    !impatient_asks(current, NULL))
		return 0;
	if (READ_ONCE(answered->done)) {
		atomic_inc(&early);
		return 0;
	}
	instruction_pointer_set(regs, (unsigned long)impatient_timeout);
	return 1;
}

static struct kprobe impatient_waits = {
	.symbol_name = "wait_for_completion_timeout",
	.pre_handler = impatient_wait,
	.post_handler = impatient_after,
};

static struct kprobe *impatient_probes[] = {
	&impatient_waits, &impatient_calls
};

static int __init impatient_init(void)
{
	atomic_set(&left, count);
	return register_kprobes(impatient_probes,
				ARRAY_SIZE(impatient_probes));
}
module_init(impatient_init);

static void __exit impatient_exit(void)
{
	unregister_kprobes(impatient_probes, ARRAY_SIZE(impatient_probes));
}
module_exit(impatient_exit);

MODULE_DESCRIPTION("smartio test: requests whose answer is not waited for");
MODULE_LICENSE("GPL");
