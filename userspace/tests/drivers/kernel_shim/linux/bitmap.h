/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/mm.h>

unsigned long* bitmap_zalloc(unsigned int bits, gfp_t gfp);
void bitmap_free(const unsigned long* bitmap);
unsigned long shim_find_bit(const unsigned long* bitmap, unsigned long bits, unsigned long from, bool set);
bool __test_and_clear_bit(unsigned long bit, unsigned long* bitmap);
void __set_bit(unsigned long bit, unsigned long* bitmap);

#define test_bit(number, bitmap) (shim_find_bit(bitmap, (number) + 1, number, true) == (number))
#define __clear_bit(bit, bitmap) ((void)__test_and_clear_bit(bit, bitmap))
#define find_first_zero_bit(bitmap, bits) shim_find_bit(bitmap, bits, 0, false)
#define for_each_set_bit(bit, bitmap, bits) \
  for (bit = 0; (bit = shim_find_bit(bitmap, bits, bit, true)) < (bits); bit++)
