/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The manager: one controller's admin queue, its I/O queue pairs granted to
 * clients, and a virtual controller for each client.
 *
 * Layers, from the top; each calls only those below it:
 *
 *   mgr_main.c		the PCI driver; the controller as nvme-core sees it
 *   mgr_session.c	clients: virtual controllers, sessions, their requests
 *   mgr_admin.c	their admin commands
 *   mgr_resv.c		reservations: kept here, for the drive sees one host
 *   mgr_resv_file.c	those that persist
 *   mgr_queue.c	the broker of queue pairs
 *   mgr_ctrl.c		start, stop, reset; suspension of clients
 *   mgr_cmb.c		the controller memory buffer
 *   mgr_event.c	asynchronous events, passed on to clients
 *   mgr_note.c		notes to clients: a worker for each
 *   mgr_relay.c	turns: how many commands of clients the drive has at a time
 *   mgr_adminq.c	the admin queue: hardware and requests
 *   admin_identify.c	Identify data and the effects log: for clients
 *   admin_table.c	admin commands: those that clients may send
 *   proto_check.c	clients' requests: whether they are sound
 *   resv.c		reservations of one namespace: the rules
 *   nvme_core.h	declarations taken from nvme-core's private parts
 *
 * Events go up through struct mgr_adminq_ops and struct smartio_lender_ops.
 */
#ifndef _SMARTIO_NVME_MGR_H
#define _SMARTIO_NVME_MGR_H

#include <linux/blk-mq.h>
#include <linux/genalloc.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/smartio.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "nvme_core.h"
#include "proto_check.h"
#include "resv.h"

/* What clients can carry in one I/O command. */
#define MGR_MAX_BYTES		(1024 * 1024)
/* The most I/O queue pairs, even if the controller has more. */
#define MGR_MAX_PAIRS		1024
/* Seconds that deleting a queue, or a client's command, may take. */
#define MGR_DELETE_TIMEOUT_S	10
/* Virtual controllers have CNTLIDs from here on. */
#define MGR_CNTLID_FIRST	0x1000
#define MGR_CNTLID_COUNT	0xe000

/* Types of asynchronous events (NVMe base 5.2): three bits. */
#define MGR_EVENT_TYPES		8

struct dma_pool;
struct mgr;
struct mgr_session;

/**
 * struct mgr_adminq_ops - upward calls of the admin queue
 * @event: an asynchronous event has arrived; dword 0 of its completion. Any
 *	context
 * @exclusive_begin: starts a request, mapped, and runs it without any client.
 *	Any context. Return: false: there is one already
 * @exclusive_waits: whether such a request still waits for sessions to end
 * @exclusive_done: a request, such a one or another, has ended. Any context
 */
struct mgr_adminq_ops {
	void (*event)(struct mgr *m, u32 result);
	bool (*exclusive_begin)(struct mgr *m, struct request *rq);
	bool (*exclusive_waits)(struct mgr *m, struct request *rq);
	void (*exclusive_done)(struct mgr *m, struct request *rq);
};

/**
 * struct mgr_adminq - the admin queue in memory
 * @ops: upward calls
 * @sq_lock: protects @sq, @sq_tail, @sq_fetched, @open and @event_out
 * @sq: submission queue
 * @sq_dma: address of @sq for the controller
 * @sq_tail: the next entry to write
 * @sq_fetched: the first entry that the controller has not said to have fetched
 * @open: commands may be written
 * @event_out: the controller has the request for an event
 * @cq_lock: protects @cq, @cq_head, @phase and @running
 * @cq: completion queue
 * @cq_dma: address of @cq for the controller
 * @cq_head: the next entry to read
 * @phase: phase bit of a new entry
 * @running: the controller is enabled: completions may come
 */
struct mgr_adminq {
	const struct mgr_adminq_ops *ops;
	spinlock_t sq_lock;	/* sq, sq_tail, sq_fetched, open, event_out */
	struct nvme_command *sq;
	dma_addr_t sq_dma;
	u16 sq_tail;
	u16 sq_fetched;
	bool open;
	bool event_out;
	spinlock_t cq_lock;	/* cq, cq_head, phase, running */
	struct nvme_completion *cq;
	dma_addr_t cq_dma;
	u16 cq_head;
	u8 phase;
	bool running;
};

/**
 * struct mgr_cmb - the controller memory buffer, for submission queues
 * @pool: addresses that the controller knows it by; NULL: there is none
 * @bar: it is in
 * @offset: in that BAR
 * @start: the controller's address of its first byte
 * @size: bytes
 */
struct mgr_cmb {
	struct gen_pool *pool;
	unsigned int bar;
	u64 offset;
	u64 start;
	size_t size;
};

/* A piece of the CMB; it stays with a session, which can write it, for good. */
struct mgr_cmb_piece {
	struct list_head entry;
	u64 addr;
	size_t size;
	bool used;
};

enum mgr_pair_state {
	MGR_PAIR_FREE,
	MGR_PAIR_BUSY,		/* being created or deleted */
	MGR_PAIR_LIVE,
};

/* One I/O queue pair; its index is the queue identifier. */
struct mgr_pair {
	enum mgr_pair_state state;
	struct mgr_session *session;
	u16 entries;
	u16 placement;
	bool irq;
	unsigned int vector;
	struct mgr_cmb_piece *cmb;
	bool pinned;		/* its SQ is in @segment, which stays */
	u32 segment;
	unsigned int aborts;	/* in flight */
};

/* Why clients are suspended. */
enum mgr_reason {
	MGR_SUSPEND_RESET,
	MGR_SUSPEND_EXCLUSIVE,
	MGR_SUSPEND_SHUTDOWN,
};

/**
 * struct mgr - a managed controller
 * @ctrl: nvme-core's part; admin queue only
 * @pdev: PCI function of the controller
 * @bar: registers, BAR 0
 * @aq: the admin queue
 * @tags: of the admin queue's requests
 * @prps: pages for PRP lists
 * @wq: runs what may wait for the controller
 * @note_wq: runs what may wait for a client's link
 * @saved: configuration space, as it was when the drive was taken over
 * @id: Identify Controller, as the controller said it last
 * @model_quirks: nvme-core's, of this model
 * @subnqn: of the subsystem that clients see
 * @mdts: of virtual controllers
 * @db_stride: bytes between doorbells
 * @vectors: MSI-X vectors, the admin queue's included
 * @incarnation: changes whenever all I/O queues are deleted for sure
 * @incarnation_wq: woken then
 * @aborts_wq: woken when an abort has ended
 * @watch_work: looks at CSTS from time to time
 * @retry_work: the next attempt of a reset
 * @reported: the failure of resets has been logged
 * @backoff_s: until the next attempt of a reset
 * @starting: mgr_start() waits for admin commands, maybe in reset_work
 * @link_error: the link above was reset, or will be: configuration space has to
 *	be restored
 * @export: of the device; NULL before and after
 * @suspend_lock: protects @export, @suspended
 * @suspended: BIT(enum mgr_reason)
 * @exclusive_lock: protects @exclusive, @exclusive_sent
 * @exclusive: an owner's command that clients must not run beside
 * @exclusive_sent: it is the controller's now
 * @exclusive_work: suspends clients, then sends @exclusive
 * @turns_lock: protects @turns, @relays, mgr_session.relays, .relayed and
 *	.ending, struct mgr_turn
 * @turns: struct mgr_turn: commands of clients that wait for their turn, the
 *	oldest first
 * @relays: commands of clients that the drive has now
 * @broker_lock: protects @pairs, @nr_pairs, @reserved, @cmb.pool,
 *	mgr_session.pieces and .reserved, mgr_vctrl.pairs; after sessions_lock
 * @nr_pairs: I/O queue pairs that the controller gives
 * @reserved: of them, set aside for sessions: the sum of mgr_session.reserved
 * @pairs: 1 to @nr_pairs
 * @cmb: controller memory buffer
 * @sessions_lock: protects @sessions and the event state of each, @vctrls and
 *	all in them but .pairs
 * @sessions: struct mgr_session
 * @vctrls: struct mgr_vctrl
 * @events: BIT(type) of asynchronous events that have arrived
 * @event_result: the last one of each type
 * @event_work: passes @events on to sessions
 * @resv_wq: runs one request for reservations at a time
 * @resv_lock: protects @resv, mgr_session.stale and .outdated, which change
 *	on @resv_wq; before sessions_lock
 * @resv: struct mgr_resv
 * @resv_sequence: of the file's last version; of @resv_wq
 * @resv_unsaved: of one after it that could not be written, or 0; likewise
 */
struct mgr {
	struct nvme_ctrl ctrl;
	struct pci_dev *pdev;
	void __iomem *bar;
	struct mgr_adminq aq;
	struct blk_mq_tag_set tags;
	struct dma_pool *prps;
	struct workqueue_struct *wq;
	struct workqueue_struct *note_wq;
	struct pci_saved_state *saved;
	struct nvme_id_ctrl *id;
	unsigned long model_quirks;
	char subnqn[224];
	u8 mdts;
	u32 db_stride;
	unsigned int vectors;

	u64 incarnation;
	wait_queue_head_t incarnation_wq;
	wait_queue_head_t aborts_wq;
	struct delayed_work watch_work;
	struct delayed_work retry_work;
	bool reported;
	unsigned int backoff_s;
	bool starting;
	bool link_error;

	struct mutex suspend_lock;	/* export, suspended */
	struct smartio_export *export;
	unsigned long suspended;
	spinlock_t exclusive_lock;	/* exclusive, exclusive_sent */
	struct request *exclusive;
	bool exclusive_sent;
	struct work_struct exclusive_work;

	spinlock_t turns_lock;		/* turns, relays */
	struct list_head turns;
	unsigned int relays;
	struct mutex broker_lock;	/* pairs, CMB */
	unsigned int nr_pairs;
	unsigned int reserved;
	struct mgr_pair *pairs;
	struct mgr_cmb cmb;

	struct mutex sessions_lock;	/* sessions, their events */
	struct list_head sessions;
	struct list_head vctrls;
	unsigned long events;
	u32 event_result[MGR_EVENT_TYPES];
	struct work_struct event_work;

	struct workqueue_struct *resv_wq;
	struct mutex resv_lock;		/* reservations */
	struct list_head resv;
	u64 resv_sequence;
	u64 resv_unsaved;
};

/* A namespace with reservations, or that had some. */
struct mgr_resv {
	struct list_head entry;
	struct resv_ns ns;
};

/* Notices of reservations that wait for a client to read its log. */
#define MGR_NOTICES		16

/* @type: as the log of reservations has it. */
struct mgr_notice {
	u32 nsid;
	u8 type;
};

static_assert(MGR_NOTICES <= 255);	/* a byte of the log counts them */

/**
 * struct mgr_vctrl - a virtual controller: a host on a link
 * @entry: in mgr.vctrls
 * @host: the host
 * @link_name: the link
 * @cntlid: nvme-core on that host compares it with those of its other paths,
 *	old ones too
 * @host_id: Host Identifier
 * @pairs: queue pairs that its last session might have
 * @notices: the oldest first
 * @nr_notices: in @notices
 * @notices_sent: ever, for the log's count
 * @notice_masks: Reservation Notification Mask by NSID
 * @notice_mask: for all others
 */
struct mgr_vctrl {
	struct list_head entry;
	uuid_t host;
	char link_name[32];
	u16 cntlid;
	u8 host_id[16];
	unsigned int pairs;
	struct mgr_notice notices[MGR_NOTICES];
	unsigned int nr_notices;
	u64 notices_sent;
	struct xarray notice_masks;
	u32 notice_mask;
};

/*
 * Admin commands that the drive has at most at a time: of all clients, of one,
 * and of the owner on /dev/nvmeN, with those of nvme-core. The rest of the tags
 * are the manager's: neither clients nor the owner can keep it from deleting
 * queues.
 */
#define MGR_RELAYS		(NVME_AQ_MQ_TAG_DEPTH / 2)
#define MGR_SESSION_RELAYS	4
#define MGR_OWNER_TAGS		8

static_assert(MGR_RELAYS + MGR_OWNER_TAGS < NVME_AQ_MQ_TAG_DEPTH);
/*
 * Seconds after which a client's command is a long one. As long as its youngest
 * one at the drive is none, it gets no further place there.
 */
#define MGR_RELAY_LONG_S	2
/*
 * A client whose command has not had its turn by then gets the reply to wait.
 */
#define MGR_RELAY_WAIT_S	30

/* Long commands in all but one place must not use up the others' wait. */
static_assert(MGR_SESSION_RELAYS * MGR_RELAY_LONG_S < MGR_RELAY_WAIT_S / 2);

/**
 * struct mgr_turn - a command of a client that has, or waits for, its turn
 * @entry: in mgr.turns as long as it waits, then in mgr_session.relayed
 * @session: whose
 * @over: it has its turn, or has given up
 * @waits: neither yet
 * @granted: it has its turn
 * @since: jiffies when it got it
 */
struct mgr_turn {
	struct list_head entry;
	struct mgr_session *session;
	struct completion over;
	bool waits;
	bool granted;
	unsigned long since;
};

/* How many NSIDs a Changed Namespace List has. */
#define MGR_CHANGED_MAX		1024

/**
 * struct mgr_session - a client
 * @entry: in mgr.sessions
 * @m: the controller
 * @s: the session of smartio
 * @incarnation: of the controller at its start; another one: nothing is left
 * @attached: SNVME_ATTACH was answered
 * @granted: queue pairs that it may have
 * @reserved: of those, the ones that it has not created yet; none before it
 *	asked for a number
 * @vctrl: its virtual controller
 * @pieces: of the CMB
 * @event_mask: its Asynchronous Event Configuration
 * @event_sent: BIT(type): reported, and not yet cleared by reading its log
 * @notes: that @note_work sends: BIT(type) of events, and access
 * @note_result: of the event of each type
 * @note_work: sends @notes
 * @nr_changed: in @changed; above MGR_CHANGED_MAX: too many to name
 * @changed: NSIDs, ascending
 * @relays: of its commands that the drive has now
 * @relayed: struct mgr_turn: these, the youngest last
 * @ending: it gets no turn any more
 * @resv_wait: requests of it that wait for a job on mgr.resv_wq
 * @stale: a reservation shut it out: it ends, and may not change any
 * @outdated: reservations forbid more than its last SNVME_ACCESS reply says
 */
struct mgr_session {
	struct list_head entry;
	struct mgr *m;
	struct smartio_session *s;
	u64 incarnation;
	bool attached;
	u16 granted;
	unsigned int reserved;
	struct mgr_vctrl *vctrl;
	struct list_head pieces;
	u32 event_mask;
	unsigned long event_sent;
	unsigned long notes;
	u32 note_result[MGR_EVENT_TYPES];
	struct work_struct note_work;
	unsigned int nr_changed;
	u32 changed[MGR_CHANGED_MAX];
	unsigned int relays;
	struct list_head relayed;
	bool ending;
	wait_queue_head_t resv_wait;
	bool stale;
	bool outdated;
};

static inline struct mgr *to_mgr(struct nvme_ctrl *ctrl)
{
	return container_of(ctrl, struct mgr, ctrl);
}

static inline u64 mgr_incarnation(struct mgr *m)
{
	return READ_ONCE(m->incarnation);
}

/* mgr_ctrl.c */
void mgr_init_works(struct mgr *m);
int mgr_start(struct mgr *m);
void mgr_stop(struct mgr *m);
void mgr_link_fails(struct mgr *m);
void mgr_link_reset(struct mgr *m);
void mgr_revoke(struct mgr *m);
void mgr_suspend(struct mgr *m, enum mgr_reason reason);

/* mgr_adminq.c */
int mgr_adminq_alloc(struct mgr *m);
void mgr_adminq_free(struct mgr *m);
int mgr_adminq_alloc_tags(struct mgr *m);
void mgr_adminq_program(struct mgr *m);
void mgr_adminq_open(struct mgr *m);
void mgr_adminq_close(struct mgr *m);
void mgr_adminq_drain(struct mgr *m);
void mgr_adminq_submit(struct mgr *m, const struct nvme_command *cmd);
void mgr_adminq_submit_event(struct mgr *m);
irqreturn_t mgr_adminq_irq(int irq, void *data);
u32 mgr_event_forced(struct mgr *m);
int mgr_sync(struct mgr *m, struct nvme_command *cmd, union nvme_result *result,
	     void *data, size_t size, unsigned int timeout_s);

/* mgr_queue.c */
int mgr_pairs_setup(struct mgr *m);
unsigned int mgr_pairs_available(struct mgr_session *session);
unsigned int mgr_pairs_reserve(struct mgr_session *session,
			       unsigned int wanted);
unsigned int mgr_pairs_free(struct mgr *m);
int mgr_pair_create(struct mgr_session *session,
		    const struct snvme_create *create,
		    struct snvme_create_reply *reply);
int mgr_pair_delete(struct mgr_session *session, u16 qid);
bool mgr_pair_abort_begin(struct mgr_session *session, u16 qid);
void mgr_pair_abort_end(struct mgr_session *session, u16 qid);
void mgr_pairs_revoke(struct mgr_session *session);
int mgr_pairs_show(struct mgr *m, char *buf, size_t size);

/* mgr_cmb.c */
int mgr_cmb_setup(struct mgr *m);
void mgr_cmb_enable(struct mgr *m);
void mgr_cmb_free(struct mgr *m);
struct mgr_cmb_piece *mgr_cmb_get(struct mgr_session *session, size_t size);
void mgr_cmb_return(struct mgr_session *session);
u64 mgr_cmb_left(struct mgr *m);

/* mgr_session.c */
extern const struct smartio_lender_ops mgr_lender_ops;
void mgr_vctrls_free(struct mgr *m);

/* mgr_admin.c */
int mgr_admin(struct mgr_session *session, const struct snvme_admin *admin,
	      struct snvme_admin_reply *reply, size_t *reply_size);

/* mgr_event.c */
void mgr_event_work(struct work_struct *work);
void mgr_event_arrived(struct mgr *m, u32 result);
void mgr_event_log_read(struct mgr_session *session, u8 lid);
void mgr_event_allow(struct mgr_session *session, u32 mask);
void mgr_event_report(struct mgr_session *session, u32 result);

/* mgr_note.c */
void mgr_note_init(struct mgr_session *session);
void mgr_note_stop(struct mgr_session *session);
void mgr_note_access(struct mgr_session *session);
void mgr_note_event(struct mgr_session *session, unsigned int type, u32 result);

/* mgr_relay.c */
int mgr_relay_begin(struct mgr_session *session, struct mgr_turn *turn);
int mgr_relay_try(struct mgr_session *session, struct mgr_turn *turn);
void mgr_relay_end(struct mgr_turn *turn);
void mgr_relay_give_up(struct mgr_session *session);

/* mgr_resv.c */
int mgr_resv_init(struct mgr *m);
void mgr_resv_stop(struct mgr *m);
void mgr_resv_exit(struct mgr *m);
int mgr_resv_command(struct mgr_session *session,
		     const struct snvme_admin *command,
		     struct snvme_admin_reply *reply, size_t *reply_size);
int mgr_resv_access(struct mgr_session *session,
		    struct snvme_access_reply *reply, size_t *reply_size);
int mgr_resv_persist(struct mgr_session *session, u32 nsid, bool set,
		     u32 *value);
int mgr_resv_mask(struct mgr_session *session, u32 nsid, bool set, u32 *value);
void mgr_resv_log(struct mgr_session *session, void *page, bool retain);
int mgr_resv_identity(struct mgr_session *session, const u8 *host_id);
void mgr_resv_give_up(struct mgr_session *session);

/* mgr_resv_file.c */
int mgr_resv_save(struct mgr *m, const struct resv_ns *changed);
int mgr_resv_load(struct mgr *m);

#endif /* _SMARTIO_NVME_MGR_H */
