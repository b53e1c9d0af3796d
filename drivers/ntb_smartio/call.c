// SPDX-License-Identifier: GPL-2.0
/*
 * Requests over a link, in both directions: those of this host wait here for
 * their replies; those of the other side run on the link's workqueues, many at
 * once.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/smartio_recovery.h>

#include "link.h"

/* Of a wait for an answer. */
#define LINK_SLICE_S		30UL

/**
 * struct link_pending - a request of this host
 * @link: over which
 * @ref: one of the caller, one of each finder in link->calls
 * @done: it is answered, or will never be
 * @status: then
 * @payload: of the reply; with the last reference it is freed
 * @size: of @payload
 */
struct link_pending {
	struct ntb_link *link;
	struct kref ref;
	struct completion done;
	int status;
	void *payload;
	size_t size;
};

static void link_pending_release(struct kref *ref)
{
	struct link_pending *pending = container_of(ref, struct link_pending,
						    ref);

	link_buffer_free(pending->link, pending->payload);
	kfree(pending);
}

/* Takes it out of the list, so that only one answer counts. */
static struct link_pending *link_pending_take(struct ntb_link *link, u32 id)
{
	return xa_erase(&link->calls, id);
}

/*
 * By slices: an answer may take longer than a task may sleep in one piece
 * before the kernel reports it (khungtaskd).
 */
static bool link_pending_wait(struct link_pending *pending,
			      unsigned int timeout_ms)
{
	unsigned long slice, left = msecs_to_jiffies(timeout_ms);

	for (; left; left -= slice) {
		slice = min(left, LINK_SLICE_S * HZ);
		if (wait_for_completion_timeout(&pending->done, slice))
			return true;
	}
	return completion_done(&pending->done);
}

/*
 * Ask the other side. Returns the reply's status, -ENOLINK, -ETIMEDOUT,
 * -ENOMEM; -EMSGSIZE: the reply has no room.
 */
int link_call(struct ntb_link *link, const struct wire_message *message,
	      const void *payload, void *reply, size_t *reply_size,
	      unsigned int timeout_ms)
{
	struct wire_message sent = *message;
	struct link_pending *pending;
	u32 generation, id;
	int ret;

	if (!link_is_up(link, &generation))
		return -ENOLINK;
	pending = kzalloc(sizeof(*pending), GFP_NOIO);
	if (!pending)
		return -ENOMEM;
	pending->link = link;
	kref_init(&pending->ref);
	kref_get(&pending->ref);	/* of the list */
	init_completion(&pending->done);
	ret = xa_alloc_cyclic(&link->calls, &id, pending, xa_limit_32b,
			      &link->next_call, GFP_NOIO);
	if (ret < 0) {
		kref_put(&pending->ref, link_pending_release);
		goto put;
	}
	sent.request = id;
	sent.timeout_ms = timeout_ms;
	sent.reply_max = min_t(size_t, *reply_size, SMARTIO_MESSAGE_MAX);
	ret = link_send(link, generation, &sent, payload);
	if (!ret && !link_pending_wait(pending, timeout_ms))
		ret = -ETIMEDOUT;
	if (ret && link_pending_take(link, id)) {
		kref_put(&pending->ref, link_pending_release);
		goto put;
	}
	/* Answered just in time: link_pending_answer() completes it at once. */
	wait_for_completion(&pending->done);
	ret = pending->status;
	if (!ret && pending->size > *reply_size)
		ret = -EMSGSIZE;
	*reply_size = ret ? 0 : pending->size;
	if (*reply_size)
		memcpy(reply, pending->payload, *reply_size);
put:
	kref_put(&pending->ref, link_pending_release);
	return ret;
}

static void link_pending_answer(struct link_pending *pending, int status,
				void *payload, size_t size)
{
	pending->status = status;
	pending->payload = payload;
	pending->size = size;
	complete_all(&pending->done);
	kref_put(&pending->ref, link_pending_release);
}

/* The link is down: no answer will arrive any more. */
void link_calls_fail(struct ntb_link *link)
{
	unsigned long id;
	void *entry;

	xa_for_each(&link->calls, id, entry) {
		struct link_pending *pending = link_pending_take(link, id);

		if (pending)
			link_pending_answer(pending, -ENOLINK, NULL, 0);
	}
}

/* ---- requests of the other side ---- */

struct link_job {
	struct work_struct work;
	struct ntb_link *link;
	u32 generation;
	unsigned long deadline;
	bool busy;
	struct wire_message message;
	void *payload;
};

static void link_job_done(struct link_job *job)
{
	struct ntb_link *link = job->link;

	link_buffer_free(link, job->payload);
	kfree(job);
	if (atomic_dec_and_test(&link->jobs))
		wake_up(&link->jobs_idle);
	smartio_link_put(&link->base);
}

static void link_job_reply(struct ntb_link *link, u32 generation,
			   u32 request, int status, const void *reply,
			   size_t size)
{
	struct wire_message message = {
		.type = WIRE_REPLY,
		.request = request,
		.status = status,
		.length = status ? 0 : size,
	};

	link_send(link, generation, &message, reply);
}

static void link_job_work(struct work_struct *work)
{
	struct link_job *job = container_of(work, struct link_job, work);
	const struct smartio_link_client *client = job->link->base.client;
	size_t size = min_t(size_t, job->message.reply_max,
			    SMARTIO_MESSAGE_MAX);
	/* No request that recovery needs is large; but it waits for all. */
	unsigned int flags = smartio_recovery_begin();
	int status = -ENOMEM;
	u32 generation;
	void *reply;

	/* The replies of the core itself are small. */
	reply = kvzalloc(max(size, PAGE_SIZE), smartio_recovery_gfp(size));
	if (!link_is_up(job->link, &generation) ||
	    generation != job->generation)
		status = -ENOLINK;	/* no host receives a reply */
	else if (job->busy)
		status = -EBUSY;
	else if (time_after(jiffies, job->deadline))
		status = -ETIMEDOUT;	/* the peer waits no longer */
	else if (reply)
		status = client->request(&job->link->base, job->generation,
					 &job->message, job->payload, reply,
					 &size);
	/* The wire has no others; and 0 is no error. */
	if (status > 0 || status < -MAX_ERRNO)
		status = -EIO;
	link_job_reply(job->link, job->generation, job->message.request, status,
		       reply, size);
	kvfree(reply);
	link_job_done(job);
	smartio_recovery_end(flags);
}

/*
 * Requests that begin or end the work of others run on a queue of their own.
 * Without memory for a thread a queue has only its rescuer, which runs one job
 * after another. A job may wait for a request that ends it.
 */
static struct workqueue_struct *link_job_queue(struct ntb_link *link, u16 type)
{
	switch (type) {
	case WIRE_OPEN_SESSION:
	case WIRE_CLOSE_SESSION:
	case WIRE_REVOKE:
	case WIRE_FENCE:
	case WIRE_HOSTS:	/* asked for before a fence */
		return link->ends_wq;
	default:
		return link->jobs_wq;
	}
}

static bool link_job_start(struct ntb_link *link, u32 generation,
			   const struct wire_message *message, void *payload)
{
	int jobs = atomic_read(&link->jobs);
	struct link_job *job;

	/* A peer that continues to ask after -EBUSY isn't answered. */
	if (jobs >= 2 * LINK_JOBS_MAX) {
		atomic64_inc(&link->counters.busy);
		link_buffer_free(link, payload);
		return true;
	}
	job = kzalloc(sizeof(*job), GFP_NOIO | __GFP_NOWARN);
	if (!job)
		return false;
	/* other requests of the core have a place all the same */
	if (jobs >= LINK_JOBS_MAX && message->type == WIRE_REQUEST) {
		atomic64_inc(&link->counters.busy);
		job->busy = true;
	}
	INIT_WORK(&job->work, link_job_work);
	smartio_link_get(&link->base);
	job->link = link;
	job->generation = generation;
	job->deadline = jiffies + msecs_to_jiffies(message->timeout_ms);
	job->message = *message;
	job->payload = payload;
	atomic_inc(&link->jobs);
	queue_work(link_job_queue(link, message->type), &job->work);
	return true;
}

/*
 * Waits until no request of the other side runs: the link is down. They end by
 * themselves: their own calls on the link fail.
 */
void link_jobs_wait(struct ntb_link *link)
{
	while (!wait_event_timeout(link->jobs_idle, !atomic_read(&link->jobs),
				   30 * HZ))
		dev_warn(link->base.dma, "%s: waiting for %d requests of %s\n",
			 link->base.name, atomic_read(&link->jobs), link->base.peer.name);
}

/*
 * Handles a message that has arrived; must not wait for other work. Returns
 * whether it took the message, and frees @payload. Without memory it returns
 * false: the message has to be delivered again.
 */
bool link_receive(struct ntb_link *link, u32 generation,
		  const struct wire_message *message, void *payload)
{
	struct link_pending *pending;

	if (message->type >= WIRE_FIRST_REQUEST)
		return link_job_start(link, generation, message, payload);
	if (message->type != WIRE_REPLY) {
		if (message->type == WIRE_APERTURE)
			link_apertures_take(link, payload);
		else if (!link->base.client->message(&link->base, message,
						     payload))
			return false;
		link_buffer_free(link, payload);
		return true;
	}
	pending = link_pending_take(link, message->request);
	if (pending) {
		link_pending_answer(pending, message->status, payload,
				    message->length);
	} else {
		atomic64_inc(&link->counters.late);
		link_buffer_free(link, payload);
	}
	return true;
}

/*
 * A peer's requests may wait for long, and as many as it may have. On queues
 * of its own none of them delays another peer's requests, such as those for a
 * fence.
 */
int link_calls_init(struct ntb_link *link)
{
	link->jobs_wq = alloc_workqueue("smartio-%s-jobs",
					WQ_UNBOUND | WQ_MEM_RECLAIM,
					2 * LINK_JOBS_MAX, link->base.name);
	if (!link->jobs_wq)
		return -ENOMEM;
	link->ends_wq = alloc_workqueue("smartio-%s-ends",
					WQ_UNBOUND | WQ_MEM_RECLAIM,
					2 * LINK_JOBS_MAX, link->base.name);
	if (link->ends_wq)
		return 0;
	destroy_workqueue(link->jobs_wq);
	return -ENOMEM;
}

void link_calls_exit(struct ntb_link *link)
{
	destroy_workqueue(link->ends_wq);
	destroy_workqueue(link->jobs_wq);
}
