/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/device.h>
#include <linux/mm.h>

#define PCI_STD_NUM_BARS 6
#define IORESOURCE_MEM 0x200

struct pci_dev {
  struct device dev;
  int users;
  int bridge;
  struct {
    u64 start;
    u64 size;
    unsigned long flags;
  } bars[PCI_STD_NUM_BARS];
};

static inline struct pci_dev* pci_dev_get(struct pci_dev* pdev) {
  pdev->users++;
  return pdev;
}
static inline void pci_dev_put(struct pci_dev* pdev) { pdev->users--; }
/* All devices that drivers ask of are. */
#define dev_is_pci(dev) ((dev) != NULL)
#define to_pci_dev(device) container_of(device, struct pci_dev, dev)
static inline int pci_is_bridge(const struct pci_dev* pdev) { return pdev->bridge; }
static inline const char* pci_name(const struct pci_dev* pdev) { return pdev->dev.name; }
static inline int pci_irq_vector(const struct pci_dev* pdev, unsigned int vector) {
  (void)pdev;
  return (int)vector + 1;
}

#define pci_resource_start(pdev, bar) ((pdev)->bars[bar].start)
#define pci_resource_end(pdev, bar) ((pdev)->bars[bar].start + (pdev)->bars[bar].size - 1)
#define pci_resource_len(pdev, bar) ((pdev)->bars[bar].size)
#define pci_resource_flags(pdev, bar) ((pdev)->bars[bar].flags)
#define pci_bus_address(pdev, bar) ((pdev)->bars[bar].start)
#define pci_info(pdev, format, ...) pr_info("%s: " format, pci_name(pdev), ##__VA_ARGS__)
#define pci_warn pci_info
#define pci_err pci_info
