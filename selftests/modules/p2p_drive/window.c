// SPDX-License-Identifier: GPL-2.0
/*
 * The outbound memory windows of this host: a client of every NTB device that
 * has none yet. Each window has a folder in debugfs:
 *
 *   size     bytes
 *   token    scratchpad 0 of this side, which the other host's p2p_memory
 *            writes: so a test finds the window that leads to that host
 *   memory   the other host's memory, read and written by this host's CPU; the
 *            position in the file is the offset into the window
 */
#include <linux/io.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "p2p_drive.h"

#define P2P_TOKEN_SPAD	0

static LIST_HEAD(p2p_windows);

/**
 * p2p_window_find() - the window of the NTB with this PCI name
 * @name:	as "0000:01:00.0"
 *
 * Context: process, under p2p_lock.
 * Return: the window, or NULL.
 */
struct p2p_window *p2p_window_find(const char *name)
{
	struct p2p_window *window;

	lockdep_assert_held(&p2p_lock);
	list_for_each_entry(window, &p2p_windows, node)
		if (!strcmp(pci_name(window->ntb->pdev), name))
			return window;
	return NULL;
}

/**
 * p2p_window_map() - let the CPU at a part of a window
 * @window:	the window
 * @offset:	where in the window, in bytes
 * @size:	bytes
 *
 * Return: an address for iounmap(), or NULL: outside, or no memory for it.
 */
void __iomem *p2p_window_map(struct p2p_window *window, u64 offset, size_t size)
{
	if (offset >= window->size || size > window->size - offset)
		return NULL;
	return ioremap_wc(window->base + offset, size);
}

/*
 * At most a buffer's size at a time: every load is a round trip to the other
 * host. It goes by whole words where both ends are aligned.
 */
static ssize_t p2p_window_memory_read(struct file *file, char __user *to,
				      size_t count, loff_t *pos)
{
	struct p2p_window *window = file->private_data;
	void __iomem *memory;
	void *copy;
	ssize_t ret;

	if (*pos < 0 || *pos >= window->size)
		return 0;
	count = min_t(u64, count, min_t(u64, P2P_BUFFER_SIZE,
					window->size - *pos));
	if (!count)
		return 0;
	copy = kvmalloc(count, GFP_KERNEL);
	memory = p2p_window_map(window, *pos, count);
	ret = -ENOMEM;
	if (copy && memory) {
		memcpy_fromio(copy, memory, count);
		ret = copy_to_user(to, copy, count) ? -EFAULT : count;
	}
	if (memory)
		iounmap(memory);
	kvfree(copy);
	if (ret > 0)
		*pos += ret;
	return ret;
}

static ssize_t p2p_window_memory_write(struct file *file,
				       const char __user *from, size_t count,
				       loff_t *pos)
{
	struct p2p_window *window = file->private_data;
	void __iomem *memory;
	void *copy;

	if (*pos < 0 || *pos >= window->size)
		return -ENOSPC;
	count = min_t(u64, count, min_t(u64, P2P_BUFFER_SIZE,
					window->size - *pos));
	if (!count)
		return 0;
	copy = vmemdup_user(from, count);
	if (IS_ERR(copy))
		return PTR_ERR(copy);
	memory = p2p_window_map(window, *pos, count);
	if (!memory) {
		kvfree(copy);
		return -ENOMEM;
	}
	memcpy_toio(memory, copy, count);
	wmb();	/* out of the write-combining buffers */
	iounmap(memory);
	kvfree(copy);
	*pos += count;
	return count;
}

static const struct file_operations p2p_window_memory_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = p2p_window_memory_read,
	.write = p2p_window_memory_write,
	.llseek = default_llseek,
};

static int p2p_window_token_get(void *data, u64 *value)
{
	struct p2p_window *window = data;

	*value = ntb_spad_read(window->ntb, P2P_TOKEN_SPAD);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(p2p_window_token_fops, p2p_window_token_get, NULL,
			 "%llu\n");

static int p2p_window_size_get(void *data, u64 *value)
{
	struct p2p_window *window = data;

	*value = window->size;
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(p2p_window_size_fops, p2p_window_size_get, NULL,
			 "%#llx\n");

/* It wants no events, only the place for its context. */
static const struct ntb_ctx_ops p2p_ctx_ops;

static int p2p_window_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct p2p_window *window;
	int ret;

	/* A new client's first clear_mask must not open all doorbells. */
	ntb_db_set_mask(ntb, ntb_db_valid_mask(ntb));

	window = kzalloc(sizeof(*window), GFP_KERNEL);
	if (!window)
		return -ENOMEM;
	window->ntb = ntb;
	ret = ntb_peer_mw_get_addr(ntb, 0, &window->base, &window->size);
	if (!ret)
		ret = ntb_set_ctx(ntb, window, &p2p_ctx_ops);
	if (ret) {
		dev_err(&ntb->pdev->dev, "no outbound window: %d\n", ret);
		kfree(window);
		return ret;
	}
	/* AMD's driver says -EINVAL on the secondary side, and enables it. */
	ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);

	mutex_lock(&p2p_lock);
	list_add_tail(&window->node, &p2p_windows);
	mutex_unlock(&p2p_lock);
	window->dir = debugfs_create_dir(pci_name(ntb->pdev), p2p_root);
	debugfs_create_file("size", 0400, window->dir, window,
			    &p2p_window_size_fops);
	debugfs_create_file("token", 0400, window->dir, window,
			    &p2p_window_token_fops);
	debugfs_create_file("memory", 0600, window->dir, window,
			    &p2p_window_memory_fops);
	return 0;
}

static void p2p_window_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct p2p_window *window = ntb->ctx;

	debugfs_remove_recursive(window->dir);
	mutex_lock(&p2p_lock);
	p2p_window_gone(window);
	list_del(&window->node);
	mutex_unlock(&p2p_lock);
	ntb_link_disable(ntb);
	ntb_clear_ctx(ntb);
	kfree(window);
}

static struct ntb_client p2p_client = {
	.ops = {
		.probe = p2p_window_probe,
		.remove = p2p_window_remove,
	},
};

int __init p2p_windows_init(void)
{
	return ntb_register_client(&p2p_client);
}

void p2p_windows_exit(void)
{
	ntb_unregister_client(&p2p_client);
}
