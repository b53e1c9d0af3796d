// SPDX-License-Identifier: GPL-2.0
/*
 * ntb_smartio: the transport of smartio over non-transparent bridges. Begin
 * with include/linux/smartio_transport.h, then link.h.
 */
#include <linux/module.h>

#include "link.h"

static int __init ntb_smartio_init(void)
{
	int ret = link_sysfs_init();

	if (ret)
		return ret;
	ret = link_irq_init();
	if (ret)
		goto exit_sysfs;
	ret = links_init();
	if (ret)
		goto exit_irq;
	return 0;

exit_irq:
	link_irq_exit();
exit_sysfs:
	link_sysfs_exit();
	return ret;
}
module_init(ntb_smartio_init);

static void __exit ntb_smartio_exit(void)
{
	links_exit();
	link_irq_exit();
	link_sysfs_exit();
}
module_exit(ntb_smartio_exit);

MODULE_DESCRIPTION("Links between hosts over NTBs, for smartio");
MODULE_LICENSE("GPL");
