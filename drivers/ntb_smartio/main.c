// SPDX-License-Identifier: GPL-2.0
/*
 * ntb_smartio: devices of one host used by others over non-transparent
 * bridges. Begin with include/linux/smartio.h, then internal.h.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/random.h>

#include "link.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

u32 smartio_incarnation;
struct workqueue_struct *smartio_request_wq;
struct workqueue_struct *smartio_end_wq;

static int __init smartio_init(void)
{
	int ret = -ENOMEM;

	smartio_incarnation = get_random_u32();
	smartio_request_wq = alloc_workqueue("smartio_request",
					     WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!smartio_request_wq)
		return ret;
	smartio_end_wq = alloc_workqueue("smartio_end",
					 WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!smartio_end_wq)
		goto destroy_request;
	ret = smartio_hosts_init();
	if (ret)
		goto destroy_end;
	ret = smartio_bus_init();
	if (ret)
		goto exit_hosts;
	ret = smartio_sysfs_init();
	if (ret)
		goto exit_bus;
	ret = smartio_sysfs_links_init();
	if (ret)
		goto exit_sysfs;
	pr_info("this host is %pUb (%s)\n", &smartio_self, smartio_self_name);
	ret = smartio_links_init();
	if (ret)
		goto exit_sysfs_links;
	return 0;

exit_sysfs_links:
	smartio_sysfs_links_exit();
exit_sysfs:
	smartio_sysfs_exit();
exit_bus:
	smartio_bus_exit();
exit_hosts:
	smartio_hosts_exit();
destroy_end:
	destroy_workqueue(smartio_end_wq);
destroy_request:
	destroy_workqueue(smartio_request_wq);
	return ret;
}
module_init(smartio_init);

static void __exit smartio_exit(void)
{
	smartio_links_exit();
	smartio_sysfs_links_exit();
	smartio_sysfs_exit();
	smartio_bus_exit();
	smartio_hosts_exit();
	destroy_workqueue(smartio_end_wq);
	destroy_workqueue(smartio_request_wq);
}
module_exit(smartio_exit);

MODULE_DESCRIPTION("Devices of one host used by others over NTBs");
MODULE_LICENSE("GPL");
