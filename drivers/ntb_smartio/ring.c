// SPDX-License-Identifier: GPL-2.0
/*
 * Messages: one ring for each direction, in the memory of the host that reads
 * it. The writer posts the payload, then the header, then rings a doorbell. The
 * reader posts its position into the writer's bootstrap page. A ring belongs to
 * one generation of its link, and starts again with the next.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/mm.h>
#include <linux/smartio_recovery.h>

#include "link.h"
#include "trace.h"

/* A peer that reads its ring as it should needs microseconds. */
#define LINK_FULL_MS	2000
/* Until a message for which there was no memory is read again. */
#define LINK_STARVED_MS	20

static void link_rx_work(struct work_struct *work);

/* ---- memory for messages ---- */

/*
 * Before any message; it stays until the last reference to the link is dropped.
 */
int link_spare_init(struct ntb_link *link)
{
	spin_lock_init(&link->spare.lock);
	link->spare.memory = kvmalloc(LINK_PAYLOAD_MAX, GFP_KERNEL);
	return link->spare.memory ? 0 : -ENOMEM;
}

/* The mirror of link_spare_init(), also if that failed. */
void link_spare_exit(struct ntb_link *link)
{
	kvfree(link->spare.memory);
}

/*
 * Memory for @size bytes, at most LINK_PAYLOAD_MAX; NULL: later. If the host
 * has no memory for a large message, it gets the spare, one message at a time.
 */
static void *link_buffer(struct ntb_link *link, size_t size)
{
	struct link_spare *spare = &link->spare;
	void *memory = kvmalloc(size, smartio_recovery_gfp(size));

	if (memory)
		return memory;
	spin_lock(&spare->lock);
	if (!spare->used) {
		spare->used = true;
		memory = spare->memory;
	}
	spin_unlock(&spare->lock);
	return memory;
}

/* And back; NULL is ignored. */
void link_buffer_free(struct ntb_link *link, void *memory)
{
	struct link_spare *spare = &link->spare;

	if (memory != spare->memory) {
		kvfree(memory);
		return;
	}
	spin_lock(&spare->lock);
	spare->used = false;
	spin_unlock(&spare->lock);
}

/* ---- the rings ---- */

/*
 * The mappings of the peer's ring and bootstrap page stay while the link is
 * down: what brings it up again must not need memory for them. A peer that
 * shows other addresses, a host that has booted, gets new ones.
 */
static void link_tx_unmap(struct ntb_link *link)
{
	if (link->tx.ring)
		iounmap(link->tx.ring);
	link->tx.ring = NULL;
}

static void link_peer_boot_unmap(struct ntb_link *link)
{
	if (link->peer_boot)
		iounmap(link->peer_boot);
	link->peer_boot = NULL;
}

/* This host's ring. */
int link_ring_init(struct ntb_link *link)
{
	mutex_init(&link->tx_lock);
	INIT_WORK(&link->rx.work, link_rx_work);
	link->rx.wq = alloc_ordered_workqueue("smartio-%s-rx",
					      WQ_MEM_RECLAIM | WQ_HIGHPRI,
					      link->base.name);
	if (!link->rx.wq)
		return -ENOMEM;
	link->rx.ring = link_alloc_low(link, LINK_RING_SIZE, &link->rx.dma);
	if (!link->rx.ring) {
		destroy_workqueue(link->rx.wq);
		return -ENOMEM;
	}
	return 0;
}

/* The mirror of link_ring_init(). */
void link_ring_exit(struct ntb_link *link)
{
	destroy_workqueue(link->rx.wq);
	link_tx_unmap(link);
	link_peer_boot_unmap(link);
	link_free(link, LINK_RING_SIZE, link->rx.ring, link->rx.dma);
}

/* A new generation begins, with an empty ring. */
void link_ring_reset(struct ntb_link *link)
{
	link->rx.position = 0;
	link->rx.sequence = 0;
	link->rx.consumed = 0;
	link->rx.acked = 0;
	link->rx.complained = false;
	memset(link->boot, 0, sizeof(*link->boot));
}

/*
 * The peer's bootstrap page is known. Returns 0 or -ENOMEM. No ring may be
 * mapped over it in another way.
 */
int link_peer_boot_map(struct ntb_link *link, phys_addr_t phys)
{
	if (link->peer_boot && link->peer_boot_phys == phys)
		return 0;
	mutex_lock(&link->tx_lock);
	link_tx_unmap(link);
	mutex_unlock(&link->tx_lock);
	link_peer_boot_unmap(link);
	link->peer_boot = ioremap(phys, sizeof(struct wire_boot));
	if (!link->peer_boot)
		return -ENOMEM;
	link->peer_boot_phys = phys;
	return 0;
}

/*
 * The other side's ring is known. Returns 0, -EINVAL: it lies on the bootstrap
 * page, -ENOMEM.
 */
int link_ring_join(struct ntb_link *link, phys_addr_t phys, u32 slots)
{
	size_t size = (size_t)slots * WIRE_SLOT;
	int ret = 0;

	/* one page can't be mapped write-combining and not */
	if (phys < link->peer_boot_phys + PAGE_SIZE &&
	    link->peer_boot_phys < phys + size)
		return -EINVAL;
	mutex_lock(&link->tx_lock);
	if (link->tx.phys != phys || link->tx.slots != slots)
		link_tx_unmap(link);
	if (!link->tx.ring)
		link->tx.ring = ioremap_wc(phys, size);
	link->tx.phys = phys;
	link->tx.slots = slots;
	link->tx.position = 0;
	link->tx.sequence = 0;
	link->tx.produced = 0;
	link->tx.joined = !!link->tx.ring;
	if (!link->tx.joined)
		ret = -ENOMEM;
	mutex_unlock(&link->tx_lock);
	return ret;
}

/*
 * The link is down. This host doesn't write to the other side any more when
 * this returns.
 */
void link_ring_leave(struct ntb_link *link)
{
	/* it alone, besides the tick, writes to the peer's bootstrap page */
	cancel_work_sync(&link->rx.work);
	mutex_lock(&link->tx_lock);
	link->tx.joined = false;
	mutex_unlock(&link->tx_lock);
}

/* ---- sending ---- */

/* Slots that may be written; the other side's word for it is checked. */
static int link_tx_room(struct ntb_link *link, u32 generation)
{
	union wire_count count = { .word = READ_ONCE(link->boot->consumed.word) };
	u32 consumed = 0, used;

	if (le32_to_cpu(count.generation) == generation)
		consumed = le32_to_cpu(count.count);
	used = link->tx.produced - consumed;
	if (used > link->tx.slots)
		return -EBADMSG;
	return link->tx.slots - used;
}

static int link_tx_wait(struct ntb_link *link, u32 generation, u32 slots)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(LINK_FULL_MS);
	u32 current_generation;
	int room;

	for (;;) {
		/* nor wait again in a link that is about to go down */
		if (!link_is_up(link, &current_generation) ||
		    current_generation != generation ||
		    READ_ONCE(link->restart))
			return -ENOLINK;
		room = link_tx_room(link, generation);
		if (room < 0) {
			link_restart(link, "the other side acknowledged a message never sent");
			return -ENOLINK;
		}
		if (room >= slots)
			return 0;
		if (time_after(jiffies, deadline)) {
			link_restart(link, "the other side reads no messages");
			return -ENOLINK;
		}
		atomic64_inc(&link->counters.full);
		usleep_range(100, 500);
	}
}

static void link_tx_head(struct ntb_link *link, struct wire_head *head)
{
	void __iomem *slot = link->tx.ring +
			     (size_t)link->tx.position * WIRE_SLOT;
	u64 last;

	head->generation = cpu_to_le32(link->peer_generation);
	head->sequence = cpu_to_le32(++link->tx.sequence);
	last = (u64)link->tx.sequence << 32 | link->peer_generation;
	memcpy_toio(slot, head, offsetof(struct wire_head, generation));
	wmb();	/* payload and header before what makes them valid */
	writeq(last, slot + offsetof(struct wire_head, generation));
	wmb();	/* out of the write-combining buffers, before the doorbell */
}

static void link_tx_advance(struct ntb_link *link, u32 slots)
{
	link->tx.produced += slots;
	link->tx.position += slots;
	if (link->tx.position == link->tx.slots)
		link->tx.position = 0;
}

static int link_tx_post(struct ntb_link *link, u32 generation,
			const struct wire_message *message, const void *payload)
{
	struct wire_head head = {
		.type = cpu_to_le16(message->type),
		.length = cpu_to_le32(message->length),
		.object = cpu_to_le32(message->object),
		.request = cpu_to_le32(message->request),
		.context = cpu_to_le64(message->context),
		.status = cpu_to_le32(message->status),
		.timeout_ms = cpu_to_le32(message->timeout_ms),
		.reply_max = cpu_to_le32(message->reply_max),
	};
	u32 slots = wire_slots(message->length), rest;
	struct wire_head pad = { .type = cpu_to_le16(WIRE_PAD) };
	int ret;

	rest = link->tx.slots - link->tx.position;
	if (rest < slots) {
		ret = link_tx_wait(link, generation, rest);
		if (ret)
			return ret;
		link_tx_head(link, &pad);
		link_tx_advance(link, rest);
	}
	ret = link_tx_wait(link, generation, slots);
	if (ret)
		return ret;
	if (message->length)
		memcpy_toio(link->tx.ring +
			    (size_t)(link->tx.position + 1) * WIRE_SLOT,
			    payload, message->length);
	link_tx_head(link, &head);
	link_tx_advance(link, slots);
	ntb_peer_db_set(link->ntb, BIT_ULL(link->peer_doorbell));
	return 0;
}

/*
 * Sends a message to the other side. Messages arrive in the order sent. If one
 * can't be sent for 2 s, the link is taken down. Returns 0; -ENOLINK: the link
 * is down, or has another generation; -EMSGSIZE.
 */
int link_send(struct ntb_link *link, u32 generation,
	      const struct wire_message *message, const void *payload)
{
	u32 current_generation;
	int ret = -ENOLINK;

	if (message->length > LINK_PAYLOAD_MAX)
		return -EMSGSIZE;
	mutex_lock(&link->tx_lock);
	if (link->tx.joined && link_is_up(link, &current_generation) &&
	    current_generation == generation)
		ret = link_tx_post(link, generation, message, payload);
	mutex_unlock(&link->tx_lock);
	trace_smartio_message(link->base.name, true, message, ret);
	if (!ret) {
		atomic64_inc(&link->counters.sent);
		atomic64_add(message->length, &link->counters.sent_bytes);
	}
	return ret;
}

/* ---- receiving ---- */

static void link_rx_ack(struct ntb_link *link)
{
	if (link->rx.acked == link->rx.consumed)
		return;
	WRITE_ONCE(link->rx.acked, link->rx.consumed);
	writeq((u64)link->rx.acked << 32 | link->peer_generation,
	       &link->peer_boot->consumed.word);
}

static void link_rx_refuse(struct ntb_link *link,
			   const struct wire_message *message)
{
	atomic64_inc(&link->base.refused);
	if (link->rx.complained)
		return;
	link->rx.complained = true;
	if (!__ratelimit(&link->base.log_limit))
		return;
	dev_warn(link->base.dma,
		 "%s: %s sent a malformed message (type %u, %u bytes); more are only counted\n",
		 link->base.name, link->base.peer.name, message->type, message->length);
}

static bool link_payload_ok(struct ntb_link *link,
			    const struct wire_message *message,
			    const void *payload)
{
	if (message->type == WIRE_REPLY || message->type == WIRE_APERTURE)
		return wire_payload_ok(message);
	return link->base.client->valid(message, payload);
}

enum link_rx {
	LINK_RX_NONE,		/* there is none */
	LINK_RX_DONE,
	LINK_RX_STARVED,	/* no memory for it: it stays in the ring */
};

static void link_rx_advance(struct ntb_link *link, u32 slots)
{
	u32 position = link->rx.position + slots;

	/* link_rx_waits() may read them meanwhile */
	WRITE_ONCE(link->rx.sequence, link->rx.sequence + 1);
	WRITE_ONCE(link->rx.consumed, link->rx.consumed + slots);
	WRITE_ONCE(link->rx.position,
		   position == LINK_RING_SLOTS ? 0 : position);
}

/* Whether the slot at @position begins message @sequence + 1. */
static bool link_rx_full(struct ntb_link *link, u32 generation, u32 position,
			 u32 sequence)
{
	const void *slot = link->rx.ring + (size_t)position * WIRE_SLOT;
	u64 expected = (u64)(sequence + 1) << 32 | generation;

	return le64_to_cpu(READ_ONCE(*(const __le64 *)(slot +
			offsetof(struct wire_head, generation)))) == expected;
}

/*
 * The receiver has something to do, as far as can be seen while it may be at
 * work: then it looks for more by itself.
 */
bool link_rx_waits(struct ntb_link *link)
{
	u32 generation;

	return link_is_up(link, &generation) &&
	       (READ_ONCE(link->rx.acked) != READ_ONCE(link->rx.consumed) ||
		link_rx_full(link, generation, READ_ONCE(link->rx.position),
			     READ_ONCE(link->rx.sequence)));
}

/* One message. */
static enum link_rx link_rx_one(struct ntb_link *link, u32 generation)
{
	const void *slot = link->rx.ring +
			   (size_t)link->rx.position * WIRE_SLOT;
	struct wire_message message = {};
	struct wire_head head;
	void *payload = NULL;
	int slots;

	if (!link_rx_full(link, generation, link->rx.position,
			  link->rx.sequence))
		return LINK_RX_NONE;
	dma_rmb();	/* the rest was written before it */
	memcpy(&head, slot, sizeof(head));
	slots = wire_head_check(&head, LINK_RING_SLOTS, link->rx.position,
				LINK_PAYLOAD_MAX, &message);
	if (slots < 0) {
		link_restart(link, "the other side sent an invalid message");
		return LINK_RX_NONE;
	}
	if (message.type == WIRE_PAD) {
		link_rx_advance(link, slots);
		return LINK_RX_DONE;
	}
	if (message.length) {
		payload = link_buffer(link, message.length);
		if (!payload)
			return LINK_RX_STARVED;
		memcpy(payload, slot + WIRE_SLOT, message.length);
	}
	atomic64_inc(&link->counters.received);
	trace_smartio_message(link->base.name, false, &message, 0);
	if (!link_payload_ok(link, &message, payload)) {
		link_rx_refuse(link, &message);
		link_buffer_free(link, payload);
	} else if (!link->rx.deliver(link, generation, &message, payload)) {
		atomic64_dec(&link->counters.received);
		link_buffer_free(link, payload);
		return LINK_RX_STARVED;
	}
	atomic64_add(message.length, &link->counters.received_bytes);
	link_rx_advance(link, slots);
	return LINK_RX_DONE;
}

static void link_rx_work(struct work_struct *work)
{
	struct ntb_link *link = container_of(work, struct ntb_link,
						 rx.work);
	unsigned int flags = smartio_recovery_begin();
	enum link_rx rx;
	u32 generation;

	while (link_is_up(link, &generation)) {
		rx = link_rx_one(link, generation);
		if (rx == LINK_RX_NONE)
			break;
		if (rx == LINK_RX_STARVED ||
		    link->rx.consumed - link->rx.acked > LINK_RING_SLOTS / 8)
			link_rx_ack(link);
		if (rx == LINK_RX_STARVED) {
			atomic64_inc(&link->counters.starved);
			msleep(LINK_STARVED_MS);
		}
		cond_resched();
	}
	if (link_is_up(link, &generation))
		link_rx_ack(link);
	smartio_recovery_end(flags);
}
