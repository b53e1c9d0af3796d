/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints do nothing. */
#pragma once

#define TP_PROTO(...) __VA_ARGS__
#define TRACE_EVENT(name, parameters, arguments, entry, assign, print) \
  static inline void trace_##name(parameters) {}
