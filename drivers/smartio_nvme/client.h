/* SPDX-License-Identifier: GPL-2.0 */
/*
 * smartio_nvme.ko: I/O queue pairs of a controller that another module, maybe
 * on another host, owns; shown to this host by nvme-core.
 *
 *   client_main.c	driver on the bus "smartio", module parameters
 *   client_path.c	what happens to a path: states and losses
 *   client_leave.c	a path that goes
 *   client_session.c	attempts to get a session and a path up in it
 *   client_drive.c	several ways to one drive
 *   client_join.c	bringing a path up, once or again
 *   client_ctrl.c	the nvme_ctrl: registers, events, what nvme-core calls
 *   client_admin.c	admin commands: relayed to the manager
 *   client_access.c	what reservations don't let this host do
 *   client_call.c	the other messages to the manager
 *   client_identity.c	is it still the same drive?
 *   client_queue.c	queue pairs: memory, doorbells, completions
 *   client_dma.c	where the data of a request is
 *   client_io.c	what blk-mq calls
 *   client_flush.c	flushes on a lost path
 *   client_waiting.c	requests that wait for a path
 *   client_stats.c	counters in sysfs
 *
 * Order of locks: snvme_clients_lock (client_drive.c), a mutex, before
 * client->lock, path->lock and core's head->requeue_lock; q->cq_lock before
 * snvme_flush_lock (client_flush.c); path->lock, q->sq_lock, client->lock,
 * head->requeue_lock and snvme_flush_lock before nothing. None but the first is
 * held while sleeping.
 */
#ifndef _SMARTIO_NVME_CLIENT_H
#define _SMARTIO_NVME_CLIENT_H

#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/scatterlist.h>
#include <linux/smartio.h>
#include <linux/workqueue.h>

#include "nvme.h"
#include "fabrics.h"
#include "proto.h"
#include "resv.h"

/* A PRP list never crosses a page: 512 entries. */
#define SNVME_MAX_BYTES		(512 * NVME_CTRL_PAGE_SIZE)
/* Events that came while nvme-core had no request for one out. */
#define SNVME_EVENTS		8
/* Aborts of a path that are under way at once. */
#define SNVME_ABORTS		4
#define SNVME_CALL_MS		10000
/* Until the lender is tried again, the first time. */
#define SNVME_RETRY_MS		100

/* ---- module parameters (client_main.c) ---- */

enum snvme_dma_mode {
	SNVME_DMA_MAP,
	SNVME_DMA_BOUNCE,
};

struct snvme_config {
	enum snvme_dma_mode dma_mode;
	enum snvme_placement placement;
	unsigned int queues;
	unsigned int poll_queues;
	unsigned int entries;
	unsigned int max_bytes;
	unsigned int bounce_bytes;
	unsigned int sgl_threshold;
	int dev_loss_tmo;
	bool path_iostats;
};

void snvme_config_get(struct snvme_config *config);

/* ---- objects ---- */

struct snvme_path;

/**
 * struct snvme_client - this driver on one way to one device
 * @entry: in the list of all (client_drive.c)
 * @sdev: the way
 * @wq: ordered: @join_work, losses of @path
 * @calls: what waits for the manager's answers
 * @join_work: begins a session, and brings a path up in it
 * @lock: protects @path
 * @path: the controller, from when a session was granted; NULL: none
 * @gone: @path became NULL
 * @removing: the driver leaves this way
 * @detached: a user deleted the controller: stay away until bound again
 * @backoff_ms: until the next attempt
 * @last_error: of attempts, said in the log already
 */
struct snvme_client {
	struct list_head entry;
	struct smartio_device *sdev;
	struct workqueue_struct *wq;
	struct workqueue_struct *calls;
	struct delayed_work join_work;
	spinlock_t lock;	/* path */
	struct snvme_path *path;
	wait_queue_head_t gone;
	bool removing;
	bool detached;
	unsigned int backoff_ms;
	int last_error;
};

/* What the manager grants a session: struct snvme_attach_reply, checked. */
struct snvme_limits {
	u16 cntlid;
	u16 queue_pairs;
	u16 max_entries;
	u64 cap;
	u32 vs;
	u32 max_bytes;
	u32 sgls;
	u32 db_offset;
	u32 db_stride;
	u64 incarnation;
	u64 quirks;
	char subnqn[NVMF_NQN_SIZE];
};

/**
 * struct snvme_queue - a queue pair
 * @path: whose
 * @index: hardware queue of blk-mq
 * @qid: of the controller, in this session
 * @entries: of SQ and CQ
 * @polled: no interrupt: blk-mq polls
 * @timed: no interrupt left: a timer polls
 * @sq_lock: protects the SQ: @live, @sq_tail, @sq_rung, @submitted. No
 *	interrupt takes it
 * @live: commands may be sent
 * @sq_tail: next entry to write
 * @sq_rung: what the controller was told
 * @submitted: commands
 * @sq_io: the SQ, if it is beyond a window (write combining)
 * @sq_cpu: the SQ, if it is this host's memory
 * @db_sq: doorbell
 * @list_io: PRP lists, a slot for each tag
 * @list_cpu: the same, as @sq_cpu
 * @list_addr: where the controller finds them
 * @list_slot: bytes of a slot
 * @cq_lock: protects the CQ: @dead, @cq_head, @phase, @completed, @interrupts
 * @dead: nobody reaps any more, save the last time
 * @cq_head: next entry to read
 * @phase: of new entries
 * @completed: commands
 * @interrupts: taken
 * @cq: the CQ
 * @db_cq: doorbell
 * @cq_dma: where it is
 * @cq_size: bytes
 * @segment: SQ and lists beside the controller
 * @own: SQ and lists in this host's memory
 * @own_dma: where
 * @own_size: bytes
 * @cmb: SQ in the controller's memory
 * @db: mapping of the doorbells
 * @irq: interrupt
 * @irq_name: its name
 * @timer: see @timed
 * @armed: bit 0: @timer is started, or about to be
 */
struct snvme_queue {
	struct snvme_path *path;
	unsigned int index;
	u16 qid;
	u16 entries;
	bool polled;
	bool timed;

	spinlock_t sq_lock ____cacheline_aligned_in_smp; /* the SQ */
	bool live;
	u16 sq_tail;
	u16 sq_rung;
	u64 submitted;
	void __iomem *sq_io;
	void *sq_cpu;
	void __iomem *db_sq;
	void __iomem *list_io;
	void *list_cpu;
	u64 list_addr;
	unsigned int list_slot;

	spinlock_t cq_lock ____cacheline_aligned_in_smp; /* the CQ */
	bool dead;
	u16 cq_head;
	u8 phase;
	u64 completed;
	u64 interrupts;
	struct nvme_completion *cq;
	void __iomem *db_cq;

	dma_addr_t cq_dma;
	size_t cq_size;
	struct smartio_segment segment;
	void *own;
	dma_addr_t own_dma;
	size_t own_size;
	void __iomem *cmb;
	void __iomem *db;
	struct smartio_irq irq;
	char irq_name[32];
	struct hrtimer timer;
	unsigned long armed;
};

/**
 * enum snvme_state - what a path is at
 * @SNVME_JOINING: a session is open, the controller comes up
 * @SNVME_UP: in use
 * @SNVME_LOST: the session is over or must end. Requests are held: the device
 *	may still work on them
 * @SNVME_REVOKED: the device touches nothing of the old session any more;
 *	requests were given back
 *
 * nvme-core's states can't say "lost again while joining"; these can.
 */
enum snvme_state {
	SNVME_JOINING,
	SNVME_UP,
	SNVME_LOST,
	SNVME_REVOKED,
};

/* Why a path is lost; the last ones were asked for on this host. */
enum snvme_loss {
	SNVME_LOSS_LINK,
	SNVME_LOSS_LENDER,
	SNVME_LOSS_TIMEOUT,
	SNVME_LOSS_JOIN,
	SNVME_LOSS_FENCED,
	SNVME_LOSS_RESET,
	SNVME_LOSS_REMOVED,
};

enum snvme_stat {
	SNVME_STAT_LOSSES,
	SNVME_STAT_JOINS,
	SNVME_STAT_HELD,
	SNVME_STAT_REAPED_LATE,
	SNVME_STAT_CANCELLED,
	SNVME_STAT_FAILED,
	SNVME_STAT_FLUSHES_ELSEWHERE,
	SNVME_STAT_TIMEOUTS,
	SNVME_STAT_TIMEOUTS_HELD,
	SNVME_STAT_TIMEOUTS_REAPED,
	SNVME_STAT_ABORTS,
	SNVME_STAT_BOUNCED,
	SNVME_STAT_BOUNCED_BYTES,
	SNVME_STAT_BOUNCE_FULL,
	SNVME_STAT_LISTS,
	SNVME_STAT_SGLS,
	SNVME_STAT_EVENTS,
	SNVME_STATS,
};

struct gen_pool;

/**
 * struct snvme_access - what reservations don't let this host do
 * @rcu: it is freed later
 * @others: RESV_NO_READ, RESV_NO_WRITE: of namespaces that have no entry
 * @count: in @entries
 * @entries: of the others
 */
struct snvme_access {
	struct rcu_head rcu;
	u8 others;
	u32 count;
	struct {
		u32 nsid;
		u8 flags;
	} entries[];
};

/* Memory that data is copied through, where the device reaches no other. */
struct snvme_bounce {
	void *cpu;
	dma_addr_t dma;
	size_t size;
	struct gen_pool *pool;
};

/**
 * struct snvme_path - one nvme-core controller
 * @ctrl: the controller
 * @opts: nvme-core wants some for safe deletion and its time-outs
 * @traddr: of @opts
 * @client: whose
 * @sdev: the way
 * @config: the parameters of when it was made
 * @limits: of this session; queue sizes and identity are those of the first
 * @dma_dev: data is mapped for it
 * @max_bytes: of one request
 * @access: NULL: this host may do all
 * @access_lock: one at a time changes @access
 * @access_work: asks for it anew
 * @lock: protects all to @events_count
 * @state: see there
 * @gen: counts losses
 * @dropped: after a loss: the queues are still, held requests counted
 * @leaving: the controller is being deleted
 * @closed: no more losses: it is about to be freed
 * @why: of the loss
 * @wanted: somebody asked for the loss
 * @lost_at: when, in jiffies
 * @admin_live: admin commands may be relayed
 * @unanswered: one of them got no answer, since the last join began
 * @relays: those under way
 * @aer_armed: nvme-core has a request for an event out
 * @events: that came when it had not
 * @events_count: how many
 * @cc: register
 * @told: the loss is in the log and in the counters
 * @started: was up once: users may have seen it
 * @era: when it began; it goes if this host was fenced since. In
 *	client_drive.c, under its lock
 * @session: that requests were sent in; 0: none, or it is over. On client->wq
 * @ended: after a loss: the session was ended, the link being up
 * @fenced: this host was fenced: it fails what it holds, and goes
 * @expelled: it is we who delete it
 * @leave_by: when @leaving: until then it waits for others, in jiffies
 * @flushes: that another path does; in client_flush.c, under its lock
 * @flushes_held: no more of them for now; likewise
 * @lose_work: on client->wq
 * @revoke_work: on client->wq; ends the session over another way
 * @fail_work: on client->wq; held requests have waited long enough
 * @aborts: under way
 * @admin_tags: admin queue
 * @io_tags: I/O queues
 * @nr_queues: with an interrupt; 0 to nr_queues - 1
 * @nr_poll: polled; those after them
 * @max_queues: in @queues
 * @queues: all
 * @bounce: if data is copied
 * @pinned: bit 0: a module reference is held, the disk being claimed
 * @pin_work: looks whether it can go
 * @stats: counters
 */
struct snvme_path {
	struct nvme_ctrl ctrl;
	struct nvmf_ctrl_options opts;
	char traddr[96];
	struct snvme_client *client;
	struct smartio_device *sdev;
	struct snvme_config config;
	struct snvme_limits limits;
	struct device *dma_dev;
	u32 max_bytes;
	struct snvme_access __rcu *access;
	struct mutex access_lock;	/* who changes access */
	struct work_struct access_work;

	spinlock_t lock;	/* state, relays and events */
	enum snvme_state state;
	unsigned int gen;
	bool dropped;
	bool leaving;
	bool closed;
	const char *why;
	bool wanted;
	unsigned long lost_at;
	bool admin_live;
	bool unanswered;
	struct list_head relays;
	bool aer_armed;
	u32 events[SNVME_EVENTS];
	unsigned int events_count;

	u32 cc;
	bool told;
	bool started;
	struct smartio_era era;
	u64 session;
	bool ended;
	bool fenced;
	bool expelled;
	unsigned long leave_by;
	struct list_head flushes;
	bool flushes_held;
	struct work_struct lose_work;
	struct delayed_work revoke_work;
	struct delayed_work fail_work;
	atomic_t aborts;
	struct blk_mq_tag_set admin_tags;
	struct blk_mq_tag_set io_tags;
	unsigned int nr_queues;
	unsigned int nr_poll;
	unsigned int max_queues;
	struct snvme_queue *queues;
	struct snvme_bounce bounce;
	unsigned long pinned;
	struct delayed_work pin_work;
	atomic_long_t stats[SNVME_STATS];
};

static inline struct snvme_path *to_snvme_path(struct nvme_ctrl *ctrl)
{
	return container_of(ctrl, struct snvme_path, ctrl);
}

static inline void snvme_count(struct snvme_path *path, enum snvme_stat stat,
			       long n)
{
	atomic_long_add(n, &path->stats[stat]);
}

/* What an iod has to give back. */
enum snvme_mapped {
	SNVME_MAPPED_NONE,
	SNVME_MAPPED_ONE,
	SNVME_MAPPED_SG,
	SNVME_MAPPED_BOUNCE,
};

/**
 * struct snvme_iod - an I/O request
 * @req: nvme-core's part; comes first
 * @cmd: the command
 * @aborted: its abort was asked for
 * @relayed: the manager executes it, or another path
 * @mapped: how its data is mapped
 * @dma: where, if it is in one piece
 * @len: bytes, then
 * @bounce: where it is copied through
 * @sgt: else: in how many pieces
 * @sg: of @sgt
 */
struct snvme_iod {
	struct nvme_request req;
	struct nvme_command cmd;
	bool aborted;
	bool relayed;
	u8 mapped;
	u32 len;
	dma_addr_t dma;
	void *bounce;
	struct sg_table sgt;
	struct scatterlist sg[];
};

/* ---- client_path.c ---- */

extern const char * const snvme_state_names[];

struct snvme_path *snvme_client_path(struct snvme_client *client);
void snvme_path_lose(struct snvme_path *path, enum snvme_loss loss);
void snvme_path_failover(struct snvme_path *path);
void snvme_path_set(struct snvme_path *path, enum snvme_state state);
void snvme_path_close(struct snvme_path *path);
void snvme_path_init(struct snvme_path *path);
unsigned int snvme_path_held(struct snvme_path *path);
void snvme_path_drop(struct snvme_path *path);
int snvme_path_revoke(struct snvme_path *path);
void snvme_path_revoked(struct snvme_path *path, bool retry);
void snvme_path_expel(struct snvme_path *path);

/* ---- client_leave.c ---- */

void snvme_path_leave(struct snvme_path *path);

/* ---- client_session.c ---- */

bool snvme_session_over(int opened);
bool snvme_was_fenced(int opened);
bool snvme_join_passes(int error);
int snvme_session_open(struct snvme_client *client, struct snvme_path *path);
void snvme_client_init(struct snvme_client *client);
void snvme_client_kick(struct snvme_client *client);

/* ---- client_drive.c ---- */

void snvme_drive_add(struct snvme_client *client);
void snvme_drive_remove(struct snvme_client *client);
int snvme_drive_revoke(struct snvme_path *path);
bool snvme_drive_others(struct snvme_client *client);
void snvme_drive_orphan(struct snvme_client *client, u64 session);
int snvme_drive_clear(struct snvme_client *client);
int snvme_drive_opened(struct snvme_client *client);
void snvme_drive_refused(struct snvme_client *client, struct snvme_path *own);
void snvme_drive_may_wait(struct snvme_client *client);
void snvme_drives_exit(void);

/* ---- client_waiting.c ---- */

void snvme_path_may_wait(struct snvme_path *path);

/* ---- client_join.c ---- */

int snvme_path_join(struct snvme_path *path, unsigned int gen,
		    const struct snvme_limits *limits);
bool snvme_limits_fit(struct snvme_path *path,
		      const struct snvme_limits *limits);

/* ---- client_ctrl.c ---- */

struct snvme_path *snvme_path_create(struct snvme_client *client,
				     const struct snvme_limits *limits);
void snvme_path_discard(struct snvme_path *path);
void snvme_path_event(struct snvme_path *path, u32 result);
void snvme_path_pin(struct snvme_path *path);

/* Whether somebody has claimed the disk of a namespace. */
static inline bool snvme_ns_claimed(const struct nvme_ns *ns)
{
	const struct gendisk *disk = ns->head->disk;

	return disk && READ_ONCE(disk->part0->bd_holder);
}

void snvme_paths_wait(void);
void snvme_host_init(void);

/* ---- client_call.c ---- */

int snvme_attach(struct smartio_device *sdev, struct snvme_limits *limits);
int snvme_create(struct smartio_device *sdev,
		 const struct snvme_create_req *request,
		 struct snvme_create_reply *reply);
void snvme_abort(struct snvme_path *path, u16 qid, u16 cid);

/* ---- client_admin.c ---- */

extern const struct blk_mq_ops snvme_admin_mq_ops;

size_t snvme_admin_cmd_size(void);
void snvme_relay_fail_all(struct snvme_path *path);
blk_status_t snvme_relay_rq(struct snvme_path *path, struct request *rq,
			    enum snvme_op op);
blk_status_t snvme_refuse_rq(struct request *rq, u16 status);

/* ---- client_access.c ---- */

void snvme_access_init(struct snvme_path *path);
void snvme_access_exit(struct snvme_path *path);
int snvme_access_fetch(struct snvme_path *path);
void snvme_access_changed(struct snvme_path *path);
bool snvme_access_forbids(struct snvme_path *path, struct request *rq);

/* ---- client_identity.c ---- */

int snvme_identity_check(struct snvme_path *path);

/* ---- client_queue.c ---- */

int snvme_queue_alloc(struct snvme_queue *q, struct snvme_path *path,
		      unsigned int index, u16 entries);
void snvme_queue_free(struct snvme_queue *q);
int snvme_queue_open(struct snvme_queue *q, bool polled,
		     const struct cpumask *cpus);
void snvme_queue_close(struct snvme_queue *q);
void snvme_queue_start(struct snvme_queue *q);
void snvme_queue_stop(struct snvme_queue *q);
unsigned int snvme_queue_reap_late(struct snvme_queue *q);
unsigned int snvme_queue_reap_now(struct snvme_queue *q,
				  struct io_comp_batch *iob);
void snvme_queue_submit(struct snvme_queue *q, const struct nvme_command *cmd,
			bool last);
void snvme_queue_submit_list(struct snvme_queue *q, struct rq_list *list);
void snvme_queue_ring(struct snvme_queue *q);

/* Is there a completion? A hint: the lock is not held. */
static inline bool snvme_queue_pending(struct snvme_queue *q)
{
	return (le16_to_cpu(READ_ONCE(q->cq[q->cq_head].status)) & 1) ==
	       READ_ONCE(q->phase);
}

/* ---- client_dma.c ---- */

int snvme_bounce_init(struct snvme_path *path);
void snvme_bounce_exit(struct snvme_path *path);
blk_status_t snvme_map(struct snvme_queue *q, struct request *rq);
void snvme_unmap(struct snvme_path *path, struct request *rq);

/* ---- client_io.c ---- */

extern const struct blk_mq_ops snvme_io_mq_ops;

size_t snvme_io_cmd_size(struct snvme_path *path);
void snvme_complete_rq(struct request *rq);
void snvme_complete_batch(struct io_comp_batch *iob);

/* ---- client_flush.c ---- */

enum snvme_flush_way {
	SNVME_FLUSH_SENT,
	SNVME_FLUSH_LATER,
	SNVME_FLUSH_NONE,
};

enum snvme_flush_way snvme_flush_elsewhere(struct snvme_path *path,
					   struct request *rq);
bool snvme_flush_again(struct request *rq);
bool snvme_flush_is_elsewhere(struct request *rq);
void snvme_flush_hold(struct snvme_path *path);
void snvme_flush_release(struct snvme_path *path);

/* ---- client_stats.c ---- */

extern const struct attribute_group snvme_stats_group;

#endif /* _SMARTIO_NVME_CLIENT_H */
