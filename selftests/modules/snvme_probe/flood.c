// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs that many threads create and delete at the same time, as a client
 * does that wants to keep the controller busy. All of them have the same memory,
 * of which the controller uses nothing: no command is ever sent.
 */
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "probe.h"

#define FLOOD_ENTRIES	16
#define FLOOD_THREADS	64

/**
 * struct probe_flood - one run
 * @p: the path, with a session open
 * @create: the request of all threads
 * @until: the end, in jiffies
 * @made: queue pairs
 * @refused: requests for which no queue pair was left, or no turn
 * @failed: requests with another error
 */
struct probe_flood {
	struct probe *p;
	struct snvme_create_req create;
	unsigned long until;
	atomic_t made;
	atomic_t refused;
	atomic_t failed;
};

struct flood_thread {
	struct work_struct work;
	struct probe_flood *flood;
};

static void flood_count(struct probe_flood *flood, int ret)
{
	if (ret == -ENOSPC || ret == -EBUSY)
		atomic_inc(&flood->refused);
	else if (ret)
		atomic_inc(&flood->failed);
}

static void flood_work(struct work_struct *work)
{
	struct flood_thread *thread =
		container_of(work, struct flood_thread, work);
	struct probe_flood *flood = thread->flood;
	struct smartio_device *sdev = flood->p->sdev;
	struct snvme_delete_req delete = {
		.op = cpu_to_le16(SNVME_DELETE),
	};
	struct snvme_create_reply reply;
	size_t size;
	int ret;

	while (time_before(jiffies, flood->until)) {
		size = sizeof(reply);
		ret = smartio_call(sdev, &flood->create,
				   sizeof(flood->create), &reply, &size,
				   PROBE_CALL_MS);
		flood_count(flood, ret);
		if (ret) {
			/* all pairs are with the other threads */
			schedule_timeout_uninterruptible(1);
			continue;
		}
		atomic_inc(&flood->made);
		delete.qid = reply.qid;
		flood_count(flood, smartio_call(sdev, &delete, sizeof(delete),
						NULL, NULL, PROBE_CALL_MS));
	}
}

static void flood_run(struct probe_flood *flood, unsigned int threads)
{
	struct flood_thread *all = kcalloc(threads, sizeof(*all), GFP_KERNEL);
	struct workqueue_struct *wq = alloc_workqueue("snvme_flood", WQ_UNBOUND,
						      FLOOD_THREADS);
	unsigned int i;

	if (all && wq) {
		for (i = 0; i < threads; i++) {
			all[i].flood = flood;
			INIT_WORK(&all[i].work, flood_work);
			queue_work(wq, &all[i].work);
		}
	} else {
		atomic_inc(&flood->failed);
	}
	if (wq)
		destroy_workqueue(wq);
	kfree(all);
}

/* Returns 0; or an error, if any request failed. */
int probe_flood(struct probe *p, unsigned int threads, unsigned int seconds)
{
	struct probe_flood flood = {
		.p = p,
		.until = jiffies + seconds * HZ,
	};
	struct probe_pair pair;
	int ret;

	if (!threads || threads > FLOOD_THREADS)
		return -EINVAL;
	ret = probe_attach(p);
	if (ret)
		return ret;
	ret = probe_pair_create(p, &pair, SNVME_SQ_BORROWER, false,
				FLOOD_ENTRIES);
	if (ret)
		goto close;
	memcpy(&flood.create, p->message, sizeof(flood.create));
	flood_run(&flood, threads);
	snprintf(p->result, sizeof(p->result), "made %d refused %d failed %d\n",
		 atomic_read(&flood.made), atomic_read(&flood.refused),
		 atomic_read(&flood.failed));
	ret = probe_pair_delete(p, &pair);
	if (!ret && atomic_read(&flood.failed))
		ret = -EIO;
close:
	smartio_close(p->sdev);
	return ret;
}
