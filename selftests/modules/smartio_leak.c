// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_leak: loses memory each time it is loaded. debug/kmemleak has to
 * find it: a check for leaks that finds none must be able to find one.
 */
#include <linux/module.h>
#include <linux/slab.h>

#define LEAKED_BYTES	1234
/* A stale copy of a pointer, on a stack for one, hides an object. */
#define LEAKS		8

/* Of an __init function the report has no name: its memory is free by then. */
static noinline int leak_lose(void)
{
	int i;

	for (i = 0; i < LEAKS; i++) {
		u8 *lost = kzalloc(LEAKED_BYTES, GFP_KERNEL);

		if (!lost)
			return -ENOMEM;
		lost[0] = 1;
	}
	return 0;
}

static int __init leak_init(void)
{
	return leak_lose();
}
module_init(leak_init);

static void __exit leak_exit(void)
{
}
module_exit(leak_exit);

MODULE_DESCRIPTION("Loses memory, for the test of the test for leaks");
MODULE_LICENSE("GPL");
