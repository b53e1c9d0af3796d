// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts that a borrowed device sends to this host. Their message may
 * change while the device has it: an interrupt moves to another CPU. Then the
 * lender is notified of the new one, and the device sends that.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/smartio_recovery.h>
#include <linux/smartio_transport.h>
#include <linux/string.h>

#include "path.h"

/* How long a request waits for its answer; how many the work makes at once. */
#define IRQ_MOVE_MS	1000
#define IRQ_MOVE_TRIES	5
/* Then the work repeats it after this time, later after twice that, and so on. */
#define IRQ_RETRY_MS	200
#define IRQ_RETRY_MAX_MS	6400
/*
 * Messages that the device sent before it had the new one have arrived by then.
 */
#define IRQ_ARRIVES_US	2000

static struct workqueue_struct *irq_wq;

static bool irq_message_equal(const struct smartio_irq_message *a,
			      const struct smartio_irq_message *b)
{
	return a->addr == b->addr && a->data == b->data;
}

/*
 * Return: whether the device has to send @to, which is set. If the outcome of a
 * request is not known, it is repeated before another is made.
 */
static bool path_irq_moved(struct smartio_irq *irq,
			   struct smartio_irq_message *from,
			   struct smartio_irq_message *to)
{
	bool moved;

	raw_spin_lock_irq(&irq->lock);
	*from = irq->sent;
	*to = irq->tried.addr ? irq->tried : irq->message;
	moved = irq->sent.addr && !irq_message_equal(from, to);
	raw_spin_unlock_irq(&irq->lock);
	return moved;
}

/*
 * It has moved, and no message shows it: between sessions, or for the session
 * that begins. x86 moves an interrupt again only when it came after the last
 * move. Returns whether it is to be raised here.
 */
static bool path_irq_still(struct smartio_irq *irq)
{
	bool still;

	raw_spin_lock_irq(&irq->lock);
	still = irq->unsettled &&
		(!irq->sent.addr ||
		 irq_message_equal(&irq->sent, &irq->message));
	irq->unsettled = false;
	raw_spin_unlock_irq(&irq->lock);
	return still;
}

/* The lender may have executed the request, or may yet: the answer is late. */
static void path_irq_unsure(struct smartio_irq *irq,
			    const struct smartio_irq_message *from,
			    const struct smartio_irq_message *to)
{
	raw_spin_lock_irq(&irq->lock);
	if (irq_message_equal(&irq->sent, from))
		irq->tried = *to;
	raw_spin_unlock_irq(&irq->lock);
}

/* Unless smartio_irq_sent() or smartio_irq_free() has come between. */
static void path_irq_sends(struct smartio_irq *irq,
			   const struct smartio_irq_message *from,
			   const struct smartio_irq_message *to)
{
	raw_spin_lock_irq(&irq->lock);
	if (irq_message_equal(&irq->sent, from)) {
		irq->sent = *to;
		irq->tried.addr = 0;
	}
	raw_spin_unlock_irq(&irq->lock);
	irq->retry_ms = IRQ_RETRY_MS;
	usleep_range(IRQ_ARRIVES_US, 2 * IRQ_ARRIVES_US);
}

/*
 * Has the device send the message that interrupts. Returns whether the work has
 * to try again, as the outcome is not known or the lender is busy.
 */
static bool path_irq_move(struct smartio_irq *irq)
{
	struct smartio_path *path = to_path(irq->sdev);
	struct smartio_irq_message from, to;
	int ret, tries = 0;

	if (path_irq_still(irq))
		path->ops->irq_settled(path, irq);
	while (path_irq_moved(irq, &from, &to)) {
		ret = path->ops->irq_move(path, smartio_path_session(path),
					  irq->vector, &from, &to, IRQ_MOVE_MS);
		if (ret == -ETIMEDOUT) {
			path_irq_unsure(irq, &from, &to);
			if (++tries == IRQ_MOVE_TRIES)
				return true;
			continue;
		}
		if (ret == -EBUSY || ret == -ENOMEM || ret == -ESTALE)
			return true;
		/* without a link or a session nothing is sent any more */
		if (ret && ret != -ENOLINK)
			return false;
		if (!ret)
			path_irq_sends(irq, &from, &to);
		path->ops->irq_settled(path, irq);
		if (ret)
			return false;
	}
	return false;
}

/* A queue that is closed after a loss waits for it: smartio_irq_free(). */
static void path_irq_work(struct work_struct *work)
{
	struct smartio_irq *irq = container_of(to_delayed_work(work),
					       struct smartio_irq, work);
	unsigned int flags = smartio_recovery_begin();

	if (path_irq_move(irq)) {
		queue_delayed_work(irq_wq, &irq->work,
				   msecs_to_jiffies(irq->retry_ms));
		irq->retry_ms = min(2 * irq->retry_ms, IRQ_RETRY_MAX_MS);
	}
	smartio_recovery_end(flags);
}

/* Under irq->lock. */
static void irq_queue(struct smartio_irq *irq)
{
	if (irq->unsettled ||
	    (irq->sent.addr &&
	     (irq->tried.addr ||
	      !irq_message_equal(&irq->sent, &irq->message))))
		mod_delayed_work(irq_wq, &irq->work, 0);
}

/**
 * smartio_irq_set() - the message of an interrupt, for transports
 * @irq: the interrupt, in link->ops->irq_alloc() or since then
 * @addr: the address of the peer's message
 * @data: its data
 *
 * If the device sends another one, its host is notified soon.
 *
 * Context: any.
 */
void smartio_irq_set(struct smartio_irq *irq, u64 addr, u32 data)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&irq->lock, flags);
	irq->message.addr = addr;
	irq->message.data = data;
	irq->unsettled = irq->allocated;
	irq_queue(irq);
	raw_spin_unlock_irqrestore(&irq->lock, flags);
}
EXPORT_SYMBOL_GPL(smartio_irq_set);

/**
 * smartio_irq_settle() - waits until devices send the messages last set
 *
 * It waits no longer for a lender that does not answer within five seconds; that
 * one is asked again until it does.
 *
 * Context: process, may sleep; not from an event of a link.
 */
void smartio_irq_settle(void)
{
	flush_workqueue(irq_wq);
}
EXPORT_SYMBOL_GPL(smartio_irq_settle);

/**
 * smartio_irq_alloc() - an interrupt that the device itself sends here
 * @sdev: the path, with a session open
 * @cpus: where it should arrive; NULL: anywhere. A doorbell comes anywhere.
 * @handler: as for request_irq(); in interrupt context
 * @name: as for request_irq()
 * @context: for @handler
 * @irq: filled in; stays valid until smartio_irq_free()
 *
 * It comes only after the lender's half has called smartio_session_set_irq()
 * with what smartio_irq_message() gave, and the driver smartio_irq_sent(). It
 * may move to other CPUs. It outlives sessions. On the local path it is one of
 * the device's own vectors, which no other host gets meanwhile.
 *
 * Context: process, may sleep.
 * Return: 0; -ENOSPC: none left (then poll); another negative error.
 */
int smartio_irq_alloc(struct smartio_device *sdev, const struct cpumask *cpus,
		      irq_handler_t handler, const char *name, void *context,
		      struct smartio_irq *irq)
{
	struct smartio_path *path = to_path(sdev);
	int ret;

	might_sleep();
	memset(irq, 0, sizeof(*irq));
	raw_spin_lock_init(&irq->lock);
	INIT_DELAYED_WORK(&irq->work, path_irq_work);
	irq->retry_ms = IRQ_RETRY_MS;
	irq->sdev = sdev;
	irq->handler = handler;
	irq->context = context;
	ret = path->ops->irq_alloc(path, cpus, name, irq);
	irq->allocated = !ret;
	return ret;
}
EXPORT_SYMBOL_GPL(smartio_irq_alloc);

/**
 * smartio_irq_message() - the message that the device has to send
 * @irq: from smartio_irq_alloc()
 * @message: for the lender's half
 *
 * Context: any.
 */
void smartio_irq_message(struct smartio_irq *irq,
			 struct smartio_irq_message *message)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&irq->lock, flags);
	*message = irq->message;
	raw_spin_unlock_irqrestore(&irq->lock, flags);
}
EXPORT_SYMBOL_GPL(smartio_irq_message);

/**
 * smartio_irq_sent() - the device sends this message now
 * @irq: from smartio_irq_alloc()
 * @vector: of the device, as smartio_session_set_irq() gave it
 * @message: the lender's half has called smartio_session_set_irq() with it
 *
 * If the interrupt has moved meanwhile, or moves later, the core sees to it.
 *
 * Context: process.
 */
void smartio_irq_sent(struct smartio_irq *irq, unsigned int vector,
		      const struct smartio_irq_message *message)
{
	raw_spin_lock_irq(&irq->lock);
	irq->vector = vector;
	irq->sent = *message;
	irq->tried.addr = 0;
	irq_queue(irq);
	raw_spin_unlock_irq(&irq->lock);
}
EXPORT_SYMBOL_GPL(smartio_irq_sent);

/* The device sends it no more; only if it is @kept it may still move. */
static void path_irq_over(struct smartio_irq *irq, bool kept)
{
	raw_spin_lock_irq(&irq->lock);
	irq->sent.addr = 0;
	irq->tried.addr = 0;
	irq->allocated = kept;
	irq->unsettled &= kept;
	raw_spin_unlock_irq(&irq->lock);
	cancel_delayed_work_sync(&irq->work);
	raw_spin_lock_irq(&irq->lock);
	irq_queue(irq);
	raw_spin_unlock_irq(&irq->lock);
}

/**
 * smartio_irq_over() - the session in which the device sent it is over
 * @irq: from smartio_irq_alloc(); one that failed, or is all
 *	zero, is ignored
 *
 * A handler that runs has returned when this does. It is kept for the next
 * session: the driver gives that smartio_irq_message(), and then calls
 * smartio_irq_sent(). So recovery waits neither for memory nor for a CPU that
 * comes or goes. The device may yet send one on the local path, where nothing is
 * between the two.
 *
 * Context: process, may sleep.
 * Return: whether it is kept.
 */
bool smartio_irq_over(struct smartio_irq *irq)
{
	struct smartio_path *path;

	if (!irq->allocated)
		return false;
	path = to_path(irq->sdev);
	path_irq_over(irq, true);
	path->ops->irq_over(path, irq);
	return true;
}
EXPORT_SYMBOL_GPL(smartio_irq_over);

/**
 * smartio_irq_free() - give an interrupt back
 * @sdev: the path
 * @irq: from smartio_irq_alloc(); one that failed, or is all
 *	zero, is ignored
 *
 * The handler doesn't run any more when this returns. Before, the lender's half
 * must have cleared it, or the session be over. Otherwise a stray message may
 * arrive at an unused vector.
 *
 * Context: process, may sleep.
 */
void smartio_irq_free(struct smartio_device *sdev, struct smartio_irq *irq)
{
	struct smartio_path *path = to_path(sdev);

	if (!irq->allocated)
		return;
	path_irq_over(irq, false);
	path->ops->irq_free(path, irq);
}
EXPORT_SYMBOL_GPL(smartio_irq_free);

int __init path_irqs_init(void)
{
	irq_wq = alloc_workqueue("smartio_irq",
				 WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_HIGHPRI, 0);
	return irq_wq ? 0 : -ENOMEM;
}

void path_irqs_exit(void)
{
	destroy_workqueue(irq_wq);
}
