// SPDX-License-Identifier: GPL-2.0
/*
 * cpu_halfway: a CPU that comes online stays halfway, with the kernel's lock of
 * CPU hotplug held, until it is let go:
 *
 *     echo 0 > /sys/module/cpu_halfway/parameters/hold
 */
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>

/* A test that dies must not leave the host like that. */
#define HALFWAY_S	100

static bool hold = true;
module_param(hold, bool, 0644);
MODULE_PARM_DESC(hold, "the CPU stays halfway");

static bool waits;
module_param(waits, bool, 0444);
MODULE_PARM_DESC(waits, "one does now");

static int halfway_state;

static int halfway_online(unsigned int cpu)
{
	unsigned long deadline = jiffies + HALFWAY_S * HZ;

	WRITE_ONCE(waits, true);
	while (READ_ONCE(hold) && time_before(jiffies, deadline))
		msleep_interruptible(10);
	WRITE_ONCE(waits, false);
	return 0;
}

static int __init halfway_init(void)
{
	int ret = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "cpu_halfway",
					    halfway_online, NULL);

	if (ret < 0)
		return ret;
	halfway_state = ret;
	return 0;
}
module_init(halfway_init);

static void __exit halfway_exit(void)
{
	cpuhp_remove_state_nocalls(halfway_state);
}
module_exit(halfway_exit);

MODULE_DESCRIPTION("smartio test: a CPU that stays halfway online");
MODULE_LICENSE("GPL");
