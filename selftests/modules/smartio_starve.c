// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_starve: makes allocations fail in the scope of
 * smartio_recovery_begin(). Those of pages fail from an order on, as on a host
 * whose memory is fragmented. Or all of them fail, as on a host whose reserves
 * are used up. Those from slabs fail all, or only the n-th, or the first of each
 * function that asks. Or the first one fails for a new number of blk-mq's
 * queues. Or workqueues get no new thread, as on a host without memory for one,
 * and those that the unbound ones have are all taken. It remembers, too, where
 * workers of these drivers may reclaim, since they allocate outside that scope.
 */
#include <linux/cpu.h>
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smartio_recovery.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

static int order = -1;
module_param(order, int, 0644);
MODULE_PARM_DESC(order, "allocations of this order and above fail; -1: none");

static int slabs = -1;
module_param(slabs, int, 0644);
MODULE_PARM_DESC(slabs, "which allocation from slabs fails, of those in recovery: the number that 'pieces' has after it; 0: all; -1: none; -2: the first of each caller");

static int renumberings;
module_param(renumberings, int, 0644);
MODULE_PARM_DESC(renumberings, "calls of blk_mq_update_nr_hw_queues() in recovery whose first allocation from a slab fails");

static atomic_t pieces;
static atomic_t seen;
static atomic_t failed;

static int starve_count_get(char *buf, const struct kernel_param *param)
{
	return sysfs_emit(buf, "%d\n", atomic_read(param->arg));
}

static const struct kernel_param_ops starve_count_ops = {
	.get = starve_count_get,
};

module_param_cb(pieces, &starve_count_ops, &pieces, 0444);
MODULE_PARM_DESC(pieces, "allocations from slabs in recovery so far");
module_param_cb(seen, &starve_count_ops, &seen, 0444);
MODULE_PARM_DESC(seen, "allocations of pages in recovery so far");
module_param_cb(failed, &starve_count_ops, &failed, 0444);
MODULE_PARM_DESC(failed, "of those, failed by this module");

static atomic_t reserves;
module_param_cb(reserves, &starve_count_ops, &reserves, 0444);
MODULE_PARM_DESC(reserves, "allocations of pages in recovery, of more than SMARTIO_RECOVERY_SMALL each, that the reserves may serve");

static atomic_t slabs_failed;
module_param_cb(slabs_failed, &starve_count_ops, &slabs_failed, 0444);
MODULE_PARM_DESC(slabs_failed, "allocations from slabs, failed by this module");

static atomic_t threads_failed;
module_param_cb(threads_failed, &starve_count_ops, &threads_failed, 0444);
MODULE_PARM_DESC(threads_failed, "threads of workqueues, failed by this module");

/* In place of the allocator. */
static noinline notrace void *starve_nothing(void)
{
	atomic_inc(&failed);
	return NULL;
}

static noinline notrace void *starve_no_slab(void)
{
	atomic_inc(&slabs_failed);
	return NULL;
}

static noinline notrace void *starve_no_thread(void)
{
	atomic_inc(&threads_failed);
	return ERR_PTR(-ENOMEM);
}

static bool starve_in_recovery(void)
{
	const unsigned int scope = PF_MEMALLOC | PF_MEMALLOC_NOIO |
				   PF_WQ_WORKER;
	unsigned int context = irq_count();

	/* a breakpoint's handler counts as an NMI (exc_int3()) */
	if (in_nmi())
		context -= NMI_OFFSET + HARDIRQ_OFFSET;
	return !context && (current->flags & scope) == scope;
}

static unsigned long starve_callers[256];
static DEFINE_RAW_SPINLOCK(starve_lock);

/*
 * Probes take it, too. To lockdep they are NMIs, where no lock may be waited
 * for that other code holds, but one may be tried. Who has this one comes to no
 * probe, and so gives it back.
 */
static unsigned long starve_lock_take(void)
	__acquires(&starve_lock)
{
	unsigned long flags;

	local_irq_save(flags);
	while (!raw_spin_trylock(&starve_lock))
		cpu_relax();
	return flags;
}

static void starve_lock_give(unsigned long flags)
	__releases(&starve_lock)
{
	raw_spin_unlock(&starve_lock);
	local_irq_restore(flags);
}

/**
 * struct starve_place - where a worker of these drivers may reclaim
 * @work: the outermost of their functions
 * @asks: the innermost of them
 */
struct starve_place {
	unsigned long work;
	unsigned long asks;
};

static bool watch;
static struct starve_place starve_places[128];
static int starve_places_seen;

static bool starve_is_driver(unsigned long address)
{
	char name[KSYM_SYMBOL_LEN];

	if (address < MODULES_VADDR || address >= MODULES_END)
		return false;
	sprint_symbol(name, address);
	return strstr(name, "[ntb_smartio]") || strstr(name, "[smartio]") ||
	       strstr(name, "[smartio_nvme]") ||
	       strstr(name, "[smartio_nvme_mgr]");
}

/* Remembers @place, once. */
static void starve_place_add(struct starve_place place)
{
	unsigned long flags;
	int i;

	flags = starve_lock_take();
	for (i = 0; i < starve_places_seen; i++)
		if (starve_places[i].work == place.work &&
		    starve_places[i].asks == place.asks)
			break;
	if (i == starve_places_seen && i < ARRAY_SIZE(starve_places))
		starve_places[starve_places_seen++] = place;
	starve_lock_give(flags);
}

/* An allocation outside recovery. */
static void starve_outside(gfp_t gfp)
{
	struct starve_place place = {};
	unsigned long stack[48];
	unsigned int count, i;

	if (!READ_ONCE(watch) || !(current->flags & PF_WQ_WORKER) ||
	    !(gfp & __GFP_DIRECT_RECLAIM))
		return;
	count = stack_trace_save(stack, ARRAY_SIZE(stack), 0);
	for (i = 0; i < count; i++) {
		if (!starve_is_driver(stack[i]))
			continue;
		place.work = stack[i];
		if (!place.asks)
			place.asks = stack[i];
	}
	if (place.work)
		starve_place_add(place);
}

static int starve_watch_set(const char *val, const struct kernel_param *param)
{
	unsigned long flags;

	flags = starve_lock_take();
	starve_places_seen = 0;
	starve_lock_give(flags);
	return param_set_bool(val, param);
}

static const struct kernel_param_ops starve_watch_ops = {
	.set = starve_watch_set,
	.get = param_get_bool,
};

module_param_cb(watch, &starve_watch_ops, &watch, 0644);
MODULE_PARM_DESC(watch, "remember from now on where workers of the drivers may reclaim");

static int starve_outside_get(char *buf, const struct kernel_param *param)
{
	int i, length = 0;

	for (i = 0; i < READ_ONCE(starve_places_seen); i++)
		length += sysfs_emit_at(buf, length, "%ps %ps\n",
					(void *)starve_places[i].work,
					(void *)starve_places[i].asks);
	return length;
}

static const struct kernel_param_ops starve_outside_ops = {
	.get = starve_outside_get,
};

module_param_cb(outside, &starve_outside_ops, NULL, 0444);
MODULE_PARM_DESC(outside, "where workers of the drivers may reclaim: the first and the last of their functions");

/* Whether it is the first time that this one asks. */
static bool starve_first(unsigned long caller)
{
	unsigned long flags;
	bool first = false;
	int i;

	flags = starve_lock_take();
	for (i = 0; i < ARRAY_SIZE(starve_callers); i++) {
		if (starve_callers[i] == caller)
			break;
		if (!starve_callers[i]) {
			starve_callers[i] = caller;
			first = true;
			break;
		}
	}
	starve_lock_give(flags);
	return first;
}

/* Has called blk_mq_update_nr_hw_queues(), and allocated nothing since. */
static struct task_struct *starve_renumbers;

static bool starve_this(int number, struct pt_regs *regs)
{
	int which = READ_ONCE(slabs);

	if (READ_ONCE(starve_renumbers) == current) {
		WRITE_ONCE(starve_renumbers, NULL);
		return true;
	}
	if (which == -2)	/* on the stack is where it returns to */
		return starve_first(regs_get_kernel_stack_nth(regs, 0));
	return !which || which == number;
}

/*
 * Arguments that some kernels give an allocator between the size and gfp: which
 * caches of that size it takes.
 */
#define STARVE_BUCKET	IS_ENABLED(CONFIG_SLAB_BUCKETS)
#define STARVE_TOKEN	IS_ENABLED(CONFIG_KMALLOC_PARTITION_CACHES)

/**
 * struct starve_slab - a function that allocates from a slab
 * @probe: at its entry
 * @gfp: which argument that is, from 0 on
 */
struct starve_slab {
	struct kprobe probe;
	unsigned int gfp;
};

static int starve_piece(struct kprobe *probe, struct pt_regs *regs)
{
	struct starve_slab *slab = container_of(probe, struct starve_slab,
						probe);
	gfp_t gfp = (__force gfp_t)regs_get_kernel_argument(regs, slab->gfp);

	if (!starve_in_recovery()) {
		starve_outside(gfp);
		return 0;
	}
	if (gfp & __GFP_NOFAIL ||
	    !starve_this(atomic_inc_return(&pieces), regs))
		return 0;
	instruction_pointer_set(regs, (unsigned long)starve_no_slab);
	return 1;
}

static int starve_page(struct pt_regs *regs, int asked)
{
	gfp_t gfp = (__force gfp_t)regs_get_kernel_argument(regs, 0);
	int from = READ_ONCE(order);

	if (!starve_in_recovery()) {
		starve_outside(gfp);
		return 0;
	}
	atomic_inc(&seen);
	if (PAGE_SIZE << asked > SMARTIO_RECOVERY_SMALL &&
	    !(gfp & __GFP_NOMEMALLOC))
		atomic_inc(&reserves);
	if (from < 0 || asked < from || gfp & __GFP_NOFAIL)
		return 0;
	instruction_pointer_set(regs, (unsigned long)starve_nothing);
	return 1;
}

static int starve_handler(struct kprobe *probe, struct pt_regs *regs)
{
	return starve_page(regs, regs_get_kernel_argument(regs, 1));
}

/* Those of vmalloc(): it takes none, and asks for one by one then. */
static int starve_many(struct kprobe *probe, struct pt_regs *regs)
{
	return starve_page(regs, 0);
}

static int starve_renumber(struct kprobe *probe, struct pt_regs *regs)
{
	if (!starve_in_recovery() || READ_ONCE(renumberings) <= 0)
		return 0;
	WRITE_ONCE(renumberings, renumberings - 1);
	WRITE_ONCE(starve_renumbers, current);
	return 0;
}

/**
 * struct starve_taker - takes one thread of a pool, until starve_threads_give()
 * @work: the thread waits in it
 * @node: in starve_takers
 * @begun: whether a thread does it
 * @pool: name of its pool, with which the names of the threads begin
 */
struct starve_taker {
	struct work_struct work;
	struct list_head node;
	bool begun;
	char pool[TASK_COMM_LEN];
};

/* After the name of its pool, the name of a thread has this, and a number. */
#define STARVE_POOL_END		':'
/* No pool has as many threads. */
#define STARVE_TAKERS_MAX	512
/* Time for a thread to begin, or to fail to make another one. */
#define STARVE_LOOK		(HZ / 50)
#define STARVE_LOOKS		1000

static bool threads;
static struct workqueue_struct *starve_wq;
static LIST_HEAD(starve_takers);
static DECLARE_WAIT_QUEUE_HEAD(starve_wait);
/* Has the name of the pool of unbound workqueues that its CPU asks. */
static DEFINE_PER_CPU(struct starve_taker, starve_first_taker);
/* The pool whose threads are being taken; whether it failed to make one. */
static const char *starve_pool;
static bool starve_pool_empty;

/* The last idle thread of a pool makes another one before it does any work. */
static int starve_thread(struct kprobe *probe, struct pt_regs *regs)
{
	const char *pool = READ_ONCE(starve_pool);
	size_t length;

	if (!READ_ONCE(threads) || !(current->flags & PF_WQ_WORKER))
		return 0;
	if (pool) {
		length = strlen(pool);
		if (!strncmp(current->comm, pool, length) &&
		    current->comm[length] == STARVE_POOL_END)
			WRITE_ONCE(starve_pool_empty, true);
	}
	instruction_pointer_set(regs, (unsigned long)starve_no_thread);
	return 1;
}

static void starve_take(struct work_struct *work)
{
	struct starve_taker *taker = container_of(work, struct starve_taker,
						  work);
	char *end;

	strscpy(taker->pool, current->comm, sizeof(taker->pool));
	end = strchr(taker->pool, STARVE_POOL_END);
	if (end)
		*end = '\0';
	WRITE_ONCE(taker->begun, true);
	wake_up_all(&starve_wait);
	wait_event_idle(starve_wait, !READ_ONCE(threads));
}

static struct starve_taker *starve_taker_begin(int cpu)
{
	struct starve_taker *taker = kzalloc(sizeof(*taker), GFP_KERNEL);

	if (!taker)
		return NULL;
	INIT_WORK(&taker->work, starve_take);
	list_add(&taker->node, &starve_takers);
	queue_work_on(cpu, starve_wq, &taker->work);
	return taker;
}

/* The pools have their threads again. */
static void starve_threads_give(void)
{
	struct starve_taker *taker, *next;

	WRITE_ONCE(threads, false);
	WRITE_ONCE(starve_pool, NULL);
	wake_up_all(&starve_wait);
	flush_workqueue(starve_wq);
	list_for_each_entry_safe(taker, next, &starve_takers, node) {
		list_del(&taker->node);
		kfree(taker);
	}
}

/* While a pool makes threads, its first taker begins, and ends at once. */
static void starve_pool_name(int cpu)
{
	struct starve_taker *first = per_cpu_ptr(&starve_first_taker, cpu);

	INIT_WORK(&first->work, starve_take);
	queue_work_on(cpu, starve_wq, &first->work);
	flush_work(&first->work);
}

/* Takes all threads of the pool of unbound workqueues that @cpu asks. */
static int starve_pool_take(int cpu)
{
	struct starve_taker *taker;
	int n, i;

	WRITE_ONCE(starve_pool, NULL);
	WRITE_ONCE(starve_pool_empty, false);
	WRITE_ONCE(starve_pool, per_cpu_ptr(&starve_first_taker, cpu)->pool);
	for (n = 0; n < STARVE_TAKERS_MAX; n++) {
		taker = starve_taker_begin(cpu);
		if (!taker)
			return -ENOMEM;
		/* a probe must not wake it: it looks for an empty pool */
		for (i = 0; i < STARVE_LOOKS; i++)
			if (wait_event_timeout(starve_wait,
					       READ_ONCE(taker->begun) ||
					       READ_ONCE(starve_pool_empty),
					       STARVE_LOOK))
				break;
		if (i == STARVE_LOOKS)
			return -ETIMEDOUT;
		if (!READ_ONCE(taker->begun))
			return 0;
	}
	return -ENOSPC;
}

static int starve_threads_take(void)
{
	int cpu, rc = 0;

	cpus_read_lock();
	for_each_online_cpu(cpu)
		starve_pool_name(cpu);
	WRITE_ONCE(threads, true);
	for_each_online_cpu(cpu) {
		rc = starve_pool_take(cpu);
		if (rc)
			break;
	}
	cpus_read_unlock();
	if (rc)
		starve_threads_give();
	return rc;
}

static int starve_threads_set(const char *val, const struct kernel_param *param)
{
	bool on;
	int rc;

	rc = kstrtobool(val, &on);
	if (rc)
		return rc;
	if (!starve_wq)		/* a parameter of modprobe */
		return -EAGAIN;
	if (on && !threads)
		return starve_threads_take();
	if (!on)
		starve_threads_give();
	return 0;
}

static const struct kernel_param_ops starve_threads_ops = {
	.set = starve_threads_set,
	.get = param_get_bool,
};

module_param_cb(threads, &starve_threads_ops, &threads, 0644);
MODULE_PARM_DESC(threads, "all threads that unbound workqueues have are taken, and new ones fail");

/*
 * A kernel without ftrace makes a jump of a probe that has no such handler, and
 * that jump ignores where starve_handler() continues (kprobes.rst).
 */
static void starve_after(struct kprobe *probe, struct pt_regs *regs,
			 unsigned long flags)
{
}

/* Allocations of pages come through this, those of slabs as well. */
#ifdef SMARTIO_LINUX_7
#define STARVE_PAGES	"__alloc_frozen_pages_noprof"
#else
#define STARVE_PAGES	"__alloc_pages_noprof"
#endif

static struct kprobe starve_pages = {
	.symbol_name = STARVE_PAGES,
	.pre_handler = starve_handler,
	.post_handler = starve_after,
};

static struct kprobe starve_bulk = {
	.symbol_name = "alloc_pages_bulk_noprof",
	.pre_handler = starve_many,
	.post_handler = starve_after,
};

#define STARVE_SLAB(function, argument) {		\
	.probe = {					\
		.symbol_name = function,		\
		.pre_handler = starve_piece,		\
		.post_handler = starve_after,		\
	},						\
	.gfp = argument,				\
}

/* None of them calls another one. */
static struct starve_slab starve_slabs[] = {
	/* kmalloc() of a size that the compiler knows, and of one that it doesn't */
	STARVE_SLAB("__kmalloc_cache_noprof", 1),
	STARVE_SLAB("__kmalloc_noprof", 1 + STARVE_TOKEN),
	STARVE_SLAB("__kmalloc_cache_node_noprof", 1),
	STARVE_SLAB("__kmalloc_node_noprof", 1 + STARVE_BUCKET + STARVE_TOKEN),
	/* kmemdup(), kstrdup(), kasprintf(), the data of a socket buffer */
	STARVE_SLAB("__kmalloc_node_track_caller_noprof",
		    1 + STARVE_BUCKET + STARVE_TOKEN),
	STARVE_SLAB("kmem_cache_alloc_noprof", 1),
	STARVE_SLAB("kmem_cache_alloc_node_noprof", 1),
	/* nodes of an xarray */
	STARVE_SLAB("kmem_cache_alloc_lru_noprof", 2),
	/* says that it has allocated none */
	STARVE_SLAB("kmem_cache_alloc_bulk_noprof", 1),
#ifdef SMARTIO_LINUX_7
	/* before, kvmalloc() called __kmalloc_node_noprof() */
	STARVE_SLAB("__kvmalloc_node_noprof",
		    2 + STARVE_BUCKET + STARVE_TOKEN),
#endif
};

static struct kprobe starve_queues = {
	.symbol_name = "blk_mq_update_nr_hw_queues",
	.pre_handler = starve_renumber,
	.post_handler = starve_after,
};

static struct kprobe starve_threads = {
	.symbol_name = "kthread_create_on_node",
	.pre_handler = starve_thread,
	.post_handler = starve_after,
};

static struct kprobe *starve_probes[4 + ARRAY_SIZE(starve_slabs)] = {
	&starve_pages, &starve_bulk, &starve_queues, &starve_threads,
};

static int __init starve_init(void)
{
	int i, rc;

	/* with the attributes, and so the threads, of the drivers' workqueues */
	starve_wq = alloc_workqueue("smartio_starve", WQ_UNBOUND, 0);
	if (!starve_wq)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(starve_slabs); i++)
		starve_probes[4 + i] = &starve_slabs[i].probe;
	rc = register_kprobes(starve_probes, ARRAY_SIZE(starve_probes));
	if (rc)
		destroy_workqueue(starve_wq);
	return rc;
}
module_init(starve_init);

static void __exit starve_exit(void)
{
	starve_threads_give();
	unregister_kprobes(starve_probes, ARRAY_SIZE(starve_probes));
	destroy_workqueue(starve_wq);
}
module_exit(starve_exit);

MODULE_DESCRIPTION("smartio test: recovery without memory");
MODULE_LICENSE("GPL");
