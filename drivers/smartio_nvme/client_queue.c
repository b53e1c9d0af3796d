// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs. The SQ is memory beside the controller, written from here by
 * posted write-combining stores; the CQ is memory of this host, written by the
 * controller. Nothing is ever read across a link.
 *
 * Opening and closing follow the session; this host's own memory lives as long
 * as the path: completions can be looked for after a loss, and no session needs
 * a piece of memory that may not be there when the link returns.
 */
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "client.h"
#include "client_trace.h"

/* Interval of looking at a queue without an interrupt, while it has work. */
#define SNVME_TIMED_NS	(200 * NSEC_PER_USEC)

/* ---- submission ---- */

/*
 * Copies a command to write-combining memory. On arm64 __iowrite64_copy()
 * writes it in one piece. That of x86 is a loop of five times as many
 * instructions as this.
 */
static __always_inline void snvme_sq_copy(void __iomem *to,
					  const struct nvme_command *cmd)
{
	const u64 *from = (const u64 *)cmd;
	u64 __iomem *at = to;

	BUILD_BUG_ON(sizeof(*cmd) != 8 * sizeof(*from));
	if (IS_ENABLED(CONFIG_ARM64)) {
		__iowrite64_copy(to, cmd, 8);
		return;
	}
	__raw_writeq(from[0], at);
	__raw_writeq(from[1], at + 1);
	__raw_writeq(from[2], at + 2);
	__raw_writeq(from[3], at + 3);
	__raw_writeq(from[4], at + 4);
	__raw_writeq(from[5], at + 5);
	__raw_writeq(from[6], at + 6);
	__raw_writeq(from[7], at + 7);
}

static __always_inline void snvme_sq_write(struct snvme_queue *q,
					   const struct nvme_command *cmd)
{
	size_t at = (size_t)q->sq_tail * sizeof(*cmd);

	if (q->sq_io)
		snvme_sq_copy(q->sq_io + at, cmd);
	else
		memcpy(q->sq_cpu + at, cmd, sizeof(*cmd));
	if (++q->sq_tail == q->entries)
		q->sq_tail = 0;
	q->submitted++;
}

/*
 * Write-combining stores, of the command and of its PRP list, are ordered only
 * by this CPU's own fence, and another CPU may ring for them: so the fence
 * stands before the unlock. An SQ in this host's memory has its lists there
 * (snvme_queue_place()). The lock and writel() order plain stores.
 */
static __always_inline void snvme_sq_flush(struct snvme_queue *q)
{
	if (q->sq_io)
		wmb();	/* commands and lists before the doorbell */
	if (q->timed && !test_and_set_bit(0, &q->armed))
		hrtimer_start(&q->timer, ns_to_ktime(SNVME_TIMED_NS),
			      HRTIMER_MODE_REL);
}

static void snvme_sq_ring(struct snvme_queue *q)
{
	writel(q->sq_tail, q->db_sq);
	q->sq_rung = q->sq_tail;
}

/*
 * A list of a command that is not sent has been written all the same, maybe by
 * write combining: it is there before the lender has its memory back.
 */
static void snvme_list_settle(struct snvme_queue *q)
{
	wmb();	/* the list before the lender's next use of its memory */
}

/*
 * Sends a command; @last: with the doorbell. If the queue is not live the
 * command isn't sent: its request counts as held then, and ends as the other
 * held ones do. In queue_rq: no interrupt takes sq_lock.
 */
void snvme_queue_submit(struct snvme_queue *q, const struct nvme_command *cmd,
			bool last)
{
	spin_lock(&q->sq_lock);
	trace_snvme_submit(q, cmd, q->live);
	if (q->live) {
		snvme_sq_write(q, cmd);
		snvme_sq_flush(q);
		if (last)
			snvme_sq_ring(q);
	} else {
		snvme_list_settle(q);
	}
	spin_unlock(&q->sq_lock);
}

/*
 * Starts several requests, and sends their commands; the list is empty then.
 * None is started before it has left the list: a hostile lender may complete
 * it at once, and its link in the list is another request's then.
 */
void snvme_queue_submit_list(struct snvme_queue *q, struct rq_list *list)
{
	struct request *rq;

	if (rq_list_empty(list))
		return;
	spin_lock(&q->sq_lock);
	while ((rq = rq_list_pop(list))) {
		nvme_start_request(rq);
		trace_snvme_submit(q, nvme_req(rq)->cmd, q->live);
		if (q->live)
			snvme_sq_write(q, nvme_req(rq)->cmd);
	}
	if (q->live) {
		snvme_sq_flush(q);
		snvme_sq_ring(q);
	} else {
		snvme_list_settle(q);
	}
	spin_unlock(&q->sq_lock);
}

/* The doorbell, for commands that were sent without it. */
void snvme_queue_ring(struct snvme_queue *q)
{
	spin_lock(&q->sq_lock);
	if (q->live && q->sq_rung != q->sq_tail)
		snvme_sq_ring(q);
	spin_unlock(&q->sq_lock);
}

/* ---- completion, beside what client_queue.h inlines ---- */

/*
 * Takes completions that had come when the queue was deleted: those are true,
 * and save a retry, which matters for commands that must not run twice. The
 * controller writes to the queue no more. Return: how many requests ended.
 */
unsigned int snvme_queue_reap_late(struct snvme_queue *q)
{
	struct snvme_done done = { };
	unsigned int ended = 0;
	u64 before;

	if (!q->path->ctrl.tagset || !q->cq || !q->qid)
		return 0;
	spin_lock_irq(&q->cq_lock);
	before = q->completed;
	snvme_cq_reap(q, &done, true, q->ops->complete);
	ended = q->completed - before;
	spin_unlock_irq(&q->cq_lock);
	q->ops->end(&done);
	return ended;
}

static bool snvme_has_work(struct snvme_queue *q)
{
	return READ_ONCE(q->live) &&
	       READ_ONCE(q->submitted) != READ_ONCE(q->completed);
}

/* The CPU that sets @armed starts it: a submission, or the timer itself again. */
static enum hrtimer_restart snvme_timer(struct hrtimer *timer)
{
	struct snvme_queue *q = container_of(timer, struct snvme_queue, timer);

	q->ops->reap(q);
	if (!snvme_has_work(q)) {
		clear_bit(0, &q->armed);
		/* A submission that found it set is seen here. */
		smp_mb__after_atomic();
		if (!snvme_has_work(q) || test_and_set_bit(0, &q->armed))
			return HRTIMER_NORESTART;
	}
	hrtimer_forward_now(timer, ns_to_ktime(SNVME_TIMED_NS));
	return HRTIMER_RESTART;
}

/* ---- from session to session ---- */

/*
 * Lets commands and completions through. Not before blk-mq has the tags of this
 * queue: the device, or a hostile lender, may write a completion and raise the
 * interrupt as soon as the queue is open.
 */
void snvme_queue_start(struct snvme_queue *q)
{
	spin_lock(&q->sq_lock);
	if (!q->over) {
		spin_lock_irq(&q->cq_lock);
		q->dead = false;
		spin_unlock_irq(&q->cq_lock);
		WRITE_ONCE(q->live, true);
	}
	spin_unlock(&q->sq_lock);
}

/*
 * No more commands, no more completions; those that have come are taken first.
 * When it returns, the SQ and the doorbells are not written any more.
 */
void snvme_queue_stop(struct snvme_queue *q)
{
	struct snvme_done done = { };

	spin_lock(&q->sq_lock);
	WRITE_ONCE(q->live, false);
	spin_unlock(&q->sq_lock);
	spin_lock_irq(&q->cq_lock);
	if (!q->dead)
		snvme_cq_reap(q, &done, false, q->ops->complete);
	q->dead = true;
	spin_unlock_irq(&q->cq_lock);
	q->ops->end(&done);
	hrtimer_cancel(&q->timer);
	clear_bit(0, &q->armed);
}

/*
 * The session is over, and the queue does not start again in it; or the next
 * session begins. Any process, beside one that starts or stops it.
 */
void snvme_queue_end(struct snvme_queue *q, bool over)
{
	spin_lock(&q->sq_lock);
	q->over = over;
	spin_unlock(&q->sq_lock);
	if (over)
		snvme_queue_stop(q);
}

/* Only while the controller doesn't know the queue. */
static void snvme_queue_reset(struct snvme_queue *q)
{
	spin_lock(&q->sq_lock);
	q->sq_tail = 0;
	q->sq_rung = 0;
	/* The timer compares these; held requests are over. */
	q->submitted = q->completed;
	spin_unlock(&q->sq_lock);
	spin_lock_irq(&q->cq_lock);
	memset(q->cq, 0, q->entries * sizeof(*q->cq));
	q->cq_head = 0;
	q->phase = 1;
	spin_unlock_irq(&q->cq_lock);
}

static void snvme_queue_lists(struct snvme_queue *q, void __iomem *io,
			      void *cpu, u64 addr, size_t skip)
{
	q->list_io = io ? io + skip : NULL;
	q->list_cpu = cpu ? cpu + skip : NULL;
	q->list_addr = addr + skip;
}

/* An entry for each page but the first; a power of two stays in a page. */
static unsigned int snvme_list_slot(u32 max_bytes)
{
	return roundup_pow_of_two(max_bytes / NVME_CTRL_PAGE_SIZE *
				  sizeof(__le64));
}

/* @entries, or fewer if a host can't allocate SQ and lists in one piece. */
u16 snvme_queue_entries(unsigned int entries, u32 max_bytes)
{
	size_t each = sizeof(struct nvme_command) + snvme_list_slot(max_bytes);

	while (entries * each + 2 * PAGE_SIZE > PAGE_SIZE << MAX_PAGE_ORDER)
		entries /= 2;
	return entries;
}

/*
 * The SQ and the PRP lists, where the parameter says. In the controller's
 * memory the place of the SQ is known only after CREATE, and of the lists
 * never: they are beside the controller then.
 */
static int snvme_queue_place(struct snvme_queue *q,
			     struct snvme_create_req *req)
{
	struct smartio_device *sdev = q->path->sdev;
	size_t sq_size = PAGE_ALIGN(q->entries * sizeof(struct nvme_command));
	size_t lists = PAGE_ALIGN((size_t)q->entries * q->list_slot);
	enum snvme_placement placement = q->path->config.placement;
	int ret;

	req->placement = cpu_to_le16(placement);
	if (placement == SNVME_SQ_BORROWER) {
		/* of the session before: there may be no such piece now */
		if (!q->own) {
			q->own_size = sq_size + lists;
			q->own = smartio_dma_alloc(sdev, q->own_size,
						   &q->own_dma, GFP_KERNEL);
		}
		if (!q->own)
			return -ENOMEM;
		memset(q->own, 0, q->own_size);
		q->sq_cpu = q->own;
		snvme_queue_lists(q, NULL, q->own,
				  smartio_to_device(sdev, q->own_dma), sq_size);
		req->sq_addr = cpu_to_le64(q->own_dma);
		return 0;
	}
	if (placement == SNVME_SQ_CMB)
		sq_size = 0;
	ret = smartio_segment_alloc(sdev, sq_size + lists,
				    SMARTIO_DEVICE_READS, &q->segment);
	if (ret)
		return ret;
	snvme_queue_lists(q, q->segment.io, q->segment.cpu,
			  q->segment.device_addr, sq_size);
	if (placement == SNVME_SQ_SEGMENT) {
		q->sq_io = q->segment.io;
		q->sq_cpu = q->segment.cpu;
		req->sq_handle = cpu_to_le32(q->segment.handle);
	}
	return 0;
}

/*
 * That of the session before serves, unless the queue is for other CPUs now. A
 * doorbell does not: this lender may not ring any, and taking one needs no
 * memory. @cpus: NULL if there was no memory to tell.
 */
static int snvme_queue_irq_alloc(struct snvme_queue *q,
				 const struct cpumask *cpus)
{
	struct smartio_device *sdev = q->path->sdev;
	int ret;

	if (q->irq_kept && q->irq.way != SMARTIO_IRQ_DOORBELL &&
	    (!cpus || cpumask_equal(cpus, &q->irq_cpus)))
		return 0;
	smartio_irq_free(sdev, &q->irq);
	snprintf(q->irq_name, sizeof(q->irq_name), "nvme%dq%u",
		 q->path->ctrl.instance, q->index + 1);
	ret = smartio_irq_alloc(sdev, cpus, q->ops->interrupt, q->irq_name, q,
				&q->irq);
	q->irq_kept = !ret;
	cpumask_copy(&q->irq_cpus, cpus ?: cpu_none_mask);
	return ret;
}

/* The timer looks for completions. */
static void snvme_queue_timed(struct snvme_queue *q)
{
	q->timed = true;
	dev_warn(q->path->ctrl.device,
		 "queue %u: no interrupt left, polled every %lu us\n",
		 q->index + 1, SNVME_TIMED_NS / NSEC_PER_USEC);
}

static int snvme_queue_irq(struct snvme_queue *q, const struct cpumask *cpus,
			   struct snvme_create_req *req)
{
	struct smartio_irq_message message;
	struct snvme_path *path = q->path;
	int ret = snvme_queue_irq_alloc(q, cpus);

	if (ret == -ENOSPC) {
		snvme_queue_timed(q);
		return 0;
	}
	if (ret) {
		dev_err_ratelimited(path->ctrl.device,
				    "queue %u: no interrupt: %d\n",
				    q->index + 1, ret);
		return ret;
	}
	req->flags = cpu_to_le16(SNVME_CREATE_IRQ);
	smartio_irq_message(&q->irq, &message);
	req->irq_addr = cpu_to_le64(message.addr);
	req->irq_data = cpu_to_le32(message.data);
	return 0;
}

static int snvme_queue_create(struct snvme_queue *q,
			      struct snvme_create_req *req,
			      struct snvme_create_reply *reply)
{
	struct smartio_irq_message message = {
		.addr = le64_to_cpu(req->irq_addr),
		.data = le32_to_cpu(req->irq_data),
	};
	size_t size = sizeof(*reply);
	int ret;

	req->op = cpu_to_le16(SNVME_CREATE);
	memset(reply, 0, sizeof(*reply));
	ret = smartio_call(q->path->sdev, req, sizeof(*req), reply, &size,
			   SNVME_CALL_MS);
	if (!ret && (size != sizeof(*reply) || !le16_to_cpu(reply->qid)))
		ret = -EPROTO;
	if (ret || !(req->flags & cpu_to_le16(SNVME_CREATE_IRQ)))
		return ret;
	if (reply->vector) {
		smartio_irq_sent(&q->irq, le16_to_cpu(reply->vector), &message);
		return 0;
	}
	/*
	 * The drive has none left for this queue, in this session. A doorbell
	 * is scarce. A vector of this host is kept: to get one the next session
	 * might wait for a CPU that waits for memory.
	 */
	if (q->irq.way == SMARTIO_IRQ_DOORBELL) {
		smartio_irq_free(q->path->sdev, &q->irq);
		q->irq_kept = false;
	}
	snvme_queue_timed(q);
	return 0;
}

/* Both doorbells, and whole pages around them. */
static int snvme_queue_map_doorbells(struct snvme_queue *q)
{
	const struct snvme_limits *limits = &q->path->limits;
	u64 sq = limits->db_offset + 2ULL * q->qid * limits->db_stride;
	u64 cq = sq + limits->db_stride;
	u64 first = sq & ~(u64)(NVME_CTRL_PAGE_SIZE - 1);
	size_t size = ALIGN(cq + 4, NVME_CTRL_PAGE_SIZE) - first;

	q->db = smartio_map_bar(q->path->sdev, 0, first, size, false);
	if (IS_ERR((__force void *)q->db)) {
		int ret = PTR_ERR((__force void *)q->db);

		q->db = NULL;
		return ret;
	}
	q->db_sq = q->db + (sq - first);
	q->db_cq = q->db + (cq - first);
	return 0;
}

static int snvme_queue_map_cmb(struct snvme_queue *q,
			       const struct snvme_create_reply *reply)
{
	q->cmb = smartio_map_bar(q->path->sdev, le32_to_cpu(reply->cmb_bar),
				 le64_to_cpu(reply->cmb_offset),
				 q->entries * sizeof(struct nvme_command),
				 true);
	if (IS_ERR((__force void *)q->cmb)) {
		int ret = PTR_ERR((__force void *)q->cmb);

		q->cmb = NULL;
		return ret;
	}
	q->sq_io = q->cmb;
	return 0;
}

/*
 * Creates the queue in the session, for these CPUs. snvme_queue_close() gives
 * everything back when the session is over, after an error too. May sleep.
 */
int snvme_queue_open(struct snvme_queue *q, bool polled,
		     const struct cpumask *cpus)
{
	struct snvme_create_req req = {
		.entries = cpu_to_le16(q->entries),
		.cq_addr = cpu_to_le64(q->cq_dma),
	};
	struct snvme_create_reply reply;
	int ret;

	snvme_queue_reset(q);
	q->polled = polled;
	ret = snvme_queue_place(q, &req);
	q->path->no_room |= ret == -ENOMEM || ret == -ENOSPC || ret == -ERANGE;
	if (!ret && !polled)
		ret = snvme_queue_irq(q, cpus, &req);
	if (!ret)
		ret = snvme_queue_create(q, &req, &reply);
	if (ret)
		return ret;
	q->qid = le16_to_cpu(reply.qid);
	ret = snvme_queue_map_doorbells(q);
	if (!ret && q->path->config.placement == SNVME_SQ_CMB)
		ret = snvme_queue_map_cmb(q, &reply);
	return ret;
}

/*
 * Gives back all that belonged to a session. Only when the device touches
 * nothing of that session any more. May sleep.
 */
void snvme_queue_close(struct snvme_queue *q)
{
	struct smartio_device *sdev = q->path->sdev;

	q->irq_kept = smartio_irq_over(&q->irq);
	hrtimer_cancel(&q->timer);
	smartio_unmap_bar(sdev, q->db);
	smartio_unmap_bar(sdev, q->cmb);
	smartio_segment_free(sdev, &q->segment);
	q->db = NULL;
	q->db_sq = NULL;
	q->db_cq = NULL;
	q->cmb = NULL;
	q->sq_io = NULL;
	q->sq_cpu = NULL;
	snvme_queue_lists(q, NULL, NULL, 0, 0);
	q->timed = false;
	q->qid = 0;
}

/*
 * The path has no such queue any more. Its interrupt may be scarce: a vector of
 * the device, or a doorbell. May sleep.
 */
void snvme_queue_unused(struct snvme_queue *q)
{
	if (!q->irq_kept)
		return;
	smartio_irq_free(q->path->sdev, &q->irq);
	q->irq_kept = false;
}

/* Allocates the part that stays: 0 or -ENOMEM. May sleep. */
int snvme_queue_alloc(struct snvme_queue *q, struct snvme_path *path,
		      unsigned int index, u16 entries,
		      const struct snvme_queue_ops *ops)
{
	q->path = path;
	q->ops = ops;
	q->index = index;
	q->entries = entries;
	q->dead = true;
	spin_lock_init(&q->sq_lock);
	spin_lock_init(&q->cq_lock);
	hrtimer_setup(&q->timer, snvme_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL);
	q->list_slot = snvme_list_slot(path->max_bytes);
	q->cq_size = PAGE_ALIGN(entries * sizeof(*q->cq));
	q->cq = smartio_dma_alloc(path->sdev, q->cq_size, &q->cq_dma,
				  GFP_KERNEL);
	return q->cq ? 0 : -ENOMEM;
}

void snvme_queue_free(struct snvme_queue *q)
{
	if (!q->path)
		return;
	smartio_irq_free(q->path->sdev, &q->irq);
	smartio_dma_free(q->path->sdev, q->own_size, q->own, q->own_dma);
	smartio_dma_free(q->path->sdev, q->cq_size, q->cq, q->cq_dma);
	q->own = NULL;
	q->cq = NULL;
}
