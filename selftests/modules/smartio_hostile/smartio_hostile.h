/* SPDX-License-Identifier: GPL-2.0 */
/* The other end of a link, broken or hostile: see main.c. */
#ifndef _SMARTIO_HOSTILE_H
#define _SMARTIO_HOSTILE_H

#include <linux/dma-mapping.h>
#include <linux/mutex.h>
#include <linux/ntb.h>
#include <linux/prandom.h>
#include <linux/types.h>

#include "../../../drivers/ntb_smartio/wire.h"
#include "../../../drivers/smartio/messages.h"

#define HOSTILE_RING_SIZE	(WIRE_RING_MIN * WIRE_SLOT)
#define HOSTILE_SESSIONS	8
/* Links to make, at least, and how long the other side refuses nonsense. */
#define HOSTILE_UPS		5
#define HOSTILE_REFUSED_S	10
/* More of an aperture is not written to at random: it is no pool. */
#define HOSTILE_POOL_MAX	(16U << 20)

/**
 * struct hostile - one NTB
 * @ntb: the NTB
 * @dma: its function
 * @dir: its files in debugfs
 * @lock: one run at a time; protects all below
 * @rnd: state of the random numbers
 * @window_phys: outgoing window 0
 * @window_size: bytes of it
 * @boot: own bootstrap page
 * @boot_dma: where the other side finds it
 * @ring: own ring
 * @ring_dma: where the other side finds it
 * @uuid: the one that it claims: none that the other side knows, so that its
 *	false exports are removed when the real host returns
 * @generation: own
 * @peer_generation: of the other side, in this round
 * @peer: its hello
 * @pool: its aperture 0, as far as it is mapped
 * @pool_size: bytes of that
 * @peer_boot: its bootstrap page, in @pool or mapped by itself
 * @peer_ring: its ring
 * @peer_slots: of it
 * @position: next slot of @peer_ring
 * @sequence: last one sent
 * @produced: slots sent
 * @heartbeat: last one posted
 * @beat: when
 * @rx_position: next slot of @ring
 * @rx_sequence: last one seen
 * @rx_consumed: slots read
 * @asked: numbers of requests of the other side
 * @sessions: that the other side has opened
 * @rounds: how often it was begun
 * @ups: how often the other side came up
 * @messages: sent
 * @ended: how often the other side ended it
 * @result: of the last run
 */
struct hostile {
	struct ntb_dev *ntb;
	struct device *dma;
	struct dentry *dir;
	struct mutex lock;	/* one run at a time */
	struct rnd_state rnd;
	phys_addr_t window_phys;
	u64 window_size;
	struct wire_boot *boot;
	dma_addr_t boot_dma;
	void *ring;
	dma_addr_t ring_dma;
	uuid_t uuid;

	u32 generation;
	u32 peer_generation;
	struct wire_hello peer;
	void __iomem *pool;
	size_t pool_size;
	struct wire_boot __iomem *peer_boot;
	void __iomem *peer_ring;
	u32 peer_slots;
	u32 position;
	u32 sequence;
	u32 produced;
	u32 heartbeat;
	unsigned long beat;
	u32 rx_position;
	u32 rx_sequence;
	u32 rx_consumed;
	u32 asked[4];
	u64 sessions[HOSTILE_SESSIONS];

	unsigned long rounds;
	unsigned long ups;
	unsigned long messages;
	unsigned long ended;
	char result[256];
};

/* The other side's scratchpads; version 0: nothing. */
struct hostile_spads {
	u32 version;
	u32 generation;
	u32 echo;
	u32 boot;
	u32 flags;
};

static inline u32 rnd(struct hostile *h, u32 below)
{
	return prandom_u32_state(&h->rnd) % below;
}

static inline u64 rnd64(struct hostile *h)
{
	return (u64)prandom_u32_state(&h->rnd) << 32 |
	       prandom_u32_state(&h->rnd);
}

/* A number that is wrong by little, or by much. */
static inline u64 rnd_near(struct hostile *h, u64 right)
{
	switch (rnd(h, 4)) {
	case 0:
		return right + 1;
	case 1:
		return right - 1 - rnd(h, 4096);
	case 2:
		return right ^ BIT_ULL(rnd(h, 64));
	default:
		return rnd64(h);
	}
}

/* handshake.c */
void hostile_spads_read(struct hostile *h, struct hostile_spads *spads);
void hostile_spads_write(struct hostile *h, u32 version, u32 boot, u32 flags);
void hostile_spads_clear(struct hostile *h);
int hostile_join(struct hostile *h);
void hostile_leave(struct hostile *h);
int hostile_refused(struct hostile *h);

/* messages.c */
bool hostile_lives(struct hostile *h);
void hostile_act(struct hostile *h);
void hostile_end(struct hostile *h);

#endif /* _SMARTIO_HOSTILE_H */
