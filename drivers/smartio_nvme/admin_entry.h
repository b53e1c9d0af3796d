/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entries of the admin submission queue. Its doorbell is on the same page as
 * those of the first queue pairs. A client that has the page may ring it at any
 * moment. So the controller may fetch any entry while it is written. The first
 * dword alone decides how the controller reads the others. It makes an entry
 * that waits for a command invalid. It is written last, and invalidated first.
 * User space tests this too.
 */
#ifndef _SMARTIO_NVME_ADMIN_ENTRY_H
#define _SMARTIO_NVME_ADMIN_ENTRY_H

#include <linux/compiler.h>
#include <linux/nvme.h>
#include <linux/string.h>
#include <linux/types.h>

#include <asm/barrier.h>

/* Opcode, flags and command identifier. */
static inline void admin_entry_first(struct nvme_command *entry,
				     const struct nvme_command *cmd)
{
	u32 first;

	memcpy(&first, cmd, sizeof(first));
	WRITE_ONCE(*(u32 *)entry, first);
}

/* Makes an entry, invalid now, into a command. */
static inline void admin_entry_write(struct nvme_command *entry,
				     const struct nvme_command *cmd)
{
	memcpy((u32 *)entry + 1, (const u32 *)cmd + 1,
	       sizeof(*cmd) - sizeof(u32));
	dma_wmb();	/* the first dword last */
	admin_entry_first(entry, cmd);
}

/*
 * Makes an entry, fetched, invalid. The opcode is none over PCIe; no request
 * has the tag NVME_AQ_MQ_TAG_DEPTH, and it is none of an event's.
 */
static inline void admin_entry_clear(struct nvme_command *entry)
{
	struct nvme_command none;

	memset(&none, 0, sizeof(none));
	none.common.opcode = nvme_fabrics_command;
	none.common.command_id = NVME_AQ_MQ_TAG_DEPTH;
	admin_entry_first(entry, &none);
	dma_wmb();	/* the first dword first */
	memset((u32 *)entry + 1, 0, sizeof(*entry) - sizeof(u32));
}

#endif /* _SMARTIO_NVME_ADMIN_ENTRY_H */
