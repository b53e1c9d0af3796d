/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <linux/types.h>

#define UUID_STRING_LEN 36

typedef struct {
  u8 b[16];
} uuid_t;

#include <linux/string.h>

static inline bool uuid_equal(const uuid_t* a, const uuid_t* b) { return !memcmp(a, b, sizeof(*a)); }
static inline void uuid_copy(uuid_t* to, const uuid_t* from) { *to = *from; }
static inline void import_uuid(uuid_t* to, const u8* from) { memcpy(to, from, sizeof(*to)); }
static inline void export_uuid(u8* to, const uuid_t* from) { memcpy(to, from, sizeof(*from)); }
bool uuid_is_null(const uuid_t* uuid);
int uuid_parse(const char* text, uuid_t* uuid);
void uuid_gen(uuid_t* uuid);
