// SPDX-License-Identifier: GPL-2.0
/*
 * p2p_drive: an NVMe drive of this host works on another host's memory.
 *
 * This is the lender's half of the peer-to-peer tests (p2p_memory is the
 * borrower's). The NTB that joins this host to the borrower has a window, a
 * BAR. Its accesses arrive on the borrower's side at the same offset. For a
 * drive of this host that is one more range of the bus:
 *
 *   - With a command whose PRPs point into the window, the drive reads or
 *     writes the borrower's memory.
 *   - With a completion queue in the window, the borrower sees the completions.
 *   - With the borrower's interrupt message in an MSI-X entry, moved by the
 *     window's bus address, the drive interrupts the borrower.
 *
 * This host's CPUs only start all of that.
 *
 * The drive must be taken from the stock driver, and is given back by the same
 * three steps with "" or "nvme" for the name:
 *
 *   echo 0000:03:00.0 > /sys/bus/pci/drivers/nvme/unbind
 *   echo p2p_drive > /sys/bus/pci/devices/0000:03:00.0/driver_override
 *   echo 0000:03:00.0 > /sys/bus/pci/drivers_probe
 *
 * Then it has a folder in /sys/kernel/debug/p2p_drive, named after its PCI
 * function; the NTBs have theirs beside it (window.c):
 *
 *    window      PCI name of the NTB whose window leads to the borrower; empty
 *                for none. Choosing one sends interrupts and completions to
 *                this host.
 *    command     "read LBA BLOCKS ADDRESS" or "write LBA BLOCKS ADDRESS", with
 *                an ADDRESS from the borrower's p2p_memory, or "local" for
 *                the buffer below, or "peer"; returns when the command has
 *                ended
 *    result      of the last one: its NVMe status in hex (0x4 is a data
 *                transfer error, 0x4000 the bit Do Not Retry), "timeout" or an
 *                errno
 *    buffer      256 KiB of this host's memory
 *    peer        PCI name, BAR and size of memory on another function of this
 *                host, for the data of commands; empty for none. "peer" in a
 *                command is its beginning. Reads the drive's address of it.
 *    peer_memory the contents, read by this host's CPU
 *    cq          "lender", or the borrower's address of the completion queue
 *    interrupt   "off", "lender", or "borrower ADDRESS DATA"
 *    interrupts  how many came to this host
 *    irq         this host's number of that interrupt
 *    block_size  bytes of a block; blocks is their number
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/module.h>
#include <linux/msi.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "p2p_drive.h"

#define P2P_VECTORS	2
#define P2P_IO_VECTOR	1

DEFINE_MUTEX(p2p_lock);	/* the lists, and all that is in them: see p2p_drive.h */
struct dentry *p2p_root;

unsigned int p2p_timeout_ms = 5000;
module_param_named(timeout_ms, p2p_timeout_ms, uint, 0644);
MODULE_PARM_DESC(timeout_ms, "how long a command may take, in ms");

static LIST_HEAD(p2p_drives);

/* ---- interrupts ---- */

static irqreturn_t p2p_interrupt(int irq, void *data)
{
	struct p2p_drive *drive = data;

	atomic_inc(&drive->interrupts);
	return IRQ_HANDLED;
}

static void p2p_interrupt_off(struct p2p_drive *drive)
{
	int irq = pci_irq_vector(drive->pdev, P2P_IO_VECTOR);

	if (drive->interrupt == P2P_INTERRUPT_BORROWER)
		pci_msi_mask_irq(irq_get_irq_data(irq));
	else if (drive->interrupt == P2P_INTERRUPT_LENDER)
		free_irq(irq, drive);
	drive->interrupt = P2P_INTERRUPT_OFF;
}

static int p2p_interrupt_here(struct p2p_drive *drive)
{
	int ret = request_irq(pci_irq_vector(drive->pdev, P2P_IO_VECTOR),
			      p2p_interrupt, 0, "p2p_drive", drive);

	if (!ret)
		drive->interrupt = P2P_INTERRUPT_LENDER;
	return ret;
}

/*
 * The vector is allocated and never requested: so this kernel has no reason to
 * write a message of its own into the entry. It left the entry masked.
 */
static int p2p_interrupt_there(struct p2p_drive *drive, u64 address, u32 data)
{
	int irq = pci_irq_vector(drive->pdev, P2P_IO_VECTOR);
	u64 target = drive->window_dma + address;
	struct msi_msg message = {
		.address_lo = lower_32_bits(target),
		.address_hi = upper_32_bits(target),
		.data = data,
	};

	if (!drive->window || address >= drive->window->size)
		return -EINVAL;
	pci_write_msi_msg(irq, &message);
	pci_msi_unmask_irq(irq_get_irq_data(irq));
	drive->interrupt = P2P_INTERRUPT_BORROWER;
	drive->message.address = address;
	drive->message.data = data;
	return 0;
}

/* ---- the window of a drive ---- */

static void p2p_window_leave(struct p2p_drive *drive)
{
	if (!drive->window)
		return;
	if (drive->interrupt == P2P_INTERRUPT_BORROWER)
		p2p_interrupt_off(drive);
	if (drive->io.cq_remote)
		p2p_nvme_place_cq(drive, false, 0);
	dma_unmap_resource(&drive->pdev->dev, drive->window_dma,
			   drive->window->size, DMA_BIDIRECTIONAL, 0);
	drive->window = NULL;
}

/*
 * Where this host has an IOMMU, the drive reaches only mapped addresses, of a
 * BAR as of memory.
 */
static int p2p_window_enter(struct p2p_drive *drive, struct p2p_window *window)
{
	struct device *dev = &drive->pdev->dev;
	dma_addr_t address;

	address = dma_map_resource(dev, window->base, window->size,
				   DMA_BIDIRECTIONAL, 0);
	if (dma_mapping_error(dev, address)) {
		dev_err(dev, "the window of %s can't be mapped\n",
			pci_name(window->ntb->pdev));
		return -ENOMEM;
	}
	drive->window = window;
	drive->window_dma = address;
	return 0;
}

/**
 * p2p_window_gone() - no drive may use this window any more
 * @window:	the window
 *
 * Context: process, under p2p_lock.
 */
void p2p_window_gone(struct p2p_window *window)
{
	struct p2p_drive *drive;

	lockdep_assert_held(&p2p_lock);
	list_for_each_entry(drive, &p2p_drives, node)
		if (drive->window == window)
			p2p_window_leave(drive);
}

/* ---- debugfs ---- */

/* A line of text from user space, without its end. */
static int p2p_line(char *line, size_t size, const char __user *from,
		    size_t count)
{
	if (count >= size)
		return -EINVAL;
	if (copy_from_user(line, from, count))
		return -EFAULT;
	line[count] = '\0';
	strim(line);
	return 0;
}

static struct p2p_drive *p2p_drive_of(struct file *file)
{
	return ((struct seq_file *)file->private_data)->private;
}

static int p2p_window_show(struct seq_file *s, void *unused)
{
	struct p2p_drive *drive = s->private;

	mutex_lock(&p2p_lock);
	seq_printf(s, "%s\n",
		   drive->window ? pci_name(drive->window->ntb->pdev) : "");
	mutex_unlock(&p2p_lock);
	return 0;
}

static ssize_t p2p_window_write(struct file *file, const char __user *from,
				size_t count, loff_t *pos)
{
	struct p2p_drive *drive = p2p_drive_of(file);
	struct p2p_window *window;
	char name[32];
	int ret;

	ret = p2p_line(name, sizeof(name), from, count);
	if (ret)
		return ret;
	mutex_lock(&p2p_lock);
	window = p2p_window_find(name);
	if (!window && name[0])
		ret = -ENODEV;
	if (!ret)
		p2p_window_leave(drive);
	if (!ret && window)
		ret = p2p_window_enter(drive, window);
	mutex_unlock(&p2p_lock);
	return ret ? ret : count;
}
DEFINE_SHOW_STORE_ATTRIBUTE(p2p_window);

/* Where the drive finds the data of a command. */
static int p2p_data_address(struct p2p_drive *drive, const char *where,
			    u64 bytes, u64 *address)
{
	u64 offset;

	if (!strcmp(where, "local")) {
		if (bytes > P2P_BUFFER_SIZE)
			return -EINVAL;
		*address = drive->buffer_dma;
		return 0;
	}
	if (!strcmp(where, "peer")) {
		if (!drive->peer.pdev || bytes > drive->peer.size)
			return -ENXIO;
		*address = drive->peer.dma;
		return 0;
	}
	if (kstrtou64(where, 0, &offset))
		return -EINVAL;
	if (!drive->window || offset >= drive->window->size ||
	    bytes > drive->window->size - offset)
		return -ENXIO;
	*address = drive->window_dma + offset;
	return 0;
}

static int p2p_peer_show(struct seq_file *s, void *unused)
{
	struct p2p_drive *drive = s->private;

	mutex_lock(&p2p_lock);
	if (drive->peer.pdev)
		seq_printf(s, "%#llx\n", (u64)drive->peer.dma);
	mutex_unlock(&p2p_lock);
	return 0;
}

static ssize_t p2p_peer_write(struct file *file, const char __user *from,
			      size_t count, loff_t *pos)
{
	struct p2p_drive *drive = p2p_drive_of(file);
	char line[64], name[32];
	unsigned int bar;
	u64 size;
	int ret;

	ret = p2p_line(line, sizeof(line), from, count);
	if (ret)
		return ret;
	if (line[0] && sscanf(line, "%31s %u %lli", name, &bar, &size) != 3)
		return -EINVAL;
	mutex_lock(&p2p_lock);
	p2p_peer_leave(drive);
	if (line[0])
		ret = p2p_peer_enter(drive, name, bar, size);
	mutex_unlock(&p2p_lock);
	return ret ? ret : count;
}
DEFINE_SHOW_STORE_ATTRIBUTE(p2p_peer);

static int p2p_result_show(struct seq_file *s, void *unused)
{
	struct p2p_drive *drive = s->private;

	mutex_lock(&p2p_lock);
	if (drive->result >= 0)
		seq_printf(s, "%#x\n", drive->result);
	else if (drive->result == -ETIMEDOUT)
		seq_puts(s, "timeout\n");
	else
		seq_printf(s, "%d\n", drive->result);
	mutex_unlock(&p2p_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(p2p_result);

static int p2p_command_show(struct seq_file *s, void *unused)
{
	seq_puts(s, "read|write LBA BLOCKS ADDRESS|local|peer\n");
	return 0;
}

static ssize_t p2p_command_write(struct file *file, const char __user *from,
				 size_t count, loff_t *pos)
{
	struct p2p_drive *drive = p2p_drive_of(file);
	char line[80], verb[8], where[24];
	u64 lba, address;
	u32 blocks;
	u8 opcode;
	int ret;

	ret = p2p_line(line, sizeof(line), from, count);
	if (ret)
		return ret;
	if (sscanf(line, "%7s %lli %i %23s", verb, &lba, &blocks, where) != 4)
		return -EINVAL;
	if (!strcmp(verb, "read"))
		opcode = nvme_cmd_read;
	else if (!strcmp(verb, "write"))
		opcode = nvme_cmd_write;
	else
		return -EINVAL;
	mutex_lock(&p2p_lock);
	ret = p2p_data_address(drive, where, (u64)blocks << drive->block_shift,
			       &address);
	if (!ret)
		drive->result = p2p_nvme_rw(drive, opcode, lba, blocks,
					    address);
	mutex_unlock(&p2p_lock);
	return ret ? ret : count;
}
DEFINE_SHOW_STORE_ATTRIBUTE(p2p_command);

static int p2p_cq_show(struct seq_file *s, void *unused)
{
	struct p2p_drive *drive = s->private;

	mutex_lock(&p2p_lock);
	if (drive->io.cq_remote)
		seq_printf(s, "%#llx\n", drive->cq_address);
	else
		seq_puts(s, "lender\n");
	mutex_unlock(&p2p_lock);
	return 0;
}

static ssize_t p2p_cq_write(struct file *file, const char __user *from,
			    size_t count, loff_t *pos)
{
	struct p2p_drive *drive = p2p_drive_of(file);
	u64 address = 0;
	char line[32];
	bool remote;
	int ret;

	ret = p2p_line(line, sizeof(line), from, count);
	if (ret)
		return ret;
	remote = strcmp(line, "lender");
	if (remote && kstrtou64(line, 0, &address))
		return -EINVAL;
	mutex_lock(&p2p_lock);
	ret = p2p_nvme_place_cq(drive, remote, address);
	mutex_unlock(&p2p_lock);
	return ret ? ret : count;
}
DEFINE_SHOW_STORE_ATTRIBUTE(p2p_cq);

static int p2p_interrupt_show(struct seq_file *s, void *unused)
{
	struct p2p_drive *drive = s->private;

	mutex_lock(&p2p_lock);
	if (drive->interrupt == P2P_INTERRUPT_BORROWER)
		seq_printf(s, "borrower %#llx %#x\n", drive->message.address,
			   drive->message.data);
	else
		seq_puts(s, drive->interrupt == P2P_INTERRUPT_LENDER ?
			 "lender\n" : "off\n");
	mutex_unlock(&p2p_lock);
	return 0;
}

static ssize_t p2p_interrupt_write(struct file *file, const char __user *from,
				   size_t count, loff_t *pos)
{
	struct p2p_drive *drive = p2p_drive_of(file);
	char line[64];
	u64 address;
	u32 data;
	int ret;

	ret = p2p_line(line, sizeof(line), from, count);
	if (ret)
		return ret;
	mutex_lock(&p2p_lock);
	p2p_interrupt_off(drive);
	if (!strcmp(line, "lender"))
		ret = p2p_interrupt_here(drive);
	else if (sscanf(line, "borrower %lli %i", &address, &data) == 2)
		ret = p2p_interrupt_there(drive, address, data);
	else if (strcmp(line, "off"))
		ret = -EINVAL;
	mutex_unlock(&p2p_lock);
	return ret ? ret : count;
}
DEFINE_SHOW_STORE_ATTRIBUTE(p2p_interrupt);

static int p2p_irq_show(struct seq_file *s, void *unused)
{
	struct p2p_drive *drive = s->private;

	seq_printf(s, "%d\n", pci_irq_vector(drive->pdev, P2P_IO_VECTOR));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(p2p_irq);

static int p2p_block_size_show(struct seq_file *s, void *unused)
{
	struct p2p_drive *drive = s->private;

	seq_printf(s, "%lu\n", 1UL << drive->block_shift);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(p2p_block_size);

static ssize_t p2p_buffer_read(struct file *file, char __user *to,
			       size_t count, loff_t *pos)
{
	struct p2p_drive *drive = file->private_data;

	return simple_read_from_buffer(to, count, pos, drive->buffer,
				       P2P_BUFFER_SIZE);
}

static ssize_t p2p_buffer_write(struct file *file, const char __user *from,
				size_t count, loff_t *pos)
{
	struct p2p_drive *drive = file->private_data;
	ssize_t ret = simple_write_to_buffer(drive->buffer, P2P_BUFFER_SIZE,
					     pos, from, count);

	return ret ? ret : -ENOSPC;
}

static const struct file_operations p2p_buffer_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = p2p_buffer_read,
	.write = p2p_buffer_write,
	.llseek = default_llseek,
};

static void p2p_debugfs_add(struct p2p_drive *drive)
{
	struct dentry *dir = debugfs_create_dir(pci_name(drive->pdev),
						p2p_root);

	drive->dir = dir;
	debugfs_create_file("window", 0600, dir, drive, &p2p_window_fops);
	debugfs_create_file("peer", 0600, dir, drive, &p2p_peer_fops);
	debugfs_create_file("peer_memory", 0400, dir, drive,
			    &p2p_peer_memory_fops);
	debugfs_create_file("command", 0600, dir, drive, &p2p_command_fops);
	debugfs_create_file("result", 0400, dir, drive, &p2p_result_fops);
	debugfs_create_file("buffer", 0600, dir, drive, &p2p_buffer_fops);
	debugfs_create_file("cq", 0600, dir, drive, &p2p_cq_fops);
	debugfs_create_file("interrupt", 0600, dir, drive, &p2p_interrupt_fops);
	debugfs_create_atomic_t("interrupts", 0600, dir, &drive->interrupts);
	debugfs_create_file("irq", 0400, dir, drive, &p2p_irq_fops);
	debugfs_create_file("block_size", 0400, dir, drive,
			    &p2p_block_size_fops);
	debugfs_create_u64("blocks", 0400, dir, &drive->blocks);
}

/* ---- the PCI driver ---- */

static int p2p_drive_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct p2p_drive *drive;
	int ret;

	if (pdev->class != PCI_CLASS_STORAGE_EXPRESS) {
		pci_err(pdev, "no NVMe controller\n");
		return -ENODEV;
	}
	drive = kzalloc(sizeof(*drive), GFP_KERNEL);
	if (!drive)
		return -ENOMEM;
	drive->pdev = pdev;
	pci_set_drvdata(pdev, drive);

	ret = pci_enable_device_mem(pdev);
	if (ret)
		goto free;
	ret = pci_request_mem_regions(pdev, KBUILD_MODNAME);
	if (ret)
		goto disable;
	ret = -ENOMEM;
	drive->regs_size = pci_resource_len(pdev, 0);
	drive->regs = pci_ioremap_bar(pdev, 0);
	if (!drive->regs)
		goto release;
	/* all that the NVMe specification has, so that any window fits */
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		goto unmap;
	ret = pci_alloc_irq_vectors(pdev, P2P_VECTORS, P2P_VECTORS,
				    PCI_IRQ_MSIX);
	if (ret < 0)
		goto unmap;
	pci_set_master(pdev);
	ret = p2p_nvme_start(drive);
	if (ret)
		goto stop;

	mutex_lock(&p2p_lock);
	list_add_tail(&drive->node, &p2p_drives);
	mutex_unlock(&p2p_lock);
	p2p_debugfs_add(drive);
	return 0;

stop:
	pci_err(pdev, "the controller did not start: %d\n", ret);
	p2p_nvme_stop(drive);
	pci_free_irq_vectors(pdev);
unmap:
	iounmap(drive->regs);
release:
	pci_release_mem_regions(pdev);
disable:
	pci_disable_device(pdev);
free:
	kfree(drive);
	return ret;
}

static void p2p_drive_remove(struct pci_dev *pdev)
{
	struct p2p_drive *drive = pci_get_drvdata(pdev);

	debugfs_remove_recursive(drive->dir);
	mutex_lock(&p2p_lock);
	list_del(&drive->node);
	p2p_interrupt_off(drive);
	p2p_window_leave(drive);
	p2p_peer_leave(drive);
	p2p_nvme_stop(drive);
	mutex_unlock(&p2p_lock);
	pci_free_irq_vectors(pdev);
	iounmap(drive->regs);
	pci_release_mem_regions(pdev);
	pci_disable_device(pdev);
	kfree(drive);
}

/* No table of devices: it takes only what driver_override gives to it. */
static struct pci_driver p2p_pci_driver = {
	.name = KBUILD_MODNAME,
	.probe = p2p_drive_probe,
	.remove = p2p_drive_remove,
};

static int __init p2p_drive_init(void)
{
	int ret;

	p2p_root = debugfs_create_dir(KBUILD_MODNAME, NULL);
	ret = p2p_windows_init();
	if (ret)
		goto remove_root;
	ret = pci_register_driver(&p2p_pci_driver);
	if (ret)
		goto exit_windows;
	return 0;

exit_windows:
	p2p_windows_exit();
remove_root:
	debugfs_remove_recursive(p2p_root);
	return ret;
}
module_init(p2p_drive_init);

static void __exit p2p_drive_exit(void)
{
	pci_unregister_driver(&p2p_pci_driver);
	p2p_windows_exit();
	debugfs_remove_recursive(p2p_root);
}
module_exit(p2p_drive_exit);

MODULE_DESCRIPTION("An NVMe drive that works on another host's memory, for tests");
MODULE_LICENSE("GPL");
