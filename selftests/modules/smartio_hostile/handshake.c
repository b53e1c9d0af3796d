// SPDX-License-Identifier: GPL-2.0
/*
 * The handshake as drivers/ntb_smartio/wire.h has it, far enough that the other
 * side is up. Before the right hello it sends others, which the other side has
 * to overlook, or to refuse.
 */
#include <linux/crc32.h>
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/stddef.h>

#include "smartio_hostile.h"

/* The other side may wait for room in a ring that this one never reads. */
#define JOIN_MS		5000
/* How long the other side leaves a host alone that said nonsense; and some. */
#define REFUSED_MS	12000

/**
 * hostile_spads_read() - reads the other side's scratchpads
 * @h: the link
 * @spads: filled in
 */
void hostile_spads_read(struct hostile *h, struct hostile_spads *spads)
{
	u32 magic = ntb_spad_read(h->ntb, WIRE_SPAD_MAGIC);

	memset(spads, 0, sizeof(*spads));
	if (magic >> 16 != WIRE_MAGIC)
		return;
	spads->generation = ntb_spad_read(h->ntb, WIRE_SPAD_GENERATION);
	spads->echo = ntb_spad_read(h->ntb, WIRE_SPAD_ECHO);
	spads->boot = ntb_spad_read(h->ntb, WIRE_SPAD_BOOT);
	spads->flags = ntb_spad_read(h->ntb, WIRE_SPAD_FLAGS);
	if (ntb_spad_read(h->ntb, WIRE_SPAD_MAGIC) == magic &&
	    ntb_spad_read(h->ntb, WIRE_SPAD_GENERATION) == spads->generation)
		spads->version = magic & 0xffff;
}

static void spad(struct hostile *h, enum wire_spad which, u32 value)
{
	ntb_peer_spad_write(h->ntb, NTB_DEF_PEER_IDX, which, value);
}

/**
 * hostile_spads_write() - tell the other side something
 * @h: the link
 * @version: WIRE_VERSION, or not
 * @boot: page of the bootstrap page
 * @flags: as on the wire
 */
void hostile_spads_write(struct hostile *h, u32 version, u32 boot, u32 flags)
{
	spad(h, WIRE_SPAD_WINDOWS, h->window_size ? ilog2(h->window_size) : 0);
	spad(h, WIRE_SPAD_FLAGS, flags);
	spad(h, WIRE_SPAD_BOOT, boot);
	spad(h, WIRE_SPAD_ECHO, h->peer_generation);
	spad(h, WIRE_SPAD_GENERATION, h->generation);
	spad(h, WIRE_SPAD_MAGIC, WIRE_MAGIC << 16 | version);
}

/**
 * hostile_spads_clear() - shows the other side no driver here
 * @h: the link
 */
void hostile_spads_clear(struct hostile *h)
{
	spad(h, WIRE_SPAD_MAGIC, 0);
}

static void say_right(struct hostile *h)
{
	hostile_spads_write(h, WIRE_VERSION, h->boot_dma >> WIRE_PAGE_SHIFT,
			    WIRE_FLAGS(WIRE_OPEN, WIRE_REASON_NONE, 0));
}

/* ---- hellos ---- */

static void hello_seal(struct wire_hello *hello)
{
	hello->crc = 0;
	hello->valid = 0;
	hello->crc = cpu_to_le32(crc32_le(~0U, (void *)hello, sizeof(*hello)));
	hello->valid = hello->generation;
}

static void hello_right(struct hostile *h, struct wire_hello *hello)
{
	memset(hello, 0, sizeof(*hello));
	hello->magic = cpu_to_le32(WIRE_MAGIC << 16 | WIRE_VERSION);
	hello->generation = cpu_to_le32(h->generation);
	hello->echo = cpu_to_le32(h->peer_generation);
	hello->heartbeat_ms = cpu_to_le32(100);
	hello->ring = cpu_to_le64(h->ring_dma);
	hello->ring_slots = cpu_to_le32(WIRE_RING_MIN);
	hello->apertures[0].size = cpu_to_le64(h->window_size);
	export_uuid(hello->uuid, &h->uuid);
	strscpy(hello->name, "hostile");
	if (!rnd(h, 8))		/* unknown to the other side */
		prandom_bytes_state(&h->rnd, hello->uuid, sizeof(hello->uuid));
	hello_seal(hello);
}

/* Not valid yet, or not any more: the other side continues to wait. */
static void hello_overlooked(struct hostile *h, struct wire_hello *hello)
{
	hello_right(h, hello);
	switch (rnd(h, 6)) {
	case 0:
		hello->echo = cpu_to_le32(rnd_near(h, h->peer_generation));
		hello_seal(hello);
		break;
	case 1:
		hello->generation = cpu_to_le32(rnd_near(h, h->generation));
		hello_seal(hello);
		break;
	case 2:
		hello->crc = cpu_to_le32(rnd_near(h, le32_to_cpu(hello->crc)));
		break;
	case 3:
		hello->valid = 0;
		break;
	case 4:		/* half of it has come */
		memset((u8 *)hello + rnd(h, 200), 0, 16);
		hello->crc = ~hello->crc;
		break;
	default:
		prandom_bytes_state(&h->rnd, hello, sizeof(*hello));
	}
}

/* Whole, and wrong. */
static void hello_wrong(struct hostile *h, struct wire_hello *hello)
{
	hello_right(h, hello);
	switch (rnd(h, 13)) {
	case 0:
		hello->magic = cpu_to_le32(WIRE_MAGIC << 16 |
					   (WIRE_VERSION + 1 + rnd(h, 1000)));
		break;
	case 1:
		hello->magic = cpu_to_le32((WIRE_MAGIC ^ 1) << 16 |
					   WIRE_VERSION);
		break;
	case 2:
		memset(hello->name, 'x', sizeof(hello->name));
		break;
	case 3:
		hello->name[rnd(h, 7)] = 1 + rnd(h, ' ');
		break;
	case 4:
		hello->ring_slots = cpu_to_le32(rnd(h, WIRE_RING_MIN));
		break;
	case 5:
		hello->ring_slots = cpu_to_le32(WIRE_RING_MAX + 1 +
						rnd(h, 1U << 30));
		break;
	case 6:		/* the largest, but it doesn't fit in there */
		hello->ring = cpu_to_le64(h->window_size - WIRE_SLOT *
					  (u64)(1 + rnd(h, WIRE_RING_MIN - 1)));
		break;
	case 7:
		hello->ring = cpu_to_le64((rnd64(h) | 1ULL << 40) &
					  ~(u64)(WIRE_SLOT - 1));
		break;
	case 8:
		le64_add_cpu(&hello->ring, 1 + rnd(h, WIRE_SLOT - 1));
		break;
	case 9:
		hello->doorbell = cpu_to_le32(64 + rnd(h, 1U << 30));
		break;
	case 10:
		hello->apertures[rnd(h, WIRE_APERTURES)] =
			(struct wire_aperture){
				.mw = cpu_to_le32(0),
				.base = cpu_to_le64(~0ULL << 12),
				.size = cpu_to_le64(8192),
			};
		break;
	case 11:
		hello->apertures[0].mw = cpu_to_le32(2 + rnd(h, 1U << 30));
		break;
	default:	/* the ring lies on the bootstrap page */
		hello->ring = cpu_to_le64(h->boot_dma);
	}
	hello_seal(hello);
}

static void hello_post(struct hostile *h, const struct wire_hello *hello)
{
	memcpy_toio(&h->peer_boot->hello, hello,
		    offsetof(struct wire_hello, valid));
	wmb();	/* as it should be: what makes it valid comes last */
	writel(le32_to_cpu(hello->valid), &h->peer_boot->hello.valid);
}

/* ---- the way there ---- */

static int peer_boot_map(struct hostile *h, const struct hostile_spads *spads)
{
	u64 offset = (u64)spads->boot << WIRE_PAGE_SHIFT;

	if (WIRE_FLAGS_MW(spads->flags) ||
	    offset + sizeof(struct wire_boot) > h->window_size)
		return -ERANGE;
	h->peer_boot = ioremap(h->window_phys + offset, PAGE_SIZE);
	return h->peer_boot ? 0 : -ENOMEM;
}

/* The other side's ring, and all of its pool if it is one. */
static int peer_ring_map(struct hostile *h)
{
	const struct wire_aperture *aperture = &h->peer.apertures[0];
	u64 ring = le64_to_cpu(h->peer.ring) - le64_to_cpu(aperture->base);

	h->peer_slots = le32_to_cpu(h->peer.ring_slots);
	h->peer_ring = ioremap(h->window_phys + ring,
			       (size_t)h->peer_slots * WIRE_SLOT);
	if (!h->peer_ring)
		return -ENOMEM;
	if (le64_to_cpu(aperture->size) > HOSTILE_POOL_MAX)
		return 0;
	h->pool_size = le64_to_cpu(aperture->size);
	h->pool = ioremap(h->window_phys, h->pool_size);
	return h->pool ? 0 : -ENOMEM;
}

/**
 * hostile_leave() - the end of a round
 * @h: the link
 */
void hostile_leave(struct hostile *h)
{
	if (h->pool)
		iounmap(h->pool);
	if (h->peer_ring)
		iounmap(h->peer_ring);
	if (h->peer_boot)
		iounmap(h->peer_boot);
	h->pool = NULL;
	h->pool_size = 0;
	h->peer_ring = NULL;
	h->peer_boot = NULL;
}

static void begin(struct hostile *h)
{
	hostile_spads_clear(h);
	h->rounds++;
	h->generation = prandom_u32_state(&h->rnd) | 1;
	h->peer_generation = 0;
	h->position = 0;
	h->sequence = 0;
	h->produced = 0;
	h->heartbeat = 0;
	h->rx_position = 0;
	h->rx_sequence = 0;
	h->rx_consumed = 0;
	memset(h->asked, 0, sizeof(h->asked));
	memset(h->sessions, 0, sizeof(h->sessions));
	memset(h->boot, 0, PAGE_SIZE);
	memset(h->ring, 0, HOSTILE_RING_SIZE);
}

/*
 * Until both sides have opened their windows for each other. While the other
 * side refuses this one it hears random things.
 */
static int meet(struct hostile *h)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(JOIN_MS);
	unsigned long refused = jiffies + msecs_to_jiffies(REFUSED_MS);
	struct hostile_spads spads;

	for (;;) {
		hostile_spads_read(h, &spads);
		if (spads.version && WIRE_FLAGS_REASON(spads.flags)) {
			if (time_after(jiffies, refused))
				return -EACCES;
			deadline = jiffies + msecs_to_jiffies(JOIN_MS);
			if (rnd(h, 2)) {
				hostile_spads_write(h, rnd(h, 4) ?
						    WIRE_VERSION : rnd(h, 99),
						    prandom_u32_state(&h->rnd),
						    prandom_u32_state(&h->rnd));
				msleep(20);
			}
		} else if (spads.version && spads.flags & WIRE_OPEN &&
			   spads.echo == h->generation &&
			   spads.generation == h->peer_generation) {
			return peer_boot_map(h, &spads);
		}
		if (time_after(jiffies, deadline))
			return -ETIMEDOUT;
		if (spads.version)
			h->peer_generation = spads.generation;
		say_right(h);
		msleep(20);
	}
}

static bool hello_came(struct hostile *h)
{
	memcpy(&h->peer, &h->boot->hello, sizeof(h->peer));
	return le32_to_cpu(h->peer.valid) == h->peer_generation &&
	       le32_to_cpu(h->peer.echo) == h->generation;
}

static bool heartbeat_came(struct hostile *h)
{
	return le32_to_cpu(READ_ONCE(h->boot->heartbeat.generation)) ==
	       h->generation;
}

static int wait_for(struct hostile *h, bool (*what)(struct hostile *h))
{
	unsigned long deadline = jiffies + msecs_to_jiffies(JOIN_MS);

	while (!what(h)) {
		if (time_after(jiffies, deadline))
			return -ETIMEDOUT;
		usleep_range(1000, 5000);
	}
	return 0;
}

/**
 * hostile_join() - a round begins: until the other side is up
 * @h: the link
 *
 * Return: 0; -EAGAIN: the peer restarted meanwhile, as it may; another
 * error: it did not answer in time.
 */
int hostile_join(struct hostile *h)
{
	struct hostile_spads spads;
	struct wire_hello hello;
	bool spoiled;
	int ret;

	begin(h);
	ret = meet(h);
	if (ret)
		return ret;
	while (rnd(h, 2)) {
		hello_overlooked(h, &hello);
		hello_post(h, &hello);
		usleep_range(1000, 50000);
	}
	spoiled = !rnd(h, 8);
	if (spoiled)		/* its ring is full, or worse, before it begins */
		writeq((u64)(u32)-(WIRE_RING_MIN - rnd(h, 3)) << 32 |
		       h->peer_generation, &h->peer_boot->consumed.word);
	hello_right(h, &hello);
	hello_post(h, &hello);
	ret = wait_for(h, hello_came);
	if (!ret)
		ret = peer_ring_map(h);
	if (!ret)
		ret = wait_for(h, heartbeat_came);
	if (!ret) {
		h->ups++;
		return 0;
	}
	hostile_spads_read(h, &spads);
	if (spoiled || spads.generation != h->peer_generation)
		return -EAGAIN;
	return ret;
}

static bool refusal_came(struct hostile *h)
{
	struct hostile_spads spads;

	hostile_spads_read(h, &spads);
	return spads.version && WIRE_FLAGS_REASON(spads.flags);
}

/**
 * hostile_refused() - a hello, or scratchpads, that have to be refused
 * @h: the link
 *
 * Return: 0 if it was.
 */
int hostile_refused(struct hostile *h)
{
	struct wire_hello hello;
	int ret;

	begin(h);
	ret = meet(h);
	if (ret)
		return ret;
	switch (rnd(h, 4)) {
	case 0:		/* a bootstrap page outside of the window */
		hostile_spads_write(h, WIRE_VERSION, U32_MAX - rnd(h, 1000),
				    WIRE_FLAGS(WIRE_OPEN, 0, 0));
		break;
	case 1:		/* in a window that isn't there */
		hostile_spads_write(h, WIRE_VERSION,
				    h->boot_dma >> WIRE_PAGE_SHIFT,
				    WIRE_FLAGS(WIRE_OPEN, 0, 2 + rnd(h, 254)));
		break;
	default:
		hello_wrong(h, &hello);
		hello_post(h, &hello);
	}
	return wait_for(h, refusal_came);
}
