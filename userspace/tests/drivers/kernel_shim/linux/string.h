/* SPDX-License-Identifier: GPL-2.0 */
#pragma once
#include <stddef.h>
#include <string.h>

#ifndef __cplusplus
long shim_strscpy(char* to, const char* from, size_t size);
char* strim(char* text);

#define SHIM_STRSCPY(to, from, size, ...) shim_strscpy(to, from, size)
#define strscpy(to, ...) SHIM_STRSCPY(to, __VA_ARGS__, sizeof(to))
#endif
