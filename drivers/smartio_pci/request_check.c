// SPDX-License-Identifier: GPL-2.0
/* Whether a borrower's request may be executed. */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "proto_check.h"

static bool spci_describe_ok(const struct spci_describe_req *request,
			     size_t size)
{
	return size == sizeof(*request) && !request->rsvd;
}

static bool spci_master_ok(const struct spci_master_req *request, size_t size)
{
	return size == sizeof(*request) && le16_to_cpu(request->on) <= 1;
}

static bool spci_vector_ok(const struct spci_limits *limits,
			   const struct spci_vector *vector)
{
	bool masked = le16_to_cpu(vector->flags) & SPCI_MASKED;

	return le16_to_cpu(vector->index) < limits->vectors &&
	       !(le16_to_cpu(vector->flags) & ~SPCI_MASKED) &&
	       !(le64_to_cpu(vector->addr) % 4) && (masked || vector->addr);
}

static bool spci_vectors_ok(const struct spci_limits *limits,
			    const struct spci_vectors_req *request,
			    size_t size)
{
	unsigned int count, i;

	if (size < sizeof(*request))
		return false;
	count = le16_to_cpu(request->count);
	if (!count || count > SPCI_VECTORS_MAX ||
	    size != sizeof(*request) + count * sizeof(request->vectors[0]))
		return false;
	for (i = 0; i < count; i++)
		if (!spci_vector_ok(limits, &request->vectors[i]))
			return false;
	return true;
}

static bool spci_msi_ok(const struct spci_limits *limits,
			const struct spci_msi_req *request, size_t size)
{
	u32 data;

	if (size != sizeof(*request) || request->on > 1 ||
	    limits->msi_order < 0)
		return false;
	if (!request->on)
		return true;
	if (request->order > limits->msi_order ||
	    request->order > SPCI_MSI_ORDER_MAX)
		return false;
	/* the function counts up in the low bits */
	data = le32_to_cpu(request->data);
	return request->addr && !(le64_to_cpu(request->addr) % 4) &&
	       data <= 0xffff && !(data & ((1U << request->order) - 1));
}

static bool spci_reset_ok(const struct spci_reset_req *request, size_t size)
{
	return size == sizeof(*request) && !request->rsvd;
}

/* Which enum spci_op it is, or -EINVAL. */
int spci_request_check(const struct spci_limits *limits, const void *request,
		       size_t size)
{
	const __le16 *first = request;
	unsigned int op;
	bool ok;

	if (size < sizeof(*first))
		return -EINVAL;
	op = le16_to_cpu(*first);
	switch (op) {
	case SPCI_DESCRIBE:
		ok = spci_describe_ok(request, size);
		break;
	case SPCI_MASTER:
		ok = spci_master_ok(request, size);
		break;
	case SPCI_VECTORS:
		ok = spci_vectors_ok(limits, request, size);
		break;
	case SPCI_MSI:
		ok = spci_msi_ok(limits, request, size);
		break;
	case SPCI_RESET:
		ok = spci_reset_ok(request, size);
		break;
	default:
		ok = false;
	}
	return ok ? (int)op : -EINVAL;
}

/*
 * Whether a checked request, but for SPCI_DESCRIBE, is newer than the last one
 * that was executed, whose serial is *@last; 0: there was none. Then it is the
 * last one.
 */
bool spci_request_newer(const void *request, u32 *last)
{
	const struct spci_ordered *ordered = request;
	u32 serial = le32_to_cpu(ordered->serial);

	if ((s32)(serial - *last) <= 0)
		return false;
	*last = serial;
	return true;
}
