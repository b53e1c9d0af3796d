/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/device.h>
#include <linux/slab.h>

#define __IOMMU_DOMAIN_PAGING 1U
#define IOMMU_READ 1
#define IOMMU_WRITE 2
#define IOMMU_MMIO 16
#define SHIM_MAPPINGS 6

/* With its mappings, if it is not the one that a group begins with: pieces that join are one. */
struct iommu_domain {
  unsigned type;
  struct {
    u64 aperture_end;
  } geometry;
  int maps; /* calls of iommu_map() */
  int mappings;
  struct {
    unsigned long iova;
    phys_addr_t phys;
    size_t size;
    int prot;
  } mapped[SHIM_MAPPINGS];
};
/* With the domain that it begins with, the one that it has instead, and up to two devices. */
struct iommu_group {
  int id;
  int users;
  struct iommu_domain domain;
  struct device* devices[2];
  struct iommu_domain* attached;
};

static inline struct iommu_domain* iommu_get_domain_for_dev(struct device* dev) {
  return dev->iommu_group ? &dev->iommu_group->domain : NULL;
}

static inline struct iommu_domain* iommu_paging_domain_alloc(struct device* dev) {
  (void)dev;
  struct iommu_domain* domain = (struct iommu_domain*)kzalloc(sizeof(struct iommu_domain), GFP_KERNEL);
  domain->geometry.aperture_end = (1ULL << 39) - 1;
  return domain;
}

static inline void iommu_domain_free(struct iommu_domain* domain) { kfree(domain); }

static inline int iommu_map(struct iommu_domain* domain, unsigned long iova, phys_addr_t phys, size_t size, int prot,
                            gfp_t gfp) {
  (void)gfp;
  shim_assert(!((iova | phys | size) % PAGE_SIZE), "a mapping of whole pages");
  for (int i = 0; i < domain->mappings; ++i)
    shim_assert(iova + size <= domain->mapped[i].iova || domain->mapped[i].iova + domain->mapped[i].size <= iova,
                "what is mapped was not");
  domain->maps++;
  for (int i = 0; i < domain->mappings; ++i) {
    if (domain->mapped[i].iova + domain->mapped[i].size != iova ||
        domain->mapped[i].phys + domain->mapped[i].size != phys || domain->mapped[i].prot != prot)
      continue;
    domain->mapped[i].size += size;
    return 0;
  }
  shim_assert(domain->mappings < SHIM_MAPPINGS, "too many mappings for the shim");
  domain->mapped[domain->mappings].iova = iova;
  domain->mapped[domain->mappings].phys = phys;
  domain->mapped[domain->mappings].size = size;
  domain->mapped[domain->mappings++].prot = prot;
  return 0;
}

/* Of one piece. The part behind the range becomes the last piece; the others keep their order. */
static inline size_t iommu_unmap(struct iommu_domain* domain, unsigned long iova, size_t size) {
  for (int i = 0; i < domain->mappings; ++i) {
    const unsigned long start = domain->mapped[i].iova, end = start + domain->mapped[i].size;
    if (iova < start || iova + size > end) continue;
    domain->mapped[i].size = iova - start;
    if (iova + size < end) {
      shim_assert(domain->mappings < SHIM_MAPPINGS, "too many mappings for the shim");
      domain->mapped[domain->mappings] = domain->mapped[i];
      domain->mapped[domain->mappings].iova = iova + size;
      domain->mapped[domain->mappings].phys += iova + size - start;
      domain->mapped[domain->mappings++].size = end - iova - size;
    }
    if (!domain->mapped[i].size)
      for (--domain->mappings; i < domain->mappings; ++i) domain->mapped[i] = domain->mapped[i + 1];
    return size;
  }
  shim_assert(false, "what is unmapped is mapped");
  return 0;
}

static inline int iommu_attach_group(struct iommu_domain* domain, struct iommu_group* group) {
  if (group->attached) return -EBUSY;
  group->attached = domain;
  return 0;
}

static inline void iommu_detach_group(struct iommu_domain* domain, struct iommu_group* group) {
  shim_assert(group->attached == domain, "a group leaves the domain that it has");
  group->attached = NULL;
}

static inline struct iommu_group* iommu_group_get(struct device* dev) {
  if (dev->iommu_group) dev->iommu_group->users++;
  return dev->iommu_group;
}

static inline void iommu_group_put(struct iommu_group* group) { group->users--; }

static inline int iommu_group_id(struct iommu_group* group) { return group->id; }

static inline int iommu_group_for_each_dev(struct iommu_group* group, void* data,
                                           int (*visit)(struct device* dev, void* data)) {
  int ret = 0;
  for (int i = 0; i < 2 && !ret; ++i) ret = group->devices[i] ? visit(group->devices[i], data) : 0;
  return ret;
}
