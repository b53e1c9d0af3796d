/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory for work that brings a link, a path or a session back. A borrower may
 * swap to the disk behind the link that such work brings up: reclaim there
 * waits for that very disk. docs/failover.md has the rules.
 */
#ifndef _LINUX_SMARTIO_RECOVERY_H
#define _LINUX_SMARTIO_RECOVERY_H

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

/*
 * A larger piece is not taken from the reserves: a peer chooses how large its
 * messages are. The largest that a session needs to come back fits: a page of
 * data, or the list of namespaces with reservations.
 */
#define SMARTIO_RECOVERY_SMALL	(3 * PAGE_SIZE)

/**
 * smartio_recovery_begin() - allocations neither reclaim nor wait from here on
 *
 * They come from the kernel's reserves, as those of NBD and NVMe/TCP do for
 * swap. NOIO besides, for an allocator of the kernel that takes a mutex when it
 * may do I/O: that of per-CPU memory. Scopes may be nested.
 *
 * Context: process.
 * Return: for smartio_recovery_end().
 */
static inline unsigned int smartio_recovery_begin(void)
{
	return memalloc_flags_save(PF_MEMALLOC | PF_MEMALLOC_NOIO);
}

/**
 * smartio_recovery_end() - the mirror of smartio_recovery_begin()
 * @flags: what that returned
 *
 * Context: the same process.
 */
static inline void smartio_recovery_end(unsigned int flags)
{
	memalloc_flags_restore(flags);
}

/**
 * smartio_recovery_pause() - begins a part that is no recovery
 *
 * For work that may write to a file of this host: file systems refuse to do
 * that in such a scope. Allocations may wait again, but not for I/O.
 *
 * Context: process.
 * Return: for smartio_recovery_resume().
 */
static inline unsigned int smartio_recovery_pause(void)
{
	unsigned int flags = current->flags & PF_MEMALLOC;

	memalloc_flags_restore(flags);
	return flags;
}

/**
 * smartio_recovery_resume() - the mirror of smartio_recovery_pause()
 * @flags: what that returned
 *
 * Context: the same process.
 */
static inline void smartio_recovery_resume(unsigned int flags)
{
	memalloc_flags_save(flags);
}

/**
 * smartio_recovery_gfp() - how recovery allocates
 * @size: bytes
 *
 * Context: any.
 * Return: for kmalloc() or kvmalloc(), which may fail.
 */
static inline gfp_t smartio_recovery_gfp(size_t size)
{
	return GFP_NOIO | __GFP_NOWARN |
	       (size > SMARTIO_RECOVERY_SMALL ? __GFP_NOMEMALLOC : 0);
}

/**
 * smartio_recovery_alloc() - a few zeroed bytes, however long it takes
 * @size: less than a page
 *
 * For an allocation whose failure the caller can't handle. It waits for memory,
 * not for a disk: in such a scope __GFP_NOFAIL would warn.
 *
 * Context: process, sleeps.
 * Return: for kfree().
 */
static inline void *smartio_recovery_alloc(size_t size)
{
	void *memory;

	while (!(memory = kzalloc(size, GFP_NOIO | __GFP_NOWARN)))
		msleep(20);
	return memory;
}

#endif /* _LINUX_SMARTIO_RECOVERY_H */
