/* SPDX-License-Identifier: GPL-2.0 */
/* Whether what came from the other host is sound. User space compiles this. */
#ifndef _SMARTIO_PCI_PROTO_CHECK_H
#define _SMARTIO_PCI_PROTO_CHECK_H

#include "proto.h"

/**
 * struct spci_limits - interrupts that a function has
 * @vectors: entries of its MSI-X table
 * @msi_order: log2 of its MSI messages; negative: it has no MSI
 */
struct spci_limits {
	unsigned int vectors;
	int msi_order;
};

int spci_request_check(const struct spci_limits *limits, const void *request,
		       size_t size);
bool spci_request_newer(const void *request, u32 *last);
bool spci_reply_ok(const struct spci_describe_reply *reply, size_t size);

#endif /* _SMARTIO_PCI_PROTO_CHECK_H */
