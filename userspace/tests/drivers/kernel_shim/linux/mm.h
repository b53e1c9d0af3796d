/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/gfp.h>
#include <linux/types.h>

#define PAGE_SIZE 4096UL
#define PAGE_MASK (~(PAGE_SIZE - 1))
#define PAGE_ALIGNED(size) (!((size) & (PAGE_SIZE - 1)))
#define PAGE_ALIGN(size) (((size) + PAGE_SIZE - 1) & PAGE_MASK)

struct page {
  void* memory;
};

static inline void* page_address(const struct page* page) { return page->memory; }

void* shim_alloc(size_t count, size_t size, gfp_t gfp);
void shim_free(const void* memory);

/* Contiguous pages, behind their descriptor. */
struct page* shim_pages_alloc(size_t size, gfp_t gfp);

#define virt_to_page(memory) ((struct page*)(memory) - 1)
#define free_pages_exact(memory, size) shim_free(virt_to_page(memory))

static inline void* alloc_pages_exact(size_t size, gfp_t gfp) {
  struct page* pages = shim_pages_alloc(size, gfp);
  return pages ? page_address(pages) : NULL;
}

#define kvmalloc(size, gfp) shim_alloc(1, size, gfp)
#define kvzalloc(size, gfp) shim_alloc(1, size, gfp)
#define kvcalloc(count, size, gfp) shim_alloc(count, size, gfp)
#define kvfree(memory) shim_free(memory)
