/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#define smp_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define READ_ONCE(x) (*(const volatile __typeof__(x)*)&(x))
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x)*)&(x) = (value))
#define __iomem
#ifndef __cplusplus /* whose library has a name like these */
#define __init
#define __exit
#endif
