/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <errno.h>

#define IS_ERR(pointer) ((unsigned long)(pointer) >= (unsigned long)-4095)
#define PTR_ERR(pointer) ((int)(long)(pointer))
#define ERR_PTR(error) ((void*)(long)(error))
