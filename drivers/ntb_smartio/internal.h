/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of ntb_smartio share.
 *
 *   way       the borrower's view: a smartio_device and what is behind it
 *             (bus.c, way.c)
 *   lent      the lender's view of a device (lend.c)
 *   session   one borrower of a lent device, on the lender (session.c)
 *
 * A way and its session are joined either directly, on the lender itself
 * (local.c), or over a link (remote.c and what is below it). Both fill in the
 * two tables of operations below.
 *
 * Order of locks: way->driver_lock, way->session_lock, way->lock;
 * smartio_lents_lock and session->lock, then lent->lock. The locks of a way are
 * not taken under those of a lender; those of a lender are, on the local way,
 * under way->session_lock. None is held while a callback of a driver runs, save
 * way->driver_lock, which is there for that, and, for those of the lender's
 * half on the local way, way->session_lock.
 */
#ifndef _SMARTIO_INTERNAL_H
#define _SMARTIO_INTERNAL_H

#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/smartio.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

struct smartio_way;
struct lend_session;

/* ---- host.c: who is who ---- */

extern uuid_t smartio_self;
extern char smartio_self_name[SMARTIO_NAME_LEN];

/* A UUID as people read it. */
struct smartio_uuid_text {
	char text[UUID_STRING_LEN + 1];
};

struct smartio_uuid_text smartio_uuid_text(const uuid_t *uuid);
bool smartio_host_fenced(const uuid_t *uuid);
u32 smartio_host_fences(const uuid_t *uuid);
int smartio_host_named(const char *text, uuid_t *uuid, char *name);
bool smartio_host_mark(const uuid_t *uuid, bool fenced);
bool smartio_host_use(const uuid_t *uuid);
void smartio_host_pin(const uuid_t *uuid, u32 incarnation);
bool smartio_host_rejoin(const uuid_t *uuid, u32 incarnation);
int smartio_host_seen(const uuid_t *uuid, const char *name, u32 incarnation);
int smartio_hosts_init(void);
void smartio_hosts_exit(void);

/* ---- fence.c: hosts are shut out, and let in again ---- */

int fence_here(const char *text, bool fenced);
int fence_at(const uuid_t *at, const char *text, bool fenced);
ssize_t fence_hosts_show(const uuid_t *at, char *buf);
int fence_rejoin(void);

/* ---- main.c ---- */

/* Requests of borrowers run here, many at once. */
extern u32 smartio_incarnation;
extern struct workqueue_struct *smartio_request_wq;
/* Sessions end here, when several do at once. */
extern struct workqueue_struct *smartio_end_wq;

/* ---- bus.c, way.c: the borrower's side ---- */

/**
 * struct smartio_way_ops - how a way reaches the lender
 * @open: begin a session; give its id, its era, and the offset from a
 *	dma_addr_t to a device address. Under way->session_lock.
 * @close: end session @id; returns when it is over. Under way->session_lock.
 * @stopped: the lender ended session @id, and this host writes to nothing of it
 *	any more; may be NULL. Under way->session_lock.
 * @revoke: see smartio_revoke()
 * @link_up: whether the lender can be reached now
 * @call: see smartio_call()
 * @dma_device, @dma_scattered, @dma_alloc, @dma_free: see smartio_dma_*()
 * @segment_alloc, @segment_free: memory beside the device
 * @map_bar, @unmap_bar: see smartio_map_bar()
 * @irq_alloc, @irq_free: see smartio_irq_alloc()
 * @release: the last reference to the way is gone
 */
struct smartio_way_ops {
	int (*open)(struct smartio_way *way, u64 *id, u64 *dma_offset,
		    struct smartio_era *era);
	void (*close)(struct smartio_way *way, u64 id);
	void (*stopped)(struct smartio_way *way, u64 id);
	int (*revoke)(struct smartio_way *way, u64 id);
	bool (*link_up)(struct smartio_way *way);
	int (*call)(struct smartio_way *way, u64 id, const void *request,
		    size_t size, void *reply, size_t *reply_size,
		    unsigned int timeout_ms);
	struct device *(*dma_device)(struct smartio_way *way);
	bool (*dma_scattered)(struct smartio_way *way);
	void *(*dma_alloc)(struct smartio_way *way, size_t size,
			   dma_addr_t *addr, gfp_t gfp);
	void (*dma_free)(struct smartio_way *way, size_t size, void *cpu,
			 dma_addr_t addr);
	int (*segment_alloc)(struct smartio_way *way, u64 id,
			     struct smartio_segment *segment);
	void (*segment_free)(struct smartio_way *way,
			     struct smartio_segment *segment);
	void __iomem *(*map_bar)(struct smartio_way *way, u64 id,
				 unsigned int bar, u64 offset, size_t size,
				 bool write_combining);
	void (*unmap_bar)(struct smartio_way *way, void __iomem *io);
	int (*irq_alloc)(struct smartio_way *way, const struct cpumask *cpus,
			 const char *name, struct smartio_irq *irq);
	void (*irq_free)(struct smartio_way *way, struct smartio_irq *irq);
	void (*release)(struct smartio_way *way);
};

/**
 * struct smartio_way - a smartio_device and what is behind it
 * @sdev: what drivers see
 * @ops: how the lender is reached
 * @session_lock: one open or close at a time
 * @driver_lock: one callback of the driver at a time; protects @driver
 * @driver: whom events are delivered to
 * @lock: protects @session, @over, @writes, @losses, @offered, @items, @item_bytes
 * @session: id of the open session, 0: none
 * @over: id of the session that the lender ended, until it is told that this
 *	host has stopped; else 0
 * @writes: the link was lost, and the driver has not said that it has stopped
 * @losses: how often the way broke
 * @offered: the lender offers the device now
 * @items: events and notifications not yet delivered
 * @item_bytes: memory that they take
 * @work: delivers them
 * @wq: ordered, runs @work
 * @lent: local way: the device
 * @private: remote way: its remote
 */
struct smartio_way {
	struct smartio_device sdev;
	const struct smartio_way_ops *ops;
	struct mutex session_lock;	/* one open or close at a time */
	struct mutex driver_lock;	/* the driver's callbacks, @driver */
	struct smartio_driver *driver;
	spinlock_t lock;		/* session to item_bytes */
	u64 session;
	u64 over;
	bool writes;
	unsigned int losses;
	bool offered;
	struct list_head items;
	size_t item_bytes;
	struct work_struct work;
	struct workqueue_struct *wq;
	struct smartio_lent *lent;
	void *private;
};

/* irq->kind: what smartio_irq_free() has to give back */
enum smartio_irq_kind {
	SMARTIO_IRQ_NONE,
	SMARTIO_IRQ_DEVICE,	/* a vector of the device itself */
	SMARTIO_IRQ_ADDED,	/* a vector added to the NTB's table */
};

#define to_way(d) container_of(d, struct smartio_way, sdev)

int smartio_bus_init(void);
void smartio_bus_exit(void);

int smartio_way_init(struct smartio_way *way, struct device *parent);
int smartio_way_add(struct smartio_way *way);
void smartio_way_remove(struct smartio_way *way);
void smartio_way_offered(struct smartio_way *way);
void smartio_way_lost(struct smartio_way *way, u64 session, bool offered);
bool smartio_way_writes(struct smartio_way *way, bool forget);
int smartio_way_notify(struct smartio_way *way, u64 session,
		       const void *message, size_t size);
bool smartio_way_behind(struct smartio_way *way);
u64 smartio_way_session(struct smartio_way *way);

/* ---- lend.c, session.c, resource.c: the lender's side ---- */

/**
 * struct smartio_lent - a device that is lent
 * @ref: held by sessions and by whoever looked it up
 * @entry: in the list of all
 * @id: how messages name it; never used twice
 * @pdev: the device
 * @service: the lender's half
 * @ops: its functions
 * @context: for them
 * @owner: their module
 * @lock: protects all below, and the state of each of its sessions
 * @sessions: those that are not over
 * @suspended: no new ones for now
 * @gone: no new ones at all
 * @first_vector: of those that borrowers may have
 * @vectors: how many
 * @vectors_used: which are taken
 * @local: the way of this host itself
 * @dev: in class smartio_lent
 */
struct smartio_lent {
	struct kref ref;
	struct list_head entry;
	u32 id;
	struct pci_dev *pdev;
	char service[SMARTIO_SERVICE_LEN];
	const struct smartio_lender_ops *ops;
	void *context;
	struct module *owner;
	struct mutex lock;	/* the sessions and all below */
	struct list_head sessions;
	bool suspended;
	bool gone;
	unsigned int first_vector;
	unsigned int vectors;
	unsigned long *vectors_used;
	struct smartio_way *local;
	struct device *dev;
};

/* Why a session ends: whether the borrower has to be told. */
enum lend_end {
	LEND_END_CLOSED,	/* it asked for it */
	LEND_END_LENDER,	/* the lender takes it away */
	LEND_END_LINK,		/* there is nobody to tell */
};

enum lend_state {
	LEND_OPENING,
	LEND_OPEN,
	LEND_ENDING,
	LEND_ENDED,
};

struct lend_segment;
struct lend_bar;

/**
 * struct lend_session_ops - what depends on where the borrower is
 * @notify: send it a message of the lender's half
 * @ended: the session is over, and it wasn't the borrower's wish
 * @dma: what its address means for the device
 * @irq: give it a vector of the device that sends what @addr and @data say
 * @irq_clear: the device sends it no more
 * @segment_alloc: memory for the device to read; fills in cpu (or not),
 *	device_addr, peer_addr
 * @segment_free: and back
 * @bar_map: let it reach part of a BAR; fills in peer_addr
 * @bar_unmap: and no longer
 * @acquire: the session holds on to @way or @link now
 * @release: and no longer
 */
struct lend_session_ops {
	int (*notify)(struct lend_session *session, const void *message,
		      size_t size);
	void (*ended)(struct lend_session *session);
	int (*dma)(struct lend_session *session, u64 addr, size_t size,
		   u64 *device_addr);
	int (*irq)(struct lend_session *session, u64 addr, u32 data,
		   unsigned int *vector);
	void (*irq_clear)(struct lend_session *session, unsigned int vector);
	int (*segment_alloc)(struct lend_session *session,
			     struct lend_segment *segment);
	void (*segment_free)(struct lend_session *session,
			     struct lend_segment *segment);
	int (*bar_map)(struct lend_session *session, struct lend_bar *bar);
	void (*bar_unmap)(struct lend_session *session, struct lend_bar *bar);
	void (*acquire)(struct lend_session *session);
	void (*release)(struct lend_session *session);
};

/**
 * struct lend_segment - memory of this host that a session's device reads
 * @handle: how it is named
 * @users: it can't be freed by the borrower while there is one
 * @size: bytes
 * @cpu: this host's view
 * @dma: for the lender's side of the way (local: the device; remote: the NTB)
 * @device_addr: for the device
 * @peer_addr: for the borrower, in the NTB's address space
 * @private: of the ops
 */
struct lend_segment {
	u32 handle;
	unsigned int users;
	size_t size;
	void *cpu;
	dma_addr_t dma;
	u64 device_addr;
	u64 peer_addr;
	void *private;
};

/**
 * struct lend_bar - part of a BAR that a session may reach
 * @entry: in session->bars
 * @bar: number
 * @offset: of its first page
 * @size: whole pages
 * @mapped: whether bar_map succeeded
 * @peer_addr: for the borrower, then
 * @private: of the ops
 */
struct lend_bar {
	struct list_head entry;
	unsigned int bar;
	u64 offset;
	u64 size;
	bool mapped;
	u64 peer_addr;
	void *private;
};

/**
 * struct lend_session - one borrower of one lent device
 * @s: what the lender's half sees
 * @ops: where the borrower is
 * @ref: references
 * @entry: in lent->sessions, under lent->lock
 * @state: under lent->lock
 * @why: under lent->lock; once it is ending
 * @running: requests that run, under lent->lock
 * @idle: waits for the last of them
 * @ended: completed when it is over
 * @lock: protects all below
 * @segments: struct lend_segment by handle
 * @segment_bytes: of all of them
 * @bars: struct lend_bar, what it may map
 * @irqs: which of the device's vectors it has
 * @link: remote: over what; the ops know
 * @way: local: the way
 */
struct lend_session {
	struct smartio_session s;
	const struct lend_session_ops *ops;
	struct kref ref;
	struct list_head entry;
	enum lend_state state;
	enum lend_end why;
	unsigned int running;
	wait_queue_head_t idle;
	struct completion ended;
	struct mutex lock;	/* what the session holds: all below */
	struct xarray segments;
	size_t segment_bytes;
	struct list_head bars;
	unsigned long *irqs;
	void *link;
	struct smartio_way *way;
};

#define to_lend_session(p) container_of(p, struct lend_session, s)

/* A session may have so much of the lender's memory. */
#define LEND_SEGMENT_BYTES_MAX	(64UL << 20)

extern struct list_head smartio_lents;
extern struct mutex smartio_lents_lock;	/* the list of lent devices */

struct smartio_lent *lend_find(u32 id);
struct smartio_lent *lend_after(u32 id);
void lend_get(struct smartio_lent *lent);
void lend_put(struct smartio_lent *lent);

/**
 * struct lend_borrower - who opens
 * @ops: where it is
 * @host: who
 * @name: its name
 * @link_name: for people
 * @link: over what; NULL: local
 * @way: local: the way
 */
struct lend_borrower {
	const struct lend_session_ops *ops;
	const uuid_t *host;
	const char *name;
	const char *link_name;
	void *link;
	struct smartio_way *way;
};

int lend_open(struct smartio_lent *lent, const struct lend_borrower *who,
	      struct lend_session **session);
void lend_end(struct lend_session *session, enum lend_end why);
void lend_end_all(struct smartio_lent *lent, enum lend_end why);
void lend_end_matching(bool (*match)(struct lend_session *session, void *arg),
		       void *arg, enum lend_end why);
struct lend_session *lend_session_find(u64 id);
void lend_session_get(struct lend_session *session);
void lend_session_put(struct lend_session *session);
int lend_session_enter(struct lend_session *session);
void lend_session_leave(struct lend_session *session);

/**
 * struct lend_job - a request of a borrower, on its way through the lender
 * @work: runs it
 * @session: whose; a reference
 * @request: copied already, freed with the job
 * @size: bytes
 * @reply: at most SMARTIO_MESSAGE_MAX bytes
 * @reply_size: what came
 * @status: 0 or a negative error
 * @done: called when it is through; owns the job then
 * @context: for @done
 */
struct lend_job {
	struct work_struct work;
	struct lend_session *session;
	void *request;
	size_t size;
	void *reply;
	size_t reply_size;
	int status;
	void (*done)(struct lend_job *job);
	void *context;
};

struct lend_job *lend_job_alloc(struct lend_session *session,
				const void *request, size_t size,
				size_t reply_max);
void lend_job_start(struct lend_job *job);
void lend_job_free(struct lend_job *job);

int lend_segment_alloc(struct lend_session *session, size_t size, void *cpu,
		       dma_addr_t dma, struct lend_segment *segment);
int lend_segment_free(struct lend_session *session, u32 handle);
int lend_bar_map(struct lend_session *session, unsigned int bar, u64 offset,
		 size_t size, u64 *peer_addr);
int lend_vector_take(struct smartio_lent *lent);
void lend_vector_give(struct smartio_lent *lent, unsigned int vector);
void lend_bars_free(struct lend_session *session);
void lend_resources_free(struct lend_session *session);

/* ---- local.c ---- */

int smartio_local_add(struct smartio_lent *lent);
void smartio_local_remove(struct smartio_lent *lent);
void smartio_local_offer(struct smartio_lent *lent);

/* ---- link.c and what is below it; see link.h ---- */

int smartio_links_init(void);
void smartio_links_exit(void);
void smartio_links_announce(struct smartio_lent *lent, bool offered);
void smartio_links_unlend(struct smartio_lent *lent);
ssize_t smartio_links_of(const uuid_t *host, char *buf);
bool smartio_linked(const uuid_t *host);

/* ---- sysfs.c ---- */

extern const struct attribute_group *smartio_way_groups[];

int smartio_sysfs_init(void);
void smartio_sysfs_exit(void);
int smartio_sysfs_lent_add(struct smartio_lent *lent);
void smartio_sysfs_lent_remove(struct smartio_lent *lent);

#endif /* _SMARTIO_INTERNAL_H */
