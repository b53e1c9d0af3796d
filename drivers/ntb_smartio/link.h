/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A link: one NTB device of this host, and its peer. The layers, from below; a
 * file calls none above it:
 *
 *    kept.c       pages that stay for their owner
 *    memory.c     memory that lies inside what is open to the other side
 *    ring.c       messages
 *    inbound.c    registers of the windows that lead into this host
 *    window.c     apertures of this host, and windows to the peer's
 *    held.c       memory that the other side may still write to
 *    doorbell.c   interrupts by the NTB's doorbells
 *    irq.c        interrupts that come over the link
 *    msi.c        interrupts of the peer's functions that drivers here use
 *    space.c      IOVAs that those functions reach
 *    call.c       requests to the other side, and its requests to this one
 *    handshake.c  scratchpads and hello
 *    sysfs.c      attributes for users
 *    link.c       its life: state machine, heartbeat, events of the NTB
 *    ops.c        the core's calls
 *    main.c       the NTB client: set-up and removal
 *
 * Order of locks: settle_lock, announce_lock, tx_lock, window_lock, base.lock.
 * The tick (link.c), which alone changes the state, takes all but the first in
 * turn. held_lock is the last one wherever it is taken.
 */
#ifndef _NTB_SMARTIO_LINK_H
#define _NTB_SMARTIO_LINK_H

#include <linux/genalloc.h>
#include <linux/idr.h>
#include <linux/msi.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/smartio_transport.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "kept.h"
#include "wire.h"

#define LINK_WINDOWS_MAX	8
#define LINK_RING_SIZE		(512 * 1024)
#define LINK_RING_SLOTS		(LINK_RING_SIZE / WIRE_SLOT)
#define LINK_JOBS_MAX		128
/* log2 of how many functions of the peer may have IOVAs of this host. */
#define LINK_SPACE_SHIFT	3
/* A message of the core. */
#define LINK_PAYLOAD_MAX	SMARTIO_MESSAGE_MAX
/*
 * Where MSI messages go: 0xFEE00000 and the rest of that MiB, which x86 fixes
 * (Intel SDM, volume 3, Message Address Register Format). The peer is x86, too:
 * the hello does not tell the address.
 */
#define LINK_MSI_SIZE		0x100000ULL
#define LINK_MSI_BASE		(X86_MSI_BASE_ADDRESS_LOW * LINK_MSI_SIZE)

static_assert(WIRE_NAME_LEN == SMARTIO_NAME_LEN);

/* A window that leads into this host. */
struct link_inbound {
	u64 size;		/* that its translation takes */
	u64 align;		/* of where it leads; powers of two */
	u64 size_align;
	u64 peer;		/* bytes of it that the peer has; see @chosen */
	u64 too_small;		/* such bytes that were logged as too few, or 0 */
	bool known;		/* the NTB's driver gave the first three */
	bool away;		/* shut by that: it took no limit of 0 */
};

/**
 * struct link_aperture - an aperture; see struct wire_aperture
 * @mw: number of the window
 * @base: first address
 * @size: bytes; 0: unused
 * @needed: of an own one but the first: the address for which it was opened.
 *	@base is lower where the window wants a multiple of something larger.
 * @needed_size: bytes from there
 * @users: that need it
 * @kept: users that were cut off, and that the peer may not have stopped yet
 * @cut: is shut, and reserved for those
 */
struct link_aperture {
	u32 mw;
	u64 base;
	u64 size;
	u64 needed;
	u64 needed_size;
	unsigned int users;
	unsigned int kept;
	bool cut;
};

/* Bytes of an own one that the other side may reach. */
static inline u64 link_aperture_open_size(const struct link_aperture *aperture)
{
	return aperture->cut ? 0 : aperture->size;
}

/* What has happened on a link since it was set up. */
struct link_counters {
	atomic64_t sent;
	atomic64_t sent_bytes;
	atomic64_t received;
	atomic64_t received_bytes;
	atomic64_t busy;	/* requests refused: too many at once */
	atomic64_t late;	/* replies after the deadline */
	atomic64_t full;	/* waited for room in the other's ring */
	atomic64_t starved;	/* a message waited for memory */
};

/* Memory for one message, when there is no other. */
struct link_spare {
	spinlock_t lock;	/* used */
	bool used;
	void *memory;
};

/**
 * struct ntb_link - one NTB and its other side
 * @base: the core's part of it
 * @ntb: the NTB; not to be touched once @removed
 * @index: number in the name
 * @dev: in class smartio_link
 * @wq: ordered, runs @tick
 * @tick: the state machine, each heartbeat and when something happens
 * @settle_lock: protects the ticks that link_settle() asks for against removal
 * @removed: the NTB goes; no more ticks; changed under @settle_lock
 * @restart: why the link has to be taken down, or NULL
 * @peer_generation: of the other side, 0: not known
 * @fence_new: the other side is fenced, and its scratchpads are from before
 * @rejoin: this host, which was fenced by the other one, asks to be admitted
 * @reason: why it was refused, or lost; for people
 * @refused_logged: the refusal that is in the log already; constant texts
 * @refusal: announced to the other side
 * @refused_at: since when
 * @lost_at: when it went down last
 * @losses: how often it went down
 * @spads: last written to the other side
 * @db_message: doorbell for messages of the other side
 * @peer_doorbell: doorbell of the other side
 * @peer_rings: its devices can ring doorbells of this host
 * @heartbeat: last own count
 * @peer_heartbeat: last seen of the other side
 * @cut: the cable was out since the link came up
 * @silent_ms: time that this host ran without seeing a new one
 * @last_tick: when
 * @window_lock: protects the windows' registers, @inbound, @chosen, @own, @open,
 *	@off_bus
 * @windows: how many lead out
 * @window_phys: of those, for this host's CPUs
 * @window_size: of those, in bytes; 0: it has no place on the bus
 * @inbounds: how many lead in
 * @counted: the most that the NTB's driver counted of those
 * @inbound: what those can do
 * @chosen: the sizes of the peer's windows were known: that of the first aperture
 *	stays, as addresses in use depend on it
 * @own: apertures of this host
 * @off_bus: the NTB may not reach this host, as a window could not be shut
 * @announce_lock: one announcement of @own at a time: the last one is current
 * @open: whether it is open now
 * @peer_own: apertures of the other side
 * @quarantine: where a shut window leads to, should its limit not hold
 * @quarantine_size: in bytes; more than a page, if that is aligned so
 * @quarantine_dma: its address for the NTB
 * @iommu: the NTB's function is translated
 * @old_mask: DMA mask of the NTB's function before this link
 * @old_segment: limit of a segment before this link, in bytes
 * @old_align: alignment of segments before this link
 * @pool: without @iommu: memory that is covered
 * @pool_pages: its pages
 * @pool_dma: their address for the NTB
 * @pool_size: in bytes
 * @pool_lacks: the smallest size for which it had no room; 0: it had for all
 * @pool_cut: of that, at the end: the peer's window does not reach it
 * @boot: bootstrap page of this host
 * @boot_dma: its address for the NTB
 * @peer_boot: of the other side
 * @peer_boot_phys: where this host's CPUs find that
 * @rx: own ring
 * @tx_lock: protects @tx: one sender at a time
 * @tx: the other's ring; its mapping stays while the link is down, @joined says
 *	that it may be written to
 * @spare: for a message that has come
 * @kept: pages that the peer reaches, or may need again
 * @calls: requests of this host without an answer, by number
 * @next_call: number
 * @jobs: requests of the other side that run
 * @jobs_wq: where
 * @ends_wq: where those run for which other ones may wait
 * @jobs_idle: woken when the last of them has ended
 * @irq_node: of @irq_domain
 * @irq_domain: makes interrupts of the peer's devices
 * @cpuhp: for the state of CPUs
 * @irq_numbers: those in use in @irq_domain
 * @irqs: struct link_irq
 * @irqs_lock: protects @irqs, and where each comes
 * @doorbells_lock: protects @doorbells and @doorbell_irqs; held while a handler
 *	of those runs
 * @doorbells: bits of those that the peer's devices ring
 * @doorbell_irqs: of each of those
 * @msi_number: of the last domain of msi.c
 * @spaces: a bit for each range of space.c that is in use
 * @spaces_lock: protects @spaces
 * @nested: functions whose registers nest in the NTB's BARs, for each BAR
 * @nested_lock: protects @nested
 * @maps: windows mapped for devices of this host
 * @maps_lock: protects @maps
 * @held: memory and registers that the other side may still write to
 * @held_lock: protects @held, @held_bytes and @losing
 * @held_bytes: memory among it
 * @losing: all windows are shut, and stay so for now
 * @writes: this host may still write to memory of the peer from before a loss
 * @counters: for debugfs
 * @debug: folder in debugfs
 */
struct ntb_link {
	struct smartio_link base;
	struct ntb_dev *ntb;
	int index;
	struct device *dev;
	struct workqueue_struct *wq;
	struct delayed_work tick;
	struct mutex settle_lock;	/* link_settle() against removal */
	bool removed;
	const char *restart;

	u32 peer_generation;
	bool fence_new;
	bool rejoin;
	const char *reason;
	const char *refused_logged;
	enum wire_reason refusal;
	ktime_t refused_at;
	ktime_t lost_at;
	unsigned int losses;
	u32 spads[WIRE_SPADS];
	unsigned int db_message;
	unsigned int peer_doorbell;
	bool peer_rings;
	u32 heartbeat;
	u32 peer_heartbeat;
	bool cut;
	unsigned int silent_ms;
	ktime_t last_tick;

	struct mutex window_lock;	/* windows' registers, inbound, own, open */
	unsigned int windows;
	phys_addr_t window_phys[LINK_WINDOWS_MAX];
	u64 window_size[LINK_WINDOWS_MAX];
	unsigned int inbounds;
	unsigned int counted;
	struct link_inbound inbound[LINK_WINDOWS_MAX];
	bool chosen;
	struct link_aperture own[WIRE_APERTURES];
	u32 own_version;		/* counts changes of own */
	u32 announced;			/* the last one that was announced */
	bool off_bus;
	struct mutex announce_lock;	/* announcements of own */
	bool open;
	struct link_aperture peer_own[WIRE_APERTURES];
	void *quarantine;
	size_t quarantine_size;
	dma_addr_t quarantine_dma;
	bool iommu;
	u64 old_mask;
	unsigned int old_segment;
	unsigned int old_align;

	struct gen_pool *pool;
	struct page *pool_pages;
	dma_addr_t pool_dma;
	size_t pool_size;
	size_t pool_lacks;
	size_t pool_cut;

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
		u32 acked;	/* of that, reported to the other side */
		struct work_struct work;
		struct workqueue_struct *wq;
		bool complained;
		bool (*deliver)(struct ntb_link *link, u32 generation,
				const struct wire_message *message,
				void *payload);
	} rx;
	struct mutex tx_lock;	/* one sender at a time: tx */
	struct {
		void __iomem *ring;
		bool joined;
		phys_addr_t phys;
		u32 slots;
		u32 position;
		u32 sequence;
		u32 produced;
	} tx;
	struct link_spare spare;
	struct link_kept kept;

	struct xarray calls;
	u32 next_call;
	atomic_t jobs;
	struct workqueue_struct *jobs_wq;
	struct workqueue_struct *ends_wq;
	wait_queue_head_t jobs_idle;

	struct fwnode_handle *irq_node;
	struct irq_domain *irq_domain;
	struct hlist_node cpuhp;
	struct ida irq_numbers;
	struct list_head irqs;
	struct mutex irqs_lock;	/* irqs, and where each comes */

	spinlock_t doorbells_lock;	/* doorbells, doorbell_irqs */
	u64 doorbells;
	struct smartio_irq *doorbell_irqs[64];

	atomic_t msi_number;
	unsigned long spaces;
	struct mutex spaces_lock;	/* spaces */
	unsigned int nested[PCI_STD_NUM_BARS];
	struct mutex nested_lock;	/* nested */

	struct list_head maps;
	struct mutex maps_lock;	/* maps */
	struct list_head held;
	struct mutex held_lock;	/* held, held_bytes, losing */
	u64 held_bytes;
	bool losing;
	bool writes;

	struct link_counters counters;
	struct dentry *debug;
};

#define to_ntb_link(l) container_of(l, struct ntb_link, base)

static inline bool link_is_up(struct ntb_link *link, u32 *generation)
{
	return smartio_link_is_up(&link->base, generation);
}

/* Any context: the tick takes the link down soon, for @why (a constant). */
static inline void link_restart(struct ntb_link *link, const char *why)
{
	WRITE_ONCE(link->restart, why);
	if (!READ_ONCE(link->removed))
		mod_delayed_work(link->wq, &link->tick, 0);
}

/* handshake.c */
extern unsigned int link_heartbeat_ms;

/* The peer's scratchpads. */
struct link_spads {
	u32 version;		/* 0: nobody there */
	u32 generation;
	u32 echo;
	u32 boot;
	u32 flags;
	u32 windows;
};

void link_spads_read(struct ntb_link *link, struct link_spads *spads);
void link_spads_write(struct ntb_link *link);
void link_spads_clear(struct ntb_link *link);
int link_hello_post(struct ntb_link *link, const struct link_spads *spads);
enum wire_reason link_hello_look(struct ntb_link *link,
				 struct wire_hello *hello);
const char *link_reason_text(enum wire_reason reason);

/* inbound.c */
void link_inbound_init(struct ntb_link *link);
void link_inbound_learn(struct ntb_link *link);
u64 link_inbound_reach(struct ntb_link *link, unsigned int mw);
bool link_inbound_stretch(struct ntb_link *link, unsigned int mw, u64 *base,
			  u64 *size);
int link_inbound_open(struct ntb_link *link, unsigned int mw, u64 base,
		      u64 size);
int link_inbound_shut(struct ntb_link *link, unsigned int mw, u64 base);

/* window.c */
int link_windows_init(struct ntb_link *link);
void link_windows_exit(struct ntb_link *link);
bool link_windows_retry(struct ntb_link *link);
int link_windows_choose(struct ntb_link *link, u32 packed);
int link_windows_open(struct ntb_link *link);
void link_windows_close(struct ntb_link *link);
int link_window_need(struct ntb_link *link, u64 base, u64 size,
		     const char *what);
void link_window_done(struct ntb_link *link, u64 base, u64 size);
void link_window_cut(struct ntb_link *link, u64 base, u64 size);
void link_window_release(struct ntb_link *link, u64 base, u64 size);
void link_apertures_write(struct ntb_link *link,
			  struct wire_aperture *to);
void link_apertures_announce(struct ntb_link *link);
int link_window_reach(struct ntb_link *link, u64 addr, u64 size,
		      unsigned int *mw, u64 *offset);
int link_window_phys(struct ntb_link *link, u64 addr, u64 size,
		     phys_addr_t *phys);
void link_apertures_take(struct ntb_link *link,
			 const struct wire_aperture *apertures);
int link_nest(struct ntb_link *link, struct resource *resource);
void link_unnest(struct ntb_link *link, struct resource *resource);
int link_map_device(struct ntb_link *link, struct device *dev,
		    unsigned int mw, dma_addr_t *dma);
bool link_translated(struct device *dev);
int link_map_range(struct ntb_link *link, struct device *dev, phys_addr_t phys,
		   size_t size, enum dma_data_direction direction,
		   dma_addr_t *dma);
void link_unmap_device(struct ntb_link *link, struct device *dev);

/* memory.c */
int link_memory_init(struct ntb_link *link);
void link_memory_exit(struct ntb_link *link);
void *link_alloc(struct ntb_link *link, size_t size, dma_addr_t *dma,
		 gfp_t gfp);
void link_free(struct ntb_link *link, size_t size, void *cpu,
	       dma_addr_t dma);
void *link_alloc_low(struct ntb_link *link, size_t size, dma_addr_t *dma);
int link_pool_narrow(struct ntb_link *link, u64 size);
struct page *link_pages_alloc(struct ntb_link *link, u32 owner, size_t size,
			      dma_addr_t *dma);
void link_unmapped(struct ntb_link *link);
void link_pages_free(struct ntb_link *link, size_t size, struct page *page,
		     dma_addr_t dma);

/* held.c */
void link_release_pages(struct ntb_link *link, size_t size, struct page *page,
			dma_addr_t dma, const struct smartio_holder *holder);
int link_expose(struct ntb_link *link,
		const struct smartio_registers *registers, u64 *peer_addr);
void link_conceal(struct ntb_link *link,
		  const struct smartio_registers *registers, u64 peer_addr,
		  const struct smartio_holder *holder);
void link_holders_lost(struct ntb_link *link, bool losing);
void link_holders_lead_away(struct ntb_link *link);
void link_holder_stopped(struct ntb_link *link,
			 const struct smartio_holder *holder);

/* ring.c */
int link_ring_init(struct ntb_link *link);
void link_ring_exit(struct ntb_link *link);
void link_ring_reset(struct ntb_link *link);
bool link_rx_waits(struct ntb_link *link);
int link_spare_init(struct ntb_link *link);
void link_spare_exit(struct ntb_link *link);
void link_buffer_free(struct ntb_link *link, void *memory);
int link_peer_boot_map(struct ntb_link *link, phys_addr_t phys);
int link_ring_join(struct ntb_link *link, phys_addr_t phys, u32 slots);
void link_ring_leave(struct ntb_link *link);
int link_send(struct ntb_link *link, u32 generation,
	      const struct wire_message *message, const void *payload);

/* call.c */
int link_call(struct ntb_link *link, const struct wire_message *message,
	      const void *payload, void *reply, size_t *reply_size,
	      unsigned int timeout_ms);
void link_calls_fail(struct ntb_link *link);
bool link_receive(struct ntb_link *link, u32 generation,
		  const struct wire_message *message, void *payload);
void link_jobs_wait(struct ntb_link *link);
int link_calls_init(struct ntb_link *link);
void link_calls_exit(struct ntb_link *link);

/* irq.c */
int link_irqs_init(struct ntb_link *link);
void link_irqs_exit(struct ntb_link *link);
int link_irq_alloc(struct ntb_link *link, const struct cpumask *cpus,
		   const char *name, struct smartio_irq *irq);
void link_irq_free(struct ntb_link *link, struct smartio_irq *irq);
void link_irq_over(struct ntb_link *link, struct smartio_irq *irq);
void link_irq_settled(struct ntb_link *link, struct smartio_irq *irq);
int link_irq_init(void);
void link_irq_exit(void);

/* doorbell.c */
void link_doorbells_init(struct ntb_link *link);
bool link_doorbells_offered(struct ntb_link *link);
int link_doorbell_alloc(struct ntb_link *link, struct smartio_irq *irq);
void link_doorbell_free(struct ntb_link *link, struct smartio_irq *irq);
void link_doorbell_over(struct ntb_link *link);
u64 link_doorbells(struct ntb_link *link);
void link_doorbells_rung(struct ntb_link *link, u64 bits);
int link_map_doorbell(struct ntb_link *link, struct device *dev, u32 number,
		      u64 *device_addr, u32 *data);

/* msi.c */
int link_msi_create(struct ntb_link *link, const struct smartio_msi_ops *ops,
		    void *context, struct irq_domain **domain);
void link_msi_remove(struct ntb_link *link, struct irq_domain *domain);

/* space.c */
int link_space_alloc(struct ntb_link *link, struct smartio_space *space);
void link_space_free(struct ntb_link *link, struct smartio_space *space);
int link_space_map(struct ntb_link *link, struct smartio_space *space,
		   u64 addr, phys_addr_t phys, size_t size, int prot,
		   gfp_t gfp);
size_t link_space_unmap(struct ntb_link *link, struct smartio_space *space,
			u64 addr, size_t size);
phys_addr_t link_space_phys(struct ntb_link *link, u64 addr);

/* sysfs.c */
int link_sysfs_add(struct ntb_link *link);
void link_sysfs_remove(struct ntb_link *link);
int link_sysfs_init(void);
void link_sysfs_exit(void);

/* link.c */
extern unsigned int link_timeout_ms;
extern const struct ntb_ctx_ops link_ctx_ops;

void link_settle(struct ntb_link *link);
void link_life_init(struct ntb_link *link);
void link_life_begin(struct ntb_link *link);
void link_life_end(struct ntb_link *link);

/* ops.c */
extern const struct smartio_link_ops link_ops;

#endif /* _NTB_SMARTIO_LINK_H */
