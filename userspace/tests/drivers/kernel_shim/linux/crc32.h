/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/types.h>

static inline u32 crc32_le(u32 crc, const unsigned char* bytes, size_t size) {
  while (size--) {
    crc ^= *bytes++;
    for (int i = 0; i < 8; i++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
  }
  return crc;
}
