// SPDX-License-Identifier: GPL-2.0
/*
 * narrow_edu: a driver of QEMU's "edu" that uses few address bits. It maps two
 * pages by the DMA API. It has edu fetch the first one and store it in the
 * second:
 *
 *     modprobe narrow_edu function=1000:00:00.0 bits=32
 *     cat /sys/module/narrow_edu/parameters/same
 *
 * The read-only parameters give the results.
 */
#include <linux/dma-mapping.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/pci.h>

/* QEMU's docs/specs/edu.rst. */
#define EDU_DMA_SOURCE		0x80
#define EDU_DMA_DESTINATION	0x88
#define EDU_DMA_COUNT		0x90
#define EDU_DMA_COMMAND		0x98
#define EDU_DMA_START		1
#define EDU_DMA_TO_MEMORY	2
#define EDU_BUFFER		0x40000

#define NARROW_WORDS	(PAGE_SIZE / sizeof(u32))
#define NARROW_WAIT_US	10000000

static char *function = "";
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "DOMAIN:BUS:SLOT.FUNCTION of edu");
static unsigned int bits = 32;
module_param(bits, uint, 0444);
MODULE_PARM_DESC(bits, "of addresses that the driver says edu has");

static int mapped;
module_param(mapped, int, 0444);
MODULE_PARM_DESC(mapped, "pages that could be mapped, of two");
static unsigned long addresses[2];
module_param_array(addresses, ulong, NULL, 0444);
MODULE_PARM_DESC(addresses, "of the pages, for edu");
static unsigned int same;
module_param(same, uint, 0444);
MODULE_PARM_DESC(same, "words of the second page that are those of the first, of 1024");

static int narrow_copy(void __iomem *edu, u64 from, u64 to, u64 direction)
{
	u64 left;

	writeq(from, edu + EDU_DMA_SOURCE);
	writeq(to, edu + EDU_DMA_DESTINATION);
	writeq(PAGE_SIZE, edu + EDU_DMA_COUNT);
	writeq(EDU_DMA_START | direction, edu + EDU_DMA_COMMAND);
	return readq_poll_timeout(edu + EDU_DMA_COMMAND, left,
				  !(left & EDU_DMA_START), 5000,
				  NARROW_WAIT_US);
}

static int narrow_run(struct device *dev, void __iomem *edu, u32 *pages[2])
{
	dma_addr_t addr;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < NARROW_WORDS; i++)
		pages[0][i] = 0x32000000 + i;
	for (mapped = 0; mapped < 2; mapped++) {
		addr = dma_map_single(dev, pages[mapped], PAGE_SIZE,
				      DMA_BIDIRECTIONAL);
		if (dma_mapping_error(dev, addr))
			break;
		addresses[mapped] = addr;
	}
	if (mapped == 2)
		ret = narrow_copy(edu, addresses[0], EDU_BUFFER, 0);
	if (mapped == 2 && !ret)
		ret = narrow_copy(edu, EDU_BUFFER, addresses[1],
				  EDU_DMA_TO_MEMORY);
	for (i = 0; i < mapped; i++)
		dma_unmap_single(dev, addresses[i], PAGE_SIZE,
				 DMA_BIDIRECTIONAL);
	for (i = 0; i < NARROW_WORDS; i++)
		same += pages[1][i] == 0x32000000 + i;
	return ret;
}

static int narrow_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	void __iomem *edu;
	u32 *pages[2];
	int ret;

	if (strcmp(pci_name(pdev), function))
		return -ENODEV;
	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(bits));
	if (ret)
		return ret;
	pci_set_master(pdev);
	edu = pcim_iomap(pdev, 0, 0);
	pages[0] = (u32 *)get_zeroed_page(GFP_KERNEL);
	pages[1] = (u32 *)get_zeroed_page(GFP_KERNEL);
	ret = -ENOMEM;
	if (edu && pages[0] && pages[1])
		ret = narrow_run(&pdev->dev, edu, pages);
	free_page((unsigned long)pages[0]);
	free_page((unsigned long)pages[1]);
	return ret;
}

static void narrow_remove(struct pci_dev *pdev)
{
	pci_clear_master(pdev);
}

static const struct pci_device_id narrow_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) },
	{ }
};

static struct pci_driver narrow_driver = {
	.name = "narrow_edu",
	.id_table = narrow_ids,
	.probe = narrow_probe,
	.remove = narrow_remove,
};
module_pci_driver(narrow_driver);

MODULE_DESCRIPTION("smartio test: a driver of QEMU's edu with few address bits");
MODULE_LICENSE("GPL");
