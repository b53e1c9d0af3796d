/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The provider: what this host lends, and to whom.
 *
 *   export.c   the registry of lent devices
 *   region.c   what a session holds: memory, parts of BARs, vectors
 *   session.c  sessions of borrowers
 *   lend.c     devices are lent and taken back
 *
 * How a session reaches its borrower is in struct lend_session_ops: directly
 * (local.c) or over a link (remote_session.c).
 *
 * Order of locks: smartio_lents_lock and session->lock, then lent->lock.
 */
#ifndef _SMARTIO_EXPORT_H
#define _SMARTIO_EXPORT_H

#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/smartio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

struct attribute_group;
struct lend_session;

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
 * @local: the path of this host itself; local.c
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
	void *local;
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
 * @acquire: the session holds on to @peer now
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
 * @dma: for the lender's side of the path (local: the device; remote: the NTB)
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
 * @peer: what joins it with its borrower; the ops know
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
	void *peer;
};

#define to_lend_session(p) container_of(p, struct lend_session, s)

/* A session may have so much of the lender's memory. */
#define LEND_SEGMENT_BYTES_MAX	(64UL << 20)

/* ---- export.c: the registry ---- */

extern struct list_head smartio_lents;
extern struct mutex smartio_lents_lock;	/* the list of lent devices */

void lend_add(struct smartio_lent *lent);
void lend_del(struct smartio_lent *lent);
struct smartio_lent *lend_find(u32 id);
struct smartio_lent *lend_after(u32 id);
void lend_get(struct smartio_lent *lent);
void lend_put(struct smartio_lent *lent);
int lend_vector_take(struct smartio_lent *lent);
void lend_vector_give(struct smartio_lent *lent, unsigned int vector);

/* ---- session.c ---- */

/**
 * struct lend_borrower - who opens
 * @ops: where it is
 * @host: who
 * @name: its name
 * @link_name: for people
 * @peer: what joins it with this host; one session for each
 * @local: whether it is this host
 */
struct lend_borrower {
	const struct lend_session_ops *ops;
	const uuid_t *host;
	const char *name;
	const char *link_name;
	void *peer;
	bool local;
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
 * struct lend_job - a request of a borrower, as the lender runs it
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

int sessions_init(void);
void sessions_exit(void);

/* ---- region.c ---- */

int lend_segment_alloc(struct lend_session *session, size_t size, void *cpu,
		       dma_addr_t dma, struct lend_segment *segment);
int lend_segment_free(struct lend_session *session, u32 handle);
int lend_bar_map(struct lend_session *session, unsigned int bar, u64 offset,
		 size_t size, u64 *peer_addr);
void lend_bars_free(struct lend_session *session);
void lend_resources_free(struct lend_session *session);

/* ---- lend.c ---- */

/**
 * struct lend_listener - how hosts hear of devices
 * @entry: of lend.c
 * @added: it is lent. Returns 0 or a negative error.
 * @suspended: no sessions for now
 * @resumed: they may begin again
 * @removing: it is taken back; its sessions are over
 * @removed: nobody finds it any more
 *
 * All are optional, and may sleep.
 */
struct lend_listener {
	struct list_head entry;
	int (*added)(struct smartio_lent *lent);
	void (*suspended)(struct smartio_lent *lent);
	void (*resumed)(struct smartio_lent *lent);
	void (*removing)(struct smartio_lent *lent);
	void (*removed)(struct smartio_lent *lent);
};

void lend_listener_add(struct lend_listener *listener);
int lend_init(const struct attribute_group **groups);
void lend_exit(void);

#endif /* _SMARTIO_EXPORT_H */
