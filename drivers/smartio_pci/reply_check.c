// SPDX-License-Identifier: GPL-2.0
/* Whether a lender's description can be that of a function. */
#include <linux/kernel.h>

#include "config_table.h"
#include "proto_check.h"

static bool spci_bar_ok(const struct spci_bar *bar, bool last)
{
	u64 size = le64_to_cpu(bar->size), bus = le64_to_cpu(bar->bus);
	u32 flags = le32_to_cpu(bar->flags);

	if (!size)
		return true;
	if (flags & ~(SPCI_BAR_64 | SPCI_BAR_PREFETCH))
		return false;
	if (flags & SPCI_BAR_64 && last)
		return false;
	/* PCI 6.2.5.1: at least 16 bytes, aligned to its size */
	return size >= 16 && !(size & (size - 1)) && !(bus & (size - 1)) &&
	       (flags & SPCI_BAR_64 || bus + size - 1 <= 0xffffffff);
}

/* As spci_config_show() makes it: no bridge, no SR-IOV, no other capability. */
static bool spci_config_ok(const u8 *config)
{
	unsigned int at = config[PCI_CAPABILITY_LIST], i, length;
	u32 extended = get32(config + PCI_CFG_SPACE_SIZE);

	if (config[PCI_HEADER_TYPE] != PCI_HEADER_TYPE_NORMAL)
		return false;
	for (i = 0; at; i++, at = config[at + 1]) {
		if (i == SPCI_CAPS_MAX || at & 3 || at < PCI_STD_HEADER_SIZEOF)
			return false;
		length = spci_cap_length(config + at);
		if (!length || at + length > PCI_CFG_SPACE_SIZE)
			return false;
	}
	return !extended ||
	       (PCI_EXT_CAP_ID(extended) == PCI_EXT_CAP_ID_DSN &&
		!PCI_EXT_CAP_NEXT(extended));
}

bool spci_reply_ok(const struct spci_describe_reply *reply, size_t size)
{
	unsigned int i;

	if (size != sizeof(*reply) ||
	    le16_to_cpu(reply->version) != SPCI_VERSION ||
	    (le16_to_cpu(reply->config_size) != 256 &&
	     le16_to_cpu(reply->config_size) != SPCI_CONFIG_SIZE) ||
	    le16_to_cpu(reply->vectors) > 2048 ||
	    !spci_config_ok(reply->config))
		return false;
	for (i = 0; i < SPCI_BARS; i++) {
		if (!spci_bar_ok(&reply->bars[i], i == SPCI_BARS - 1))
			return false;
		if (i && le64_to_cpu(reply->bars[i - 1].size) &&
		    le32_to_cpu(reply->bars[i - 1].flags) & SPCI_BAR_64 &&
		    reply->bars[i].size)
			return false;
	}
	return true;
}
