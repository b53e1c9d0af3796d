// SPDX-License-Identifier: GPL-2.0
/*
 * The messages while the other side is up: of every type, right in form and
 * wrong in content, and stores into all memory that it has opened. Replies are
 * read only to be answered wrongly.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/sizes.h>
#include <linux/stddef.h>

#include "../../../drivers/smartio_nvme/proto.h"
#include "smartio_hostile.h"

#define PAYLOAD_MAX	4096
/* A device's number is small, and so are those of requests. */
#define DEVICES		6
#define REQUESTS	200

/* ---- its bootstrap page ---- */

static void beat(struct hostile *h)
{
	if (time_before(jiffies, h->beat + msecs_to_jiffies(50)))
		return;
	h->beat = jiffies;
	h->heartbeat++;
	writeq((u64)h->heartbeat << 32 | h->peer_generation,
	       &h->peer_boot->heartbeat.word);
}

static void bad_beat(struct hostile *h)
{
	u32 generation = rnd(h, 2) ? h->peer_generation :
			 rnd_near(h, h->peer_generation);

	writeq((u64)prandom_u32_state(&h->rnd) << 32 | generation,
	       &h->peer_boot->heartbeat.word);
}

static void consumed(struct hostile *h, u32 count)
{
	writeq((u64)count << 32 | h->peer_generation,
	       &h->peer_boot->consumed.word);
}

/* Changes its hello, or an unused part of its page; not the two counters. */
static void bad_boot(struct hostile *h)
{
	size_t at = rnd(h, offsetof(struct wire_boot, heartbeat));

	if (rnd(h, 2))
		at = sizeof(struct wire_boot) +
		     rnd(h, PAGE_SIZE - sizeof(struct wire_boot));
	writeb(prandom_u32_state(&h->rnd), (u8 __iomem *)h->peer_boot + at);
}

/* ---- what comes from there ---- */

static void took_request(struct hostile *h, u32 request)
{
	h->asked[rnd(h, ARRAY_SIZE(h->asked))] = request;
}

static void took_reply(struct hostile *h, const struct wire_head *head,
		       const void *payload)
{
	const struct wire_opened *opened = payload;

	if (!head->status && le32_to_cpu(head->length) == sizeof(*opened))
		h->sessions[rnd(h, HOSTILE_SESSIONS)] =
			le64_to_cpu(opened->session);
}

static void receive(struct hostile *h)
{
	struct wire_head head;
	u32 slots, rest;
	void *slot;

	for (;;) {
		rest = WIRE_RING_MIN - h->rx_position;
		slot = h->ring + (size_t)h->rx_position * WIRE_SLOT;
		memcpy(&head, slot, sizeof(head));
		if (le32_to_cpu(head.generation) != h->generation ||
		    le32_to_cpu(head.sequence) != h->rx_sequence + 1)
			return;
		dma_rmb();	/* the rest was written before it */
		memcpy(&head, slot, sizeof(head));
		slots = wire_slots(le32_to_cpu(head.length));
		if (le16_to_cpu(head.type) == WIRE_PAD || slots > rest)
			slots = rest;
		if (le16_to_cpu(head.type) >= WIRE_FIRST_REQUEST)
			took_request(h, le32_to_cpu(head.request));
		else if (le16_to_cpu(head.type) == WIRE_REPLY)
			took_reply(h, &head, slot + WIRE_SLOT);
		h->rx_sequence++;
		h->rx_consumed += slots;
		h->rx_position = (h->rx_position + slots) % WIRE_RING_MIN;
		consumed(h, h->rx_consumed);
	}
}

/* ---- its ring ---- */

static void room(struct hostile *h, u32 slots)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(200);
	u32 used;

	do {
		used = h->produced -
		       le32_to_cpu(READ_ONCE(h->boot->consumed.count));
		if (used + slots <= h->peer_slots)
			return;
		beat(h);
		usleep_range(100, 500);
	} while (time_before(jiffies, deadline));
	/* else over what has not been read */
}

static void ring_doorbell(struct hostile *h)
{
	ntb_peer_db_set(h->ntb, BIT_ULL(le32_to_cpu(h->peer.doorbell) % 64));
}

static void post_head(struct hostile *h, struct wire_head *head)
{
	void __iomem *slot = h->peer_ring + (size_t)h->position * WIRE_SLOT;

	memcpy_toio(slot, head, offsetof(struct wire_head, generation));
	wmb();	/* payload and header before what makes them valid */
	h->sequence++;
	writeq((u64)h->sequence << 32 | h->peer_generation,
	       slot + offsetof(struct wire_head, generation));
}

static void advance(struct hostile *h, u32 slots)
{
	h->produced += slots;
	h->position = (h->position + slots) % h->peer_slots;
}

/*
 * Posts a message as the format requires, except for its contents; the length
 * is kept to.
 */
static void post(struct hostile *h, struct wire_head *head, const void *payload)
{
	u32 length = le32_to_cpu(head->length), slots = wire_slots(length);
	u32 rest = h->peer_slots - h->position;
	struct wire_head pad = { .type = cpu_to_le16(WIRE_PAD) };

	if (rest < slots) {
		room(h, rest);
		post_head(h, &pad);
		advance(h, rest);
	}
	room(h, slots);
	if (length)
		memcpy_toio(h->peer_ring +
			    (size_t)(h->position + 1) * WIRE_SLOT,
			    payload, length);
	post_head(h, head);
	advance(h, slots);
	h->messages++;
	ring_doorbell(h);
}

static u32 asked(struct hostile *h)
{
	return h->asked[rnd(h, ARRAY_SIZE(h->asked))];
}

static u64 session(struct hostile *h)
{
	u64 id = h->sessions[rnd(h, HOSTILE_SESSIONS)];

	return rnd(h, 4) ? id : rnd_near(h, id);
}

static void text(struct hostile *h, char *to, size_t size, const char *right)
{
	strscpy_pad(to, right, size);
	switch (rnd(h, 8)) {
	case 0:
		memset(to, 'a', size);
		break;
	case 1:
		prandom_bytes_state(&h->rnd, to, size);
		break;
	case 2:
		to[0] = '\0';
		break;
	case 3:
		to[rnd(h, 3)] = '/';
		break;
	}
}

static u32 device(struct hostile *h, struct wire_device *device)
{
	char pci[WIRE_PCI_LEN];

	snprintf(pci, sizeof(pci), "0000:%02x:00.%u", rnd(h, 256), rnd(h, 8));
	text(h, device->service, sizeof(device->service),
	     rnd(h, 4) ? "none" : SNVME_SERVICE);
	text(h, device->pci, sizeof(device->pci), pci);
	device->flags = cpu_to_le32(rnd(h, 4) ? WIRE_OFFERED : rnd64(h));
	return sizeof(*device);
}

static u32 apertures(struct hostile *h, struct wire_aperture *apertures)
{
	int i;

	memset(apertures, 0, WIRE_APERTURES * sizeof(*apertures));
	apertures[0].size = cpu_to_le64(rnd(h, 4) ? h->window_size :
					rnd_near(h, h->window_size));
	for (i = rnd(h, 2); i < WIRE_APERTURES; i++) {
		if (rnd(h, 2))
			continue;
		apertures[i].mw = cpu_to_le32(rnd(h, 4));
		apertures[i].base = cpu_to_le64(rnd64(h));
		apertures[i].size = cpu_to_le64(rnd64(h) >> rnd(h, 64));
	}
	return WIRE_APERTURES * sizeof(*apertures);
}

static u32 range(struct hostile *h, struct wire_range *range)
{
	range->bar = cpu_to_le32(rnd(h, 4) ? 0 : rnd(h, 8));
	range->handle = cpu_to_le32(rnd(h, 16));
	range->offset = cpu_to_le64(rnd(h, 2) ? rnd(h, SZ_16K) : rnd64(h));
	range->size = cpu_to_le64(rnd(h, 2) ? rnd(h, SZ_64K) : rnd64(h));
	return sizeof(*range);
}

/* For the lender's half; first a right one, so that others mean something. */
static u32 request(struct hostile *h, u8 *payload)
{
	struct snvme_attach_req *attach = (void *)payload;
	u32 length = 1 + rnd(h, 256);

	prandom_bytes_state(&h->rnd, payload, length);
	if (rnd(h, 2)) {
		memset(attach, 0, sizeof(*attach));
		attach->op = cpu_to_le16(SNVME_ATTACH);
		attach->version = cpu_to_le16(SNVME_VERSION);
		return sizeof(*attach);
	}
	payload[0] = rnd(h, 8);
	if (length > 1)
		payload[1] = 0;
	return length;
}

/* A message that arrives: the header is sound. */
static void message(struct hostile *h)
{
	static u8 payload[PAYLOAD_MAX] __aligned(8);	/* under h->lock */
	u32 type = 1 + rnd(h, WIRE_TYPES - 1), length = 0;
	struct wire_head head = {
		.type = cpu_to_le16(type),
		.object = cpu_to_le32(rnd(h, DEVICES)),
		.request = cpu_to_le32(rnd(h, 4) ? rnd(h, REQUESTS) : rnd64(h)),
		.context = cpu_to_le64(session(h)),
		.timeout_ms = cpu_to_le32(rnd(h, 4) ? 1000 : rnd64(h)),
		.reply_max = cpu_to_le32(rnd(h, 4) ? SZ_64K : rnd64(h)),
	};

	prandom_bytes_state(&h->rnd, payload, rnd(h, sizeof(payload)));
	switch (type) {
	case WIRE_REPLY:
		if (rnd(h, 2))
			head.request = cpu_to_le32(asked(h));
		if (!rnd(h, 3))
			head.status = cpu_to_le32(rnd(h, 2) ? -EAGAIN :
						  (int)rnd64(h));
		length = rnd(h, 2) ? sizeof(struct wire_opened) :
			 rnd(h, sizeof(payload));
		break;
	case WIRE_NOTIFY:
		length = rnd(h, sizeof(payload));
		break;
	case WIRE_DEVICE:
		length = device(h, (void *)payload);
		break;
	case WIRE_APERTURE:
		length = apertures(h, (void *)payload);
		break;
	case WIRE_SEGMENT_ALLOC:
	case WIRE_SEGMENT_FREE:
	case WIRE_MAP_BAR:
		length = range(h, (void *)payload);
		break;
	case WIRE_REQUEST:
		length = request(h, payload);
		break;
	case WIRE_CLOSE_SESSION:
	case WIRE_REVOKE:
		if (rnd(h, 4))	/* or there would never be one */
			head.context = cpu_to_le64(rnd64(h));
		break;
	}
	if (!rnd(h, 16))
		length = rnd(h, sizeof(payload));
	head.length = cpu_to_le32(length);
	post(h, &head, payload);
}

/* Not to be seen: not the next one, or of another generation. */
static void bad_slot(struct hostile *h)
{
	struct wire_head head;
	void __iomem *slot;
	u32 sequence = h->sequence + 1, generation = h->peer_generation;

	prandom_bytes_state(&h->rnd, &head, sizeof(head));
	if (rnd(h, 2))
		sequence = rnd_near(h, sequence);
	else
		generation = rnd_near(h, generation);
	if (sequence == h->sequence + 1 && generation == h->peer_generation)
		sequence--;
	head.generation = cpu_to_le32(generation);
	head.sequence = cpu_to_le32(sequence);
	slot = h->peer_ring + (size_t)h->position * WIRE_SLOT;
	memcpy_toio(slot, &head, sizeof(head));
	ring_doorbell(h);
}

/* ---- other ways in ---- */

/* Writes anywhere in its aperture 0, if that is small enough to be mapped. */
static void scribble(struct hostile *h)
{
	u8 bytes[256];
	size_t at;

	if (!h->pool)
		return;
	prandom_bytes_state(&h->rnd, bytes, sizeof(bytes));
	at = rnd(h, h->pool_size - sizeof(bytes));
	memcpy_toio(h->pool + at, bytes, sizeof(bytes));
}

static void doorbells(struct hostile *h)
{
	ntb_peer_db_set(h->ntb, rnd64(h) & ntb_db_valid_mask(h->ntb));
}

/* One that the other side does not look at while it is up. */
static void spads(struct hostile *h)
{
	int first = WIRE_SPADS, count = ntb_spad_count(h->ntb);
	int which = rnd(h, 2) || count <= first ? WIRE_SPAD_BOOT :
		    first + rnd(h, count - first);

	ntb_peer_spad_write(h->ntb, NTB_DEF_PEER_IDX, which,
			    prandom_u32_state(&h->rnd));
}

/**
 * hostile_lives() - whether the other side continues with this round
 * @h: the link
 *
 * Return: false once it began again, or refuses.
 */
bool hostile_lives(struct hostile *h)
{
	struct hostile_spads spads;

	hostile_spads_read(h, &spads);
	return spads.version == WIRE_VERSION &&
	       spads.generation == h->peer_generation &&
	       !WIRE_FLAGS_REASON(spads.flags);
}

/**
 * hostile_act() - do something to the other side that it can live with
 * @h: joined
 */
void hostile_act(struct hostile *h)
{
	beat(h);
	receive(h);
	switch (rnd(h, 32)) {
	case 0:
		bad_beat(h);
		break;
	case 1:
		bad_boot(h);
		break;
	case 2:
		bad_slot(h);
		break;
	case 3:
		doorbells(h);
		break;
	case 4:
		spads(h);
		break;
	case 5:
		usleep_range(100, 20000);
		break;
	default:
		message(h);
	}
}

/**
 * hostile_end() - do something that the other side should end the round for
 * @h: joined
 */
void hostile_end(struct hostile *h)
{
	struct wire_head head = {};
	int i;

	switch (rnd(h, 9)) {
	case 0:		/* no such type */
		head.type = cpu_to_le16(WIRE_TYPES + rnd(h, 60000));
		post_head(h, &head);
		break;
	case 1:		/* longer than may be */
		head.type = cpu_to_le16(WIRE_NOTIFY);
		head.length = cpu_to_le32(U32_MAX - rnd(h, 1 << 30));
		post_head(h, &head);
		break;
	case 2:		/* beyond the end of the ring */
		while (h->peer_slots - h->position > 100)
			message(h);
		head.type = cpu_to_le16(WIRE_NOTIFY);
		head.length = cpu_to_le32(WIRE_SLOT * 200);
		post_head(h, &head);
		break;
	case 3:		/* claims to have read slots that were never sent */
		consumed(h, h->rx_consumed + 1 + rnd(h, 1 << 30));
		head.type = cpu_to_le16(WIRE_OPEN_SESSION);
		post(h, &head, NULL);
		break;
	case 4:		/* asks, and has no room for an answer */
		consumed(h, h->rx_consumed - WIRE_RING_MIN);
		for (i = 0; i < 300; i++) {
			beat(h);
			head.type = cpu_to_le16(WIRE_CLOSE_SESSION);
			head.timeout_ms = cpu_to_le32(1000);
			post(h, &head, NULL);
		}
		break;
	case 5:		/* another generation, without a word */
		ntb_peer_spad_write(h->ntb, NTB_DEF_PEER_IDX,
				    WIRE_SPAD_GENERATION,
				    prandom_u32_state(&h->rnd));
		break;
	case 6:		/* any scratchpad */
		ntb_peer_spad_write(h->ntb, NTB_DEF_PEER_IDX,
				    rnd(h, WIRE_SPADS),
				    prandom_u32_state(&h->rnd));
		break;
	case 7:
		for (i = 0; i < 2000; i++)
			scribble(h);
		ring_doorbell(h);
		break;
	default:	/* silence */
		break;
	}
}
