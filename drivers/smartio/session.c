// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions, on the lender: they open, requests run in them, they end. Several
 * may want to end one at once (its borrower, the link, a fence, the lender's
 * half): the first one does it, the others wait for it.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/smartio_recovery.h>

#include "export.h"
#include "hosts.h"
#include "trace.h"

/* Requests of borrowers run here, many at once. */
static struct workqueue_struct *session_request_wq;
/* Sessions end here, when several do at once. */
static struct workqueue_struct *session_end_wq;

/*
 * Ids are not used twice, not by the next incarnation of this module or host
 * either: they count up from the time of the first.
 */
static u64 session_next_id(void)
{
	static atomic64_t last;

	if (!atomic64_read(&last))
		atomic64_cmpxchg(&last, 0, ktime_get_real_ns() >> 20 << 20);
	return atomic64_inc_return(&last);
}

static void session_release(struct kref *ref)
{
	struct session *session = container_of(ref, struct session, ref);

	if (session->ops->release)
		session->ops->release(session);
	xa_destroy(&session->segments);
	bitmap_free(session->irqs);
	kfree(session->irq_moves);
	export_put(session->s.export);
	kfree(session);
}

static void session_get(struct session *session)
{
	kref_get(&session->ref);
}

void session_put(struct session *session)
{
	kref_put(&session->ref, session_release);
}

/* A session by its id. Returns it, with a reference, or NULL. */
struct session *session_find(u64 id)
{
	struct session *session, *found = NULL;
	struct smartio_export *export;

	mutex_lock(&smartio_exports_lock);
	list_for_each_entry(export, &smartio_exports, entry) {
		mutex_lock(&export->lock);
		list_for_each_entry(session, &export->sessions, entry) {
			if (session->s.id != id)
				continue;
			session_get(session);
			found = session;
			break;
		}
		mutex_unlock(&export->lock);
		if (found)
			break;
	}
	mutex_unlock(&smartio_exports_lock);
	return found;
}

/*
 * Do something in a session. The session doesn't end until
 * session_leave(). Returns 0 or -ENOLINK: it is over, or about to be.
 */
int session_enter(struct session *session)
{
	struct smartio_export *export = session->s.export;
	int ret = -ENOLINK;

	mutex_lock(&export->lock);
	if (session->state == SESSION_OPEN) {
		session->running++;
		ret = 0;
	}
	mutex_unlock(&export->lock);
	return ret;
}

void session_leave(struct session *session)
{
	struct smartio_export *export = session->s.export;

	mutex_lock(&export->lock);
	WRITE_ONCE(session->running, session->running - 1);
	if (!session->running)
		wake_up(&session->idle);
	mutex_unlock(&export->lock);
}

/*
 * It is over for the lender's half, if it ever knew it: gives back all that
 * it holds. The caller has made it SESSION_ENDING, or it failed to open.
 */
static void session_finish(struct session *session, bool opened)
{
	struct smartio_export *export = session->s.export;

	if (opened && export->ops->ending)
		export->ops->ending(&session->s);
	/* Running requests must end by themselves; name the session if not. */
	while (!wait_event_timeout(session->idle, !READ_ONCE(session->running),
				   30 * HZ))
		pci_warn(export->pdev,
			 "session %#llx of %s: waiting for its requests\n",
			 session->s.id, session->s.host_name);
	/* their changes under the lock, and before, are visible now */
	mutex_lock(&export->lock);
	mutex_unlock(&export->lock);
	/* first the registers that the borrower itself can still write to */
	session_bars_free(session);
	if (session->ops->withdraw)
		session->ops->withdraw(session);
	if (opened)
		export->ops->close(&session->s);
	session_resources_free(session);
	if (export->ops->exclusive && session->ops->detach)
		session->ops->detach(session);
	if (opened && session->why == SESSION_END_LENDER)
		session->ops->ended(session);
	if (opened)
		trace_smartio_session(&session->s, false, session->why);
	/* sessions_end() waits for those of the list only */
	mutex_lock(&export->lock);
	session->state = SESSION_ENDED;
	list_del(&session->entry);
	mutex_unlock(&export->lock);
	complete_all(&session->ended);
	session_put(session);
}

/* Until the session is over; another thread ends it. */
static void session_wait(struct session *session)
{
	while (!wait_for_completion_timeout(&session->ended, 60 * HZ))
		pci_warn(session->s.export->pdev,
			 "session %#llx of %s does not end\n", session->s.id,
			 session->s.host_name);
}

/*
 * Ends a session. When it returns the lender's half has closed it, also if
 * another thread ended it.
 */
void session_end(struct session *session, enum session_end why)
{
	struct smartio_export *export = session->s.export;
	bool mine = false;

	mutex_lock(&export->lock);
	switch (session->state) {
	case SESSION_OPEN:
		session->state = SESSION_ENDING;
		session->why = why;
		mine = true;
		break;
	case SESSION_OPENING:	/* session_open() sees to it */
		session->state = SESSION_ENDING;
		session->why = why;
		break;
	case SESSION_ENDING:
	case SESSION_ENDED:
		break;
	}
	mutex_unlock(&export->lock);
	if (mine) {
		session_finish(session, true);
		return;
	}
	session_wait(session);
}

/* The session is ending, by sessions_end(). */
static void session_end_work(struct work_struct *work)
{
	struct session *session = container_of(work, struct session, end_work);
	unsigned int flags = smartio_recovery_begin();

	session_finish(session, true);
	session_put(session);
	smartio_recovery_end(flags);
}

/* The first that matches and ends, with a reference; or NULL. */
static struct session *sessions_ending(struct smartio_export *export,
				       session_match match, void *arg)
{
	struct session *session, *found = NULL;

	mutex_lock(&export->lock);
	list_for_each_entry(session, &export->sessions, entry) {
		if (session->state != SESSION_ENDING ||
		    (match && !match(session, arg)))
			continue;
		session_get(session);
		found = session;
		break;
	}
	mutex_unlock(&export->lock);
	return found;
}

/*
 * End the sessions of an export that match, or all, at once, so that the
 * slowest one, not the sum, counts. They are over when this returns.
 * No memory is needed: a link that returns waits for it.
 */
void sessions_end(struct smartio_export *export, session_match match, void *arg,
		  enum session_end why)
{
	struct session *session;

	mutex_lock(&export->lock);
	list_for_each_entry(session, &export->sessions, entry) {
		if (match && !match(session, arg))
			continue;
		if (session->state == SESSION_OPEN) {
			session_get(session);
			queue_work(session_end_wq, &session->end_work);
		}
		/* session_open() sees to one that is being opened */
		if (session->state != SESSION_ENDING)
			session->why = why;
		session->state = SESSION_ENDING;
	}
	mutex_unlock(&export->lock);
	while ((session = sessions_ending(export, match, arg))) {
		session_wait(session);
		session_put(session);
	}
}

/* The same for all exports. */
void sessions_end_everywhere(session_match match, void *arg,
			     enum session_end why)
{
	struct smartio_export *export;
	u32 last = 0;

	while ((export = export_after(last))) {
		last = export->id;
		sessions_end(export, match, arg, why);
		export_put(export);
	}
}

struct session_ids {
	const u64 *ids;
	unsigned int count;
};

static bool session_one_of(struct session *session, void *arg)
{
	const struct session_ids *ids = arg;
	unsigned int i;

	for (i = 0; i < ids->count; i++)
		if (session->s.id == ids->ids[i])
			return true;
	return false;
}

/**
 * smartio_export_end_sessions() - end some sessions of a device
 * @export: the device
 * @ids: of the sessions; those that are over already don't matter
 * @count: how many
 *
 * @close was called for each, and their borrowers were notified, when this
 * returns. It waits for their requests: not from one of theirs.
 *
 * Context: process, may sleep.
 */
void smartio_export_end_sessions(struct smartio_export *export, const u64 *ids,
				 unsigned int count)
{
	struct session_ids all = { .ids = ids, .count = count };

	sessions_end(export, session_one_of, &all, SESSION_END_LENDER);
}
EXPORT_SYMBOL_GPL(smartio_export_end_sessions);

static void session_peers_work(struct work_struct *work)
{
	struct session *session = container_of(work, struct session,
					       peers_work);
	const struct smartio_lender_ops *ops = session->s.export->ops;
	unsigned int flags = smartio_recovery_begin();

	if (!session_enter(session)) {
		if (ops->peers_lost)
			ops->peers_lost(&session->s);
		session_leave(session);
	}
	session_put(session);
	smartio_recovery_end(flags);
}

/* Its device reaches less than before, by a lost link. Does not wait. */
void session_report_peers(struct session *session)
{
	session_get(session);
	if (!queue_work(session_request_wq, &session->peers_work))
		session_put(session);
}

static bool session_same_borrower(struct session *session, void *arg)
{
	const struct borrower *borrower = arg;

	return session->peer == borrower->peer &&
	       uuid_equal(&session->s.host, borrower->host);
}

/*
 * Opens a session for a borrower, whose previous one ends first. Returns 0,
 * -EAGAIN, -EACCES, -ENOMEM, -EPERM: it may not borrow this export, -EBUSY:
 * somebody else has an exclusive one; or what the lender's half says.
 */
int session_open(struct smartio_export *export, const struct borrower *borrower,
		 struct session **session)
{
	struct session *new, *other;
	bool open;
	int ret;

	sessions_end(export, session_same_borrower, (void *)borrower,
		     SESSION_END_CLOSED);

	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->irqs = bitmap_zalloc(max(export->vectors, 1U), GFP_KERNEL);
	new->irq_moves = kcalloc(max(export->vectors, 1U),
				 sizeof(*new->irq_moves), GFP_KERNEL);
	if (!new->irqs || !new->irq_moves) {
		kfree(new->irq_moves);
		bitmap_free(new->irqs);
		kfree(new);
		return -ENOMEM;
	}
	kref_init(&new->ref);
	new->ops = borrower->ops;
	new->peer = borrower->peer;
	new->state = SESSION_OPENING;
	init_waitqueue_head(&new->idle);
	init_completion(&new->ended);
	INIT_WORK(&new->end_work, session_end_work);
	INIT_WORK(&new->peers_work, session_peers_work);
	mutex_init(&new->lock);
	mutex_init(&new->domain_lock);
	xa_init_flags(&new->segments, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&new->bars);
	INIT_LIST_HEAD(&new->reaches);
	INIT_LIST_HEAD(&new->reached);
	new->s.export = export;
	new->s.id = session_next_id();
	uuid_copy(&new->s.host, borrower->host);
	strscpy(new->s.host_name, borrower->name);
	strscpy(new->s.link_name, borrower->link_name);
	new->s.local = borrower->local;
	export_get(export);
	if (new->ops->acquire)
		new->ops->acquire(new);

	mutex_lock(&export->lock);
	if (export->gone)
		ret = -ENODEV;
	else if (!smartio_host_fenced(&new->s.host) && !policy_admits(new))
		ret = -EPERM;
	else if (!smartio_host_use(&new->s.host))
		ret = -EACCES;	/* also while it is suspended: it has to know */
	else if (export->suspended)
		ret = -EAGAIN;
	else if (!try_module_get(export->owner))
		ret = -EAGAIN;
	else
		ret = 0;
	/* One at a time, also of a borrower that asks many times at once. */
	list_for_each_entry(other, &export->sessions, entry) {
		bool same = session_same_borrower(other, (void *)borrower);

		if (ret || (!same && !export->ops->exclusive))
			continue;
		module_put(export->owner);
		ret = same ? -EAGAIN : -EBUSY;
	}
	if (!ret) {
		list_add_tail(&new->entry, &export->sessions);
		session_get(new);	/* for the list */
	}
	mutex_unlock(&export->lock);
	if (ret) {
		session_put(new);
		return ret;
	}

	ret = export->ops->open(&new->s);
	module_put(export->owner);
	trace_smartio_session(&new->s, true, ret);
	mutex_lock(&export->lock);
	open = !ret && new->state == SESSION_OPENING;
	if (open)
		new->state = SESSION_OPEN;
	mutex_unlock(&export->lock);
	if (!open) {
		session_finish(new, !ret);
		session_put(new);
		return ret ? ret : -EAGAIN;
	}
	*session = new;
	return 0;
}

/* ---- requests ---- */

static void session_job_work(struct work_struct *work)
{
	struct session_job *job = container_of(work, struct session_job, work);
	unsigned int flags = smartio_recovery_begin();
	struct session *session = job->session;

	job->status = session_enter(session);
	if (!job->status) {
		job->status = session->s.export->ops->request(&session->s,
							      job->request,
							      job->size,
							      job->reply,
							      &job->reply_size);
		session_leave(session);
	}
	if (job->status)
		job->reply_size = 0;
	job->done(job);
	smartio_recovery_end(flags);
}

/*
 * A request that has come. The caller sets done and context before
 * session_job_start().
 */
struct session_job *session_job_alloc(struct session *session,
				      const void *request, size_t size,
				      size_t reply_max)
{
	struct session_job *job = kzalloc(sizeof(*job), GFP_NOIO);

	if (!job)
		return NULL;
	INIT_WORK(&job->work, session_job_work);
	job->size = size;
	job->reply_size = min_t(size_t, reply_max, SMARTIO_MESSAGE_MAX);
	job->request = kvmalloc(size, smartio_recovery_gfp(size));
	job->reply = kvzalloc(max(job->reply_size, 1UL),
			      smartio_recovery_gfp(job->reply_size));
	session_get(session);
	job->session = session;
	if (!job->request || !job->reply) {
		session_job_free(job);
		return NULL;
	}
	memcpy(job->request, request, size);
	return job;
}

void session_job_start(struct session_job *job)
{
	queue_work(session_request_wq, &job->work);
}

void session_job_free(struct session_job *job)
{
	session_put(job->session);
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
	struct session *s = to_session(session);

	if (size > SMARTIO_MESSAGE_MAX)
		return -EMSGSIZE;
	return s->ops->notify(s, message, size);
}
EXPORT_SYMBOL_GPL(smartio_session_notify);

int __init sessions_init(void)
{
	session_request_wq = alloc_workqueue("smartio_request",
					     WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!session_request_wq)
		return -ENOMEM;
	session_end_wq = alloc_workqueue("smartio_end",
					 WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (session_end_wq)
		return 0;
	destroy_workqueue(session_request_wq);
	return -ENOMEM;
}

void sessions_exit(void)
{
	destroy_workqueue(session_end_wq);
	destroy_workqueue(session_request_wq);
}
