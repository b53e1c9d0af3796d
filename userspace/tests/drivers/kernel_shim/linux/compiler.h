/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#define WRITE_ONCE(x, value) (*(volatile __typeof__(x)*)&(x) = (value))
