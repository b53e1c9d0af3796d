/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints of ntb_smartio: the control path; data paths have none here. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM smartio

#if !defined(_NTB_SMARTIO_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _NTB_SMARTIO_TRACE_H

#include <linux/smartio_trace.h>
#include <linux/tracepoint.h>

TRACE_EVENT(smartio_link,
	TP_PROTO(const char *link, int state, u32 generation,
		 const char *reason),
	TP_ARGS(link, state, generation, reason),
	TP_STRUCT__entry(
		__string(link, link)
		__field(int, state)
		__field(u32, generation)
		__string(reason, reason)
	),
	TP_fast_assign(
		__assign_str(link);
		__entry->state = state;
		__entry->generation = generation;
		__assign_str(reason);
	),
	TP_printk("%s %s generation=%u %s", __get_str(link),
		  __print_symbolic(__entry->state, { 0, "down" },
				   { 1, "joining" }, { 2, "up" },
				   { 3, "refused" }),
		  __entry->generation, __get_str(reason))
);

TRACE_EVENT(smartio_message,
	TP_PROTO(const char *link, bool sent,
		 const struct wire_message *message, int status),
	TP_ARGS(link, sent, message, status),
	TP_STRUCT__entry(
		__string(link, link)
		__field(bool, sent)
		__field(u16, type)
		__field(u32, length)
		__field(u32, request)
		__field(u64, context)
		__field(int, status)
	),
	TP_fast_assign(
		__assign_str(link);
		__entry->sent = sent;
		__entry->type = message->type;
		__entry->length = message->length;
		__entry->request = message->request;
		__entry->context = message->context;
		__entry->status = status;
	),
	TP_printk("%s %s %s length=%u request=%u context=%#llx status=%d",
		  __get_str(link), __entry->sent ? "sent" : "received",
		  __print_symbolic(__entry->type, WIRE_TYPE_NAMES),
		  __entry->length, __entry->request,
		  __entry->context, __entry->status)
);

#endif /* _NTB_SMARTIO_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
