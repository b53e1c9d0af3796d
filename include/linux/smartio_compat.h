/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where Linux 6.12 and the kernel of Debian 13's backports (7.3) differ in what
 * these modules use. Written for these two; the kernels between were not tried.
 * Kbuild defines SMARTIO_LINUX_7.
 * What differs in nvme-core's private parts is in drivers/smartio_nvme/nvme_core.h.
 */
#ifndef _LINUX_SMARTIO_COMPAT_H
#define _LINUX_SMARTIO_COMPAT_H

#include <linux/blk-mq.h>
#include <linux/fs.h>
#include <linux/group_cpus.h>
#include <linux/hrtimer.h>
#include <linux/irq.h>

#ifdef SMARTIO_LINUX_7

#include <linux/fs_struct.h>

/* The arguments of iommu_domain_ops.attach_dev: the old domain comes along. */
#define COMPAT_ATTACH_ARGS \
	struct iommu_domain *domain, struct device *dev, \
	struct iommu_domain *old

/* The type of the node argument of blk_mq_ops.init_request. */
#define compat_node_t int

/* The status of a rq_end_io_fn, and what comes behind it. */
#define COMPAT_END_IO_ERROR \
	blk_status_t error, const struct io_comp_batch *batch

static inline int compat_rq_map_sg(struct request *rq, struct scatterlist *sgl)
{
	return blk_rq_map_sg(rq, sgl);
}

static inline int compat_rq_map_kern(struct request *rq, void *data,
				     unsigned int size, gfp_t gfp)
{
	return blk_rq_map_kern(rq, data, size, gfp);
}

/* @made: of how many groups the masks are, 1 to @groups. */
static inline struct cpumask *compat_group_cpus(unsigned int groups,
						unsigned int *made)
{
	struct cpumask *masks = group_cpus_evenly(groups, made);

	if (!*made) {
		kfree(masks);
		return NULL;
	}
	return masks;
}

/* It may move in process context: so it is unless its chip says otherwise. */
static inline void compat_irq_moves_at_once(unsigned int virq)
{
}

/*
 * Kernel threads have an empty root of their own here. The files of user space
 * are below init's.
 */
static inline struct file *compat_filp_open(const char *name, int flags,
					    umode_t mode)
{
	struct file *file = NULL;

	scoped_with_init_fs()
		file = filp_open(name, flags, mode);
	return file;
}

#else

#define COMPAT_ATTACH_ARGS struct iommu_domain *domain, struct device *dev

#define compat_node_t unsigned int

#define COMPAT_END_IO_ERROR blk_status_t error

static inline int compat_rq_map_sg(struct request *rq, struct scatterlist *sgl)
{
	return blk_rq_map_sg(rq->q, rq, sgl);
}

static inline int compat_rq_map_kern(struct request *rq, void *data,
				     unsigned int size, gfp_t gfp)
{
	return blk_rq_map_kern(rq->q, rq, data, size, gfp);
}

static inline struct cpumask *compat_group_cpus(unsigned int groups,
						unsigned int *made)
{
	*made = groups;
	return group_cpus_evenly(groups);
}

static inline void compat_irq_moves_at_once(unsigned int virq)
{
	irq_set_status_flags(virq, IRQ_MOVE_PCNTXT);
}

static inline struct file *compat_filp_open(const char *name, int flags,
					    umode_t mode)
{
	return filp_open(name, flags, mode);
}

static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}

#endif

#endif /* _LINUX_SMARTIO_COMPAT_H */
