/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/device.h>

#define __IOMMU_DOMAIN_PAGING 1U

struct iommu_domain {
  unsigned type;
};
/* With the one domain that it has, and up to two devices. */
struct iommu_group {
  int id;
  int users;
  struct iommu_domain domain;
  struct device* devices[2];
};

static inline struct iommu_domain* iommu_get_domain_for_dev(struct device* dev) {
  return dev->iommu_group ? &dev->iommu_group->domain : NULL;
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
