// SPDX-License-Identifier: GPL-2.0
/*
 * smartio_forget - a driver that forgets to unmap: it maps a page for a PCI
 * function when it is loaded, and keeps it mapped when it is unloaded.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/pci.h>

static char *function;
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "DOMAIN:BUS:SLOT.FUNCTION");

static struct page *forget_page;

static int __init forget_init(void)
{
	struct device *dev = bus_find_device_by_name(&pci_bus_type, NULL,
						     function);
	dma_addr_t addr;
	int ret = -ENODEV;

	if (!dev)
		return ret;
	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(64));
	if (ret)
		goto put;
	ret = -ENOMEM;
	forget_page = alloc_page(GFP_KERNEL);
	if (!forget_page)
		goto put;
	addr = dma_map_page(dev, forget_page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	ret = dma_mapping_error(dev, addr);
	if (ret)
		__free_page(forget_page);
	else
		dev_info(dev, "mapped at %pad, and forgotten\n", &addr);
put:
	put_device(dev);
	return ret;
}
module_init(forget_init);

static void __exit forget_exit(void)
{
	__free_page(forget_page);
}
module_exit(forget_exit);

MODULE_DESCRIPTION("smartio: a driver that forgets to unmap");
MODULE_LICENSE("GPL");
