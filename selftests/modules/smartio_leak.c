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
/* More than the allocator keeps of this size for a CPU. */
#define OTHERS		256

static u8 *leak_one(void)
{
	return kzalloc(LEAKED_BYTES, GFP_KERNEL);
}

/*
 * The allocator's own lists of free objects keep stale copies, too, until it
 * gets other objects back. Of an __init function a report may have no name:
 * its memory is free by then.
 */
static noinline int leak_lose(void)
{
	u8 **others = kcalloc(OTHERS, sizeof(*others), GFP_KERNEL);
	int i, ret = 0;

	if (!others)
		return -ENOMEM;
	for (i = 0; i < LEAKS && !ret; i++) {
		u8 *lost = leak_one();

		if (lost)
			lost[0] = 1;
		else
			ret = -ENOMEM;
	}
	for (i = 0; i < OTHERS; i++)
		others[i] = leak_one();
	for (i = 0; i < OTHERS; i++)
		kfree(others[i]);
	kfree(others);
	return ret;
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
