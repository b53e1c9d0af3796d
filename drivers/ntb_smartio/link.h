/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A link: one NTB device of this host, and whoever is behind it.
 *
 *   link.c       its life: NTB client, state machine, heartbeat
 *   handshake.c  scratchpads and hello
 *   window.c     what of this host is open to the other, and the way there
 *   memory.c     memory that lies inside what is open
 *   park.c       what the other side may still write to
 *   ring.c       messages
 *   call.c       requests to the other side, and its requests to this one
 *   remote.c     ways over the link, of this host as a borrower
 *   remote_session.c  sessions over the link, of this host as a lender
 *   irq.c        interrupts that come over the link
 *
 * Order of locks: settle_lock, tell_lock, tx_lock, window_lock, lock. The tick (link.c),
 * which alone changes the state, takes all but the first in turn. parked_lock is
 * the last one wherever it is taken.
 */
#ifndef _SMARTIO_LINK_H
#define _SMARTIO_LINK_H

#include <linux/genalloc.h>
#include <linux/ntb.h>
#include <linux/ratelimit.h>

#include "internal.h"
#include "wire.h"

#define LINK_WINDOWS_MAX	8
#define LINK_RING_SIZE		(512 * 1024)
#define LINK_RING_SLOTS		(LINK_RING_SIZE / WIRE_SLOT)
#define LINK_JOBS_MAX		128
/* A message of a driver, and what this module puts in front of it. */
#define LINK_PAYLOAD_MAX	SMARTIO_MESSAGE_MAX
/* Where MSI messages go: Intel SDM vol. 3, 11.11; AMD APM vol. 2, 16. */
#define LINK_MSI_BASE		0xfee00000ULL
#define LINK_MSI_SIZE		0x100000ULL

enum link_state {
	LINK_DOWN,
	LINK_JOINING,
	LINK_UP,
	LINK_REFUSED,
};

/* An aperture in this host's byte order; see struct wire_aperture. */
struct link_aperture {
	u32 mw;
	unsigned int users;	/* of an own one but the first */
	bool cut;		/* an own one that is shut, and kept */
	u64 base;
	u64 size;
};

/* Bytes of an own one that the other side may reach. */
static inline u64 link_aperture_open_size(const struct link_aperture *aperture)
{
	return aperture->cut ? 0 : aperture->size;
}

struct link_counters {
	atomic64_t sent;
	atomic64_t sent_bytes;
	atomic64_t received;
	atomic64_t received_bytes;
	atomic64_t refused;	/* messages that were not what they had to be */
	atomic64_t busy;	/* requests refused: too many at once */
	atomic64_t late;	/* replies that nobody waits for */
	atomic64_t full;	/* waited for room in the other's ring */
};

/**
 * struct smartio_link - one NTB and its other side
 * @ref: held by ways, sessions, jobs
 * @entry: in smartio_links
 * @ntb: the NTB; not to be touched once @removed
 * @dma: its function, for the DMA API
 * @index: number in the name
 * @name: for people
 * @dev: in class smartio_link
 * @wq: ordered, runs @tick
 * @tick: the state machine, each heartbeat and when something happens
 * @settle_lock: protects the ticks that link_settle() asks for against removal
 * @removed: the NTB goes; no more ticks; changed under @settle_lock
 * @restart: why the link has to be taken down, or NULL
 * @lock: protects @state, @generation, @calls; peer, peer_name, reason
 * @state: see above; changed by the tick, under @window_lock too
 * @generation: of this side, new with every attempt, not 0
 * @peer_generation: of the other side, 0: not known
 * @peer_incarnation: of its module, since it was up for the last time
 * @peer: who it is, since it was up for the first time
 * @peer_name: its name
 * @known: whether @peer is valid
 * @fenced: the other side said that this host is fenced, and has not let it in
 *	since
 * @fence_new: the other side is fenced, and its scratchpads are from before
 * @fencing: an order of the other side to fence a host is under way
 * @rejoin: this host, which was fenced by the other one, asks to be let in
 * @reason: why it was refused, or lost; for people
 * @refused_told: which refusal is in the log already; constant texts
 * @refusal: what the other side is told
 * @refused_at: since when
 * @lost_at: when it went down last
 * @log_limit: of log lines that the other side can bring about
 * @losses: how often it went down
 * @spads: last written to the other side
 * @db_message: doorbell for messages of the other side
 * @peer_doorbell: doorbell of the other side
 * @heartbeat: last own count
 * @peer_heartbeat: last seen of the other side
 * @cut: the cable was out since the link came up
 * @silent_ms: time that this host ran without seeing a new one
 * @last_tick: when
 * @window_lock: protects the windows' registers, @own, @open
 * @windows: how many, the same in both directions
 * @window_phys: of outgoing ones, for this host's CPUs
 * @window_size: in bytes, of those in either direction
 * @own: what this host opens
 * @tell_lock: one at a time tells the other side of @own, so that what it
 *	hears last is what is
 * @open: whether it is open now
 * @peer_own: what the other side has opened
 * @quarantine: where a shut window leads to, should its limit not hold
 * @iommu: the NTB's function is translated
 * @scattered: @own[0] covers whatever the DMA API maps
 * @pool: else: memory that is covered
 * @boot: bootstrap page of this host
 * @peer_boot: of the other side
 * @peer_boot_phys: where this host's CPUs find that
 * @rx: own ring
 * @tx: the other's ring
 * @calls: requests of this host without an answer, by number
 * @next_call: number
 * @jobs: requests of the other side that run
 * @ways: this host's ways over the link
 * @ways_lock: protects @ways
 * @ways_wq: adds and removes them, in order
 * @news: what is queued there
 * @maps: windows mapped for lent devices
 * @maps_lock: protects @maps
 * @parked: what the other side may still write to, of sessions that are over
 * @parked_lock: protects @parked and @parked_bytes
 * @parked_bytes: memory among it
 */
struct smartio_link {
	struct kref ref;
	struct list_head entry;
	struct ntb_dev *ntb;
	struct device *dma;
	int index;
	char name[32];
	struct device *dev;
	struct workqueue_struct *wq;
	struct delayed_work tick;
	struct mutex settle_lock;	/* link_settle() against removal */
	bool removed;
	const char *restart;

	spinlock_t lock;	/* state, generation, calls, peer, reason */
	enum link_state state;
	u32 generation;
	u32 peer_generation;
	u32 peer_incarnation;
	uuid_t peer;
	char peer_name[SMARTIO_NAME_LEN];
	bool known;
	bool fenced;
	bool fence_new;
	atomic_t fencing;
	bool rejoin;
	const char *reason;
	const char *refused_told;
	enum wire_reason refusal;
	ktime_t refused_at;
	ktime_t lost_at;
	struct ratelimit_state log_limit;
	unsigned int losses;
	u32 spads[WIRE_SPADS];
	unsigned int db_message;
	unsigned int peer_doorbell;
	u32 heartbeat;
	u32 peer_heartbeat;
	bool cut;
	unsigned int silent_ms;
	ktime_t last_tick;

	struct mutex window_lock;	/* windows' registers, own, open */
	unsigned int windows;
	phys_addr_t window_phys[LINK_WINDOWS_MAX];
	u64 window_size[LINK_WINDOWS_MAX];
	struct link_aperture own[WIRE_APERTURES];
	struct mutex tell_lock;		/* telling of own, in order */
	bool open;
	struct link_aperture peer_own[WIRE_APERTURES];
	void *quarantine;
	dma_addr_t quarantine_dma;
	bool iommu;
	bool scattered;
	u64 old_mask;
	unsigned int old_segment;
	unsigned int old_align;

	struct gen_pool *pool;
	struct page *pool_pages;
	dma_addr_t pool_dma;
	size_t pool_size;

	struct wire_boot *boot;
	dma_addr_t boot_dma;
	struct wire_boot __iomem *peer_boot;
	phys_addr_t peer_boot_phys;

	struct {
		void *ring;
		dma_addr_t dma;
		u32 position;
		u32 sequence;
		u32 consumed;	/* slots, since the generation began */
		u32 told;	/* of that, what the other side knows */
		struct work_struct work;
		struct workqueue_struct *wq;
		bool complained;
	} rx;
	struct mutex tx_lock;	/* one sender at a time: tx */
	struct {
		void __iomem *ring;
		u32 slots;
		u32 position;
		u32 sequence;
		u32 produced;
	} tx;

	struct xarray calls;
	u32 next_call;
	atomic_t jobs;
	wait_queue_head_t jobs_idle;

	struct list_head ways;
	struct mutex ways_lock;	/* ways */
	struct workqueue_struct *ways_wq;
	atomic_t news;
	struct list_head maps;
	struct mutex maps_lock;	/* maps */
	struct list_head parked;
	struct mutex parked_lock;	/* parked, parked_bytes */
	u64 parked_bytes;

	struct link_counters counters;
	struct dentry *debug;
};

extern unsigned int smartio_heartbeat_ms;
extern unsigned int smartio_heartbeat_timeout_ms;
extern struct list_head smartio_links;
extern struct mutex smartio_links_lock;	/* the list of links */

/* link.c */
void link_get(struct smartio_link *link);
void link_put(struct smartio_link *link);
bool link_is_up(struct smartio_link *link, u32 *generation);
void link_restart(struct smartio_link *link, const char *why);
void link_for_each(void (*fn)(struct smartio_link *link, void *arg), void *arg);
void link_settle(struct smartio_link *link);

/* handshake.c */
struct link_spads {
	u32 version;		/* 0: nobody there */
	u32 generation;
	u32 echo;
	u32 boot;
	u32 flags;
};

void link_spads_read(struct smartio_link *link, struct link_spads *spads);
void link_spads_write(struct smartio_link *link);
void link_spads_clear(struct smartio_link *link);
int link_hello_post(struct smartio_link *link, const struct link_spads *spads);
enum wire_reason link_hello_look(struct smartio_link *link,
				 struct wire_hello *hello);
const char *link_reason_text(enum wire_reason reason);

/* window.c */
int link_windows_init(struct smartio_link *link);
void link_windows_exit(struct smartio_link *link);
int link_windows_open(struct smartio_link *link);
void link_windows_close(struct smartio_link *link);
int link_window_need(struct smartio_link *link, u64 base, u64 size,
		     const char *what);
void link_window_done(struct smartio_link *link, u64 base, u64 size);
void link_window_cut(struct smartio_link *link, u64 base, u64 size);
void link_window_release(struct smartio_link *link, u64 base, u64 size);
void link_apertures_write(struct smartio_link *link,
			  struct wire_aperture *to);
void link_apertures_tell(struct smartio_link *link);
int link_window_reach(struct smartio_link *link, u64 addr, u64 size,
		      unsigned int *mw, u64 *offset);
int link_window_phys(struct smartio_link *link, u64 addr, u64 size,
		     phys_addr_t *phys);
int link_map_device(struct smartio_link *link, struct smartio_lent *lent,
		    unsigned int mw, dma_addr_t *dma);
void link_unmap_device(struct smartio_link *link, struct smartio_lent *lent);

/* memory.c */
int link_memory_init(struct smartio_link *link);
void link_memory_exit(struct smartio_link *link);
void *link_alloc(struct smartio_link *link, size_t size, dma_addr_t *dma,
		 gfp_t gfp);
void link_free(struct smartio_link *link, size_t size, void *cpu,
	       dma_addr_t dma);
struct page *link_pages_alloc(struct smartio_link *link, size_t size,
			      dma_addr_t *dma);
void link_unmapped(struct smartio_link *link);
void link_pages_free(struct smartio_link *link, size_t size, struct page *page,
		     dma_addr_t dma);

/* park.c */
void link_park_pages(struct smartio_link *link,
		     const struct lend_session *session, size_t size,
		     struct page *page, dma_addr_t dma);
void link_park_resource(struct smartio_link *link,
			const struct lend_session *session, dma_addr_t dma,
			u64 size);
void link_park_window(struct smartio_link *link,
		      const struct lend_session *session, u64 base, u64 size);
void link_parked_stopped(struct smartio_link *link, u64 session);
void link_parked_reopened(struct smartio_link *link, u32 device);
void link_parked_shut(struct smartio_link *link);

/* ring.c */
int link_ring_init(struct smartio_link *link);
void link_ring_exit(struct smartio_link *link);
void link_ring_reset(struct smartio_link *link);
int link_ring_join(struct smartio_link *link, const struct wire_hello *hello);
void link_ring_leave(struct smartio_link *link);
int link_send(struct smartio_link *link, u32 generation,
	      const struct wire_message *message, const void *payload);

/* call.c */
struct link_job;
int link_call(struct smartio_link *link, const struct wire_message *message,
	      const void *payload, void *reply, size_t *reply_size,
	      unsigned int timeout_ms);
void link_calls_fail(struct smartio_link *link);
void link_receive(struct smartio_link *link, u32 generation,
		  const struct wire_message *message, void *payload);
void link_jobs_wait(struct smartio_link *link);

/* remote.c */
void remote_receive(struct smartio_link *link,
		    const struct wire_message *message, const void *payload);
void remote_ways_lost(struct smartio_link *link);
bool remote_ways_write(struct smartio_link *link, bool forget);
void remote_ways_forget(struct smartio_link *link);
void remote_ways_remove(struct smartio_link *link);

/* fence.c */
bool fence_readmits(void);
int fence_asked(struct smartio_link *link, u32 generation,
		const struct wire_fence *fence, unsigned int timeout_ms);

/* host.c */
size_t smartio_hosts_fill(struct wire_host *hosts, size_t room);

/* remote_session.c */
int remote_session_request(struct smartio_link *link, u32 generation,
			   const struct wire_message *message,
			   const void *payload, void *reply,
			   size_t *reply_size);
void remote_sessions_end(struct smartio_link *link);
void remote_announce(struct smartio_link *link, struct smartio_lent *lent,
		     bool offered);
void remote_announce_all(struct smartio_link *link);

/* irq.c */
int link_irq_alloc(struct smartio_link *link, const struct cpumask *cpus,
		   const char *name, struct smartio_irq *irq);
void link_irq_free(struct smartio_link *link, struct smartio_irq *irq);

/* sysfs_link.c */
int smartio_sysfs_link_add(struct smartio_link *link);
void smartio_sysfs_link_remove(struct smartio_link *link);
int smartio_sysfs_links_init(void);
void smartio_sysfs_links_exit(void);

#endif /* _SMARTIO_LINK_H */
