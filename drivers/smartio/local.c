// SPDX-License-Identifier: GPL-2.0
/*
 * The local transport: the path of the lender itself to its own device. Both
 * tables of operations, the borrower's and the lender's.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/irq.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "export.h"
#include "hosts.h"
#include "path.h"
#include "remote.h"

/* ---- the lender's side ---- */

static void local_session_acquire(struct session *session)
{
	struct smartio_path *path = session->peer;

	get_device(&path->sdev.dev);
}

static void local_session_release(struct session *session)
{
	struct smartio_path *path = session->peer;

	put_device(&path->sdev.dev);
}

static int local_session_notify(struct session *session,
				const void *message, size_t size)
{
	return smartio_path_notify(session->peer, session->s.id, message, size);
}

static void local_session_ended(struct session *session)
{
	smartio_path_lost(session->peer, session->s.id,
			  export_offered(session->s.export));
}

/* A local address is one that the DMA API gave for the device itself. */
static int local_session_dma(struct session *session, u64 addr,
			     size_t size, u64 *device_addr)
{
	*device_addr = addr;
	return 0;
}

/* It interrupts this host anyway: smartio_irq_alloc() has seen to that. */
static int local_session_irq(struct session *session, u64 addr, u32 data,
			     unsigned int *vector)
{
	struct smartio_export *export = session->s.export;

	if (data || addr < export->first_vector ||
	    addr >= export->first_vector + export->vectors)
		return -EINVAL;
	*vector = addr;
	return 0;
}

static void local_session_irq_clear(struct session *session,
				    unsigned int vector)
{
}

/* The memory is the borrower's: it may use it when the session is over. */
static int local_session_segment_alloc(struct session *session,
				       struct session_segment *segment)
{
	segment->device_addr = segment->dma;
	return 0;
}

static void local_session_segment_free(struct session *session,
				       struct session_segment *segment)
{
}

static int local_session_bar_map(struct session *session,
				 struct session_bar *bar)
{
	bar->peer_addr = pci_resource_start(session->s.export->pdev, bar->bar) +
			 bar->offset;
	return 0;
}

/* There is no window that could be shut: the driver stops. */
static void local_session_bar_unmap(struct session *session,
				    struct session_bar *bar)
{
	smartio_path_stop(session->peer, session->s.id);
}

static const struct session_ops local_session_ops = {
	.acquire = local_session_acquire,
	.release = local_session_release,
	.notify = local_session_notify,
	.ended = local_session_ended,
	.dma = local_session_dma,
	.irq = local_session_irq,
	.irq_clear = local_session_irq_clear,
	.segment_alloc = local_session_segment_alloc,
	.segment_free = local_session_segment_free,
	.bar_map = local_session_bar_map,
	.bar_unmap = local_session_bar_unmap,
};

/* ---- the borrower's side ---- */

static int local_open(struct smartio_path *path, u64 *id, u64 *dma_offset,
		      struct smartio_era *era)
{
	struct borrower borrower = {
		.ops = &local_session_ops,
		.host = &smartio_self.uuid,
		.name = smartio_self.name,
		.link_name = path->sdev.link_name,
		.peer = path,
		.local = true,
	};
	struct session *session;
	int ret = session_open(path->private, &borrower, &session);

	if (ret)
		return ret;
	/* one that comes in between counts, and ends the session */
	era->lender = smartio_self.incarnation;
	era->fences = smartio_host_fences(&smartio_self.uuid);
	*id = session->s.id;
	*dma_offset = 0;
	session_put(session);
	return 0;
}

static void local_close(struct smartio_path *path, u64 id)
{
	struct session *session = session_find(id);

	if (!session)
		return;
	session_end(session, SESSION_END_CLOSED);
	session_put(session);
}

static int local_revoke(struct smartio_path *path, u64 id)
{
	struct session *session = session_find(id);
	int ret = 0;

	if (!session)
		return 0;
	if (uuid_equal(&session->s.host, &smartio_self.uuid))
		session_end(session, SESSION_END_LENDER);
	else
		ret = -EACCES;
	session_put(session);
	return ret;
}

static bool local_link_up(struct smartio_path *path)
{
	return true;
}

/**
 * struct local_call - a call that waits
 * @ref: one of the caller, one of the job
 * @done: the job is through
 * @job: has the reply; freed with the last reference
 */
struct local_call {
	struct kref ref;
	struct completion done;
	struct session_job *job;
};

static void local_call_release(struct kref *ref)
{
	struct local_call *call = container_of(ref, struct local_call, ref);

	session_job_free(call->job);
	kfree(call);
}

static void local_call_done(struct session_job *job)
{
	struct local_call *call = job->context;

	complete(&call->done);
	kref_put(&call->ref, local_call_release);
}

static int local_call(struct smartio_path *path, u64 id, const void *request,
		      size_t size, void *reply, size_t *reply_size,
		      unsigned int timeout_ms)
{
	struct session *session = session_find(id);
	struct local_call *call;
	int ret;

	if (!session)
		return -ENOLINK;
	call = kzalloc(sizeof(*call), GFP_NOIO);
	if (call)
		call->job = session_job_alloc(session, request, size,
					      *reply_size);
	session_put(session);
	if (!call || !call->job) {
		kfree(call);
		return -ENOMEM;
	}
	kref_init(&call->ref);
	kref_get(&call->ref);
	init_completion(&call->done);
	call->job->done = local_call_done;
	call->job->context = call;
	session_job_start(call->job);
	if (!wait_for_completion_timeout(&call->done,
					 msecs_to_jiffies(timeout_ms))) {
		ret = -ETIMEDOUT;
	} else {
		ret = call->job->status;
		*reply_size = call->job->reply_size;
		if (*reply_size)
			memcpy(reply, call->job->reply, *reply_size);
	}
	kref_put(&call->ref, local_call_release);
	return ret;
}

static struct device *local_dma_device(struct smartio_path *path)
{
	struct smartio_export *export = path->private;

	return &export->pdev->dev;
}

static bool local_dma_scattered(struct smartio_path *path)
{
	return true;
}

static void *local_dma_alloc(struct smartio_path *path, size_t size,
			     dma_addr_t *addr, gfp_t gfp)
{
	return dma_alloc_coherent(local_dma_device(path), size, addr, gfp);
}

static void local_dma_free(struct smartio_path *path, size_t size, void *cpu,
			   dma_addr_t addr)
{
	dma_free_coherent(local_dma_device(path), size, cpu, addr);
}

/* Finds the session and enters it; local_leave() is the counterpart. */
static struct session *local_enter(u64 id)
{
	struct session *session = session_find(id);

	if (session && session_enter(session)) {
		session_put(session);
		session = NULL;
	}
	return session;
}

static void local_leave(struct session *session)
{
	session_leave(session);
	session_put(session);
}

/*
 * Memory of segments of earlier sessions, one entry in each piece: no device
 * reaches it. There may be no such piece when the next session begins.
 */
struct local_kept {
	struct list_head entry;
	size_t size;
	dma_addr_t dma;
};

static void *local_kept_take(struct smartio_path *path, size_t size,
			     dma_addr_t *dma)
{
	struct local_kept *kept, *found = NULL;

	spin_lock(&path->lock);
	list_for_each_entry(kept, &path->kept, entry) {
		if (kept->size != size)
			continue;
		list_del(&kept->entry);
		found = kept;
		break;
	}
	spin_unlock(&path->lock);
	if (!found)
		return NULL;
	*dma = found->dma;
	return memset(found, 0, size);
}

static void local_kept_add(struct smartio_path *path, size_t size, void *cpu,
			   dma_addr_t dma)
{
	struct local_kept *kept = cpu;

	kept->size = size;
	kept->dma = dma;
	spin_lock(&path->lock);
	list_add(&kept->entry, &path->kept);
	spin_unlock(&path->lock);
}

static void local_unbound(struct smartio_path *path)
{
	struct local_kept *kept, *next;

	list_for_each_entry_safe(kept, next, &path->kept, entry) {
		list_del(&kept->entry);
		local_dma_free(path, kept->size, kept, kept->dma);
	}
}

static int local_segment_alloc(struct smartio_path *path, u64 id,
			       struct smartio_segment *segment)
{
	struct session *session = local_enter(id);
	struct session_segment new;
	int ret = -ENOMEM;

	if (!session)
		return -ENOLINK;
	segment->cpu = local_kept_take(path, segment->size, &segment->dma);
	if (!segment->cpu)
		segment->cpu = local_dma_alloc(path, segment->size,
					       &segment->dma, GFP_KERNEL);
	if (segment->cpu)
		ret = session_segment_alloc(session, segment->size,
					    segment->cpu, segment->dma, &new);
	if (!ret) {
		segment->device_addr = new.device_addr;
		segment->handle = new.handle;
	} else if (segment->cpu) {
		/* there may be no such piece for the next attempt either */
		local_kept_add(path, segment->size, segment->cpu, segment->dma);
	}
	local_leave(session);
	return ret;
}

static void local_segment_free(struct smartio_path *path,
			       struct smartio_segment *segment)
{
	struct session *session = local_enter(segment->session);

	if (session) {
		session_segment_free(session, segment->handle);
		local_leave(session);
	}
	local_kept_add(path, segment->size, segment->cpu, segment->dma);
}

static void __iomem *local_map_bar(struct smartio_path *path, u64 id,
				   unsigned int bar, u64 offset, size_t size,
				   bool write_combining)
{
	struct session *session = local_enter(id);
	void __iomem *io;
	u64 phys;
	int ret;

	if (!session)
		return IOMEM_ERR_PTR(-ENOLINK);
	ret = session_bar_map(session, bar, offset, size, &phys);
	local_leave(session);
	if (ret)
		return IOMEM_ERR_PTR(ret);
	io = write_combining ? ioremap_wc(phys, size) : ioremap(phys, size);
	return io ? io : IOMEM_ERR_PTR(-ENOMEM);
}

static void local_unmap_bar(struct smartio_path *path, void __iomem *io)
{
	iounmap(io);
}

static int local_irq_alloc(struct smartio_path *path,
			   const struct cpumask *cpus, const char *name,
			   struct smartio_irq *irq)
{
	struct smartio_export *export = path->private;
	int vector = export_vector_take(export), ret;

	if (vector < 0)
		return vector;
	irq->virq = pci_irq_vector(export->pdev, vector);
	ret = request_irq(irq->virq, irq->handler, 0, name, irq->context);
	if (ret) {
		export_vector_give(export, vector);
		return ret;
	}
	/* best effort: it works from any CPU */
	if (cpus)
		irq_set_affinity(irq->virq, cpus);
	irq->private = (void *)(long)vector;
	smartio_irq_set(irq, vector, 0);
	return 0;
}

static void local_irq_free(struct smartio_path *path, struct smartio_irq *irq)
{
	free_irq(irq->virq, irq->context);
	export_vector_give(path->private, (long)irq->private);
}

static void local_irq_over(struct smartio_path *path, struct smartio_irq *irq)
{
	synchronize_irq(irq->virq);
}

static void local_release(struct smartio_path *path)
{
	export_put(path->private);
}

static const struct smartio_path_ops local_path_ops = {
	.open = local_open,
	.close = local_close,
	.revoke = local_revoke,
	.link_up = local_link_up,
	.call = local_call,
	.dma_device = local_dma_device,
	.dma_scattered = local_dma_scattered,
	.dma_alloc = local_dma_alloc,
	.dma_free = local_dma_free,
	.segment_alloc = local_segment_alloc,
	.segment_free = local_segment_free,
	.map_bar = local_map_bar,
	.unmap_bar = local_unmap_bar,
	.irq_alloc = local_irq_alloc,
	.irq_free = local_irq_free,
	.irq_over = local_irq_over,
	.unbound = local_unbound,
	.release = local_release,
};

static void local_set(struct smartio_export *export, struct smartio_path *path)
{
	mutex_lock(&export->lock);
	export->local = path;
	mutex_unlock(&export->lock);
}

static int local_added(struct smartio_export *export)
{
	struct smartio_path *path = kzalloc(sizeof(*path), GFP_KERNEL);
	struct smartio_device *sdev;
	int ret;

	if (!path)
		return -ENOMEM;
	sdev = &path->sdev;
	strscpy(sdev->service, export->service);
	uuid_copy(&sdev->host, &smartio_self.uuid);
	strscpy(sdev->host_name, smartio_self.name);
	strscpy(sdev->pci_name, pci_name(export->pdev));
	strscpy(sdev->link_name, "local");
	sdev->local = true;
	export_get(export);
	path->private = export;
	path->ops = &local_path_ops;
	path->offered = true;
	ret = smartio_path_init(path, &export->pdev->dev);
	if (ret)
		return ret;
	local_set(export, path);
	ret = smartio_path_add(path);
	if (ret) {
		local_set(export, NULL);
		put_device(&sdev->dev);
	}
	return ret;
}

static void local_removing(struct smartio_export *export)
{
	struct smartio_path *path = export->local;

	if (!path)
		return;
	local_set(export, NULL);
	smartio_path_remove(path);
}

/* The driver of this host may try again; the device may be going meanwhile. */
static void local_offered(struct smartio_export *export, bool offered)
{
	struct smartio_path *path;

	if (!offered)
		return;
	mutex_lock(&export->lock);
	path = export->local;
	if (path)
		get_device(&path->sdev.dev);
	mutex_unlock(&export->lock);
	if (!path)
		return;
	smartio_path_ready(path);
	put_device(&path->sdev.dev);
}

/* This host was fenced by another one, and is admitted: by its own device. */
static int local_fence_event(struct notifier_block *notifier,
			     unsigned long event, void *uuid)
{
	struct smartio_export *export;
	u32 last = 0;

	if (event != SMARTIO_HOST_ADMITTED ||
	    !uuid_equal(uuid, &smartio_self.uuid))
		return NOTIFY_DONE;
	while ((export = export_after(last))) {
		last = export->id;
		local_offered(export, true);
		export_put(export);
	}
	return NOTIFY_OK;
}

static struct notifier_block local_fence_notifier = {
	.notifier_call = local_fence_event,
};

static struct export_listener local_listener = {
	.added = local_added,
	.offered = local_offered,
	.removing = local_removing,
};

void __init local_init(void)
{
	export_listener_add(&local_listener);
	fence_notifier_add(&local_fence_notifier);
}

void local_exit(void)
{
	fence_notifier_remove(&local_fence_notifier);
}
