/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints of ntb_smartio: the control path; data paths have none here. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM smartio

#if !defined(_SMARTIO_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SMARTIO_TRACE_H

#include <linux/smartio.h>
#include <linux/tracepoint.h>

#include "wire.h"

TRACE_EVENT(smartio_way,
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

/* so that user space can read them too */
TRACE_DEFINE_ENUM(WIRE_REPLY);
TRACE_DEFINE_ENUM(WIRE_NOTIFY);
TRACE_DEFINE_ENUM(WIRE_DEVICE);
TRACE_DEFINE_ENUM(WIRE_DEVICE_GONE);
TRACE_DEFINE_ENUM(WIRE_DEVICE_END);
TRACE_DEFINE_ENUM(WIRE_ENDED);
TRACE_DEFINE_ENUM(WIRE_APERTURE);
TRACE_DEFINE_ENUM(WIRE_OPEN_SESSION);
TRACE_DEFINE_ENUM(WIRE_CLOSE_SESSION);
TRACE_DEFINE_ENUM(WIRE_REVOKE);
TRACE_DEFINE_ENUM(WIRE_REQUEST);
TRACE_DEFINE_ENUM(WIRE_SEGMENT_ALLOC);
TRACE_DEFINE_ENUM(WIRE_SEGMENT_FREE);
TRACE_DEFINE_ENUM(WIRE_MAP_BAR);

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
		__field(u64, session)
		__field(int, status)
	),
	TP_fast_assign(
		__assign_str(link);
		__entry->sent = sent;
		__entry->type = message->type;
		__entry->length = message->length;
		__entry->request = message->request;
		__entry->session = message->session;
		__entry->status = status;
	),
	TP_printk("%s %s %s length=%u request=%u session=%#llx status=%d",
		  __get_str(link), __entry->sent ? "sent" : "received",
		  __print_symbolic(__entry->type,
				   { WIRE_REPLY, "reply" },
				   { WIRE_NOTIFY, "notify" },
				   { WIRE_DEVICE, "device" },
				   { WIRE_DEVICE_GONE, "device-gone" },
				   { WIRE_DEVICE_END, "device-end" },
				   { WIRE_ENDED, "ended" },
				   { WIRE_APERTURE, "aperture" },
				   { WIRE_OPEN_SESSION, "open" },
				   { WIRE_CLOSE_SESSION, "close" },
				   { WIRE_REVOKE, "revoke" },
				   { WIRE_REQUEST, "request" },
				   { WIRE_SEGMENT_ALLOC, "segment-alloc" },
				   { WIRE_SEGMENT_FREE, "segment-free" },
				   { WIRE_MAP_BAR, "map-bar" }),
		  __entry->length, __entry->request,
		  __entry->session, __entry->status)
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
