// SPDX-License-Identifier: GPL-2.0
/*
 * p2p_memory: lends a host's memory, and one interrupt, to a drive in another host.
 *
 * This is the borrower's half of the peer-to-peer tests (p2p_drive is the
 * lender's). With nothing but stock interfaces, it shows the basis of
 * the whole project:
 *
 *   - The inbound memory window of the NTB is set once, to base 0 of the NTB
 *     function's own DMA address space. After that a DMA address that
 *     dma_map_*() gives for that function is an offset into the window. At
 *     that offset the other host, and every device in it, reaches the memory.
 *   - So the IOMMU of this host decides, page by page, which memory is
 * reachable.
 *   - A window of 4 GiB also covers 0xFEE00000, where this host's interrupt
 *     messages go: a write of the right data to the right offset
 *     interrupts this host. The message is that of an MSI-X vector of the
 *     NTB function, added to those that its driver uses.
 *
 * It binds to every NTB device that has no client yet. Each has a folder in
 * /sys/kernel/debug/p2p_memory, named after its PCI function:
 *
 *   coherent, scattered, queue, stray
 *                  contents of a buffer, from a coherent allocation, from
 *                  single pages in disorder mapped for streaming, from a page
 *                  for a completion queue, and from a page that was mapped
 *                  and no longer is (only where there is an IOMMU)
 *   *_address      where the other host's devices find it: an offset into the
 *                  window; "none" where there is no such thing
 *   scattered_pieces
 *                  pieces of the scattered buffer, in memory and as devices
 *                  see them
 *   interrupt_address, interrupt_data, interrupt_index
 *                  the message, and its entry in the MSI-X table
 *   interrupts     how often it arrived; writing sets it
 *   window         bytes of the inbound window; 0 shuts it, anything else
 *                  opens it again
 *   link           1 while the link is up; link_events counts its changes
 *   token          a number for scratchpad 0 of the other side, by which that
 *                  side finds out which of its NTBs leads here
 */
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/msi.h>
#include <linux/ntb.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#define P2P_BUFFER_SIZE	SZ_256K
#define P2P_NO_ADDRESS	DMA_MAPPING_ERROR
/* The window is inbound window 0, whose size is that of the first memory BAR. */
#define P2P_WINDOW	0
#define P2P_TOKEN_SPAD	0

/**
 * struct p2p_buffer - memory that the other host's devices may reach
 * @dev:	the function for which it is mapped
 * @cpu:	where this host's CPUs see it
 * @size:	bytes
 * @address:	what @dev uses for it, %P2P_NO_ADDRESS if it is out of reach
 * @pages:	its pages, in the order of @cpu, if it was not allocated coherent
 * @sgt:	the streaming mapping of @pages
 * @pieces:	how many stretches of adjacent memory @pages make
 * @streaming:	whether CPU and devices take turns, with dma_sync_*() in between
 */
struct p2p_buffer {
	struct device *dev;
	void *cpu;
	size_t size;
	dma_addr_t address;
	struct page **pages;
	struct sg_table sgt;
	unsigned int pieces;
	bool streaming;
};

/**
 * struct p2p_memory - memory that is lent through one NTB
 * @ntb:	the NTB device of this host
 * @dev:	its PCI function, which makes the accesses of the other host
 * @dir:	its folder in debugfs
 * @lock:	protects @window and the window's registers
 * @window:	bytes of the inbound window while it is open, else 0
 * @window_max:	bytes that it can have
 * @quarantine:	where a shut window leads to, should its limit not hold
 * @coherent:	from dma_alloc_coherent()
 * @queue:	one page of the same kind
 * @scattered:	single pages, mapped in one piece where there is an IOMMU
 * @stray:	one page whose mapping was removed
 * @irq:	the added MSI-X vector
 * @message:	what has to be written, and where, to raise it
 * @interrupts:	how often it was raised
 * @link_events: how often the hardware driver reported a change
 * @old_mask:	the function's DMA mask as it was
 * @old_segment: its segment size as it was
 * @token:	last number written to the peer's scratchpad
 */
struct p2p_memory {
	struct ntb_dev *ntb;
	struct device *dev;
	struct dentry *dir;
	struct mutex lock;	/* one writer at a time to the window */
	resource_size_t window;
	resource_size_t window_max;
	struct p2p_buffer quarantine;
	struct p2p_buffer coherent;
	struct p2p_buffer queue;
	struct p2p_buffer scattered;
	struct p2p_buffer stray;
	struct msi_map irq;
	struct msi_msg message;
	atomic_t interrupts;
	atomic_t link_events;
	u64 old_mask;
	unsigned int old_segment;
	u32 token;
};

static struct dentry *p2p_root;

/* ---- buffers ---- */

static int p2p_coherent_alloc(struct p2p_buffer *buffer, struct device *dev,
			      size_t size)
{
	buffer->dev = dev;
	buffer->size = size;
	buffer->cpu = dma_alloc_coherent(dev, size, &buffer->address, GFP_KERNEL);
	return buffer->cpu ? 0 : -ENOMEM;
}

static void p2p_coherent_free(struct p2p_buffer *buffer)
{
	if (buffer->cpu)
		dma_free_coherent(buffer->dev, buffer->size, buffer->cpu,
				  buffer->address);
	buffer->cpu = NULL;
}

static void p2p_pages_unmap(struct p2p_buffer *buffer)
{
	if (!buffer->streaming)
		return;
	dma_unmap_sgtable(buffer->dev, &buffer->sgt, DMA_BIDIRECTIONAL, 0);
	buffer->streaming = false;
}

static void p2p_pages_free(struct p2p_buffer *buffer)
{
	unsigned int i, count = buffer->size >> PAGE_SHIFT;

	if (!buffer->pages)
		return;
	p2p_pages_unmap(buffer);
	sg_free_table(&buffer->sgt);
	vunmap(buffer->cpu);
	for (i = 0; i < count; i++)
		if (buffer->pages[i])
			__free_page(buffer->pages[i]);
	kfree(buffer->pages);
	buffer->pages = NULL;
	buffer->cpu = NULL;
}

/*
 * Single pages. Those for even places are taken before those for odd ones. So
 * an allocator that hands out memory in order does not make neighbours in the
 * buffer neighbours in memory.
 */
static int p2p_pages_alloc(struct p2p_buffer *buffer, struct device *dev,
			   size_t size)
{
	unsigned int i, count = size >> PAGE_SHIFT, half = (count + 1) / 2;
	struct page *page;
	int ret = -ENOMEM;

	buffer->dev = dev;
	buffer->size = size;
	buffer->address = P2P_NO_ADDRESS;
	buffer->pages = kcalloc(count, sizeof(*buffer->pages), GFP_KERNEL);
	if (!buffer->pages)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		page = alloc_page(GFP_KERNEL | __GFP_ZERO | GFP_DMA32);
		if (!page)
			goto free;
		buffer->pages[i < half ? 2 * i : 2 * (i - half) + 1] = page;
	}
	buffer->cpu = vmap(buffer->pages, count, VM_MAP, PAGE_KERNEL);
	if (!buffer->cpu)
		goto free;
	ret = sg_alloc_table_from_pages(&buffer->sgt, buffer->pages, count, 0,
					size, GFP_KERNEL);
	if (ret)
		goto free;
	buffer->pieces = buffer->sgt.orig_nents;
	ret = dma_map_sgtable(dev, &buffer->sgt, DMA_BIDIRECTIONAL, 0);
	if (ret)
		goto free;
	buffer->streaming = true;
	buffer->address = sg_dma_address(buffer->sgt.sgl);
	return 0;

free:
	p2p_pages_free(buffer);
	return ret;
}

/*
 * A page that was mapped and is not any more. It stays allocated. So an access
 * that should have been refused shows, and does no harm. Without an IOMMU no
 * access would be refused: then there is no such page.
 */
static int p2p_stray_alloc(struct p2p_buffer *buffer, struct device *dev)
{
	dma_addr_t address;
	int ret;

	if (!device_iommu_mapped(dev))
		return 0;
	ret = p2p_pages_alloc(buffer, dev, PAGE_SIZE);
	if (ret)
		return ret;
	address = buffer->address;
	p2p_pages_unmap(buffer);
	buffer->address = address;
	return 0;
}

/* ---- the window ---- */

/* Opens it to all that is mapped, or shuts it. The caller holds the lock. */
static int p2p_window_set(struct p2p_memory *p2p, bool open)
{
	int ret;

	if (open) {
		ret = ntb_mw_set_trans(p2p->ntb, NTB_DEF_PEER_IDX, P2P_WINDOW, 0,
				       p2p->window_max);
		p2p->window = ret ? 0 : p2p->window_max;
		return ret;
	}
	/*
	 * The limit is cleared first, alone, so that no access slips through.
	 * Some bridges take a limit of 0 for no limit, so the base then moves
	 * away from base 0 of the open window. The driver reads both registers
	 * back, which pushes out writes posted through the window before.
	 */
	ret = ntb_mw_set_trans(p2p->ntb, NTB_DEF_PEER_IDX, P2P_WINDOW, 0, 0);
	if (!ret)
		ret = ntb_mw_set_trans(p2p->ntb, NTB_DEF_PEER_IDX, P2P_WINDOW,
				       p2p->quarantine.address, 0);
	if (!ret)
		p2p->window = 0;
	return ret;
}

static irqreturn_t p2p_interrupt(int irq, void *data)
{
	struct p2p_memory *p2p = data;

	atomic_inc(&p2p->interrupts);
	return IRQ_HANDLED;
}

/*
 * A vector of our own behind those of the hardware driver. Nothing may move
 * it to another CPU: without interrupt remapping that would change the
 * message, and the other host would continue to write the old one.
 */
static int p2p_interrupt_add(struct p2p_memory *p2p)
{
	struct pci_dev *pdev = p2p->ntb->pdev;
	int ret;

	p2p->irq = pci_msix_alloc_irq_at(pdev, MSI_ANY_INDEX, NULL);
	if (p2p->irq.index < 0) {
		dev_err(p2p->dev, "no MSI-X vector to add: %d\n",
			p2p->irq.index);
		return p2p->irq.index;
	}
	ret = request_irq(p2p->irq.virq, p2p_interrupt, IRQF_NOBALANCING,
			  "p2p_memory", p2p);
	if (ret) {
		pci_msix_free_irq(pdev, p2p->irq);
		return ret;
	}
	get_cached_msi_msg(p2p->irq.virq, &p2p->message);
	return 0;
}

static void p2p_interrupt_remove(struct p2p_memory *p2p)
{
	free_irq(p2p->irq.virq, p2p);
	pci_msix_free_irq(p2p->ntb->pdev, p2p->irq);
}

static u64 p2p_interrupt_address(struct p2p_memory *p2p)
{
	return (u64)p2p->message.address_hi << 32 | p2p->message.address_lo;
}

static void p2p_link_event(void *context)
{
	struct p2p_memory *p2p = context;

	atomic_inc(&p2p->link_events);
}

static const struct ntb_ctx_ops p2p_ctx_ops = {
	.link_event = p2p_link_event,
};

/* ---- debugfs ---- */

static ssize_t p2p_buffer_read(struct file *file, char __user *to,
			       size_t count, loff_t *pos)
{
	struct p2p_buffer *buffer = file->private_data;

	if (buffer->streaming)
		dma_sync_sgtable_for_cpu(buffer->dev, &buffer->sgt,
					 DMA_BIDIRECTIONAL);
	return simple_read_from_buffer(to, count, pos, buffer->cpu,
				       buffer->size);
}

static ssize_t p2p_buffer_write(struct file *file, const char __user *from,
				size_t count, loff_t *pos)
{
	struct p2p_buffer *buffer = file->private_data;
	ssize_t ret;

	ret = simple_write_to_buffer(buffer->cpu, buffer->size, pos, from,
				     count);
	if (buffer->streaming)
		dma_sync_sgtable_for_device(buffer->dev, &buffer->sgt,
					    DMA_BIDIRECTIONAL);
	return ret ? ret : -ENOSPC;
}

static const struct file_operations p2p_buffer_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = p2p_buffer_read,
	.write = p2p_buffer_write,
	.llseek = default_llseek,
};

static int p2p_buffer_address_show(struct seq_file *s, void *unused)
{
	struct p2p_buffer *buffer = s->private;

	if (!buffer->cpu || buffer->address == P2P_NO_ADDRESS)
		seq_puts(s, "none\n");
	else
		seq_printf(s, "%pad\n", &buffer->address);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(p2p_buffer_address);

static int p2p_scattered_pieces_show(struct seq_file *s, void *unused)
{
	struct p2p_memory *p2p = s->private;

	seq_printf(s, "memory %u device %u\n", p2p->scattered.pieces,
		   p2p->scattered.sgt.nents);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(p2p_scattered_pieces);

static int p2p_interrupt_address_show(struct seq_file *s, void *unused)
{
	struct p2p_memory *p2p = s->private;

	if (p2p_interrupt_address(p2p) < p2p->window_max)
		seq_printf(s, "%#llx\n", p2p_interrupt_address(p2p));
	else
		seq_puts(s, "none\n");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(p2p_interrupt_address);

static int p2p_link_show(struct seq_file *s, void *unused)
{
	struct p2p_memory *p2p = s->private;

	seq_printf(s, "%d\n", ntb_link_is_up(p2p->ntb, NULL, NULL) ? 1 : 0);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(p2p_link);

static int p2p_window_get(void *data, u64 *value)
{
	struct p2p_memory *p2p = data;

	*value = p2p->window;
	return 0;
}

static int p2p_window_write(void *data, u64 value)
{
	struct p2p_memory *p2p = data;
	int ret;

	mutex_lock(&p2p->lock);
	ret = p2p_window_set(p2p, value);
	mutex_unlock(&p2p->lock);
	return ret;
}
DEFINE_DEBUGFS_ATTRIBUTE(p2p_window_fops, p2p_window_get, p2p_window_write,
			 "%#llx\n");

static int p2p_token_get(void *data, u64 *value)
{
	struct p2p_memory *p2p = data;

	*value = p2p->token;
	return 0;
}

static int p2p_token_write(void *data, u64 value)
{
	struct p2p_memory *p2p = data;

	p2p->token = value;
	return ntb_peer_spad_write(p2p->ntb, NTB_DEF_PEER_IDX, P2P_TOKEN_SPAD,
				   p2p->token);
}
DEFINE_DEBUGFS_ATTRIBUTE(p2p_token_fops, p2p_token_get, p2p_token_write,
			 "%llu\n");

static void p2p_debugfs_buffer(struct p2p_memory *p2p, const char *name,
			       const char *address_name,
			       struct p2p_buffer *buffer)
{
	if (buffer->cpu)
		debugfs_create_file(name, 0600, p2p->dir, buffer,
				    &p2p_buffer_fops);
	debugfs_create_file(address_name, 0400, p2p->dir, buffer,
			    &p2p_buffer_address_fops);
}

static void p2p_debugfs_add(struct p2p_memory *p2p)
{
	p2p->dir = debugfs_create_dir(pci_name(p2p->ntb->pdev), p2p_root);
	p2p_debugfs_buffer(p2p, "coherent", "coherent_address",
			   &p2p->coherent);
	p2p_debugfs_buffer(p2p, "queue", "queue_address", &p2p->queue);
	p2p_debugfs_buffer(p2p, "scattered", "scattered_address",
			   &p2p->scattered);
	p2p_debugfs_buffer(p2p, "stray", "stray_address", &p2p->stray);
	debugfs_create_file("scattered_pieces", 0400, p2p->dir, p2p,
			    &p2p_scattered_pieces_fops);
	debugfs_create_file("interrupt_address", 0400, p2p->dir, p2p,
			    &p2p_interrupt_address_fops);
	debugfs_create_x32("interrupt_data", 0400, p2p->dir,
			   &p2p->message.data);
	debugfs_create_u32("interrupt_index", 0400, p2p->dir,
			   (u32 *)&p2p->irq.index);
	debugfs_create_atomic_t("interrupts", 0600, p2p->dir,
				&p2p->interrupts);
	debugfs_create_atomic_t("link_events", 0400, p2p->dir,
				&p2p->link_events);
	debugfs_create_file("link", 0400, p2p->dir, p2p, &p2p_link_fops);
	debugfs_create_file("window", 0600, p2p->dir, p2p, &p2p_window_fops);
	debugfs_create_file("token", 0600, p2p->dir, p2p, &p2p_token_fops);
}

/* ---- binding to an NTB ---- */

/*
 * Everything that is mapped from now on lies inside the window: 32 address
 * bits for one of 4 GiB, fewer for a smaller one.
 */
static int p2p_limit_addresses(struct p2p_memory *p2p)
{
	unsigned int bits = min(32, ilog2(p2p->window_max));
	int ret;

	p2p->old_mask = dma_get_mask(p2p->dev);
	p2p->old_segment = dma_get_max_seg_size(p2p->dev);
	ret = dma_set_mask_and_coherent(p2p->dev, DMA_BIT_MASK(bits));
	if (ret) {
		dev_err(p2p->dev, "no DMA addresses of %u bits: %d\n", bits,
			ret);
		return ret;
	}
	/* one segment for the whole of a scattered buffer */
	dma_set_max_seg_size(p2p->dev, UINT_MAX);
	return 0;
}

static void p2p_unlimit_addresses(struct p2p_memory *p2p)
{
	dma_set_max_seg_size(p2p->dev, p2p->old_segment);
	if (dma_set_mask_and_coherent(p2p->dev, p2p->old_mask))
		dev_err(p2p->dev, "the old DMA mask is refused\n");
}

static void p2p_buffers_free(struct p2p_memory *p2p)
{
	p2p_pages_free(&p2p->stray);
	p2p_pages_free(&p2p->scattered);
	p2p_coherent_free(&p2p->queue);
	p2p_coherent_free(&p2p->coherent);
	p2p_coherent_free(&p2p->quarantine);
}

static int p2p_buffers_alloc(struct p2p_memory *p2p)
{
	int ret;

	ret = p2p_coherent_alloc(&p2p->quarantine, p2p->dev, PAGE_SIZE);
	if (!ret)
		ret = p2p_coherent_alloc(&p2p->coherent, p2p->dev,
					 P2P_BUFFER_SIZE);
	if (!ret)
		ret = p2p_coherent_alloc(&p2p->queue, p2p->dev, PAGE_SIZE);
	if (!ret)
		ret = p2p_pages_alloc(&p2p->scattered, p2p->dev,
				      P2P_BUFFER_SIZE);
	if (!ret)
		ret = p2p_stray_alloc(&p2p->stray, p2p->dev);
	if (ret)
		p2p_buffers_free(p2p);
	return ret;
}

static int p2p_memory_probe(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct p2p_memory *p2p;
	int ret;

	/* A new client's first clear_mask must not open all doorbells. */
	ntb_db_set_mask(ntb, ntb_db_valid_mask(ntb));

	p2p = kzalloc(sizeof(*p2p), GFP_KERNEL);
	if (!p2p)
		return -ENOMEM;
	p2p->ntb = ntb;
	p2p->dev = &ntb->pdev->dev;
	mutex_init(&p2p->lock);

	/*
	 * A window is as large on one side as on the other. The size of our own
	 * side is known with the cable out too: ntb_mw_get_align() would fail
	 * then.
	 */
	ret = ntb_peer_mw_get_addr(ntb, P2P_WINDOW, NULL, &p2p->window_max);
	if (ret) {
		dev_err(p2p->dev, "no inbound window: %d\n", ret);
		goto free;
	}
	ret = p2p_limit_addresses(p2p);
	if (ret)
		goto free;
	ret = p2p_buffers_alloc(p2p);
	if (ret)
		goto unlimit;
	ret = p2p_interrupt_add(p2p);
	if (ret)
		goto free_buffers;
	ret = ntb_set_ctx(ntb, p2p, &p2p_ctx_ops);
	if (ret)
		goto remove_interrupt;
	/* AMD's driver says -EINVAL on the secondary side, and enables it. */
	ntb_link_enable(ntb, NTB_SPEED_AUTO, NTB_WIDTH_AUTO);
	mutex_lock(&p2p->lock);
	ret = p2p_window_set(p2p, true);
	mutex_unlock(&p2p->lock);
	if (ret) {
		dev_err(p2p->dev, "the window can't be opened: %d\n", ret);
		goto disable;
	}
	if (!device_iommu_mapped(p2p->dev))
		dev_info(p2p->dev, "no IOMMU: the window leads to all memory\n");
	p2p_debugfs_add(p2p);
	return 0;

disable:
	ntb_link_disable(ntb);
	ntb_clear_ctx(ntb);
remove_interrupt:
	p2p_interrupt_remove(p2p);
free_buffers:
	p2p_buffers_free(p2p);
unlimit:
	p2p_unlimit_addresses(p2p);
free:
	kfree(p2p);
	return ret;
}

static void p2p_memory_remove(struct ntb_client *client, struct ntb_dev *ntb)
{
	struct p2p_memory *p2p = ntb->ctx;
	int ret;

	debugfs_remove_recursive(p2p->dir);
	mutex_lock(&p2p->lock);
	ret = p2p_window_set(p2p, false);
	mutex_unlock(&p2p->lock);
	if (ret) {
		/*
		 * Devices behind that window may still write: without bus
		 * mastering their writes end at the bridge.
		 */
		dev_err(p2p->dev, "the window can't be shut: %d\n", ret);
		pci_clear_master(ntb->pdev);
	}
	ntb_link_disable(ntb);
	ntb_clear_ctx(ntb);
	p2p_interrupt_remove(p2p);
	p2p_buffers_free(p2p);
	p2p_unlimit_addresses(p2p);
	kfree(p2p);
}

static struct ntb_client p2p_client = {
	.ops = {
		.probe = p2p_memory_probe,
		.remove = p2p_memory_remove,
	},
};

static int __init p2p_memory_init(void)
{
	int ret;

	p2p_root = debugfs_create_dir(KBUILD_MODNAME, NULL);
	ret = ntb_register_client(&p2p_client);
	if (ret)
		debugfs_remove_recursive(p2p_root);
	return ret;
}
module_init(p2p_memory_init);

static void __exit p2p_memory_exit(void)
{
	ntb_unregister_client(&p2p_client);
	debugfs_remove_recursive(p2p_root);
}
module_exit(p2p_memory_exit);

MODULE_DESCRIPTION("Lends memory and an interrupt through an NTB, for tests");
MODULE_LICENSE("GPL");
