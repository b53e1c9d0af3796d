// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions, on the lender: they open, requests run in them, they end. Several
 * may want to end one at once (its borrower, the link, a fence, the lender's
 * half): whoever comes first does it, the others wait for it.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "export.h"
#include "hosts.h"
#include "trace.h"

/* Requests of borrowers run here, many at once. */
static struct workqueue_struct *lend_request_wq;
/* Sessions end here, when several do at once. */
static struct workqueue_struct *lend_end_wq;

/*
 * Ids are not used twice, not by the next incarnation of this module or host
 * either: they count up from the time of the first.
 */
static u64 lend_next_id(void)
{
	static atomic64_t last;

	if (!atomic64_read(&last))
		atomic64_cmpxchg(&last, 0, ktime_get_real_ns() >> 20 << 20);
	return atomic64_inc_return(&last);
}

static void lend_session_release(struct kref *ref)
{
	struct lend_session *session = container_of(ref, struct lend_session,
						    ref);

	if (session->ops->release)
		session->ops->release(session);
	xa_destroy(&session->segments);
	bitmap_free(session->irqs);
	lend_put(session->s.lent);
	kfree(session);
}

void lend_session_get(struct lend_session *session)
{
	kref_get(&session->ref);
}

void lend_session_put(struct lend_session *session)
{
	kref_put(&session->ref, lend_session_release);
}

/* A session by its id. Returns it, with a reference, or NULL. */
struct lend_session *lend_session_find(u64 id)
{
	struct lend_session *session, *found = NULL;
	struct smartio_lent *lent;

	mutex_lock(&smartio_lents_lock);
	list_for_each_entry(lent, &smartio_lents, entry) {
		mutex_lock(&lent->lock);
		list_for_each_entry(session, &lent->sessions, entry) {
			if (session->s.id != id)
				continue;
			lend_session_get(session);
			found = session;
			break;
		}
		mutex_unlock(&lent->lock);
		if (found)
			break;
	}
	mutex_unlock(&smartio_lents_lock);
	return found;
}

/*
 * Do something in a session. The session doesn't end until
 * lend_session_leave(). Returns 0 or -ENOLINK: it is over, or about to be.
 */
int lend_session_enter(struct lend_session *session)
{
	struct smartio_lent *lent = session->s.lent;
	int ret = -ENOLINK;

	mutex_lock(&lent->lock);
	if (session->state == LEND_OPEN) {
		session->running++;
		ret = 0;
	}
	mutex_unlock(&lent->lock);
	return ret;
}

void lend_session_leave(struct lend_session *session)
{
	struct smartio_lent *lent = session->s.lent;

	mutex_lock(&lent->lock);
	WRITE_ONCE(session->running, session->running - 1);
	if (!session->running)
		wake_up(&session->idle);
	mutex_unlock(&lent->lock);
}

/*
 * It is over for the lender's half, if it ever knew it: gives back all that
 * it holds. The caller has made it LEND_ENDING, or it failed to open.
 */
static void lend_session_finish(struct lend_session *session, bool opened)
{
	struct smartio_lent *lent = session->s.lent;

	/* What runs must end by itself; name what is waited for if not. */
	while (!wait_event_timeout(session->idle, !READ_ONCE(session->running),
				   30 * HZ))
		pci_warn(lent->pdev,
			 "session %#llx of %s: waiting for its requests\n",
			 session->s.id, session->s.host_name);
	/* what they did under the lock, and before, is done */
	mutex_lock(&lent->lock);
	mutex_unlock(&lent->lock);
	/* first what the borrower itself can still write to */
	lend_bars_free(session);
	if (opened)
		lent->ops->close(&session->s);
	lend_resources_free(session);
	mutex_lock(&lent->lock);
	session->state = LEND_ENDED;
	list_del(&session->entry);
	mutex_unlock(&lent->lock);
	if (opened && session->why == LEND_END_LENDER)
		session->ops->ended(session);
	if (opened)
		trace_smartio_session(&session->s, false, session->why);
	complete_all(&session->ended);
	lend_session_put(session);
}

/*
 * End a session. When it returns the lender's half has closed it, whoever
 * asked for it.
 */
void lend_end(struct lend_session *session, enum lend_end why)
{
	struct smartio_lent *lent = session->s.lent;
	bool mine = false;

	mutex_lock(&lent->lock);
	switch (session->state) {
	case LEND_OPEN:
		session->state = LEND_ENDING;
		session->why = why;
		mine = true;
		break;
	case LEND_OPENING:	/* lend_open() sees to it */
		session->state = LEND_ENDING;
		session->why = why;
		break;
	case LEND_ENDING:
	case LEND_ENDED:
		break;
	}
	mutex_unlock(&lent->lock);
	if (mine) {
		lend_session_finish(session, true);
		return;
	}
	while (!wait_for_completion_timeout(&session->ended, 60 * HZ))
		pci_warn(lent->pdev, "session %#llx of %s does not end\n",
			 session->s.id, session->s.host_name);
}

struct lend_match {
	bool (*match)(struct lend_session *session, void *arg);
	void *arg;
	enum lend_end why;
};

struct lend_ending {
	struct work_struct work;
	struct lend_session *session;
	enum lend_end why;
};

static void lend_ending_work(struct work_struct *work)
{
	struct lend_ending *ending = container_of(work, struct lend_ending,
						  work);

	lend_end(ending->session, ending->why);
}

/*
 * Those that match, all at once, so that the slowest one, not the sum, counts.
 */
static void lend_end_of(struct smartio_lent *lent, const struct lend_match *m)
{
	struct lend_ending *endings;
	struct lend_session *session;
	unsigned int count = 0, i = 0;

	mutex_lock(&lent->lock);
	list_for_each_entry(session, &lent->sessions, entry)
		if (!m->match || m->match(session, m->arg))
			count++;
	endings = kvcalloc(count, sizeof(*endings), GFP_NOIO | __GFP_NOFAIL);
	list_for_each_entry(session, &lent->sessions, entry) {
		if (m->match && !m->match(session, m->arg))
			continue;
		lend_session_get(session);
		endings[i].session = session;
		endings[i].why = m->why;
		INIT_WORK(&endings[i].work, lend_ending_work);
		i++;
	}
	mutex_unlock(&lent->lock);
	for (i = 1; i < count; i++)
		queue_work(lend_end_wq, &endings[i].work);
	for (i = 0; i < count; i++) {
		if (i)
			flush_work(&endings[i].work);
		else
			lend_end(endings[i].session, m->why);
		lend_session_put(endings[i].session);
	}
	kvfree(endings);
}

/* End all sessions of a device. All are over when it returns. */
void lend_end_all(struct smartio_lent *lent, enum lend_end why)
{
	struct lend_match m = { .why = why };

	lend_end_of(lent, &m);
}

/* End sessions of all devices. They are over when it returns. */
void lend_end_matching(bool (*match)(struct lend_session *session, void *arg),
		       void *arg, enum lend_end why)
{
	struct lend_match m = { .match = match, .arg = arg, .why = why };
	struct smartio_lent *lent;
	u32 last = 0;

	while ((lent = lend_after(last))) {
		last = lent->id;
		lend_end_of(lent, &m);
		lend_put(lent);
	}
}

struct lend_ids {
	const u64 *ids;
	unsigned int count;
};

static bool lend_one_of(struct lend_session *session, void *arg)
{
	const struct lend_ids *ids = arg;
	unsigned int i;

	for (i = 0; i < ids->count; i++)
		if (session->s.id == ids->ids[i])
			return true;
	return false;
}

/**
 * smartio_lent_end() - end some sessions of a device
 * @lent: the device
 * @ids: of the sessions; those that are over already don't matter
 * @count: how many
 *
 * @close was called for each, and their borrowers were told, when this returns.
 * It waits for their requests: not from one of theirs.
 *
 * Context: process, may sleep.
 */
void smartio_lent_end(struct smartio_lent *lent, const u64 *ids,
		      unsigned int count)
{
	struct lend_ids all = { .ids = ids, .count = count };
	struct lend_match m = {
		.match = lend_one_of, .arg = &all, .why = LEND_END_LENDER,
	};

	lend_end_of(lent, &m);
}
EXPORT_SYMBOL_GPL(smartio_lent_end);

static bool lend_same_borrower(struct lend_session *session, void *arg)
{
	const struct lend_borrower *who = arg;

	return session->peer == who->peer &&
	       uuid_equal(&session->s.host, who->host);
}

/*
 * Opens a session for a borrower, whose previous one ends first. Returns 0,
 * -EAGAIN, -EACCES, -ENOMEM, or what the lender's half says.
 */
int lend_open(struct smartio_lent *lent, const struct lend_borrower *who,
	      struct lend_session **session)
{
	struct lend_match m = {
		.match = lend_same_borrower, .arg = (void *)who,
		.why = LEND_END_CLOSED,
	};
	struct lend_session *new, *other;
	bool open;
	int ret;

	lend_end_of(lent, &m);

	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->irqs = bitmap_zalloc(max(lent->vectors, 1U), GFP_KERNEL);
	if (!new->irqs) {
		kfree(new);
		return -ENOMEM;
	}
	kref_init(&new->ref);
	new->ops = who->ops;
	new->peer = who->peer;
	new->state = LEND_OPENING;
	init_waitqueue_head(&new->idle);
	init_completion(&new->ended);
	mutex_init(&new->lock);
	xa_init_flags(&new->segments, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&new->bars);
	new->s.lent = lent;
	new->s.id = lend_next_id();
	uuid_copy(&new->s.host, who->host);
	strscpy(new->s.host_name, who->name);
	strscpy(new->s.link_name, who->link_name);
	new->s.local = who->local;
	lend_get(lent);
	if (new->ops->acquire)
		new->ops->acquire(new);

	mutex_lock(&lent->lock);
	if (lent->gone)
		ret = -ENODEV;
	else if (!smartio_host_use(&new->s.host))
		ret = -EACCES;	/* also while it is suspended: it has to know */
	else if (lent->suspended)
		ret = -EAGAIN;
	else if (!try_module_get(lent->owner))
		ret = -EAGAIN;
	else
		ret = 0;
	/* One at a time, also of a borrower that asks many times at once. */
	list_for_each_entry(other, &lent->sessions, entry) {
		if (ret || !lend_same_borrower(other, (void *)who))
			continue;
		module_put(lent->owner);
		ret = -EAGAIN;
	}
	if (!ret) {
		list_add_tail(&new->entry, &lent->sessions);
		lend_session_get(new);	/* for the list */
	}
	mutex_unlock(&lent->lock);
	if (ret) {
		lend_session_put(new);
		return ret;
	}

	ret = lent->ops->open(&new->s);
	module_put(lent->owner);
	trace_smartio_session(&new->s, true, ret);
	mutex_lock(&lent->lock);
	open = !ret && new->state == LEND_OPENING;
	if (open)
		new->state = LEND_OPEN;
	mutex_unlock(&lent->lock);
	if (!open) {
		lend_session_finish(new, !ret);
		lend_session_put(new);
		return ret ? ret : -EAGAIN;
	}
	*session = new;
	return 0;
}

/* ---- requests ---- */

static void lend_job_work(struct work_struct *work)
{
	struct lend_job *job = container_of(work, struct lend_job, work);
	struct lend_session *session = job->session;

	job->status = lend_session_enter(session);
	if (!job->status) {
		job->status = session->s.lent->ops->request(&session->s,
							    job->request,
							    job->size,
							    job->reply,
							    &job->reply_size);
		lend_session_leave(session);
	}
	if (job->status)
		job->reply_size = 0;
	job->done(job);
}

/*
 * A request that has come. The caller sets done and context before
 * lend_job_start().
 */
struct lend_job *lend_job_alloc(struct lend_session *session,
				const void *request, size_t size,
				size_t reply_max)
{
	struct lend_job *job = kzalloc(sizeof(*job), GFP_NOIO);

	if (!job)
		return NULL;
	INIT_WORK(&job->work, lend_job_work);
	job->size = size;
	job->reply_size = min_t(size_t, reply_max, SMARTIO_MESSAGE_MAX);
	job->request = kvmalloc(size, GFP_NOIO);
	job->reply = kvzalloc(max(job->reply_size, 1UL), GFP_NOIO);
	lend_session_get(session);
	job->session = session;
	if (!job->request || !job->reply) {
		lend_job_free(job);
		return NULL;
	}
	memcpy(job->request, request, size);
	return job;
}

void lend_job_start(struct lend_job *job)
{
	queue_work(lend_request_wq, &job->work);
}

void lend_job_free(struct lend_job *job)
{
	lend_session_put(job->session);
	kvfree(job->request);
	kvfree(job->reply);
	kfree(job);
}

/**
 * smartio_session_notify() - a message to a borrower
 * @session: the session
 * @message: is copied
 * @size: bytes, at most SMARTIO_MESSAGE_MAX
 *
 * Messages arrive in the order sent, before the end of the session, or not at
 * all, if the link breaks.
 *
 * Context: process, may sleep.
 * Return: 0, -EMSGSIZE, -ENOMEM, or -ENOLINK.
 */
int smartio_session_notify(struct smartio_session *session, const void *message,
			   size_t size)
{
	struct lend_session *s = to_lend_session(session);

	if (size > SMARTIO_MESSAGE_MAX)
		return -EMSGSIZE;
	return s->ops->notify(s, message, size);
}
EXPORT_SYMBOL_GPL(smartio_session_notify);

int __init sessions_init(void)
{
	lend_request_wq = alloc_workqueue("smartio_request",
					  WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!lend_request_wq)
		return -ENOMEM;
	lend_end_wq = alloc_workqueue("smartio_end",
				      WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (lend_end_wq)
		return 0;
	destroy_workqueue(lend_request_wq);
	return -ENOMEM;
}

void sessions_exit(void)
{
	destroy_workqueue(lend_end_wq);
	destroy_workqueue(lend_request_wq);
}
