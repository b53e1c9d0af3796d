/* SPDX-License-Identifier: GPL-2.0 */
/* A client of the manager that makes no disk: see main.c. */
#ifndef _SNVME_PROBE_H
#define _SNVME_PROBE_H

#include <linux/debugfs.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/smartio.h>

#include "../../../drivers/smartio_nvme/proto.h"

/**
 * struct probe - one path to one drive
 * @sdev: the path
 * @dir: its files in debugfs
 * @lock: one command at a time; protects all below
 * @attached: the manager's reply to SNVME_ATTACH
 * @message: room for a request
 * @reply: room for a reply
 * @stays: the session is open, also between commands
 * @notes: how many notifications came
 */
struct probe {
	struct smartio_device *sdev;
	struct dentry *dir;
	struct mutex lock;	/* one command at a time */
	struct snvme_attach_reply attached;
	u8 *message;
	u8 *reply;
	bool stays;
	atomic_t notes;
	char result[256];
};

#define PROBE_CALL_MS	20000

/* A queue pair's memory. */
struct probe_pair {
	struct smartio_segment sq;
	struct smartio_segment cq;
	void *sq_own;
	dma_addr_t sq_dma;
	size_t sq_bytes;
	struct smartio_irq irq;
	u16 qid;
	bool has_irq;
	bool created;
};

int probe_call(struct probe *p, size_t size, size_t *reply_size);
int probe_attach(struct probe *p);
int probe_pair_create(struct probe *p, struct probe_pair *pair,
		      enum snvme_placement placement, bool irq, u16 entries);
int probe_pair_delete(struct probe *p, struct probe_pair *pair);
int probe_flood(struct probe *p, unsigned int threads, unsigned int seconds);
int probe_hostile(struct probe *p, unsigned int seconds, u32 seed);
int probe_unmapped(struct probe *p, u64 used, u64 lba, unsigned int blocks);

#endif /* _SNVME_PROBE_H */
