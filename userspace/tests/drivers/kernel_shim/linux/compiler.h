/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#define READ_ONCE(x) (*(const volatile __typeof__(x)*)&(x))
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x)*)&(x) = (value))
#define __iomem
#ifndef __cplusplus /* whose library has a name like these */
#define __init
#define __exit
#endif
