/* SPDX-License-Identifier: GPL-2.0 */
/* Types of messages as tracepoints of transports show them. */
#ifndef _LINUX_SMARTIO_TRACE_H
#define _LINUX_SMARTIO_TRACE_H

#include <linux/smartio_message.h>

/* For __print_symbolic(). */
#define WIRE_TYPE_NAMES				\
	{ WIRE_REPLY, "reply" },		\
	{ WIRE_NOTIFY, "notify" },		\
	{ WIRE_DEVICE, "device" },		\
	{ WIRE_DEVICE_GONE, "device-gone" },	\
	{ WIRE_DEVICE_END, "device-end" },	\
	{ WIRE_ENDED, "ended" },		\
	{ WIRE_APERTURE, "aperture" },		\
	{ WIRE_OPEN_SESSION, "open" },		\
	{ WIRE_CLOSE_SESSION, "close" },	\
	{ WIRE_REVOKE, "revoke" },		\
	{ WIRE_REQUEST, "request" },		\
	{ WIRE_SEGMENT_ALLOC, "segment-alloc" },	\
	{ WIRE_SEGMENT_FREE, "segment-free" },	\
	{ WIRE_MAP_BAR, "map-bar" },		\
	{ WIRE_FENCE, "fence" },		\
	{ WIRE_HOSTS, "hosts" },		\
	{ WIRE_IRQ_MOVE, "irq-move" },		\
	{ WIRE_OWN_ADDRESSES, "own-addresses" },	\
	{ WIRE_PEER_MAP, "peer-map" },		\
	{ WIRE_PEER_UNMAP, "peer-unmap" },	\
	{ WIRE_PEER_GRANT, "peer-grant" },	\
	{ WIRE_PEER_REVOKE, "peer-revoke" },	\
	{ WIRE_PEER_TAKE, "peer-take" },	\
	{ WIRE_PEER_END, "peer-end" }

#endif /* _LINUX_SMARTIO_TRACE_H */
