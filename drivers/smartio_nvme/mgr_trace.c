// SPDX-License-Identifier: GPL-2.0
/* Before the definitions: it includes other systems' tracepoints. */
#include "mgr.h"

#define CREATE_TRACE_POINTS
#include "mgr_trace.h"
