/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The provider: the devices that this host lends, and their borrowers.
 *
 *    export.c   the registry of exports
 *    region.c   memory, parts of BARs and vectors of a session
 *    policy.c   permissions: which hosts may borrow a device
 *    session.c  sessions of borrowers
 *    group.c    devices and their IOMMU groups
 *    lend.c     devices are lent and taken back
 *
 * How a session reaches its borrower is in struct session_ops: directly
 * (local.c) or over a link (remote_session.c).
 *
 * Order of locks: smartio_exports_lock and session->lock, then export->lock.
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
struct iommu_domain;
struct iommu_group;
struct session;

/**
 * struct smartio_export - a device that is lent
 * @ref: held by sessions, and by callers that looked it up
 * @entry: in the list of all
 * @id: how messages name it; never used twice
 * @pdev: the device
 * @service: the lender's half
 * @ops: its functions
 * @context: for them
 * @owner: their module
 * @shares_group: allowed not to have its IOMMU group for itself
 * @trusts_borrowers: allowed without an IOMMU, lent as a whole
 * @lock: protects all below, and the state of each of its sessions
 * @sessions: those that are not over
 * @suspended: no new ones for now
 * @gone: no new ones at all
 * @first_vector: of those that borrowers may have
 * @vectors: how many
 * @vectors_used: which are taken
 * @local: the path of this host itself; local.c
 * @dev: in class smartio_export
 */
struct smartio_export {
	struct kref ref;
	struct list_head entry;
	u32 id;
	struct pci_dev *pdev;
	char service[SMARTIO_SERVICE_LEN];
	const struct smartio_lender_ops *ops;
	void *context;
	struct module *owner;
	bool shares_group;
	bool trusts_borrowers;
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

/* Why a session ends: whether the borrower has to be notified. */
enum session_end {
	SESSION_END_CLOSED,	/* the borrower asked for it */
	SESSION_END_LENDER,	/* the lender: the borrower is notified */
	SESSION_END_LINK,	/* the link is down */
};

enum session_state {
	SESSION_OPENING,
	SESSION_OPEN,
	SESSION_ENDING,
	SESSION_ENDED,
};

struct session_segment;
struct session_bar;

/**
 * struct session_ops - what depends on where the borrower is
 * @notify: send it a message of the lender's half
 * @ended: the session is over, and it wasn't the borrower's wish
 * @dma: what its address means for the device
 * @irq: give it a vector of the device that sends what @addr and @data say
 * @irq_move: a vector sends another message; -ENOENT: it sends neither that nor
 *	@from_addr and @from_data
 * @irq_clear: the device sends it no more
 * @irq_target: where the device has to send the borrower's message; may be NULL
 * @segment_alloc: memory for the device to read; fills in cpu (or not),
 *	device_addr, peer_addr
 * @segment_free: and back
 * @bar_map: let it reach part of a BAR; fills in peer_addr
 * @bar_unmap: and no longer
 * @withdraw: no other device reaches the registers any more; may be NULL
 * @detach: the device reaches nothing of the borrower any more; may be NULL. For
 *	exclusive exports only.
 * @acquire: the session holds on to @peer now
 * @release: and no longer
 */
struct session_ops {
	int (*notify)(struct session *session, const void *message,
		      size_t size);
	void (*ended)(struct session *session);
	int (*dma)(struct session *session, u64 addr, size_t size,
		   u64 *device_addr);
	int (*irq)(struct session *session, u64 addr, u32 data,
		   unsigned int *vector);
	int (*irq_move)(struct session *session, unsigned int vector,
			u64 from_addr, u32 from_data, u64 addr, u32 data);
	void (*irq_clear)(struct session *session, unsigned int vector);
	int (*irq_target)(struct session *session, u64 addr, u64 *device_addr);
	int (*segment_alloc)(struct session *session,
			     struct session_segment *segment);
	void (*segment_free)(struct session *session,
			     struct session_segment *segment);
	int (*bar_map)(struct session *session, struct session_bar *bar);
	void (*bar_unmap)(struct session *session, struct session_bar *bar);
	void (*withdraw)(struct session *session);
	void (*detach)(struct session *session);
	void (*acquire)(struct session *session);
	void (*release)(struct session *session);
};

/**
 * struct session_segment - memory of this host that a session's device reads
 * @handle: how it is named
 * @users: it can't be freed by the borrower while there is one
 * @size: bytes
 * @cpu: this host's view
 * @dma: for the lender's side of the path (local: the device; remote: the link)
 * @device_addr: for the device
 * @peer_addr: for the borrower, an address of the link
 * @private: of the ops
 */
struct session_segment {
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
 * struct session_bar - part of a BAR that a session may reach
 * @entry: in session->bars
 * @bar: number
 * @offset: of its first page
 * @size: whole pages
 * @mapped: whether bar_map succeeded
 * @peer_addr: for the borrower, then
 * @private: of the ops
 */
struct session_bar {
	struct list_head entry;
	unsigned int bar;
	u64 offset;
	u64 size;
	bool mapped;
	u64 peer_addr;
	void *private;
};

/* Where messages of interrupts go: 1 MiB. */
#define SESSION_IRQ_PAGES	256

/**
 * struct session - one borrower of one export
 * @s: the lender's half's part
 * @ops: where the borrower is
 * @ref: references
 * @entry: in export->sessions, under export->lock
 * @state: under export->lock
 * @why: under export->lock; once it is ending
 * @running: requests that run, under export->lock
 * @idle: waits for the last of them
 * @ended: completed when it is over
 * @end_work: ends it beside others
 * @peers_work: reports that @reaches lost some
 * @lock: protects all below
 * @segments: struct session_segment by handle
 * @segment_bytes: of all of them
 * @bars: struct session_bar: parts that it may map
 * @irqs: which of the device's vectors it has
 * @irq_moves: the serial of each one's last move
 * @domain: the device has it for this session; NULL: that of this host's drivers
 * @group: the device's, then
 * @domain_base: the borrower's address that is 0 there
 * @domain_size: bytes from there on
 * @domain_pages: from this address on it leads there in single pages
 * @domain_lock: protects @domain_irqs
 * @domain_irqs: pages of the borrower's interrupts that it leads to
 * @reaches: registers of other devices that its device reaches;
 *	session_peer.c's, like the next
 * @reached: which other devices reach its device's registers
 * @revoking: grants of them that are being taken back; session_grant.c's
 * @peer: what joins it with its borrower; the ops know
 */
struct session {
	struct smartio_session s;
	const struct session_ops *ops;
	struct kref ref;
	struct list_head entry;
	enum session_state state;
	enum session_end why;
	unsigned int running;
	wait_queue_head_t idle;
	struct completion ended;
	struct work_struct end_work;
	struct work_struct peers_work;
	struct mutex lock;	/* protects all below */
	struct xarray segments;
	size_t segment_bytes;
	struct list_head bars;
	unsigned long *irqs;
	u32 *irq_moves;
	struct iommu_domain *domain;
	struct iommu_group *group;
	u64 domain_base;
	u64 domain_size;
	u64 domain_pages;
	struct mutex domain_lock;	/* domain_irqs */
	bool domain_irqs[SESSION_IRQ_PAGES];
	struct list_head reaches;
	struct list_head reached;
	atomic_t revoking;
	void *peer;
};

#define to_session(p) container_of(p, struct session, s)

/* A session may have so much of the lender's memory. */
#define SESSION_SEGMENT_BYTES_MAX	(64UL << 20)

/* ---- export.c: the registry ---- */

extern struct list_head smartio_exports;
extern struct mutex smartio_exports_lock;	/* the list of exports */

void export_add(struct smartio_export *export);
void export_del(struct smartio_export *export);
struct smartio_export *export_find(u32 id);
struct smartio_export *export_after(u32 id);
bool export_offered(struct smartio_export *export);
void export_get(struct smartio_export *export);
void export_put(struct smartio_export *export);
int export_vector_take(struct smartio_export *export);
void export_vector_give(struct smartio_export *export, unsigned int vector);

/* ---- session.c ---- */

/**
 * struct borrower - a host that opens a session
 * @ops: for where it is
 * @host: its UUID
 * @name: its name
 * @link_name: for people
 * @peer: what joins it with this host; one session for each
 * @local: whether it is this host
 */
struct borrower {
	const struct session_ops *ops;
	const uuid_t *host;
	const char *name;
	const char *link_name;
	void *peer;
	bool local;
};

typedef bool (*session_match)(struct session *session, void *arg);

int session_open(struct smartio_export *export, const struct borrower *borrower,
		 struct session **session);
void session_end(struct session *session, enum session_end why);
void sessions_end(struct smartio_export *export, session_match match, void *arg,
		  enum session_end why);
void sessions_end_everywhere(session_match match, void *arg,
			     enum session_end why);
struct session *session_find(u64 id);
void session_put(struct session *session);
int session_enter(struct session *session);
void session_leave(struct session *session);
void session_report_peers(struct session *session);

/**
 * struct session_job - a request of a borrower, as the lender runs it
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
struct session_job {
	struct work_struct work;
	struct session *session;
	void *request;
	size_t size;
	void *reply;
	size_t reply_size;
	int status;
	void (*done)(struct session_job *job);
	void *context;
};

struct session_job *session_job_alloc(struct session *session,
				      const void *request, size_t size,
				      size_t reply_max);
void session_job_start(struct session_job *job);
void session_job_free(struct session_job *job);

int sessions_init(void);
void sessions_exit(void);

/* ---- region.c ---- */

int session_segment_alloc(struct session *session, size_t size, void *cpu,
			  dma_addr_t dma, struct session_segment *segment);
int session_segment_free(struct session *session, u32 handle);
int session_bar_map(struct session *session, unsigned int bar, u64 offset,
		    size_t size, u64 *peer_addr);
bool session_bar_allowed(struct session *session, unsigned int bar, u64 offset,
			 size_t size);
int session_irq_move(struct session *session, unsigned int vector, u32 serial,
		     u64 from_addr, u32 from_data, u64 addr, u32 data);
void session_bars_free(struct session *session);
void session_resources_free(struct session *session);

/* ---- group.c ---- */

struct smartio_link;

/* Exceptions that the administrator allows for one device, once. */
enum group_allowed {
	GROUP_ALLOWED_SHARED,
	GROUP_ALLOWED_TRUST,
};

bool group_allowance_take(const char *name, enum group_allowed allowed);
int group_allow(const char *name, size_t size, enum group_allowed allowed);
ssize_t group_allowed_show(char *buf, enum group_allowed allowed);
void group_exit(void);
int group_check(struct smartio_export *export);
int group_check_again(struct smartio_export *export);
struct iommu_group *group_of_its_own(struct smartio_export *export);
int group_admits(struct smartio_link *link);

/* ---- policy.c ---- */

/* Of a PCI address, with its end. */
#define POLICY_PCI_LEN	32

bool policy_allows(const struct session *session);
bool policy_admits(const struct session *session);
int policy_change(const char *text, size_t size, char *pci);
ssize_t policy_show(const char *pci, char *buf);
ssize_t policy_show_all(char *buf);
void policy_exit(void);

/* ---- lend.c ---- */

/**
 * struct export_listener - notifies hosts of exports
 * @entry: of lend.c
 * @added: a device is lent. Returns 0 or a negative error.
 * @offered: sessions may begin again, or not for now
 * @removing: it is taken back; its sessions are over
 * @removed: it can't be looked up any more
 *
 * All are optional, and may sleep.
 */
struct export_listener {
	struct list_head entry;
	int (*added)(struct smartio_export *export);
	void (*offered)(struct smartio_export *export, bool offered);
	void (*removing)(struct smartio_export *export);
	void (*removed)(struct smartio_export *export);
};

void export_listener_add(struct export_listener *listener);
int lend_allow(const char *text, size_t size);
int lend_init(const struct attribute_group **class_groups,
	      const struct attribute_group **groups);
void lend_exit(void);

#endif /* _SMARTIO_EXPORT_H */
