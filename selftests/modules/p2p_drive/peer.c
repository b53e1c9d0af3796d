// SPDX-License-Identifier: GPL-2.0
/*
 * Memory on another PCI function of this host, which a drive reaches: a part of
 * a BAR, mapped by the DMA API as any driver would.
 */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "p2p_drive.h"

/**
 * p2p_peer_leave() - the drive has no peer any more
 * @drive:	the drive
 */
void p2p_peer_leave(struct p2p_drive *drive)
{
	lockdep_assert_held(&p2p_lock);
	if (!drive->peer.pdev)
		return;
	dma_unmap_resource(&drive->pdev->dev, drive->peer.dma, drive->peer.size,
			   DMA_BIDIRECTIONAL, 0);
	iounmap(drive->peer.io);
	pci_dev_put(drive->peer.pdev);
	drive->peer.pdev = NULL;
}

static struct pci_dev *p2p_peer_find(const char *name)
{
	unsigned int domain, bus, slot, function;

	if (sscanf(name, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
		return NULL;
	return pci_get_domain_bus_and_slot(domain, bus,
					   PCI_DEVFN(slot, function));
}

/**
 * p2p_peer_enter() - the drive is to reach memory on another function
 * @drive:	the drive
 * @name:	PCI name of the other one
 * @bar:	its BAR that is memory
 * @size:	bytes from its beginning, whole pages
 *
 * Return: 0 or a negative errno.
 */
int p2p_peer_enter(struct p2p_drive *drive, const char *name, unsigned int bar,
		   size_t size)
{
	struct device *dev = &drive->pdev->dev;
	struct pci_dev *pdev = p2p_peer_find(name);
	phys_addr_t phys;
	int ret = -EINVAL;

	lockdep_assert_held(&p2p_lock);
	if (!pdev)
		return -ENODEV;
	if (bar >= PCI_STD_NUM_BARS || !size || !PAGE_ALIGNED(size) ||
	    size > pci_resource_len(pdev, bar))
		goto put;
	phys = pci_resource_start(pdev, bar);
	ret = -ENOMEM;
	drive->peer.io = ioremap(phys, size);
	if (!drive->peer.io)
		goto put;
	drive->peer.dma = dma_map_resource(dev, phys, size, DMA_BIDIRECTIONAL,
					   0);
	ret = -EIO;
	if (dma_mapping_error(dev, drive->peer.dma))
		goto unmap;
	drive->peer.size = size;
	drive->peer.pdev = pdev;
	return 0;

unmap:
	iounmap(drive->peer.io);
put:
	pci_dev_put(pdev);
	return ret;
}

/* Reads the memory by this host's CPU. */
static ssize_t p2p_peer_memory_read(struct file *file, char __user *to,
				    size_t count, loff_t *pos)
{
	struct p2p_drive *drive = file->private_data;
	ssize_t ret = -ENXIO;
	void *copy;

	copy = vmalloc(P2P_BUFFER_SIZE);
	if (!copy)
		return -ENOMEM;
	mutex_lock(&p2p_lock);
	if (drive->peer.pdev) {
		size_t size = min_t(size_t, drive->peer.size, P2P_BUFFER_SIZE);

		size = *pos < size ? size - *pos : 0;
		count = min(count, size);
		memcpy_fromio(copy, drive->peer.io + *pos, count);
		ret = copy_to_user(to, copy, count) ? -EFAULT : count;
		if (ret > 0)
			*pos += ret;
	}
	mutex_unlock(&p2p_lock);
	vfree(copy);
	return ret;
}

const struct file_operations p2p_peer_memory_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = p2p_peer_memory_read,
};
