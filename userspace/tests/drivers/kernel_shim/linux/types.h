/* SPDX-License-Identifier: GPL-2.0 */
/* The types and byte orders that the pure parts of the drivers use, in user space on a little-endian machine. */
#pragma once

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
typedef u64 dma_addr_t;
typedef u64 phys_addr_t;
typedef unsigned int gfp_t;

#ifndef __packed
#define __packed __attribute__((packed))
#endif
#ifndef struct_group
#define struct_group(NAME, ...) \
  union {                       \
    struct {                    \
      __VA_ARGS__               \
    };                          \
    struct {                    \
      __VA_ARGS__               \
    } NAME;                     \
  }
#endif

#define cpu_to_le16(x) ((__le16)(x))
#define cpu_to_le32(x) ((__le32)(x))
#define cpu_to_le64(x) ((__le64)(x))
#define le16_to_cpu(x) ((u16)(x))
#define le32_to_cpu(x) ((u32)(x))
#define le64_to_cpu(x) ((u64)(x))

#define unlikely(condition) (condition)
