/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints of smartio: the control path; data paths have none here. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM smartio

#if !defined(_SMARTIO_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SMARTIO_TRACE_H

#include <linux/smartio.h>
#include <linux/tracepoint.h>

TRACE_EVENT(smartio_path,
	TP_PROTO(struct smartio_device *sdev, int kind, u64 session),
	TP_ARGS(sdev, kind, session),
	TP_STRUCT__entry(
		__string(name, dev_name(&sdev->dev))
		__field(int, kind)
		__field(u64, session)
	),
	TP_fast_assign(
		__assign_str(name);
		__entry->kind = kind;
		__entry->session = session;
	),
	TP_printk("%s %s session=%#llx", __get_str(name),
		  __print_symbolic(__entry->kind, { 0, "lost" }, { 1, "ready" },
				   { 2, "notify" }),
		  __entry->session)
);

TRACE_EVENT(smartio_open,
	TP_PROTO(struct smartio_device *sdev, u64 session, int status),
	TP_ARGS(sdev, session, status),
	TP_STRUCT__entry(
		__string(name, dev_name(&sdev->dev))
		__field(u64, session)
		__field(int, status)
	),
	TP_fast_assign(
		__assign_str(name);
		__entry->session = session;
		__entry->status = status;
	),
	TP_printk("%s session=%#llx status=%d", __get_str(name),
		  __entry->session, __entry->status)
);

TRACE_EVENT(smartio_close,
	TP_PROTO(struct smartio_device *sdev, u64 session),
	TP_ARGS(sdev, session),
	TP_STRUCT__entry(
		__string(name, dev_name(&sdev->dev))
		__field(u64, session)
	),
	TP_fast_assign(
		__assign_str(name);
		__entry->session = session;
	),
	TP_printk("%s session=%#llx", __get_str(name), __entry->session)
);

TRACE_EVENT(smartio_session,
	TP_PROTO(struct smartio_session *session, bool open, int status),
	TP_ARGS(session, open, status),
	TP_STRUCT__entry(
		__field(u64, session)
		__string(host, session->host_name)
		__string(link, session->link_name)
		__field(bool, open)
		__field(int, status)
	),
	TP_fast_assign(
		__entry->session = session->id;
		__assign_str(host);
		__assign_str(link);
		__entry->open = open;
		__entry->status = status;
	),
	TP_printk("session=%#llx host=%s link=%s %s status=%d",
		  __entry->session, __get_str(host), __get_str(link),
		  __entry->open ? "opened" : "over", __entry->status)
);

TRACE_EVENT(smartio_fence,
	TP_PROTO(const char *host, bool fenced),
	TP_ARGS(host, fenced),
	TP_STRUCT__entry(
		__string(host, host)
		__field(bool, fenced)
	),
	TP_fast_assign(
		__assign_str(host);
		__entry->fenced = fenced;
	),
	TP_printk("%s %s", __get_str(host),
		  __entry->fenced ? "fenced" : "unfenced")
);

#endif /* _SMARTIO_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
