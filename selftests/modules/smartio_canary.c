// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_canary - a driver of an NVMe function that does nothing with it. Its
 * probe makes the function a bus master, and maps a buffer at 64 MiB of
 * addresses. The DMA API gives the same addresses to other drivers, from the last
 * one on. So a write to an address of an earlier driver changes the buffer:
 *
 *     modprobe smartio_canary function=1000:00:00.0
 *     cat /sys/module/smartio_canary/parameters/changed
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pci.h>

#define CANARY_ORDER	8
#define CANARY_SIZE	(PAGE_SIZE << CANARY_ORDER)
#define CANARY_BYTE	0xc3

/* An emulated IOMMU takes its time for each page. */
#define CANARY_MAX	64

static char *function = "";
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "DOMAIN:BUS:SLOT.FUNCTION");

static int mapped;
module_param(mapped, int, 0444);
MODULE_PARM_DESC(mapped, "how often the buffer of 1 MiB is mapped");

static ulong at;
module_param(at, ulong, 0444);
MODULE_PARM_DESC(at, "an address of the function that leads to the buffer; not 0: all is mapped");

static u8 *canary_buffer;
static dma_addr_t canary_at[CANARY_MAX];

static int canary_changed_get(char *buf, const struct kernel_param *param)
{
	unsigned int changed = 0;
	size_t i;

	for (i = 0; i < CANARY_SIZE; i++)
		changed += READ_ONCE(canary_buffer[i]) != CANARY_BYTE;
	return sysfs_emit(buf, "%u\n", changed);
}

static const struct kernel_param_ops canary_changed_ops = {
	.get = canary_changed_get,
};
module_param_cb(changed, &canary_changed_ops, NULL, 0444);
MODULE_PARM_DESC(changed, "bytes of the buffer that are not as they were");

static void canary_unmap(struct device *dev)
{
	while (mapped) {
		dma_unmap_single(dev, canary_at[--mapped], CANARY_SIZE,
				 DMA_BIDIRECTIONAL);
		cond_resched();
	}
}

static int canary_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct device *dev = &pdev->dev;
	int ret;

	if (strcmp(pci_name(pdev), function))
		return -ENODEV;
	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	while (mapped < CANARY_MAX) {
		dma_addr_t addr = dma_map_single(dev, canary_buffer,
						 CANARY_SIZE,
						 DMA_BIDIRECTIONAL);

		if (dma_mapping_error(dev, addr))
			break;
		canary_at[mapped++] = addr;
		cond_resched();
	}
	if (!mapped)
		return -ENOMEM;
	pci_set_master(pdev);
	at = canary_at[0];
	return 0;
}

static void canary_remove(struct pci_dev *pdev)
{
	at = 0;
	pci_clear_master(pdev);
	canary_unmap(&pdev->dev);
}

static const struct pci_device_id canary_ids[] = {
	{ PCI_DEVICE_CLASS(PCI_CLASS_STORAGE_EXPRESS, 0xffffff) },
	{ }
};

static struct pci_driver canary_driver = {
	.name = "smartio_canary",
	.id_table = canary_ids,
	.probe = canary_probe,
	.remove = canary_remove,
};

static int __init canary_init(void)
{
	int ret;

	canary_buffer = (u8 *)__get_free_pages(GFP_KERNEL, CANARY_ORDER);
	if (!canary_buffer)
		return -ENOMEM;
	memset(canary_buffer, CANARY_BYTE, CANARY_SIZE);
	ret = pci_register_driver(&canary_driver);
	if (ret)
		free_pages((unsigned long)canary_buffer, CANARY_ORDER);
	return ret;
}
module_init(canary_init);

static void __exit canary_exit(void)
{
	pci_unregister_driver(&canary_driver);
	free_pages((unsigned long)canary_buffer, CANARY_ORDER);
}
module_exit(canary_exit);

MODULE_DESCRIPTION("smartio test: a driver that notices what a function writes");
MODULE_LICENSE("GPL");
