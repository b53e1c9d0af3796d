// SPDX-License-Identifier: GPL-2.0
/*
 * The session that a driver has on a path, and its requests to the lender's
 * half in that session.
 */
#include <linux/export.h>

#include "path.h"
#include "trace.h"

/* The id of the session of now, 0 if there is none. */
u64 smartio_path_session(struct smartio_path *path)
{
	return READ_ONCE(path->session);
}

/*
 * True if the link was lost with a session, and the driver has neither closed it
 * nor opened another. With @forget the link waits for that session no longer.
 */
bool smartio_path_writes(struct smartio_path *path, bool forget)
{
	bool writes;

	spin_lock(&path->lock);
	writes = path->writes;
	if (forget) {
		path->waived |= writes;
		path->writes = false;
	}
	spin_unlock(&path->lock);
	return writes;
}

/* True if a session is over, and the driver has not stopped. */
bool smartio_path_unstopped(struct smartio_path *path)
{
	bool unstopped;

	spin_lock(&path->lock);
	unstopped = path->over;
	spin_unlock(&path->lock);
	return unstopped;
}

/*
 * The local lender ends a session: when this returns, the driver writes to no
 * register of it any more.
 */
void smartio_path_stop(struct smartio_path *path, u64 session)
{
	struct smartio_driver *driver;
	bool open;

	mutex_lock(&path->stop_lock);
	spin_lock(&path->lock);
	open = path->session == session || path->over == session;
	spin_unlock(&path->lock);
	/* a driver is bound for as long as that is so */
	if (open) {
		driver = to_smartio_driver(path->sdev.dev.driver);
		if (driver->stop)
			driver->stop(&path->sdev);
	}
	mutex_unlock(&path->stop_lock);
}

/* The driver says that it has stopped. Returns the session, if it is open. */
static u64 path_session_take(struct smartio_path *path, u64 *over)
{
	u64 session;

	mutex_lock(&path->stop_lock);
	spin_lock(&path->lock);
	session = path->session;
	*over = path->over;
	path->session = 0;
	path->over = 0;
	path->writes = false;
	spin_unlock(&path->lock);
	mutex_unlock(&path->stop_lock);
	return session;
}

/**
 * smartio_open() - begin a session
 * @sdev: the path
 *
 * It ends the session that this host had on the device over this link before:
 * when this returns 0, the device touches nothing of that any more. With
 * sdev->era, smartio_fences_between() says whether this host was fenced since
 * an earlier session, over any path to the device.
 *
 * Context: process, may sleep for seconds; not from the driver's event().
 * Return: 0; -ENOLINK: the lender can't be reached; -EAGAIN: later, at
 * SMARTIO_READY; -EACCES: this host is fenced; -EPERM: the lender does not let
 * this host have it, until SMARTIO_READY; -ENOSPC, or the error of the lender's
 * half; -ETIMEDOUT: no answer.
 */
int smartio_open(struct smartio_device *sdev)
{
	struct smartio_path *path = to_path(sdev);
	struct smartio_era era = { };
	u64 id = 0, offset = 0;
	unsigned int losses;
	int ret;

	might_sleep();
	mutex_lock(&path->session_lock);
	spin_lock(&path->lock);
	/* If this fails, the lender may not know that this host has stopped. */
	if (path->session) {
		path->over = path->session;
		path->waived = false;
	}
	path->session = 0;
	path->writes = false;
	losses = path->losses;
	spin_unlock(&path->lock);
	ret = path->ops->open(path, &id, &offset, &era);
	spin_lock(&path->lock);
	/* the link may have gone after the answer came */
	if (!ret && path->losses != losses)
		ret = -ENOLINK;
	if (!ret) {
		sdev->dma_offset = offset;
		sdev->era = era;
		path->session = id;
		path->over = 0;
	}
	spin_unlock(&path->lock);
	mutex_unlock(&path->session_lock);
	trace_smartio_open(sdev, id, ret);
	return ret;
}
EXPORT_SYMBOL_GPL(smartio_open);

/**
 * smartio_close() - end the session
 * @sdev: the path; nothing happens if no session is open
 *
 * When this returns, the device touches nothing of the session any more. If the
 * lender didn't answer, the link was taken down instead, and nothing reaches
 * this host's memory over it. Calls that wait may still wait until their
 * deadline.
 *
 * Call it after SMARTIO_LOST, too: it says that this host writes to nothing of
 * the session any more. Until then, or the next smartio_open(), the lender
 * keeps the memory and registers that it wrote to. A lost link doesn't come up
 * before, for two seconds.
 *
 * Context: process, may sleep for seconds; not from the driver's event().
 */
void smartio_close(struct smartio_device *sdev)
{
	struct smartio_path *path = to_path(sdev);
	u64 id, over;

	might_sleep();
	mutex_lock(&path->session_lock);
	id = path_session_take(path, &over);
	if (over && path->ops->stopped)
		path->ops->stopped(path, over);
	if (id) {
		path->ops->close(path, id);
		trace_smartio_close(sdev, id);
	}
	mutex_unlock(&path->session_lock);
}
EXPORT_SYMBOL_GPL(smartio_close);

/**
 * smartio_link_up() - whether the lender can be reached now
 * @sdev: the path
 *
 * Context: any.
 * Return: true or false; true for the local path.
 */
bool smartio_link_up(struct smartio_device *sdev)
{
	struct smartio_path *path = to_path(sdev);

	return path->ops->link_up(path);
}
EXPORT_SYMBOL_GPL(smartio_link_up);

/**
 * smartio_session_id() - the session of now
 * @sdev: the path
 *
 * Context: any.
 * Return: its id, 0 if none is open.
 */
u64 smartio_session_id(struct smartio_device *sdev)
{
	return smartio_path_session(to_path(sdev));
}
EXPORT_SYMBOL_GPL(smartio_session_id);

/**
 * smartio_revoke() - end a session of this host, over whichever path
 * @via: a path to the same device, with a session open; that isn't touched
 * @session_id: of smartio_session_id(), for a session over any path
 * @era: filled in: of the session of @via; NULL: not needed
 *
 * When this returns 0, the device touches nothing of that session any more. But
 * posted writes may be in flight on the link it used, until that one is lost:
 * see SMARTIO_LOST. The era is that of now: smartio_fences_between() says
 * whether requests that were in flight may be done again. As @via has a
 * session, the lender is in command of the device: a session unknown to it is
 * over.
 *
 * Context: process, may sleep for seconds; not from the driver's event().
 * Return: 0: it is over; -EACCES: it isn't this host's; -ENOLINK: @via has no
 * session, or lost it meanwhile; -ETIMEDOUT.
 */
int smartio_revoke(struct smartio_device *via, u64 session_id,
		   struct smartio_era *era)
{
	struct smartio_path *path = to_path(via);
	int ret;
	u64 id;

	might_sleep();
	spin_lock(&path->lock);
	id = path->session;
	if (era)
		*era = via->era;
	spin_unlock(&path->lock);
	if (!id)
		return -ENOLINK;
	ret = path->ops->revoke(path, session_id);
	/* a fence ends it before it can be lifted again */
	if (!ret && smartio_path_session(path) != id)
		ret = -ENOLINK;
	return ret;
}
EXPORT_SYMBOL_GPL(smartio_revoke);

/**
 * smartio_call() - ask the lender's half
 * @sdev: the path, with a session open
 * @request: what to ask
 * @size: bytes, 1 to SMARTIO_MESSAGE_MAX
 * @reply: where the answer goes; NULL if none is expected
 * @reply_size: room for it in bytes; then its size. NULL as @reply
 * @timeout_ms: how long to wait
 *
 * Context: process, may sleep; not from the driver's event() or notify().
 * Return: 0; what the lender's half returned (negative); -ENOLINK: no session,
 * or it is over; -ETIMEDOUT: no answer in time (it may still be worked on);
 * -EMSGSIZE: too large; -ENOMEM.
 */
int smartio_call(struct smartio_device *sdev, const void *request, size_t size,
		 void *reply, size_t *reply_size, unsigned int timeout_ms)
{
	return smartio_call_in(sdev, smartio_session_id(sdev), request, size,
			       reply, reply_size, timeout_ms);
}
EXPORT_SYMBOL_GPL(smartio_call);

/**
 * smartio_call_in() - the same, in one session and no later one
 * @sdev: the path
 * @session_id: of smartio_session_id(), when it was decided to ask
 * @request: as for smartio_call()
 * @size: as for smartio_call()
 * @reply: as for smartio_call()
 * @reply_size: as for smartio_call()
 * @timeout_ms: as for smartio_call()
 *
 * For a request that may come late: its path may have been lost, and be back.
 *
 * Context: process, may sleep; not from the driver's event() or notify().
 * Return: as smartio_call(); -ENOLINK: that session is over.
 */
int smartio_call_in(struct smartio_device *sdev, u64 session_id,
		    const void *request, size_t size, void *reply,
		    size_t *reply_size, unsigned int timeout_ms)
{
	struct smartio_path *path = to_path(sdev);
	size_t none = 0;

	might_sleep();
	if (!size || size > SMARTIO_MESSAGE_MAX)
		return -EMSGSIZE;
	if (!reply || !reply_size)
		reply_size = &none;
	if (!session_id || session_id != smartio_path_session(path))
		return -ENOLINK;
	return path->ops->call(path, session_id, request, size, reply,
			       reply_size, timeout_ms);
}
EXPORT_SYMBOL_GPL(smartio_call_in);
