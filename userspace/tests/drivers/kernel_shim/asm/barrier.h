/* SPDX-License-Identifier: GPL-2.0 */
/* Barriers, at which a test can look at memory. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif
extern void (*shim_on_barrier)(void);
#ifdef __cplusplus
}
#endif

#define dma_wmb()                            \
  do {                                       \
    __atomic_thread_fence(__ATOMIC_RELEASE); \
    if (shim_on_barrier) shim_on_barrier();  \
  } while (0)
