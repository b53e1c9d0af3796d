// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that wait for a path.
 *
 * One that finds none is kept by nvme_ns_head_submit_bio(), and a worker of
 * nvme-core sends it again when one may be there. Who asked not to wait
 * (REQ_NOWAIT, as io_uring does) has long been told that it is under way, so
 * from then on it has to wait like any other: at a disk that is frozen for a
 * moment, or a queue that is full, it would end with EAGAIN, which nobody
 * expects any more. nvme_failover_req() takes the flag off what was under way;
 * of what waits already (Linux 6.12) we take it, whenever one of our paths
 * makes that worker run.
 */
#include "client.h"

static void snvme_head_may_wait(struct nvme_ns_head *head)
{
	struct bio *bio;

	spin_lock_irq(&head->requeue_lock);
	bio_list_for_each(bio, &head->requeue_list)
		bio->bi_opf &= ~REQ_NOWAIT;
	spin_unlock_irq(&head->requeue_lock);
}

/**
 * snvme_path_may_wait() - what waits for a path to a path's disks may wait on
 * @path: the path
 *
 * Context: process, may sleep.
 */
void snvme_path_may_wait(struct snvme_path *path)
{
	struct nvme_ctrl *ctrl = &path->ctrl;
	struct nvme_ns *ns;
	int idx;

	idx = srcu_read_lock(&ctrl->srcu);
	list_for_each_entry_srcu(ns, &ctrl->namespaces, list,
				 srcu_read_lock_held(&ctrl->srcu))
		if (ns->head->disk)
			snvme_head_may_wait(ns->head);
	srcu_read_unlock(&ctrl->srcu, idx);
}
