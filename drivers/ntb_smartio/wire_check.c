// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of data that another host wrote. These are pure functions on copies in
 * this host's memory, so the data can't change under them. User space fuzzes
 * this file.
 */
#include <linux/build_bug.h>
#include <linux/crc32.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include "wire.h"

static_assert(sizeof(struct wire_aperture) == 24);
static_assert(sizeof(struct wire_hello) == 224);
static_assert(offsetof(struct wire_boot, heartbeat) == 1024);
static_assert(offsetof(struct wire_boot, consumed) == 1088);
static_assert(sizeof(struct wire_boot) <= 4096);
static_assert(sizeof(struct wire_head) == WIRE_SLOT);
static_assert(offsetof(struct wire_head, generation) == 56);

/* The checksum of a hello. */
u32 wire_hello_crc(const struct wire_hello *hello)
{
	struct wire_hello copy = *hello;

	copy.crc = 0;
	copy.valid = 0;
	return crc32_le(~0U, (const unsigned char *)&copy, sizeof(copy));
}

/* A host in 32 bits. */
u32 wire_uuid_crc(const void *uuid)
{
	return crc32_le(~0U, uuid, 16);
}

/*
 * The sizes of the windows that lead to the other side, for a scratchpad: log2
 * of each in a byte. Of a size that is no power of two the scratchpad tells a
 * part. 0: the window is not there, or has less than a page.
 */
u32 wire_windows_pack(const u64 *sizes, u32 windows)
{
	u32 mw, packed = 0;

	for (mw = 0; mw < windows && mw < WIRE_WINDOWS; mw++)
		if (sizes[mw] >> WIRE_PAGE_SHIFT)
			packed |= (u32)ilog2(sizes[mw]) << (8 * mw);
	return packed;
}

/* Bytes of the other side's window @mw. 0: it has no such window. */
u64 wire_window_size(u32 packed, u32 mw)
{
	u32 bits = mw < WIRE_WINDOWS ? packed >> (8 * mw) & 0xff : 0;

	return bits >= WIRE_PAGE_SHIFT && bits < 64 ? 1ULL << bits : 0;
}

/*
 * WIRE_REASON_NONE: the hello can be used; WIRE_REASONS: it is not there yet, or
 * an old one; another reason: never.
 */
enum wire_reason wire_hello_check(const struct wire_hello *hello,
				  u32 generation, u32 echo)
{
	u32 magic = le32_to_cpu(hello->magic), slots;

	if (le32_to_cpu(hello->valid) != generation ||
	    le32_to_cpu(hello->generation) != generation ||
	    le32_to_cpu(hello->echo) != echo)
		return WIRE_REASONS;
	/* half of it is old, half new: the rest is still to come */
	if (le32_to_cpu(hello->crc) != wire_hello_crc(hello))
		return WIRE_REASONS;
	if (magic >> 16 != WIRE_MAGIC || (magic & 0xffff) != WIRE_VERSION)
		return WIRE_REASON_VERSION;
	slots = le32_to_cpu(hello->ring_slots);
	if (!wire_text_ok(hello->name, sizeof(hello->name)) ||
	    slots < WIRE_RING_MIN || slots > WIRE_RING_MAX ||
	    le64_to_cpu(hello->ring) % WIRE_SLOT ||
	    le32_to_cpu(hello->doorbell) >= 64)
		return WIRE_REASON_BAD_HELLO;
	return WIRE_REASON_NONE;
}

/*
 * Whether devices may ring the doorbell of this number: one of @valid, but not
 * the one for @messages.
 */
bool wire_doorbell_ok(u32 number, u64 valid, u32 messages)
{
	return number < 64 && valid >> number & 1 && number != messages;
}

/* Whether apertures fit the windows that lead there, and the first is in use. */
bool wire_apertures_ok(const struct wire_aperture *apertures, u32 windows,
		       const u64 *window_sizes)
{
	u32 i, mw;

	if (!apertures[0].size)
		return false;
	for (i = 0; i < WIRE_APERTURES; i++) {
		u64 base = le64_to_cpu(apertures[i].base);
		u64 size = le64_to_cpu(apertures[i].size);

		if (!size)
			continue;
		mw = le32_to_cpu(apertures[i].mw);
		if (mw >= windows || size > window_sizes[mw] ||
		    base + size < base)
			return false;
	}
	return true;
}

/*
 * Whether a message header is sound. Returns slots that it takes, or -EBADMSG:
 * the ring can't be read any further.
 */
int wire_head_check(const struct wire_head *head, u32 slots, u32 position,
		    u32 max_length, struct wire_message *message)
{
	u32 type = le16_to_cpu(head->type), length = le32_to_cpu(head->length);

	if (position >= slots || type >= WIRE_TYPES)
		return -EBADMSG;
	if (type == WIRE_PAD) {
		message->type = type;
		return slots - position;
	}
	if (length > max_length || wire_slots(length) > slots - position)
		return -EBADMSG;
	message->type = type;
	message->length = length;
	message->object = le32_to_cpu(head->object);
	message->request = le32_to_cpu(head->request);
	message->context = le64_to_cpu(head->context);
	message->status = (s32)le32_to_cpu(head->status);
	message->timeout_ms = le32_to_cpu(head->timeout_ms);
	message->reply_max = le32_to_cpu(head->reply_max);
	return wire_slots(length);
}

/* Whether the length after a header fits the type of the message. */
bool wire_payload_ok(const struct wire_message *message)
{
	if (message->type == WIRE_APERTURE)
		return message->length ==
		       WIRE_APERTURES * sizeof(struct wire_aperture);
	return message->status <= 0 && message->status >= -4095;
}
