/* SPDX-License-Identifier: GPL-2.0 */
/* Tests have one thread. */
#pragma once

#include <linux/types.h>

typedef struct {
  int counter;
} atomic_t;
typedef struct {
  s64 counter;
} atomic64_t;

static inline int atomic_read(const atomic_t* v) { return v->counter; }
static inline void atomic_set(atomic_t* v, int value) { v->counter = value; }
static inline void atomic_inc(atomic_t* v) { v->counter++; }
static inline int atomic_inc_return(atomic_t* v) { return ++v->counter; }
static inline void atomic_dec(atomic_t* v) { v->counter--; }
static inline bool atomic_dec_and_test(atomic_t* v) { return !--v->counter; }
static inline int atomic_xchg(atomic_t* v, int value) {
  int old = v->counter;

  v->counter = value;
  return old;
}
static inline s64 atomic64_read(const atomic64_t* v) { return v->counter; }
static inline s64 atomic64_inc_return(atomic64_t* v) { return ++v->counter; }
static inline s64 atomic64_cmpxchg(atomic64_t* v, s64 expected, s64 value) {
  s64 old = v->counter;

  if (old == expected) v->counter = value;
  return old;
}
