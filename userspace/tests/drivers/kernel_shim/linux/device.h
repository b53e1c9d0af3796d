/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/types.h>

struct attribute_group;
struct iommu_group;
struct module;

struct device {
  char name[64];
  int* siblings;
  int mappings;
  struct iommu_group* iommu_group;
};
struct device_driver {
  const char* name;
  struct module* owner;
};

static inline const char* dev_name(const struct device* dev) { return dev->name; }
#define dev_notice(dev, format, ...) pr_info("%s: " format, dev_name(dev), ##__VA_ARGS__)
#define dev_err_ratelimited(dev, format, ...) pr_info("%s: " format, dev_name(dev), ##__VA_ARGS__)

struct device* shim_device_create(int* siblings, const char* format, ...);
void device_unregister(struct device* dev);

#ifndef __cplusplus /* which has another meaning for the word */

struct class {
  const char* name;
  const struct attribute_group** class_groups;
  const struct attribute_group** dev_groups;
  int devices;
};

#define device_create(class, parent, number, data, ...) shim_device_create(&(class)->devices, __VA_ARGS__)

static inline int class_register(struct class* class) {
  class->devices = 0;
  return 0;
}

static inline void class_unregister(struct class* class) {
  shim_assert(!class->devices, "a class goes before its devices");
}
#endif
