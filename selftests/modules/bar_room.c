// SPDX-License-Identifier: GPL-2.0
/*
 * bar_room: takes the room of a port for large BARs, as firmware does that gives
 * a port too little of it. All free pieces of "size" bytes, aligned to it, are
 * taken until the module is unloaded. A function that a scan finds below the port
 * has no address for a BAR of that size.
 */
#include <linux/ioport.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/pci.h>

static char *port;
module_param(port, charp, 0444);
MODULE_PARM_DESC(port, "the port, as DDDD:BB:DD.F");
static unsigned long size;
module_param(size, ulong, 0444);
MODULE_PARM_DESC(size, "bytes of a piece, a power of two");
static unsigned int pieces;
module_param(pieces, uint, 0444);
MODULE_PARM_DESC(pieces, "that are taken");

static struct resource taken[16];

static int __init bar_room_init(void)
{
	unsigned int domain, bus, slot, function;
	struct pci_dev *pdev;
	int ret = 0;

	if (!port || !is_power_of_2(size) ||
	    sscanf(port, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4)
		return -EINVAL;
	pdev = pci_get_domain_bus_and_slot(domain, bus,
					   PCI_DEVFN(slot, function));
	if (!pdev || !pdev->subordinate) {
		pci_dev_put(pdev);
		return -ENODEV;
	}
	for (; !ret && pieces < ARRAY_SIZE(taken); pieces += !ret) {
		taken[pieces].name = KBUILD_MODNAME;
		taken[pieces].flags = IORESOURCE_MEM | IORESOURCE_MEM_64 |
				      IORESOURCE_PREFETCH;
		ret = pci_bus_alloc_resource(pdev->subordinate, &taken[pieces],
					     size, size, 0, IORESOURCE_PREFETCH,
					     NULL, NULL);
	}
	pci_dev_put(pdev);
	return 0;
}

static void __exit bar_room_exit(void)
{
	while (pieces)
		release_resource(&taken[--pieces]);
}

module_init(bar_room_init);
module_exit(bar_room_exit);

MODULE_DESCRIPTION("takes a port's room for large BARs");
MODULE_LICENSE("GPL");
