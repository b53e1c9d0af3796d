/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages between two hosts, as a transport carries them: a type, a few
 * numbers that mean something to the two ends only, and a payload. Transports
 * and the core share one space of types. User space compiles this, too.
 */
#ifndef _LINUX_SMARTIO_MESSAGE_H
#define _LINUX_SMARTIO_MESSAGE_H

#include <linux/types.h>

/* The transport's own are PAD, REPLY and APERTURE; the others the core's. */
#define WIRE_PAD		0	/* the rest of the ring is unused */
#define WIRE_REPLY		1
#define WIRE_NOTIFY		2
#define WIRE_DEVICE		3	/* wire_device */
#define WIRE_DEVICE_GONE	4
#define WIRE_DEVICE_END		5	/* all have been named */
#define WIRE_ENDED		6	/* a session; status: still offered */
#define WIRE_APERTURE		7	/* wire_aperture[WIRE_APERTURES] */
/* from here on with a request number, and answered by WIRE_REPLY */
#define WIRE_OPEN_SESSION	8	/* reply: wire_opened */
#define WIRE_CLOSE_SESSION	9
#define WIRE_REVOKE		10
#define WIRE_REQUEST		11
#define WIRE_SEGMENT_ALLOC	12	/* wire_range; reply: wire_segment */
#define WIRE_SEGMENT_FREE	13	/* wire_range */
#define WIRE_MAP_BAR		14	/* wire_range; reply: wire_segment */
#define WIRE_FENCE		15	/* wire_fence: fence a host, or admit it */
#define WIRE_HOSTS		16	/* reply: wire_host[], those known there */
#define WIRE_IRQ_MOVE		17	/* wire_irq_move */
#define WIRE_OWN_ADDRESSES	18	/* wire_range; reply: wire_addresses */
#define WIRE_PEER_MAP		19	/* wire_peer */
#define WIRE_PEER_UNMAP		20	/* wire_peer: @addr and @size */
#define WIRE_PEER_GRANT		21	/* wire_grant; reply: wire_granted */
#define WIRE_PEER_REVOKE	22	/* wire_granted */
#define WIRE_PEER_TAKE		23	/* wire_take; reply: wire_segment */
#define WIRE_PEER_END		24	/* wire_granted: it is taken back */
#define WIRE_TYPES		25

#define WIRE_FIRST_REQUEST	WIRE_OPEN_SESSION

/**
 * struct wire_message - the header of a message, in this host's byte order
 * @type: WIRE_...
 * @length: bytes of payload
 * @object: the ends': the subject of the message
 * @request: number of a request; that of its reply is the same
 * @context: the ends': in which context
 * @status: of a reply: 0 or a negative errno
 * @timeout_ms: the sender of a request waits no longer
 * @reply_max: of a request: bytes of a reply that it has room for
 */
struct wire_message {
	u16 type;
	u32 length;
	u32 object;
	u32 request;
	u64 context;
	s32 status;
	u32 timeout_ms;
	u32 reply_max;
};

/**
 * wire_text_ok() - whether this is text of another host
 * @text: printable ASCII, NUL-terminated, not empty
 * @size: of the field
 *
 * Return: true if so.
 */
static inline bool wire_text_ok(const char *text, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (!text[i])
			return i > 0;
		if (text[i] <= ' ' || text[i] > '~' || text[i] == '/')
			return false;
	}
	return false;
}

#endif /* _LINUX_SMARTIO_MESSAGE_H */
