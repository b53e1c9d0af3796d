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
static inline struct page* dma_alloc_pages(struct device* dev, size_t size, dma_addr_t* dma, int direction, gfp_t gfp) {
  struct page* pages = shim_pages_alloc(size, gfp);
  (void)dev, (void)direction;
  if (pages) *dma = (dma_addr_t)page_address(pages);
  return pages;
}
static inline void dma_free_pages(struct device* dev, size_t size, struct page* pages, dma_addr_t dma, int direction) {
  (void)dev, (void)size, (void)dma, (void)direction;
  shim_free(pages);
}
static inline int dma_mapping_error(struct device* dev, dma_addr_t address) {
  (void)dev;
  return !address;
}
