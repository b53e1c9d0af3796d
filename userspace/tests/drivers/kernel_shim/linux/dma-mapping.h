/* SPDX-License-Identifier: GPL-2.0 */
/* Devices find memory where CPUs do. */
#pragma once

#include <linux/device.h>
#include <linux/mm.h>

#define DMA_BIDIRECTIONAL 0
#define DMA_ATTR_SKIP_CPU_SYNC 1

static inline dma_addr_t dma_map_page_attrs(struct device* dev, struct page* page, size_t offset, size_t size,
                                            int direction, unsigned long attributes) {
  (void)size, (void)direction, (void)attributes;
  dev->mappings++;
  return (dma_addr_t)page->memory + offset;
}
static inline void dma_unmap_page_attrs(struct device* dev, dma_addr_t address, size_t size, int direction,
                                        unsigned long attributes) {
  (void)address, (void)size, (void)direction, (void)attributes;
  dev->mappings--;
}
static inline int dma_mapping_error(struct device* dev, dma_addr_t address) {
  (void)dev;
  return !address;
}
