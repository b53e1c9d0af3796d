// SPDX-License-Identifier: GPL-2.0
/*
 * Validates the payloads of the core's messages. Pure functions on copies in
 * this host's memory. User space fuzzes this file.
 */
#include <linux/types.h>
#include <asm/byteorder.h>

#include "messages.h"

/*
 * Whether a payload fits its header. The payloads of drivers are unknown here.
 */
bool messages_payload_ok(const struct wire_message *message,
			 const void *payload)
{
	const struct wire_device *device = payload;
	const struct wire_fence *fence = payload;

	switch (message->type) {
	case WIRE_NOTIFY:
		return true;
	case WIRE_REQUEST:
		return message->length > 0;
	case WIRE_DEVICE:
		return message->length == sizeof(*device) &&
		       wire_text_ok(device->service, sizeof(device->service)) &&
		       wire_text_ok(device->pci, sizeof(device->pci));
	case WIRE_SEGMENT_ALLOC:
	case WIRE_SEGMENT_FREE:
	case WIRE_MAP_BAR:
	case WIRE_OWN_ADDRESSES:
		return message->length == sizeof(struct wire_range);
	case WIRE_IRQ_MOVE:
		return message->length == sizeof(struct wire_irq_move);
	case WIRE_PEER_MAP:
	case WIRE_PEER_UNMAP:
		return message->length == sizeof(struct wire_peer);
	case WIRE_PEER_GRANT:
		return message->length == sizeof(struct wire_grant);
	case WIRE_PEER_TAKE:
		return message->length == sizeof(struct wire_take);
	case WIRE_PEER_REVOKE:
	case WIRE_PEER_END:
		return message->length == sizeof(struct wire_granted);
	case WIRE_FENCE:
		return message->length == sizeof(*fence) &&
		       le32_to_cpu(fence->fenced) <= 1 &&
		       wire_text_ok(fence->host, sizeof(fence->host));
	default:
		return message->length == 0;
	}
}
