// SPDX-License-Identifier: GPL-2.0
/*
 * peer_edu: a driver of QEMU's "edu" that knows nothing of lending. By the DMA
 * API it maps the first page of a BAR of another function, which is memory. It
 * has edu fetch from it and store there. Then it does the same with memory of
 * this host, mapped in place of the other function's, as soon as that is
 * possible:
 *
 *     modprobe peer_edu target=1001:00:00.0 bar=2
 *     cat /sys/module/peer_edu/parameters/fetched
 *
 * The read-only parameters give the results: words, of 1024.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/iommu.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

/* QEMU's docs/specs/edu.rst. */
#define EDU_DMA_SOURCE		0x80
#define EDU_DMA_DESTINATION	0x88
#define EDU_DMA_COUNT		0x90
#define EDU_DMA_COMMAND		0x98
#define EDU_DMA_START		1
#define EDU_DMA_TO_MEMORY	2
#define EDU_BUFFER		0x40000

#define PEER_WORDS	(PAGE_SIZE / sizeof(u32))
#define PEER_ROUNDS	8
#define PEER_WAIT_US	10000000
/* The lender may have to be asked again to unmap. */
#define PEER_ATTEMPTS	200
#define PEER_ATTEMPT_MS	100

static char *target = "";
module_param(target, charp, 0444);
MODULE_PARM_DESC(target, "PCI address of the other function");
static unsigned int bar;
module_param(bar, uint, 0444);
MODULE_PARM_DESC(bar, "its BAR that is memory");
static bool in_one_piece;
module_param(in_one_piece, bool, 0444);
MODULE_PARM_DESC(in_one_piece, "first unmap memory and the other function in one piece");

static int mapped;
module_param(mapped, int, 0444);
MODULE_PARM_DESC(mapped, "1: mapped; else a negative error");
static int mapped_atomic;
module_param(mapped_atomic, int, 0444);
MODULE_PARM_DESC(mapped_atomic, "the same, with interrupts off");
static unsigned int fetched;
module_param(fetched, uint, 0444);
MODULE_PARM_DESC(fetched, "words that edu fetched from it");
static unsigned int stored;
module_param(stored, uint, 0444);
MODULE_PARM_DESC(stored, "words that edu stored there");
static unsigned int occupied;
module_param(occupied, uint, 0444);
MODULE_PARM_DESC(occupied, "attempts to map memory at its address that failed before one succeeded");
static unsigned int afterwards;
module_param(afterwards, uint, 0444);
MODULE_PARM_DESC(afterwards, "words that edu stored in memory that has its address now");
static unsigned int untouched;
module_param(untouched, uint, 0444);
MODULE_PARM_DESC(untouched, "words of the other function after that, as they were");
static bool same_address;
module_param(same_address, bool, 0444);
MODULE_PARM_DESC(same_address, "whether the memory has its address");
static unsigned int across;
module_param(across, uint, 0444);
MODULE_PARM_DESC(across, "pages of memory and of the other function that were unmapped in one piece");
static bool beside;
module_param(beside, bool, 0444);
MODULE_PARM_DESC(beside, "whether the other function's own memory was still mapped after that");

/**
 * struct peer - what takes part
 * @pdev: edu
 * @edu: its registers
 * @memory: of the other function
 * @phys: that, for the CPU
 * @buffer: memory of this host
 * @buffer_addr: that, for edu
 */
struct peer {
	struct pci_dev *pdev;
	void __iomem *edu;
	void __iomem *memory;
	phys_addr_t phys;
	u32 *buffer;
	dma_addr_t buffer_addr;
};

static int peer_copy(struct peer *peer, u64 from, u64 to, u64 direction)
{
	u64 left;

	writeq(from, peer->edu + EDU_DMA_SOURCE);
	writeq(to, peer->edu + EDU_DMA_DESTINATION);
	writeq(PAGE_SIZE, peer->edu + EDU_DMA_COUNT);
	writeq(EDU_DMA_START | direction, peer->edu + EDU_DMA_COMMAND);
	return readq_poll_timeout(peer->edu + EDU_DMA_COMMAND, left,
				  !(left & EDU_DMA_START), 5000, PEER_WAIT_US);
}

static int peer_fetch(struct peer *peer, dma_addr_t addr)
{
	return peer_copy(peer, addr, EDU_BUFFER, 0);
}

static int peer_store(struct peer *peer, dma_addr_t addr)
{
	return peer_copy(peer, EDU_BUFFER, addr, EDU_DMA_TO_MEMORY);
}

static unsigned int peer_count(struct peer *peer, u32 first)
{
	unsigned int i, same = 0;

	for (i = 0; i < PEER_WORDS; i++)
		same += readl(peer->memory + i * sizeof(u32)) == first + i;
	return same;
}

static void peer_fill(struct peer *peer, u32 first)
{
	unsigned int i;

	for (i = 0; i < PEER_WORDS; i++)
		peer->buffer[i] = first + i;
}

static unsigned int peer_buffer_count(struct peer *peer, u32 first)
{
	unsigned int i, same = 0;

	for (i = 0; i < PEER_WORDS; i++)
		same += peer->buffer[i] == first + i;
	return same;
}

static dma_addr_t peer_map(struct peer *peer)
{
	return dma_map_resource(&peer->pdev->dev, peer->phys, PAGE_SIZE,
				DMA_BIDIRECTIONAL, 0);
}

static void peer_unmap(struct peer *peer, dma_addr_t addr)
{
	dma_unmap_resource(&peer->pdev->dev, addr, PAGE_SIZE,
			   DMA_BIDIRECTIONAL, 0);
}

/*
 * Memory at the end of edu's addresses and the other function behind that end
 * are unmapped in one piece. There the NTB's domain may have the first memory
 * of the other function itself. No driver has anything mapped yet.
 */
static int peer_unmap_across(struct peer *peer, struct pci_dev *other)
{
	struct iommu_domain *of_edu = iommu_get_domain_for_dev(&peer->pdev->dev);
	struct iommu_domain *of_other = iommu_get_domain_for_dev(&other->dev);
	dma_addr_t end = of_edu->geometry.aperture_end + 1;
	dma_addr_t first = of_other->geometry.aperture_start;
	int prot = IOMMU_READ | IOMMU_WRITE, ret;
	void *page = (void *)get_zeroed_page(GFP_KERNEL);
	phys_addr_t phys = virt_to_phys(page);

	if (!page)
		return -ENOMEM;
	ret = iommu_map(of_other, first, phys, PAGE_SIZE, prot, GFP_KERNEL);
	if (ret)
		goto free;
	ret = iommu_map(of_edu, end - PAGE_SIZE, phys, PAGE_SIZE, prot,
			GFP_KERNEL);
	if (ret)
		goto unmap;
	ret = iommu_map(of_edu, end, peer->phys, PAGE_SIZE, prot | IOMMU_MMIO,
			GFP_KERNEL);
	across = iommu_unmap(of_edu, end - PAGE_SIZE, 2 * PAGE_SIZE) / PAGE_SIZE;
	beside = iommu_iova_to_phys(of_other, first) == phys;
unmap:
	iommu_unmap(of_other, first, PAGE_SIZE);
free:
	free_page((unsigned long)page);
	return ret;
}

static int peer_map_atomic(struct peer *peer)
{
	struct device *dev = &peer->pdev->dev;
	unsigned long flags;
	dma_addr_t addr;

	local_irq_save(flags);
	addr = peer_map(peer);
	local_irq_restore(flags);
	if (dma_mapping_error(dev, addr))
		return -EIO;
	peer_unmap(peer, addr);
	return 1;
}

/* The address that the DMA API gives away next, to this CPU. */
static dma_addr_t peer_next_address(struct peer *peer)
{
	dma_addr_t addr = dma_map_page(&peer->pdev->dev, ZERO_PAGE(0), 0,
				       PAGE_SIZE, DMA_BIDIRECTIONAL);

	if (!dma_mapping_error(&peer->pdev->dev, addr))
		dma_unmap_page(&peer->pdev->dev, addr, PAGE_SIZE,
			       DMA_BIDIRECTIONAL);
	return addr;
}

/* Memory of this host in the place of the other function's. */
static int peer_afterwards(struct peer *peer, dma_addr_t before)
{
	struct device *dev = &peer->pdev->dev;
	u32 *page = (u32 *)get_zeroed_page(GFP_KERNEL);
	unsigned int i;
	dma_addr_t addr;
	int ret;

	if (!page)
		return -ENOMEM;
	for (;;) {
		addr = dma_map_single(dev, page, PAGE_SIZE, DMA_BIDIRECTIONAL);
		ret = dma_mapping_error(dev, addr);
		if (!ret)
			break;
		if (++occupied == PEER_ATTEMPTS)
			goto free;
		msleep(PEER_ATTEMPT_MS);
	}
	same_address = addr == before;
	peer_fill(peer, 0x700000);
	ret = peer_fetch(peer, peer->buffer_addr);
	if (!ret)
		ret = peer_store(peer, addr);
	dma_unmap_single(dev, addr, PAGE_SIZE, DMA_BIDIRECTIONAL);
	for (i = 0; i < PEER_WORDS && !ret; i++)
		afterwards += page[i] == 0x700000 + i;
free:
	free_page((unsigned long)page);
	return ret;
}

/* Edu fetches from the other function and stores there. */
static int peer_reach(struct peer *peer, dma_addr_t addr)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < PEER_WORDS; i++)
		writel(0x10000 + i, peer->memory + i * sizeof(u32));
	for (i = 0; i < PEER_ROUNDS && !ret; i++)
		ret = peer_fetch(peer, addr);
	if (!ret)
		ret = peer_store(peer, peer->buffer_addr);
	fetched = peer_buffer_count(peer, 0x10000);
	peer_fill(peer, 0x5a0000);
	if (!ret)
		ret = peer_fetch(peer, peer->buffer_addr);
	for (i = 0; i < PEER_ROUNDS && !ret; i++)
		ret = peer_store(peer, addr);
	if (!ret)
		stored = peer_count(peer, 0x5a0000);
	return ret;
}

static int peer_run(struct peer *peer)
{
	dma_addr_t addr, next;
	unsigned int i;
	int ret = 0;

	mapped_atomic = peer_map_atomic(peer);
	next = peer_next_address(peer);
	addr = peer_map(peer);
	mapped = dma_mapping_error(&peer->pdev->dev, addr);
	if (mapped) {
		for (i = 0; i < PEER_WORDS; i++)
			writel(0x5a0000 + i, peer->memory + i * sizeof(u32));
		addr = next;
	} else {
		mapped = 1;
		ret = peer_reach(peer, addr);
		peer_unmap(peer, addr);
	}
	if (!ret)
		ret = peer_afterwards(peer, addr);
	if (!ret)
		untouched = peer_count(peer, 0x5a0000);
	return ret;
}

static struct pci_dev *peer_target(void)
{
	unsigned int domain, bus, slot, function;

	if (sscanf(target, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
		return NULL;
	return pci_get_domain_bus_and_slot(domain, bus,
					   PCI_DEVFN(slot, function));
}

static int peer_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct peer peer = { .pdev = pdev };
	struct pci_dev *other;
	int ret;

	other = peer_target();
	if (!other)
		return -ENODEV;
	ret = -EINVAL;
	if (bar >= PCI_STD_NUM_BARS ||
	    pci_resource_len(other, bar) < PAGE_SIZE)
		goto put;
	peer.phys = pci_resource_start(other, bar);
	ret = in_one_piece ? peer_unmap_across(&peer, other) : 0;
	if (ret)
		goto put;
	ret = pcim_enable_device(pdev);
	if (!ret)
		ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(48));
	if (ret)
		goto put;
	pci_set_master(pdev);
	peer.edu = pcim_iomap(pdev, 0, 0);
	peer.buffer = dmam_alloc_coherent(&pdev->dev, PAGE_SIZE,
					  &peer.buffer_addr, GFP_KERNEL);
	ret = -ENOMEM;
	if (!peer.edu || !peer.buffer)
		goto put;
	peer.memory = ioremap(peer.phys, PAGE_SIZE);
	if (!peer.memory)
		goto put;
	ret = peer_run(&peer);
	iounmap(peer.memory);
put:
	pci_dev_put(other);
	return ret;
}

static const struct pci_device_id peer_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) },
	{ }
};

static struct pci_driver peer_driver = {
	.name = KBUILD_MODNAME,
	.id_table = peer_ids,
	.probe = peer_probe,
};
module_pci_driver(peer_driver);

MODULE_DESCRIPTION("selftest: edu, which reaches another function");
MODULE_LICENSE("GPL");
