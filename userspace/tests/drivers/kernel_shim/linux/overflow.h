/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#define check_add_overflow(a, b, sum) __builtin_add_overflow(a, b, sum)
