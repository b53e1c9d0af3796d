/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The payloads of the core's messages. All little endian, all fields aligned,
 * all written by the other host: messages_check.c validates them.
 * In wire_message, @object is the number of a device that the lender lends,
 * @context a session. User space compiles both for tests.
 */
#ifndef _SMARTIO_MESSAGES_H
#define _SMARTIO_MESSAGES_H

#include <linux/smartio_message.h>

#define WIRE_HOST_LEN	64
#define WIRE_SERVICE_LEN 16
#define WIRE_PCI_LEN	32

#define WIRE_OFFERED	1

/* WIRE_DEVICE: a device that the sender lends; @flags: WIRE_OFFERED. */
struct wire_device {
	char service[WIRE_SERVICE_LEN];
	char pci[WIRE_PCI_LEN];
	__le32 flags;
	__le32 rsvd;
};

/* The answer to WIRE_OPEN_SESSION; @fences: how often its host was fenced. */
struct wire_opened {
	__le64 session;
	__le64 dma_offset;
	__le32 fences;
	__le32 rsvd;
};

/* A part of BAR @bar, or memory for a segment; @handle: of that segment. */
struct wire_range {
	__le32 bar;
	__le32 handle;
	__le64 offset;
	__le64 size;
};

/**
 * struct wire_addresses - device addresses of a device's own domain. In the
 *	wire_range that asks for them @handle is 1 for single pages at the end.
 * @base: the device address of where the range begins that was asked for
 * @hole: device addresses in it that lead elsewhere
 * @hole_size: bytes
 */
struct wire_addresses {
	__le64 base;
	__le64 hole;
	__le64 hole_size;
};

#define WIRE_PEER_READ	1
#define WIRE_PEER_WRITE	2

/**
 * struct wire_peer - registers of one device, for another one of the receiver
 * @host: who lends the one with the registers: a UUID; 0: the receiver
 * @addr: where the other one finds them, a device address
 * @size: bytes
 * @target: the session in which the sender has the one with the registers; with
 *	a @host the grant that it has there for the receiver
 * @offset: in @bar, in bytes; with a @host the grant says that
 * @bar: number; the same
 * @access: WIRE_PEER_...
 */
struct wire_peer {
	__u8 host[16];
	__le64 addr;
	__le64 size;
	__le64 target;
	__le64 offset;
	__le32 bar;
	__le32 access;
};

/**
 * struct wire_grant - registers of the sender's device, for another host
 * @host: that one: a UUID
 * @offset: in @bar, in bytes
 * @size: bytes
 * @bar: number
 * @access: WIRE_PEER_...
 */
struct wire_grant {
	__u8 host[16];
	__le64 offset;
	__le64 size;
	__le32 bar;
	__le32 access;
};

/* By which the three hosts know it. */
struct wire_granted {
	__le64 grant;
};

/**
 * struct wire_take - a host asks for registers that it was granted
 * @grant: which
 * @size: bytes, as granted
 * @access: WIRE_PEER_..., as granted
 * @rsvd: 0
 * @borrower: for whose device: the UUID of the host that says so
 */
struct wire_take {
	__le64 grant;
	__le64 size;
	__le32 access;
	__le32 rsvd;
	__u8 borrower[16];
};

/* Where the borrower's CPUs and the device find it; @handle: to free it. */
struct wire_segment {
	__le64 peer_addr;
	__le64 device_addr;
	__le32 handle;
	__le32 rsvd;
};

/**
 * struct wire_irq_move - an interrupt of the sender has another message now
 * @from_addr: the receiver's device sends to this address, or to the new one
 *	already
 * @from_data: this data
 * @serial: of the request, increasing: a vector executes none that is older than
 *	its last one
 * @to_addr: it has to send to this address
 * @to_data: this data
 * @vector: of the device
 */
struct wire_irq_move {
	__le64 from_addr;
	__le32 from_data;
	__le32 serial;
	__le64 to_addr;
	__le32 to_data;
	__le32 vector;
};

/**
 * struct wire_fence - a host to be fenced by the receiver, or admitted again
 * @fenced: 1 or 0
 * @rsvd: 0
 * @host: its name, or its UUID as text; NUL-terminated
 */
struct wire_fence {
	__le32 fenced;
	__le32 rsvd;
	char host[WIRE_HOST_LEN];
};

#define WIRE_HOST_FENCED	1	/* the receiver refuses it */
#define WIRE_HOST_LINKED	2	/* a link to it is up, or it is the receiver */

/* A host that the sender knows; @flags: WIRE_HOST_... */
struct wire_host {
	__u8 uuid[16];
	__le32 flags;
	__le32 rsvd;
	char name[WIRE_HOST_LEN];
};

bool messages_payload_ok(const struct wire_message *message,
			 const void *payload);

#endif /* _SMARTIO_MESSAGES_H */
