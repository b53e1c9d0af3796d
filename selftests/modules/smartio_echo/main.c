// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_echo: the smallest service on include/linux/smartio.h, for tests:
 * both its halves (lender.c, borrower.c), and no device of its own.
 */
#include <linux/debugfs.h>
#include <linux/module.h>

#include "smartio_echo.h"

struct dentry *echo_root;

static int __init echo_init(void)
{
	int ret;

	echo_root = debugfs_create_dir(KBUILD_MODNAME, NULL);
	ret = echo_lender_init();
	if (ret)
		goto remove;
	ret = echo_borrower_init();
	if (ret)
		goto exit_lender;
	return 0;

exit_lender:
	echo_lender_exit();
remove:
	debugfs_remove_recursive(echo_root);
	return ret;
}
module_init(echo_init);

static void __exit echo_exit(void)
{
	echo_borrower_exit();
	echo_lender_exit();
	debugfs_remove_recursive(echo_root);
}
module_exit(echo_exit);

MODULE_ALIAS("smartio:echo");
MODULE_DESCRIPTION("A service that answers, for tests of smartio");
MODULE_LICENSE("GPL");
