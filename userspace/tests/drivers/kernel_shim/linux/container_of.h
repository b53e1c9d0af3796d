/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <stddef.h>

#define container_of(pointer, type, member) ((type*)((char*)(pointer) - offsetof(type, member)))
#define container_of_const container_of
