// SPDX-License-Identifier: GPL-2.0
/*
 * Requests to the lender while the function runs: interrupts, bus mastering,
 * resets. All of them are made in atomic context. So each is noted, and a work
 * sends the state of that moment: a request that is noted twice is sent once. A
 * request whose outcome is not known is noted again, until the session ends.
 */
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/slab.h>

#include "borrow.h"

#define BORROW_CALL_MS	10000
#define BORROW_RESET_MS	60000
/* So often it is made at once, and who waits for the work waits for that. */
#define BORROW_TRIES	3
/* Then the work repeats it after this time. */
#define BORROW_REPEAT_MS	200

static struct workqueue_struct *borrow_wq;

/* Under the lock. */
static void borrow_note(struct borrow_function *f, unsigned int what)
{
	__set_bit(what, &f->pending);
	mod_delayed_work(borrow_wq, &f->post, 0);
}

/* The same for an interrupt that changed. */
static void borrow_note_vector(struct borrow_function *f,
			       struct borrow_vector *vector)
{
	vector->dirty = true;
	borrow_note(f, f->msi_on ? BORROW_MSI : BORROW_VECTORS);
}

/* ---- what the PCI core says ---- */

static void borrow_msi_write(void *context, unsigned int index,
			     unsigned int virq, u64 addr, u32 data)
{
	struct borrow_function *f = context;
	struct borrow_vector *vector;
	unsigned long flags;

	if (index >= f->vector_count)
		return;
	raw_spin_lock_irqsave(&f->vector_lock, flags);
	vector = &f->vectors[index];
	vector->virq = virq;
	vector->addr = addr;
	vector->data = data;
	borrow_note_vector(f, vector);
	raw_spin_unlock_irqrestore(&f->vector_lock, flags);
}

static void borrow_msi_mask(void *context, unsigned int index, bool masked)
{
	struct borrow_function *f = context;
	struct borrow_vector *vector;
	unsigned long flags;

	if (index >= f->vector_count)
		return;
	raw_spin_lock_irqsave(&f->vector_lock, flags);
	vector = &f->vectors[index];
	if (vector->masked != masked) {
		vector->masked = masked;
		borrow_note_vector(f, vector);
	}
	raw_spin_unlock_irqrestore(&f->vector_lock, flags);
}

static void borrow_msi_settle(void *context)
{
	struct borrow_function *f = context;

	flush_delayed_work(&f->post);
}

static const struct smartio_msi_ops borrow_msi_ops = {
	.write = borrow_msi_write,
	.mask = borrow_msi_mask,
	.settle = borrow_msi_settle,
};

static void borrow_msi(struct borrow_function *f, u16 msi)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&f->vector_lock, flags);
	f->msi_on = msi & PCI_MSI_FLAGS_ENABLE;
	f->msi_order = (msi & PCI_MSI_FLAGS_QSIZE) >> 4;
	borrow_note(f, BORROW_MSI);
	raw_spin_unlock_irqrestore(&f->vector_lock, flags);
}

/* Enabled again, after a reset for instance: the table is empty. */
static void borrow_msix(struct borrow_function *f, u16 msix)
{
	unsigned long flags;
	unsigned int i;

	if (!(msix & PCI_MSIX_FLAGS_ENABLE) || msix & PCI_MSIX_FLAGS_MASKALL)
		return;
	raw_spin_lock_irqsave(&f->vector_lock, flags);
	for (i = 0; i < f->vector_count; i++)
		f->vectors[i].dirty = f->vectors[i].addr;
	borrow_note(f, BORROW_VECTORS);
	raw_spin_unlock_irqrestore(&f->vector_lock, flags);
}

static void borrow_reset(struct borrow_function *f)
{
	unsigned long flags;
	unsigned int i;

	raw_spin_lock_irqsave(&f->vector_lock, flags);
	f->msi_on = false;
	f->pending = 0;
	for (i = 0; i < f->vector_count; i++) {
		f->vectors[i].sent = 0;
		f->vectors[i].dirty = false;
		f->vectors[i].moved = false;
	}
	borrow_note(f, BORROW_RESET);
	raw_spin_unlock_irqrestore(&f->vector_lock, flags);
}

static const struct borrow_bus_ops borrow_bus_ops = {
	.msi = borrow_msi,
	.msix = borrow_msix,
	.reset = borrow_reset,
};

/* ---- requests to the lender ---- */

/* The lender may have executed it, may yet, or never; or memory was short. */
static bool borrow_unsure(int error)
{
	return error == -ETIMEDOUT || error == -EBUSY || error == -ENOMEM;
}

static int borrow_call(struct borrow_function *f, const void *request,
		       size_t size, unsigned int ms)
{
	int ret = smartio_call(f->sdev, request, size, NULL, NULL, ms);

	/* the link or the session is over: the rest follows from that */
	if (ret && ret != -ENOLINK && !borrow_unsure(ret))
		dev_err(&f->sdev->dev, "the lender refuses request %u: %d\n",
			le16_to_cpu(*(const __le16 *)request), ret);
	return ret;
}

static int borrow_post_master(struct borrow_function *f, bool on)
{
	struct spci_master_req request = {
		.op = cpu_to_le16(SPCI_MASTER),
		.on = cpu_to_le16(on),
		.serial = cpu_to_le32(++f->serial),
	};

	return borrow_call(f, &request, sizeof(request), BORROW_CALL_MS);
}

/* It answers again when all of it is done. */
static int borrow_post_reset(struct borrow_function *f, bool master)
{
	struct spci_reset_req request = {
		.op = cpu_to_le16(SPCI_RESET),
		.serial = cpu_to_le32(++f->serial),
	};
	int ret;

	ret = borrow_call(f, &request, sizeof(request), BORROW_RESET_MS);
	if (!ret && master)
		ret = borrow_post_master(f, true);
	if (!ret)
		borrow_config_reset_done(f);
	return ret;
}

/* Sends the state of MSI to the lender. */
static int borrow_post_msi(struct borrow_function *f)
{
	struct spci_msi_req request = {
		.op = cpu_to_le16(SPCI_MSI),
		.serial = cpu_to_le32(++f->serial),
	};
	unsigned int i;
	u32 mask = 0;

	raw_spin_lock_irq(&f->vector_lock);
	for (i = 0; i < min(f->vector_count, 1U << f->msi_order); i++) {
		mask |= f->vectors[i].masked ? BIT(i) : 0;
		f->vectors[i].dirty = false;
	}
	request.on = f->msi_on && f->vector_count && f->vectors[0].addr;
	request.order = f->msi_order;
	request.mask = cpu_to_le32(mask);
	if (request.on) {
		request.data = cpu_to_le32(f->vectors[0].data);
		request.addr = cpu_to_le64(f->vectors[0].addr);
	}
	raw_spin_unlock_irq(&f->vector_lock);
	return borrow_call(f, &request, sizeof(request), BORROW_CALL_MS);
}

static unsigned int borrow_vectors_take(struct borrow_function *f,
					struct spci_vectors_req *request)
{
	struct borrow_vector *vector;
	struct spci_vector *to;
	unsigned int i, count = 0;

	raw_spin_lock_irq(&f->vector_lock);
	for (i = 0; i < f->msix_size && count < SPCI_VECTORS_MAX; i++) {
		vector = &f->vectors[i];
		if (!vector->dirty)
			continue;
		vector->dirty = false;
		if (!vector->addr)
			continue;
		to = &request->vectors[count++];
		to->index = cpu_to_le16(i);
		to->flags = cpu_to_le16(vector->masked ? SPCI_MASKED : 0);
		to->data = cpu_to_le32(vector->data);
		to->addr = cpu_to_le64(vector->addr);
	}
	raw_spin_unlock_irq(&f->vector_lock);
	return count;
}

/*
 * The function sends these messages now. When one has moved, an interrupt
 * between the two messages may be lost. x86 keeps the old vector until the
 * first interrupt arrives at the new one. So this raises one.
 */
static void borrow_vectors_settle(struct borrow_function *f,
				  const struct spci_vectors_req *request,
				  unsigned int count)
{
	struct borrow_vector *vector;
	struct irq_data *irq;
	unsigned int i, virq;
	bool moved;
	u64 addr;
	u32 data;

	for (i = 0; i < count; i++) {
		vector = &f->vectors[le16_to_cpu(request->vectors[i].index)];
		addr = le64_to_cpu(request->vectors[i].addr);
		data = le32_to_cpu(request->vectors[i].data);
		raw_spin_lock_irq(&f->vector_lock);
		if (vector->sent &&
		    (vector->sent != addr || vector->sent_data != data))
			vector->moved = true;
		vector->sent = addr;
		vector->sent_data = data;
		virq = vector->virq;
		moved = vector->moved && !vector->masked;
		if (moved)
			vector->moved = false;
		raw_spin_unlock_irq(&f->vector_lock);
		irq = moved ? irq_get_irq_data(virq) : NULL;
		if (irq && irqd_is_started(irq))
			irq_chip_retrigger_hierarchy(irq);
	}
}

/*
 * The function sends these messages, or earlier ones. After a reset it sends
 * none.
 */
static void borrow_vectors_again(struct borrow_function *f,
				 const struct spci_vectors_req *request,
				 unsigned int count)
{
	struct borrow_vector *vector;
	unsigned int i;

	raw_spin_lock_irq(&f->vector_lock);
	for (i = 0; i < count && !(f->pending & BIT(BORROW_RESET)); i++) {
		vector = &f->vectors[le16_to_cpu(request->vectors[i].index)];
		vector->dirty = true;
		vector->moved = true;
	}
	raw_spin_unlock_irq(&f->vector_lock);
}

static int borrow_post_vectors(struct borrow_function *f)
{
	struct spci_vectors_req *request;
	unsigned int count;
	size_t size;
	int ret = 0;

	request = kzalloc(struct_size(request, vectors, SPCI_VECTORS_MAX),
			  GFP_NOIO | __GFP_NOFAIL);
	request->op = cpu_to_le16(SPCI_VECTORS);
	while ((count = borrow_vectors_take(f, request))) {
		request->count = cpu_to_le16(count);
		request->serial = cpu_to_le32(++f->serial);
		size = struct_size(request, vectors, count);
		ret = borrow_call(f, request, size, BORROW_CALL_MS);
		if (borrow_unsure(ret)) {
			borrow_vectors_again(f, request, count);
			break;
		}
		if (!ret)
			borrow_vectors_settle(f, request, count);
	}
	kfree(request);
	return ret;
}

static int borrow_post_one(struct borrow_function *f, unsigned int what,
			   bool master)
{
	switch (what) {
	case BORROW_RESET:
		return borrow_post_reset(f, master);
	case BORROW_VECTORS:
		return borrow_post_vectors(f);
	case BORROW_MSI:
		return borrow_post_msi(f);
	default:
		return borrow_post_master(f, master);
	}
}

/*
 * Makes the requests of @pending, up to one whose outcome is not known. That one
 * and the rest are noted again, unless a reset undoes them. @last: the work
 * tries again later. Returns whether all were made.
 */
static bool borrow_post_all(struct borrow_function *f, unsigned long pending,
			    bool master, bool last)
{
	unsigned int what;
	int ret = 0;

	for_each_set_bit(what, &pending, BORROW_REQUESTS) {
		ret = borrow_post_one(f, what, master);
		if (borrow_unsure(ret))
			break;
		__clear_bit(what, &pending);
	}
	if (!pending)
		return true;
	if (last && !f->late)
		dev_warn(&f->sdev->dev,
			 "the lender is asked again, until it does request %u: %d\n",
			 what, ret);
	f->late |= last;
	raw_spin_lock_irq(&f->vector_lock);
	if (!(f->pending & BIT(BORROW_RESET)))
		f->pending |= pending;
	raw_spin_unlock_irq(&f->vector_lock);
	return false;
}

static void borrow_post(struct work_struct *work)
{
	struct borrow_function *f = container_of(to_delayed_work(work),
						 struct borrow_function, post);
	unsigned int tries = 0;
	unsigned long pending;
	bool master;

	for (;;) {
		raw_spin_lock_irq(&f->vector_lock);
		pending = f->pending;
		f->pending = 0;
		master = f->master;
		raw_spin_unlock_irq(&f->vector_lock);
		if (!pending || READ_ONCE(f->lost))
			return;
		if (borrow_post_all(f, pending, master,
				    tries + 1 == BORROW_TRIES))
			f->late = false;
		else if (++tries == BORROW_TRIES)
			break;
	}
	queue_delayed_work(borrow_wq, &f->post,
			   msecs_to_jiffies(BORROW_REPEAT_MS));
}

/* ---- for a function ---- */

/*
 * It is a bus master while it has a driver here, independent of its command
 * register. A driver may give it work right after it wrote to that register,
 * which doesn't wait for the lender. When this returns, bus mastering is on, or
 * off, unless the lender is asked again. May sleep.
 */
void borrow_master(struct borrow_function *f, bool on)
{
	raw_spin_lock_irq(&f->vector_lock);
	f->master = on;
	borrow_note(f, BORROW_MASTER);
	raw_spin_unlock_irq(&f->vector_lock);
	flush_delayed_work(&f->post);
}

/* @vectors: of its MSI-X table, or what MSI may have. */
int borrow_irq_init(struct borrow_function *f, unsigned int vectors)
{
	unsigned int i;
	int ret;

	raw_spin_lock_init(&f->vector_lock);
	INIT_DELAYED_WORK(&f->post, borrow_post);
	f->bus_ops = &borrow_bus_ops;
	f->msix_size = vectors;
	f->vector_count = max(vectors, 1U << SPCI_MSI_ORDER_MAX);
	f->vectors = kvcalloc(f->vector_count, sizeof(f->vectors[0]),
			      GFP_KERNEL);
	if (!f->vectors)
		return -ENOMEM;
	for (i = 0; i < f->vector_count; i++)
		f->vectors[i].masked = true;
	ret = smartio_msi_create(f->sdev, &borrow_msi_ops, f, &f->irqs);
	if (ret)
		kvfree(f->vectors);
	return ret;
}

/* The PCI core has nothing of it any more. */
void borrow_irq_exit(struct borrow_function *f)
{
	cancel_delayed_work_sync(&f->post);
	smartio_msi_remove(f->sdev, f->irqs);
	kvfree(f->vectors);
}

int __init borrow_posts_init(void)
{
	borrow_wq = alloc_workqueue("smartio_pci",
				    WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_HIGHPRI, 0);
	return borrow_wq ? 0 : -ENOMEM;
}

void borrow_posts_exit(void)
{
	destroy_workqueue(borrow_wq);
}
