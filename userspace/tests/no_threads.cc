// SPDX-License-Identifier: GPL-2.0
// Part of each test that isn't listed with THREADS (userspace/CMakeLists.txt), which the thread sanitizer does not see.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>

extern "C" int pthread_create(pthread_t* /*thread*/, const pthread_attr_t* /*attributes*/, void* (*)(void*),
                              void* /*argument*/) noexcept {
  std::fputs("this test starts a thread: it is listed without THREADS in its CMakeLists.txt\n", stderr);
  std::abort();
}
