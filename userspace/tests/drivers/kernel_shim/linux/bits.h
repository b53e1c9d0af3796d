/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define GENMASK(high, low) ((~0U >> (31 - (high))) & (~0U << (low)))
