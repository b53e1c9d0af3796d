/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include <stdbool.h>

#define lockdep_assert_held(lock) shim_assert((lock)->held, "somebody does without a lock what needs it")

/* Ends the test unless @holds. */
void shim_assert(bool holds, const char* text);
