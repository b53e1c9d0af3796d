/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The consumer: paths to exports, on the bus "smartio".
 *
 * How a path reaches the lender is in struct smartio_path_ops: directly
 * (local.c) or over a link (remote_path.c).
 *
 * Order of locks: path->driver_lock, path->session_lock, path->stop_lock,
 * path->lock. The first two are not taken under those of the provider;
 * path->stop_lock is, under session->lock. On the local path, those of the
 * provider are taken under path->session_lock. Callbacks of a driver run only
 * under path->driver_lock, which is there for that, and its stop() under
 * path->stop_lock. Those of the lender's half, on the local path, run under
 * path->session_lock.
 */
#ifndef _SMARTIO_PATH_H
#define _SMARTIO_PATH_H

#include <linux/device.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/smartio.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

struct attribute_group;
struct smartio_link;
struct path_item;
struct smartio_path;

/**
 * struct smartio_path_ops - how a path reaches the lender
 * @open: begin a session; give its id, its era, and the offset from a
 *	dma_addr_t to a device address. Under path->session_lock.
 * @close: end session @id; returns when it is over. Under path->session_lock.
 * @stopped: the lender or the link ended session @id, and this host writes to
 *	nothing of it any more; may be NULL. Under path->session_lock.
 * @revoke: see smartio_revoke()
 * @link_up: whether the lender can be reached now
 * @call: see smartio_call()
 * @dma_device: see smartio_dma_device()
 * @dma_scattered: see smartio_dma_scattered()
 * @dma_alloc: see smartio_dma_alloc()
 * @dma_free: see smartio_dma_free()
 * @segment_alloc: memory beside the device, see smartio_segment_alloc()
 * @segment_free: the reverse of @segment_alloc
 * @map_bar: see smartio_map_bar()
 * @unmap_bar: see smartio_unmap_bar()
 * @bar_phys: where CPUs find part of a BAR; may be NULL
 * @own_addresses: see smartio_space_alloc(); fills in the lender's reply; may
 *	be NULL
 * @peer_map: see smartio_peer_map(); may be NULL
 * @peer_unmap: see smartio_peer_unmap(); may be NULL
 * @peer_grant: see smartio_peer_grant(); may be NULL
 * @peer_revoke: see smartio_peer_revoke(); may be NULL
 * @link: for what only a link can do; NULL: none
 * @irq_alloc: see smartio_irq_alloc()
 * @irq_free: see smartio_irq_free()
 * @irq_over: see smartio_irq_over()
 * @irq_move: let @vector of the device, in session @id, send another message; 0
 *	also if it does already; NULL: the message never changes
 * @irq_settled: it does, and messages that it sent before have arrived
 * @unbound: the driver is unbound, and has nothing of the path; may be NULL
 * @release: the last reference to the path was dropped
 */
struct smartio_path_ops {
	int (*open)(struct smartio_path *path, u64 *id, u64 *dma_offset,
		    struct smartio_era *era);
	void (*close)(struct smartio_path *path, u64 id);
	void (*stopped)(struct smartio_path *path, u64 id);
	int (*revoke)(struct smartio_path *path, u64 id);
	bool (*link_up)(struct smartio_path *path);
	int (*call)(struct smartio_path *path, u64 id, const void *request,
		    size_t size, void *reply, size_t *reply_size,
		    unsigned int timeout_ms);
	struct device *(*dma_device)(struct smartio_path *path);
	bool (*dma_scattered)(struct smartio_path *path);
	void *(*dma_alloc)(struct smartio_path *path, size_t size,
			   dma_addr_t *addr, gfp_t gfp);
	void (*dma_free)(struct smartio_path *path, size_t size, void *cpu,
			 dma_addr_t addr);
	int (*segment_alloc)(struct smartio_path *path, u64 id,
			     struct smartio_segment *segment);
	void (*segment_free)(struct smartio_path *path,
			     struct smartio_segment *segment);
	void __iomem *(*map_bar)(struct smartio_path *path, u64 id,
				 unsigned int bar, u64 offset, size_t size,
				 bool write_combining);
	void (*unmap_bar)(struct smartio_path *path, void __iomem *io);
	int (*bar_phys)(struct smartio_path *path, u64 id, unsigned int bar,
			u64 offset, size_t size, phys_addr_t *phys);
	int (*own_addresses)(struct smartio_path *path, u64 id,
			     struct smartio_space *space);
	int (*peer_map)(struct smartio_path *path, u64 id, u64 addr,
			const struct smartio_peer *peer);
	int (*peer_unmap)(struct smartio_path *path, u64 id, u64 addr,
			  u64 size);
	int (*peer_grant)(struct smartio_path *path, const uuid_t *host,
			  struct smartio_peer *peer);
	int (*peer_revoke)(struct smartio_path *path,
			   const struct smartio_peer *peer);
	struct smartio_link *(*link)(struct smartio_path *path);
	int (*irq_alloc)(struct smartio_path *path, const struct cpumask *cpus,
			 const char *name, struct smartio_irq *irq);
	void (*irq_free)(struct smartio_path *path, struct smartio_irq *irq);
	void (*irq_over)(struct smartio_path *path, struct smartio_irq *irq);
	int (*irq_move)(struct smartio_path *path, u64 id,
			unsigned int vector,
			const struct smartio_irq_message *from,
			const struct smartio_irq_message *to,
			unsigned int timeout_ms);
	void (*irq_settled)(struct smartio_path *path, struct smartio_irq *irq);
	void (*unbound)(struct smartio_path *path);
	void (*release)(struct smartio_path *path);
};

/**
 * struct smartio_path - a smartio_device and its private part
 * @sdev: the part for drivers
 * @ops: how the lender is reached
 * @session_lock: one open or close at a time
 * @stop_lock: the driver is being stopped, or says that it has stopped
 * @driver_lock: one callback of the driver at a time; protects @driver
 * @driver: receives events
 * @lock: protects @session, @over, @writes, @waived, @losses, @offered,
 *	@items, @item_bytes, @kept
 * @session: id of the open session, 0: none
 * @over: id of the session that the lender or the link ended, until the lender
 *	is notified that this host has stopped; else 0
 * @writes: the link was lost, and the driver has not said that it has stopped:
 *	the link waits for that
 * @waived: the link waits for it no longer
 * @losses: how often the path broke
 * @offered: the lender offers the device now
 * @items: events and notifications not yet delivered
 * @item_bytes: memory that they take, but for the two below
 * @kept: of @ops
 * @lost: the item of a loss: to say that needs no memory
 * @ready: that of an offer
 * @work: delivers them
 * @wq: ordered, runs @work
 * @owner: module that a bound driver keeps loaded
 * @private: of @ops
 */
struct smartio_path {
	struct smartio_device sdev;
	const struct smartio_path_ops *ops;
	struct mutex session_lock;	/* one open or close at a time */
	struct mutex stop_lock;		/* the driver's stop() */
	struct mutex driver_lock;	/* the driver's callbacks, @driver */
	struct smartio_driver *driver;
	spinlock_t lock;		/* session to kept */
	u64 session;
	u64 over;
	bool writes;
	bool waived;
	unsigned int losses;
	bool offered;
	struct list_head items;
	size_t item_bytes;
	struct list_head kept;
	struct path_item *lost;
	struct path_item *ready;
	struct work_struct work;
	struct workqueue_struct *wq;
	struct module *owner;
	void *private;
};

#define to_path(d) container_of(d, struct smartio_path, sdev)
#define to_smartio_driver(d) container_of_const(d, struct smartio_driver, driver)

/* path.c */
int smartio_bus_init(const struct attribute_group **groups);
void smartio_bus_exit(void);

int smartio_path_init(struct smartio_path *path, struct device *parent);
int smartio_path_add(struct smartio_path *path);
void smartio_path_remove(struct smartio_path *path);

/* path_session.c */
u64 smartio_path_session(struct smartio_path *path);

/* path_session.c */
bool smartio_path_writes(struct smartio_path *path, bool forget);
bool smartio_path_unstopped(struct smartio_path *path);
void smartio_path_stop(struct smartio_path *path, u64 session);

/* path_event.c */
int path_events_init(struct smartio_path *path);
void path_events_free(struct smartio_path *path);
void smartio_path_ready(struct smartio_path *path);
void smartio_path_lost(struct smartio_path *path, u64 session, bool offered);
int smartio_path_notify(struct smartio_path *path, u64 session,
			const void *message, size_t size);
bool smartio_path_full(struct smartio_path *path);

/* path_irq.c */
int path_irqs_init(void);
void path_irqs_exit(void);

#endif /* _SMARTIO_PATH_H */
