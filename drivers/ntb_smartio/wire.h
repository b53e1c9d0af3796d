/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What two hosts say to each other over a link. All little endian, all fields
 * aligned, all written by the other side: wire_check.c validates them.
 * User space compiles both for tests.
 *
 * Three steps. Each side
 *   1. tells the other, by scratchpads, its generation (a number that is new
 *      with every attempt), the generation of the other that it has seen, and
 *      where its bootstrap page is. A side that shows the other's generation
 *      has ended everything that belonged to an earlier one, but for late
 *      writes, which it announces (WIRE_WRITES): only then does the other open
 *      its window. It opens no more than the sizes of the other's windows, which
 *      are in a scratchpad, too.
 *   2. posts a hello into the other's bootstrap page.
 *   3. posts messages into the other's ring, and, into its bootstrap page, a
 *      heartbeat and how far it has read its own ring.
 * Nothing is ever read across the link.
 */
#ifndef _SMARTIO_WIRE_H
#define _SMARTIO_WIRE_H

#include <linux/smartio_message.h>

#define WIRE_MAGIC	0x5349	/* "SI" */
#define WIRE_VERSION	4
#define WIRE_APERTURES	4
#define WIRE_NAME_LEN	64
#define WIRE_PAGE_SHIFT	12

/* Scratchpads of the receiving side. */
enum wire_spad {
	WIRE_SPAD_MAGIC,	/* WIRE_MAGIC << 16 | version; 0: no host */
	WIRE_SPAD_GENERATION,	/* of the writer, never 0 */
	WIRE_SPAD_ECHO,		/* the reader's generation, as the writer saw it */
	/* page of its aperture 0 that is the bootstrap page; or see WIRE_REJOIN */
	WIRE_SPAD_BOOT,
	WIRE_SPAD_FLAGS,	/* wire_flags | reason << 8 | memory window << 16 */
	WIRE_SPAD_WINDOWS,	/* wire_windows_pack() of those that lead to the reader */
	WIRE_SPADS
};

#define WIRE_OPEN	0x01	/* the writer's aperture 0 is open for the reader */
/*
 * The writer knows that it is fenced, and asks to be admitted. BOOT is its
 * incarnation, ECHO wire_uuid_crc() of its UUID.
 */
#define WIRE_REJOIN	0x02
/*
 * The writer may continue to write to memory or registers that were open to it
 * before the link was lost: a virtual machine there has them mapped, say. Valid
 * once ECHO is the reader's generation.
 */
#define WIRE_WRITES	0x04

#define WIRE_FLAGS(flags, reason, mw) \
	((flags) | (u32)(reason) << 8 | (u32)(mw) << 16)
#define WIRE_FLAGS_REASON(flags)	((flags) >> 8 & 0xff)
#define WIRE_FLAGS_MW(flags)		((flags) >> 16 & 0xff)

/* Why a side wants nothing to do with the other. */
enum wire_reason {
	WIRE_REASON_NONE,
	WIRE_REASON_VERSION,
	WIRE_REASON_FENCED,
	WIRE_REASON_SAME_HOST,
	WIRE_REASON_BAD_HELLO,
	WIRE_REASON_WINDOW,
	WIRE_REASON_GROUP,
	WIRE_REASONS
};

/**
 * struct wire_aperture - memory that the sender has opened
 * @mw: memory window, as the receiver numbers its outgoing ones
 * @rsvd: 0
 * @base: first address, in the DMA address space of the sender's NTB
 * @size: bytes; 0: unused
 */
struct wire_aperture {
	__le32 mw;
	__le32 rsvd;
	__le64 base;
	__le64 size;
};

/* Devices of the sender can ring doorbells of the receiver. */
#define WIRE_HELLO_DOORBELLS	0x01

/**
 * struct wire_hello - who the sender is, and where its ring is
 * @magic: WIRE_MAGIC << 16 | version
 * @generation: of the sender
 * @echo: of the receiver
 * @crc: crc32 (seed ~0) of the hello with this field and @valid 0
 * @doorbell: bit to ring for messages
 * @heartbeat_ms: how often it posts
 * @ring: address of its ring, in its aperture 0
 * @ring_slots: slots of WIRE_SLOT bytes
 * @flags: WIRE_HELLO_...; others are ignored
 * @apertures: of the sender
 * @uuid: of the host
 * @name: of the host, NUL-terminated
 * @incarnation: of the sender: another one whenever its module is loaded
 * @valid: the generation again; written last
 */
struct wire_hello {
	__le32 magic;
	__le32 generation;
	__le32 echo;
	__le32 crc;
	__le32 doorbell;
	__le32 heartbeat_ms;
	__le64 ring;
	__le32 ring_slots;
	__le32 flags;
	struct wire_aperture apertures[WIRE_APERTURES];
	__u8 uuid[16];
	char name[WIRE_NAME_LEN];
	__le32 incarnation;
	__le32 valid;
};

/* A counter of the other side; @generation is the receiver's. One store. */
union wire_count {
	struct {
		__le32 generation;
		__le32 count;
	};
	__le64 word;
};

/* The bootstrap page, which the other side writes. */
struct wire_boot {
	struct wire_hello hello;
	__u8 pad[1024 - sizeof(struct wire_hello)];
	union wire_count heartbeat;
	__u8 pad2[56];
	union wire_count consumed;	/* slots, of the ring that we send to */
	__u8 pad3[56];
};

#define WIRE_SLOT	64
#define WIRE_RING_MIN	4096	/* slots: the largest message fits many times */
#define WIRE_RING_MAX	1048576

/**
 * struct wire_head - before each message, one slot
 * @type: WIRE_...
 * @rsvd: 0
 * @length: bytes that follow, in the next slots
 * @object: of the two ends
 * @request: number of the request; that of a reply is the same
 * @context: of the two ends
 * @status: of a reply: 0 or a negative errno
 * @timeout_ms: the sender of a request waits no longer
 * @reply_max: of a request: bytes of a reply that it has room for
 * @rsvd2: 0
 * @generation: of the receiver; with @sequence in one store, written last
 * @sequence: of the message, from 1
 */
struct wire_head {
	__le16 type;
	__le16 rsvd;
	__le32 length;
	__le32 object;
	__le32 request;
	__le64 context;
	__le32 status;
	__le32 timeout_ms;
	__le32 reply_max;
	__u8 rsvd2[20];
	__le32 generation;
	__le32 sequence;
};

/* Windows whose sizes fit into a scratchpad; no other is used. */
#define WIRE_WINDOWS	4

u32 wire_windows_pack(const u64 *sizes, u32 windows);
u64 wire_window_size(u32 packed, u32 mw);
enum wire_reason wire_hello_check(const struct wire_hello *hello,
				  u32 generation, u32 echo);
bool wire_doorbell_ok(u32 number, u64 valid, u32 messages);
u32 wire_hello_crc(const struct wire_hello *hello);
u32 wire_uuid_crc(const void *uuid);
bool wire_apertures_ok(const struct wire_aperture *apertures, u32 windows,
		       const u64 *window_sizes);
int wire_head_check(const struct wire_head *head, u32 slots, u32 position,
		    u32 max_length, struct wire_message *message);
bool wire_payload_ok(const struct wire_message *message);

static inline u32 wire_slots(u32 length)
{
	return 1 + (length + WIRE_SLOT - 1) / WIRE_SLOT;
}

#endif /* _SMARTIO_WIRE_H */
