// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_hostile - the other end of a link of ntb_smartio, broken or hostile.
 * It takes the place of ntb_smartio on one host, and shakes hands far enough.
 * Then it writes random and nearly-right data into all memory that the other
 * side has opened for it: hellos, messages, counters, scratchpads, doorbells,
 * its pool. The other side may refuse it, or begin again; nothing worse. In
 * debugfs, for each NTB:
 *
 *   smartio_hostile/NAME/run	write: SECONDS SEED; fails if the other side did
 *				not come up again each time, or did not refuse
 *				what it must
 *   smartio_hostile/NAME/result	read: results of the last run
 *
 * Of its own memory all that is mapped for the NTB is open, so it wants an
 * IOMMU. ntb_smartio must not be loaded on that host: it would have the NTB.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "smartio_hostile.h"

/* A round lasts so long at most. */
#define ROUND_MS	1500
/*
 * The most time that the other side takes to end the link after a bad message.
 */
#define END_MS		5000

static struct dentry *hostile_dir;

/* From the handshake until the other side has had enough. */
static int hostile_round(struct hostile *h)
{
	unsigned long end = jiffies + msecs_to_jiffies(rnd(h, ROUND_MS));
	int ret = hostile_join(h);

	if (ret) {
		hostile_leave(h);
		h->ended += ret == -EAGAIN;
		return ret == -EAGAIN ? 0 : ret;
	}
	while (time_before(jiffies, end) && hostile_lives(h)) {
		hostile_act(h);
		cond_resched();
	}
	if (rnd(h, 2) && hostile_lives(h)) {
		hostile_end(h);
		end = jiffies + msecs_to_jiffies(rnd(h, END_MS));
		while (time_before(jiffies, end) && hostile_lives(h))
			usleep_range(1000, 5000);
	}
	h->ended += !hostile_lives(h);
	hostile_leave(h);
	return 0;
}

static int hostile_run(struct hostile *h, unsigned int seconds, u32 seed)
{
	unsigned long end = jiffies + seconds * HZ;
	unsigned long last = end + 2 * HOSTILE_REFUSED_S * HZ;
	bool refused = false;
	int ret = 0;

	prandom_seed_state(&h->rnd, seed);
	h->rounds = 0;
	h->ups = 0;
	h->messages = 0;
	h->ended = 0;
	/* A malformed hello is refused for so long that little else may happen. */
	while (!ret && (time_before(jiffies, end) ||
			(h->ups < HOSTILE_UPS && time_before(jiffies, last)))) {
		ret = hostile_round(h);
		if (signal_pending(current))
			ret = -EINTR;
	}
	if (!ret) {
		ret = hostile_refused(h);
		refused = !ret;
		hostile_leave(h);
	}
	hostile_spads_clear(h);
	snprintf(h->result, sizeof(h->result),
		 "rounds %lu up %lu messages %lu ended %lu refused %s result %d\n",
		 h->rounds, h->ups, h->messages, h->ended,
		 refused ? "yes" : "no", ret);
	return ret;
}

static ssize_t run_write(struct file *file, const char __user *user,
			 size_t size, loff_t *pos)
{
	struct hostile *h = file->private_data;
	unsigned int seconds, seed;
	char text[64] = {};
	int ret;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, user, size))
		return -EFAULT;
	if (sscanf(text, "%u %u", &seconds, &seed) != 2)
		return -EINVAL;
	mutex_lock(&h->lock);
	ret = hostile_run(h, seconds, seed);
	mutex_unlock(&h->lock);
	return ret ? ret : size;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static int result_show(struct seq_file *m, void *unused)
{
	struct hostile *h = m->private;

	mutex_lock(&h->lock);
	seq_puts(m, h->result);
	mutex_unlock(&h->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int hostile_memory(struct hostile *h)
{
	resource_size_t size;
	int ret;

	ret = ntb_peer_mw_get_addr(h->ntb, 0, &h->window_phys, &size);
	if (ret)
		return ret;
	h->window_size = size;
	ret = dma_set_mask_and_coherent(h->dma,
					DMA_BIT_MASK(min(32, ilog2(size))));
	if (ret)
		return ret;
	h->boot = dma_alloc_coherent(h->dma, PAGE_SIZE, &h->boot_dma,
				     GFP_KERNEL);
	h->ring = dma_alloc_coherent(h->dma, HOSTILE_RING_SIZE, &h->ring_dma,
				     GFP_KERNEL);
	return h->boot && h->ring ? 0 : -ENOMEM;
}

static void hostile_memory_free(struct hostile *h)
{
	if (h->boot)
		dma_free_coherent(h->dma, PAGE_SIZE, h->boot, h->boot_dma);
	if (h->ring)
		dma_free_coherent(h->dma, HOSTILE_RING_SIZE, h->ring,
				  h->ring_dma);
	dma_set_mask_and_coherent(h->dma, DMA_BIT_MASK(64));
}

static const struct ntb_ctx_ops hostile_ctx_ops = {};

static int hostile_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct hostile *h = kzalloc(sizeof(*h), GFP_KERNEL);
	int ret;

	if (!h)
		return -ENOMEM;
	h->ntb = ntb;
	h->dma = &ntb->pdev->dev;
	mutex_init(&h->lock);
	uuid_gen(&h->uuid);
	ret = hostile_memory(h);
	if (!ret)
		ret = ntb_set_ctx(ntb, h, &hostile_ctx_ops);
	if (ret)
		goto free;
	ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	ret = ntb_mw_set_trans(ntb, NTB_DEF_PEER_IDX, 0, 0, h->window_size);
	if (ret)
		goto clear;
	h->dir = debugfs_create_dir(pci_name(ntb->pdev), hostile_dir);
	debugfs_create_file("run", 0200, h->dir, h, &run_fops);
	debugfs_create_file("result", 0400, h->dir, h, &result_fops);
	return 0;

clear:
	ntb_link_disable(ntb);
	ntb_clear_ctx(ntb);
free:
	hostile_memory_free(h);
	kfree(h);
	return ret;
}

static void hostile_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct hostile *h = ntb->ctx;

	/* Waits for users of the files. */
	debugfs_remove_recursive(h->dir);
	hostile_spads_clear(h);
	ntb_mw_set_trans(ntb, NTB_DEF_PEER_IDX, 0, 0, 0);
	ntb_mw_set_trans(ntb, NTB_DEF_PEER_IDX, 0, h->boot_dma, 0);
	ntb_link_disable(ntb);
	ntb_clear_ctx(ntb);
	hostile_memory_free(h);
	kfree(h);
}

static struct ntb_client hostile_client = {
	.ops = {
		.probe = hostile_probe,
		.remove = hostile_remove,
	},
};

static int __init hostile_init(void)
{
	int ret;

	hostile_dir = debugfs_create_dir("smartio_hostile", NULL);
	ret = ntb_register_client(&hostile_client);
	if (ret)
		debugfs_remove_recursive(hostile_dir);
	return ret;
}

static void __exit hostile_exit(void)
{
	ntb_unregister_client(&hostile_client);
	debugfs_remove_recursive(hostile_dir);
}

module_init(hostile_init);
module_exit(hostile_exit);
MODULE_DESCRIPTION("smartio: a hostile other end of a link");
MODULE_LICENSE("GPL");
