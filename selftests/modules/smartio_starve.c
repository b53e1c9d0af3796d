// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_starve: makes allocations fail in the scope of
 * smartio_recovery_begin(). Those of pages fail from an order on, as on a host
 * whose memory is fragmented. Or all of them fail, as on a host whose reserves
 * are used up. Those from slabs fail all, or only the n-th, or the first of each
 * function that asks. Or the first one fails for a new number of blk-mq's
 * queues. Or workqueues get no new thread, as on a host without memory for one.
 */
#include <linux/err.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/smartio_recovery.h>

static int order = -1;
module_param(order, int, 0644);
MODULE_PARM_DESC(order, "allocations of this order and above fail; -1: none");

static int slabs = -1;
module_param(slabs, int, 0644);
MODULE_PARM_DESC(slabs, "which allocation from slabs fails, of those in recovery: the number that 'pieces' has after it; 0: all; -1: none; -2: the first of each caller");

static int renumberings;
module_param(renumberings, int, 0644);
MODULE_PARM_DESC(renumberings, "calls of blk_mq_update_nr_hw_queues() in recovery whose first allocation from a slab fails");

static bool threads;
module_param(threads, bool, 0644);
MODULE_PARM_DESC(threads, "new threads of workqueues fail");

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

/* Whether it is the first time that this one asks. */
static bool starve_first(unsigned long caller)
{
	unsigned long flags;
	bool first = false;
	int i;

	raw_spin_lock_irqsave(&starve_lock, flags);
	for (i = 0; i < ARRAY_SIZE(starve_callers); i++) {
		if (starve_callers[i] == caller)
			break;
		if (!starve_callers[i]) {
			starve_callers[i] = caller;
			first = true;
			break;
		}
	}
	raw_spin_unlock_irqrestore(&starve_lock, flags);
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

	if (!starve_in_recovery())
		return 0;
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

	if (!starve_in_recovery())
		return 0;
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

/* A pool's workers make its next one. */
static int starve_thread(struct kprobe *probe, struct pt_regs *regs)
{
	if (!READ_ONCE(threads) || !(current->flags & PF_WQ_WORKER))
		return 0;
	instruction_pointer_set(regs, (unsigned long)starve_no_thread);
	return 1;
}

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
	int i;

	for (i = 0; i < ARRAY_SIZE(starve_slabs); i++)
		starve_probes[4 + i] = &starve_slabs[i].probe;
	return register_kprobes(starve_probes, ARRAY_SIZE(starve_probes));
}
module_init(starve_init);

static void __exit starve_exit(void)
{
	unregister_kprobes(starve_probes, ARRAY_SIZE(starve_probes));
}
module_exit(starve_exit);

MODULE_DESCRIPTION("smartio test: recovery without memory");
MODULE_LICENSE("GPL");
