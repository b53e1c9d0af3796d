/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pairs of the client (client_queue.c): the lowest layer, with
 * client_dma.c. It ends no request.
 */
#ifndef _SMARTIO_NVME_CLIENT_QUEUE_H
#define _SMARTIO_NVME_CLIENT_QUEUE_H

#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/scatterlist.h>
#include <linux/smartio.h>

#include "nvme_core.h"

/*
 * Identifies the one command of a queue without a tag of that queue, @flush of
 * struct snvme_queue. Tags are lower: no queue has more than 4096 entries.
 */
#define SNVME_FLUSH_CID		0xfff

struct iommu_domain;
struct snvme_path;
struct snvme_queue;

/**
 * struct snvme_done - completed requests, to be ended without cq_lock
 * @batch: those that can be ended together, or NULL
 * @others: those with an error, or an owner that wants to know
 */
struct snvme_done {
	struct io_comp_batch *batch;
	struct rq_list others;
};

/* Handles a completion; under cq_lock. @late: the device has stopped. */
typedef void snvme_cqe_fn(struct snvme_queue *q, struct nvme_completion *cqe,
			  struct snvme_done *done, bool late);

/**
 * struct snvme_queue_ops - upward calls of a queue pair
 * @interrupt: handler of its interrupt; the context is the queue
 * @reap: takes the completions that have come. Any context
 * @complete: handles one completion when the queue stops
 * @end: ends requests that @complete has put into its third argument
 *
 * The path of each I/O does not go through this table: @interrupt and @reap
 * pass their function to snvme_cq_take(), which is inlined into them.
 */
struct snvme_queue_ops {
	irq_handler_t interrupt;
	void (*reap)(struct snvme_queue *q);
	snvme_cqe_fn *complete;
	void (*end)(struct snvme_done *done);
};

/**
 * struct snvme_queue - a queue pair
 * @path: its path
 * @ops: upward calls
 * @index: hardware queue of blk-mq
 * @qid: of the controller, in this session
 * @entries: of SQ and CQ
 * @slots_domain: where requests of one page are mapped at @slots; NULL: the DMA
 *	API chooses their addresses. See client_dma.c
 * @slots: first of the addresses, a page for each tag
 * @slots_sgt: the DMA API's mapping that gave them
 * @polled: no interrupt: blk-mq polls
 * @timed: no interrupt left: a timer polls
 * @sq_lock: protects the SQ: @live, @over, @sq_tail, @sq_rung, @submitted. No
 *	interrupt takes it
 * @live: commands may be sent
 * @over: they may not, before the next session
 * @sq_tail: next entry to write
 * @sq_rung: last value of the doorbell
 * @submitted: commands
 * @sq_io: the SQ, if it is beyond a window (write combining)
 * @sq_cpu: the SQ, if it is this host's memory
 * @db_sq: doorbell
 * @list_io: PRP lists, a slot for each tag
 * @list_cpu: the same, as @sq_cpu
 * @list_addr: their address for the controller
 * @list_slot: bytes of a slot
 * @cq_lock: protects the CQ: @dead, @cq_head, @phase, @completed, @interrupts
 * @dead: completions are not taken: not yet, or no more, except once after the
 *	session
 * @cq_head: next entry to read
 * @phase: of new entries
 * @completed: commands
 * @interrupts: taken
 * @cq: the CQ
 * @db_cq: doorbell
 * @flush: a request of a queue that the path has no more, which was sent here,
 *	or NULL; in client_io.c, under its lock
 * @cq_dma: its address
 * @cq_size: bytes
 * @segment: SQ and lists beside the controller
 * @own: SQ and lists in this host's memory, also between sessions
 * @own_dma: their address
 * @own_size: bytes
 * @cmb: SQ in the controller's memory
 * @db: mapping of the doorbells
 * @irq: interrupt
 * @irq_kept: it is there, also between sessions
 * @irq_cpus: for which CPUs
 * @irq_name: its name
 * @timer: see @timed
 * @armed: bit 0: @timer is started, or about to be
 */
struct snvme_queue {
	struct snvme_path *path;
	const struct snvme_queue_ops *ops;
	unsigned int index;
	u16 qid;
	u16 entries;
	bool polled;
	bool timed;
	struct iommu_domain *slots_domain;
	dma_addr_t slots;
	struct sg_table slots_sgt;

	spinlock_t sq_lock ____cacheline_aligned_in_smp; /* the SQ */
	bool live;
	bool over;
	u16 sq_tail;
	u16 sq_rung;
	u64 submitted;
	void __iomem *sq_io;
	void *sq_cpu;
	void __iomem *db_sq;
	void __iomem *list_io;
	void *list_cpu;
	u64 list_addr;
	unsigned int list_slot;

	spinlock_t cq_lock ____cacheline_aligned_in_smp; /* the CQ */
	bool dead;
	u16 cq_head;
	u8 phase;
	u64 completed;
	u64 interrupts;
	struct nvme_completion *cq;
	void __iomem *db_cq;

	struct request *flush;
	dma_addr_t cq_dma;
	size_t cq_size;
	struct smartio_segment segment;
	void *own;
	dma_addr_t own_dma;
	size_t own_size;
	void __iomem *cmb;
	void __iomem *db;
	struct smartio_irq irq;
	bool irq_kept;
	struct cpumask irq_cpus;
	char irq_name[32];
	struct hrtimer timer;
	unsigned long armed;
};

/*
 * Is there a completion? A hint without cq_lock: the head is always an entry's,
 * but the phase may be that of another round.
 */
static inline bool snvme_queue_pending(struct snvme_queue *q)
{
	u16 head = READ_ONCE(q->cq_head);

	return (le16_to_cpu(READ_ONCE(q->cq[head].status)) & 1) ==
	       READ_ONCE(q->phase);
}

/* Under cq_lock. Each store is one that others may see. */
static inline void snvme_cq_next(struct snvme_queue *q)
{
	u16 head = q->cq_head + 1;

	if (head == q->entries) {
		head = 0;
		WRITE_ONCE(q->phase, q->phase ^ 1);
	}
	WRITE_ONCE(q->cq_head, head);
}

/* Under cq_lock. Inlined, so that @complete is a direct call or none. */
static __always_inline unsigned int snvme_cq_reap(struct snvme_queue *q,
						  struct snvme_done *done,
						  bool late,
						  snvme_cqe_fn *complete)
{
	unsigned int found = 0;

	while (snvme_queue_pending(q)) {
		dma_rmb();
		complete(q, &q->cq[q->cq_head], done, late);
		snvme_cq_next(q);
		found++;
	}
	return found;
}

/* Under cq_lock: with the doorbell. */
static __always_inline unsigned int snvme_cq_take(struct snvme_queue *q,
						  struct snvme_done *done,
						  snvme_cqe_fn *complete)
{
	unsigned int found;

	if (q->dead)
		return 0;
	found = snvme_cq_reap(q, done, false, complete);
	if (found)
		writel(q->cq_head, q->db_cq);
	return found;
}

u16 snvme_queue_entries(unsigned int entries, u32 max_bytes);
int snvme_queue_alloc(struct snvme_queue *q, struct snvme_path *path,
		      unsigned int index, u16 entries,
		      const struct snvme_queue_ops *ops);
void snvme_queue_free(struct snvme_queue *q);
int snvme_queue_open(struct snvme_queue *q, bool polled,
		     const struct cpumask *cpus);
void snvme_queue_close(struct snvme_queue *q);
void snvme_queue_unused(struct snvme_queue *q);
void snvme_queue_start(struct snvme_queue *q);
void snvme_queue_stop(struct snvme_queue *q);
void snvme_queue_end(struct snvme_queue *q, bool over);
unsigned int snvme_queue_reap_late(struct snvme_queue *q);
void snvme_queue_submit(struct snvme_queue *q, const struct nvme_command *cmd,
			bool last);
void snvme_queue_submit_list(struct snvme_queue *q, struct rq_list *list);
void snvme_queue_ring(struct snvme_queue *q);

#endif /* _SMARTIO_NVME_CLIENT_QUEUE_H */
