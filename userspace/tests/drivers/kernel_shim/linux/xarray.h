/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/gfp.h>
#include <linux/types.h>

#define XA_FLAGS_ALLOC1 1

struct xarray {
  void* entries;
};
struct xa_limit {
  u32 max;
  u32 min;
};

#define xa_limit_31b ((struct xa_limit){0x7fffffff, 0})

void xa_init_flags(struct xarray* array, unsigned int flags);
void xa_destroy(struct xarray* array);
int xa_alloc(struct xarray* array, u32* index, void* entry, struct xa_limit limit, gfp_t gfp);
void* xa_load(struct xarray* array, unsigned long index);
void* xa_erase(struct xarray* array, unsigned long index);
void* shim_xa_from(struct xarray* array, unsigned long* index);

#define xa_for_each(array, index, entry) for (index = 0; (entry = shim_xa_from(array, &index)) != NULL; index++)
