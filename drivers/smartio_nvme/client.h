/* SPDX-License-Identifier: GPL-2.0 */
/*
 * smartio_nvme.ko: I/O queue pairs of a controller that another module, maybe
 * on another host, owns; shown to this host by nvme-core.
 *
 * Layers, from the top; each calls only those below it:
 *
 *   client_main.c	the driver on the bus "smartio"
 *   client_drive.c	the paths of a drive, their sessions, attempts to join
 *   client_ctrl.c	the nvme_ctrl of a path: creation, deletion, sysfs
 *   client_path.c	states of a path: loss, revocation, join
 *   client_identity.c	is it the controller, and the drive, of before?
 *   client_io.c	blk-mq's I/O queues: requests, completions, flushes
 *   client_admin.c	commands that the manager executes
 *   client_queue.c	queue pairs: memory, doorbells
 *   client_dma.c	addresses of a request's data
 *   nvme_core.h	declarations taken from nvme-core's private parts
 *
 * Events go up through operations of the upper layer: struct snvme_queue_ops
 * (client_io.c), snvme_path.lose (client_path.c), struct snvme_drive_ops
 * (client_drive.c); and through work items.
 *
 * Order of locks: snvme_clients_lock (client_drive.c), a mutex, before
 * client->lock, path->lock and core's head->requeue_lock; q->sq_lock before
 * q->cq_lock before snvme_flush_lock (client_io.c); path->lock, client->lock,
 * head->requeue_lock and snvme_flush_lock before nothing. None but the first is
 * held while sleeping.
 */
#ifndef _SMARTIO_NVME_CLIENT_H
#define _SMARTIO_NVME_CLIENT_H

#include <linux/percpu.h>
#include <linux/scatterlist.h>
#include <linux/workqueue.h>

#include "client_queue.h"
#include "nvme_core.h"
#include "proto.h"
#include "resv.h"

/* A PRP list never crosses a page: 512 entries. */
#define SNVME_MAX_BYTES		(512 * NVME_CTRL_PAGE_SIZE)
/* Events that came while nvme-core had no request for one out. */
#define SNVME_EVENTS		8
#define SNVME_CALL_MS		10000
/* The smallest queues and requests that are tried, if larger ones don't fit. */
#define SNVME_ENTRIES_MIN	16
#define SNVME_BYTES_MIN		SZ_16K

enum snvme_dma_mode {
	SNVME_DMA_MAP,
	SNVME_DMA_BOUNCE,
};

/* Module parameters, within their limits. */
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

/**
 * struct snvme_client - this driver on one smartio device: one link to a drive
 * @entry: in the list of all (client_drive.c)
 * @sdev: the smartio device
 * @wq: ordered: @join_work, losses of @path
 * @calls: work items that wait for the manager's answers
 * @join_work: begins a session, and brings a path up in it
 * @lock: protects @path
 * @path: the controller, from when a session was granted; NULL: none
 * @gone: @path became NULL
 * @removing: the driver leaves this device
 * @detached: a user deleted the controller: no attempts until bound again
 * @entries: of a queue, at most: with more there was no room; 0: as many as the
 *	parameter says
 * @backoff_ms: until the next attempt
 * @last_error: of attempts, in the log already
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
	unsigned int entries;
	unsigned int backoff_ms;
	int last_error;
};

/*
 * Limits that the manager grants a session: struct snvme_attach_reply, checked.
 */
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
 * enum snvme_state - state of a path
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

/* Why a path is lost; from SNVME_LOSS_RESET on this host asked for it. */
enum snvme_loss {
	SNVME_LOSS_LINK,
	SNVME_LOSS_LENDER,
	SNVME_LOSS_TIMEOUT,
	SNVME_LOSS_ACCESS,
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

/* Of one CPU. */
struct snvme_stats {
	long n[SNVME_STATS];
};

/**
 * struct snvme_drive_ops - upward calls of a path to its drive
 * @rejoin: queues the next attempt to bring the path up. Any context
 * @revoke: ends the session of a lost path over another path to the drive. May
 *	sleep for seconds. Return: 0: the session is over; -ESTALE: it is, and
 *	this host was fenced since; -ENOLINK: no other path has a session now;
 *	else see smartio_revoke()
 * @may_wait: requests that wait for any path to the drive may wait from now on.
 *	May sleep
 * @leave: the controller is being deleted. When this returns no request of it
 *	is with the device. May sleep; not on client->wq
 * @gone: the path uses the smartio device no more. May sleep
 */
struct snvme_drive_ops {
	void (*rejoin)(struct snvme_path *path, unsigned int delay_ms);
	int (*revoke)(struct snvme_path *path);
	void (*may_wait)(struct snvme_path *path);
	void (*leave)(struct snvme_path *path);
	void (*gone)(struct snvme_path *path);
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
 * @opts: see snvme_core_options()
 * @traddr: of @opts
 * @client: its owner; only the drive layer looks into it
 * @drive: upward calls to the drive layer
 * @lose: upward call of the I/O and admin layers: the path can't be used any
 *	more. Any context
 * @wq: of the client
 * @calls: of the client
 * @sdev: the smartio device
 * @config: the parameters at its creation
 * @limits: of this session; queue sizes and identity are those of the first
 * @dma_dev: data is mapped for it
 * @max_bytes: of one request
 * @no_room: its queues did not fit
 * @small_requests: @max_bytes is less than it may be, for want of room
 * @small_queues: so are its queues
 * @access: NULL: this host may do all
 * @access_lock: one at a time changes @access and has @access_reply
 * @access_reply: of the manager
 * @access_work: fetches it again
 * @lock: protects all to @events_count
 * @state: see there
 * @gen: counts losses
 * @dropped: after a loss: the queues are still, held requests counted
 * @rejoin: after a loss: @lose_work queues the next attempt
 * @leaving: the controller is being deleted
 * @closed: no more losses: it is about to be freed
 * @why: of the loss
 * @requested: this host asked for the loss
 * @lost_at: time of the loss, in jiffies
 * @admin_live: admin commands may be relayed
 * @unanswered: one of them got no answer, since the last join began
 * @relays: those in flight
 * @relays_out: how many have not ended, also after a loss that failed them
 * @aer_armed: nvme-core has a request for an event out
 * @events: that came when it had not
 * @events_count: in @events
 * @cc: register
 * @loss_logged: the loss is in the log and in the counters
 * @join_logged: so is an attempt that failed, since it was up
 * @started: was up once: users may have seen it
 * @era: of its creation; a fence of this host since then ends the path. In
 *	client_drive.c, under its lock
 * @session: that requests were sent in; 0: none, or it is over. On @wq
 * @ended: after a loss: the session was ended, the link being up
 * @fenced: this host was fenced: the path fails held requests, and leaves
 * @expelled: the driver itself deletes it
 * @leave_by: when @leaving: until then it waits for others, in jiffies
 * @flushes: that another path does; in client_io.c, under its lock
 * @flushes_held: no more of them for now; likewise
 * @renumbering: all flushes go through the queues that are live, one each: those
 *	of queues that are not live any more have no other
 * @lose_work: on @wq
 * @revoke_work: on @wq; ends the session over another path
 * @fail_work: on @wq; held requests have waited long enough
 * @aborts: in flight
 * @admin_tags: admin queue
 * @io_tags: I/O queues
 * @nr_queues: with an interrupt; 0 to nr_queues - 1
 * @nr_poll: polled; those after them
 * @grouped: queues that have their CPUs, which stay as long as @nr_queues does
 * @max_queues: in @queues
 * @queues: all
 * @bounce: if data is copied
 * @pinned: bit 0: a module reference is held, the disk being claimed
 * @pin_work: drops the reference when the disk isn't claimed any more
 * @stats: counters, of each CPU
 */
struct snvme_path {
	struct nvme_ctrl ctrl;
	struct nvmf_ctrl_options opts;
	char traddr[96];
	struct snvme_client *client;
	const struct snvme_drive_ops *drive;
	void (*lose)(struct snvme_path *path, enum snvme_loss loss);
	struct workqueue_struct *wq;
	struct workqueue_struct *calls;
	struct smartio_device *sdev;
	struct snvme_config config;
	struct snvme_limits limits;
	struct device *dma_dev;
	u32 max_bytes;
	bool no_room;
	bool small_requests;
	bool small_queues;
	struct snvme_access __rcu *access;
	struct mutex access_lock;	/* who changes access */
	struct snvme_access_reply *access_reply;
	struct work_struct access_work;

	spinlock_t lock;	/* state, relays and events */
	enum snvme_state state;
	unsigned int gen;
	bool dropped;
	bool rejoin;
	bool leaving;
	bool closed;
	const char *why;
	bool requested;
	unsigned long lost_at;
	bool admin_live;
	bool unanswered;
	struct list_head relays;
	atomic_t relays_out;
	bool aer_armed;
	u32 events[SNVME_EVENTS];
	unsigned int events_count;

	u32 cc;
	bool loss_logged;
	bool join_logged;
	bool started;
	struct smartio_era era;
	u64 session;
	bool ended;
	bool fenced;
	bool expelled;
	unsigned long leave_by;
	struct list_head flushes;
	bool flushes_held;
	bool renumbering;
	struct work_struct lose_work;
	struct delayed_work revoke_work;
	struct delayed_work fail_work;
	atomic_t aborts;
	struct blk_mq_tag_set admin_tags;
	struct blk_mq_tag_set io_tags;
	unsigned int nr_queues;
	unsigned int nr_poll;
	unsigned int grouped;
	unsigned int max_queues;
	struct snvme_queue *queues;
	struct snvme_bounce bounce;
	unsigned long pinned;
	struct delayed_work pin_work;
	struct snvme_stats __percpu *stats;
};

static inline struct snvme_path *to_snvme_path(struct nvme_ctrl *ctrl)
{
	return container_of(ctrl, struct snvme_path, ctrl);
}

/* Any context. Each CPU has its own: no I/O writes to a line that others do. */
static inline void snvme_count(struct snvme_path *path, enum snvme_stat stat,
			       long n)
{
	this_cpu_add(path->stats->n[stat], n);
}

/* The sum of all CPUs. */
static inline long snvme_counted(struct snvme_path *path, enum snvme_stat stat)
{
	long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(path->stats, cpu)->n[stat]);
	return sum;
}

/* The kinds of mapping that an iod has to release. */
enum snvme_mapped {
	SNVME_MAPPED_NONE,
	SNVME_MAPPED_SLOT,
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
 * @len: bytes, if it is in one piece
 * @dma: address, then
 * @bounce: memory that it is copied through
 * @sgt: else: its pieces
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

/* client_dma.c */
int snvme_bounce_init(struct snvme_path *path);
void snvme_bounce_exit(struct snvme_path *path);
void snvme_slots_alloc(struct snvme_queue *q);
void snvme_slots_free(struct snvme_queue *q);
blk_status_t snvme_map(struct snvme_queue *q, struct request *rq);
void snvme_unmap(struct snvme_path *path, struct request *rq);

/* client_admin.c */
extern const struct blk_mq_ops snvme_admin_mq_ops;
size_t snvme_admin_cmd_size(void);
void snvme_relay_fail_all(struct snvme_path *path);
blk_status_t snvme_relay_rq(struct snvme_path *path, struct request *rq,
			    enum snvme_op op);
blk_status_t snvme_refuse_rq(struct request *rq, u16 status);
int snvme_access_init(struct snvme_path *path);
void snvme_access_exit(struct snvme_path *path);
int snvme_access_fetch(struct snvme_path *path);
void snvme_access_changed(struct snvme_path *path);
bool snvme_access_forbids(struct snvme_path *path, struct request *rq);

/* client_io.c */
extern const struct blk_mq_ops snvme_io_mq_ops;
extern const struct snvme_queue_ops snvme_io_queue_ops;
size_t snvme_io_cmd_size(struct snvme_path *path);
void snvme_io_init(struct snvme_path *path);
void snvme_io_exit(struct snvme_path *path);
bool snvme_flush_is_elsewhere(struct request *rq);
void snvme_flush_hold(struct snvme_path *path);
void snvme_flush_take_back(struct snvme_path *path);
void snvme_flush_release(struct snvme_path *path);

/* client_identity.c */
int snvme_attach(struct smartio_device *sdev, struct snvme_limits *limits);
bool snvme_limits_fit(struct snvme_path *path,
		      const struct snvme_limits *limits);
int snvme_identity_check(struct snvme_path *path);

/* client_path.c */
extern const char * const snvme_state_names[];
void snvme_path_init(struct snvme_path *path);
void snvme_path_lose(struct snvme_path *path, enum snvme_loss loss);
void snvme_path_failover(struct snvme_path *path);
unsigned int snvme_path_held(struct snvme_path *path);
void snvme_path_drop(struct snvme_path *path);
void snvme_path_stop(struct snvme_path *path);
void snvme_path_may_start(struct snvme_path *path);
int snvme_path_revoke(struct snvme_path *path);
void snvme_path_revoked(struct snvme_path *path, bool retry);
void snvme_path_expel(struct snvme_path *path);
void snvme_path_close(struct snvme_path *path);
int snvme_path_join(struct snvme_path *path, unsigned int gen,
		    const struct snvme_limits *limits);

/* client_ctrl.c */
int snvme_config_check(void);
void snvme_host_init(void);
struct snvme_path *snvme_path_create(struct snvme_client *client,
				     const struct snvme_drive_ops *drive,
				     const struct snvme_limits *limits);
void snvme_path_discard(struct snvme_path *path);
void snvme_path_event(struct snvme_path *path, u32 result);
void snvme_paths_wait(void);

/* client_drive.c */
struct snvme_path *snvme_client_path(struct snvme_client *client);
void snvme_client_init(struct snvme_client *client);
void snvme_client_kick(struct snvme_client *client);
void snvme_drive_add(struct snvme_client *client);
void snvme_drive_remove(struct snvme_client *client);
void snvme_drives_exit(void);

#endif /* _SMARTIO_NVME_CLIENT_H */
