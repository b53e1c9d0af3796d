/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What these modules take from nvme-core's private parts (Linux 6.12, 7.3), the
 * functions of drivers/nvme/host/nvme.h for transports aside: those are in a
 * private header only because all other transports are in its folder. Each
 * entry names the patch to nvme-core that would replace it.
 *
 * Fields of struct nvme_ctrl and nvme_request that nvme-pci and the fabrics'
 * transports use, too (tagset, queue_count, sqsize …), are used in place. The
 * table of quirks that the manager reads (mgr_quirks_of_driver()) is private to
 * nvme-pci.
 */
#ifndef _SMARTIO_NVME_CORE_H
#define _SMARTIO_NVME_CORE_H

#include <linux/blk-mq.h>
#include <linux/smartio_compat.h>

#include "nvme.h"
#include "fabrics.h"

/*
 * Calls @fn for each namespace until it returns something else than 0. @fn may
 * sleep. Patch: export this iterator; the identity check would then be
 * nvme_init_ctrl_finish()'s own.
 */
static inline int snvme_core_each_ns(struct nvme_ctrl *ctrl,
				     int (*fn)(struct nvme_ns *ns, void *data),
				     void *data)
{
	struct nvme_ns *ns;
	int ret = 0, idx;

	idx = srcu_read_lock(&ctrl->srcu);
	list_for_each_entry_srcu(ns, &ctrl->namespaces, list,
				 srcu_read_lock_held(&ctrl->srcu)) {
		ret = fn(ns, data);
		if (ret)
			break;
	}
	srcu_read_unlock(&ctrl->srcu, idx);
	return ret;
}

/*
 * PRP lists have pages of 4 KiB. Linux 7 asks a transport for its boundary,
 * without looking whether it answers; 6.12 has this one for all. Patch: a
 * transport without that operation gets the boundary of 6.12.
 */
#ifdef SMARTIO_LINUX_7
#define SNVME_CORE_VIRT_BOUNDARY .get_virt_boundary = nvme_get_virt_boundary,
#else
#define SNVME_CORE_VIRT_BOUNDARY
#endif

static inline int snvme_core_wait_freeze_ns(struct nvme_ns *ns, void *data)
{
	long *left = data;

	*left = blk_mq_freeze_queue_wait_timeout(ns->queue, *left);
	return *left <= 0;
}

/*
 * Waits until no request is in any namespace's queue. Return: jiffies left, or
 * 0. nvme_wait_freeze_timeout() of Linux 7 has no argument: it waits as long as
 * an I/O may take. Patch: give it its argument again.
 */
static inline long snvme_core_wait_freeze(struct nvme_ctrl *ctrl, long timeout)
{
	snvme_core_each_ns(ctrl, snvme_core_wait_freeze_ns, &timeout);
	return timeout;
}

/*
 * nvme_ns_head_submit_bio() keeps a bio without a path, and a worker sends it
 * again. If that bio has REQ_NOWAIT (io_uring), it ends with EAGAIN at a full
 * queue or a frozen disk. Its submission has succeeded long before.
 * nvme_failover_req() clears the flag, nvme_ns_head_submit_bio() does not.
 * Patch: one line there.
 */
static inline int snvme_core_may_wait_ns(struct nvme_ns *ns, void *data)
{
	struct nvme_ns_head *head = ns->head;
	struct bio *bio;

	if (!head->disk)
		return 0;
	spin_lock_irq(&head->requeue_lock);
	bio_list_for_each(bio, &head->requeue_list)
		bio->bi_opf &= ~REQ_NOWAIT;
	spin_unlock_irq(&head->requeue_lock);
	return 0;
}

/* Requests that wait for a path to a controller's disks may wait. May sleep. */
static inline void snvme_core_may_wait(struct nvme_ctrl *ctrl)
{
	snvme_core_each_ns(ctrl, snvme_core_may_wait_ns, NULL);
}

/*
 * Whether a file system, a volume manager or swap has claimed the disk. The
 * multipath disk holds no reference on the modules of its paths, and no
 * operation reports an open. Patch: nvme_ns_head_open() takes one for each
 * path, as nvme_open() does.
 */
static inline bool snvme_core_claimed(const struct nvme_ns *ns)
{
	const struct gendisk *disk = ns->head->disk;

	return disk && READ_ONCE(disk->part0->bd_holder);
}

/*
 * nvme_failover_req() acknowledges a request without a bio: the block layer's
 * flush. Without this flag the flush stays with its path. Patch:
 * nvme_failover_req() sends a flush over another path.
 */
static inline void snvme_core_flush_stays(struct request *rq)
{
	rq->cmd_flags &= ~REQ_NVME_MPATH;
}

/*
 * A flush request on another path of the namespace that is up; NULL: none.
 * @later: one may come soon; with @coming also on a path that is not up yet.
 * Patch: as above.
 */
static inline struct request *snvme_core_flush_clone(struct nvme_ns *ns,
						     bool coming, bool *later)
{
	struct nvme_command cmd = {
		.common.opcode = nvme_cmd_flush,
		.common.nsid = cpu_to_le32(ns->head->ns_id),
	};
	struct request *clone = NULL;
	enum nvme_ctrl_state state;
	struct nvme_ns *other;
	int idx;

	*later = false;
	idx = srcu_read_lock(&ns->head->srcu);
	list_for_each_entry_srcu(other, &ns->head->list, siblings,
				 srcu_read_lock_held(&ns->head->srcu)) {
		if (other == ns)
			continue;
		state = nvme_ctrl_state(other->ctrl);
		if (state != NVME_CTRL_LIVE ||
		    !test_bit(NVME_NS_READY, &other->flags)) {
			*later |= coming && (state == NVME_CTRL_LIVE ||
					     state == NVME_CTRL_RESETTING ||
					     state == NVME_CTRL_CONNECTING);
			continue;
		}
		*later = true;
		clone = blk_mq_alloc_request(other->queue, REQ_OP_DRV_IN,
					     BLK_MQ_REQ_NOWAIT);
		if (!IS_ERR(clone))
			break;
		clone = NULL;
	}
	srcu_read_unlock(&ns->head->srcu, idx);
	if (clone)
		nvme_init_request(clone, &cmd);
	return clone;
}

/*
 * Deletion by the driver. nvme_delete_ctrl() queues the work before the caller
 * knows whether the deletion is its own. Return: whether it is; then
 * snvme_core_delete() must follow. Patch: an argument that ops->delete_ctrl
 * gets.
 */
static inline bool snvme_core_delete_begin(struct nvme_ctrl *ctrl)
{
	return nvme_change_ctrl_state(ctrl, NVME_CTRL_DELETING);
}

static inline void snvme_core_delete(struct nvme_ctrl *ctrl)
{
	queue_work(nvme_delete_wq, &ctrl->delete_work);
}

/*
 * A path that is DELETING is chosen by multipath still, and a bio would spin on
 * it, since its queues take nothing. Patch: a flag of the controller for
 * nvme_path_is_disabled().
 */
static inline void snvme_core_delete_noio(struct nvme_ctrl *ctrl)
{
	nvme_change_ctrl_state(ctrl, NVME_CTRL_DELETING_NOIO);
}

/*
 * The driver is being removed, which that work must not outlive. Patch:
 * ops->free_ctrl as the only end that a transport waits for.
 */
static inline void snvme_core_delete_wait(struct nvme_ctrl *ctrl)
{
	flush_work(&ctrl->delete_work);
}

/*
 * Waits at most @timeout jiffies until @condition holds, which changes of the
 * controller's state make true. Value as of wait_event_timeout(). Patch: export
 * a function that waits for a state, as nvme_wait_reset() does for one.
 */
#define snvme_core_wait_state(ctrl, condition, timeout) \
	wait_event_timeout((ctrl)->state_wq, condition, timeout)

/*
 * The events that the controller reports, as Identify says (OAES, NVM Express
 * Base 2.0 section 5.17.2.1). nvme_enable_aen() knows them, but does not say
 * whether it has asked for any. Patch: its result.
 */
static inline u32 snvme_core_events(const struct nvme_ctrl *ctrl)
{
	return ctrl->oaes;
}

/*
 * nvme_enable_aen() submits no request for events if the controller has only
 * events that are always on. Patch: it queues the work in any case.
 */
static inline void snvme_core_request_event(struct nvme_ctrl *ctrl)
{
	queue_work(nvme_wq, &ctrl->async_event_work);
}

/*
 * The queue of commands is about to be freed: the work that submits the request
 * for events must not run any more. nvme_stop_ctrl() flushes it, but stops other
 * work as well. No recovery: that work allocates. Patch: export a function that
 * flushes it.
 */
static inline void snvme_core_flush_events(struct nvme_ctrl *ctrl)
{
	flush_work(&ctrl->async_event_work);
}

/*
 * Whether nvme-core asked for the namespaces' descriptors, as in
 * nvme_identify_ns_descs(). A drive that can't answer is not asked again.
 * Patch: the identity check is nvme_init_ctrl_finish()'s own.
 */
static inline bool snvme_core_has_descriptors(struct nvme_ctrl *ctrl)
{
	return (ctrl->vs >= NVME_VS(1, 3, 0) || nvme_multi_css(ctrl)) &&
	       !(ctrl->quirks & NVME_QUIRK_NO_NS_DESC_LIST);
}

/*
 * Whether the drive's identifiers of namespaces mean nothing: nvme-core has
 * stored none. Patch: as above.
 */
static inline bool snvme_core_ids_bogus(const struct nvme_ctrl *ctrl)
{
	return ctrl->quirks & NVME_QUIRK_BOGUS_NID;
}

/*
 * A namespace's identifiers, and its number, as nvme-core found them first: all
 * paths share them in the head. Patch: as above.
 */
static inline const struct nvme_ns_ids *
snvme_core_ns_ids(const struct nvme_ns *ns)
{
	return &ns->head->ids;
}

static inline u32 snvme_core_nsid(const struct nvme_ns *ns)
{
	return ns->head->ns_id;
}

/*
 * Whether Identify Controller is of the drive that nvme-core found first: the
 * subsystem keeps serial number and model. Patch: as above.
 */
static inline bool snvme_core_same_drive(const struct nvme_ctrl *ctrl,
					 const struct nvme_id_ctrl *id)
{
	return !memcmp(id->sn, ctrl->subsys->serial, sizeof(id->sn)) &&
	       !memcmp(id->mn, ctrl->subsys->model, sizeof(id->mn));
}

/* Its serial number, 20 characters, for the log. Patch: as above. */
static inline const char *snvme_core_serial(const struct nvme_ctrl *ctrl)
{
	return ctrl->subsys->serial;
}

/*
 * The subsystem's name, which nvme-core makes up for a drive that has none.
 * Patch: export a function that returns it.
 */
static inline const char *snvme_core_subnqn(const struct nvme_ctrl *ctrl)
{
	return ctrl->subsys->subnqn;
}

/*
 * Options as a fabrics controller has them, without being one (no Connect, no
 * keep-alive): deletion by a user, and fast_io_fail_tmo, reconnect_delay and
 * ctrl_loss_tmo in sysfs, need ctrl->opts. Patch: those three as fields of
 * struct nvme_ctrl.
 */
static inline void snvme_core_options(struct nvme_ctrl *ctrl,
				      struct nvmf_ctrl_options *opts,
				      struct nvmf_host *host, char *traddr,
				      char *subnqn, int fast_io_fail_tmo)
{
	*opts = (struct nvmf_ctrl_options){
		.transport = "smartio",
		.traddr = traddr,
		.subsysnqn = subnqn,
		.host = host,
		.max_reconnects = -1,
		.reconnect_delay = 1,
		.fast_io_fail_tmo = fast_io_fail_tmo,
	};
	ctrl->opts = opts;
}

/*
 * nvme-core counts I/O for the disk itself; blk-mq would count it a second time
 * for a path's queue. Only while the queue is made: it has no user yet.
 * Patch: nvme_alloc_ns() leaves BLK_FEAT_IO_STAT out for a hidden disk.
 */
static inline void snvme_core_no_iostats(struct request_queue *queue)
{
	if (blk_queue_io_stat(queue) && !blk_queue_registered(queue))
		queue->limits.features &= ~BLK_FEAT_IO_STAT;
}

/*
 * A CPU that is the last of a hardware queue waits, when it goes offline, until
 * the queue has no request: for the sake of managed interrupts, which go with
 * it. Here a lost path may hold requests for long, with CPU hotplug stopped for
 * all meanwhile; and interrupts move, see smartio_irq_alloc().
 * Before the first queue of the tag set. Patch: a flag of blk-mq that says just
 * that; drivers that stack on others have this one.
 */
static inline void snvme_core_no_offline_wait(struct blk_mq_tag_set *set)
{
	set->flags |= BLK_MQ_F_STACKING;
}

/*
 * The drive's events reach the clients, which do not run while firmware is
 * activated: nvme-core's handling of that event must not start. Patch: a quirk.
 */
static inline void snvme_core_no_firmware_events(struct nvme_ctrl *ctrl)
{
	ctrl->oaes &= NVME_AEN_CFG_NS_ATTR;
}

/*
 * A reset that has failed is tried again, and CONNECTING is no state from which
 * nvme_reset_ctrl() starts one. Patch: none; nvme-pci gives up here.
 */
static inline void snvme_core_reset_again(struct nvme_ctrl *ctrl)
{
	queue_work(nvme_reset_wq, &ctrl->reset_work);
}

/* Linux 7 needs no word that an admin queue has no scheduler. */
#ifdef SMARTIO_LINUX_7
#define SNVME_CORE_ADMIN_FLAGS	0
#else
#define SNVME_CORE_ADMIN_FLAGS	BLK_MQ_F_NO_SCHED
#endif

/*
 * nvme_alloc_admin_tag_set() keeps no tags back for a driver of PCI, and a user
 * can have all. Here @reserved of them are for BLK_MQ_REQ_RESERVED. The mirror
 * is nvme_remove_admin_tag_set(). Patch: an argument.
 */
static inline int snvme_core_alloc_admin_tags(struct nvme_ctrl *ctrl,
					      struct blk_mq_tag_set *set,
					      const struct blk_mq_ops *ops,
					      unsigned int cmd_size,
					      unsigned int reserved)
{
	struct queue_limits limits = { };
	struct request_queue *queue;
	int ret;

	memset(set, 0, sizeof(*set));
	set->ops = ops;
	set->queue_depth = NVME_AQ_MQ_TAG_DEPTH;
	set->reserved_tags = reserved;
	set->numa_node = ctrl->numa_node;
	set->flags = SNVME_CORE_ADMIN_FLAGS;
	set->cmd_size = cmd_size;
	set->driver_data = ctrl;
	set->nr_hw_queues = 1;
	set->timeout = NVME_ADMIN_TIMEOUT;
	ret = blk_mq_alloc_tag_set(set);
	if (ret)
		return ret;
	queue = blk_mq_alloc_queue(set, &limits, NULL);
	if (IS_ERR(queue)) {
		blk_mq_free_tag_set(set);
		return PTR_ERR(queue);
	}
	ctrl->admin_q = queue;
	ctrl->admin_tagset = set;
	return 0;
}

#endif /* _SMARTIO_NVME_CORE_H */
