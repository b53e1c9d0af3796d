// SPDX-License-Identifier: GPL-2.0
/* A function's configuration space, as a borrower sees it. */
#include <linux/kernel.h>
#include <linux/string.h>

#include "config_table.h"

#define SPCI_EXT_CAPS_MAX	((SPCI_CONFIG_SIZE - 256) / 8)

/* As after a reset that left it configured, not as the lender has it. */
static void spci_cap_shown(u8 *cap)
{
	u16 flags;

	switch (cap[0]) {
	case PCI_CAP_ID_MSI:
		flags = get16(cap + PCI_MSI_FLAGS);
		put16(cap + PCI_MSI_FLAGS,
		      flags & ~(PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE));
		memset(cap + PCI_MSI_ADDRESS_LO, 0, spci_msi_length(cap) - 4);
		break;
	case PCI_CAP_ID_MSIX:
		flags = get16(cap + PCI_MSIX_FLAGS);
		put16(cap + PCI_MSIX_FLAGS, flags & PCI_MSIX_FLAGS_QSIZE);
		break;
	case PCI_CAP_ID_EXP:
		/* the lender finds a way to reset any that it lends */
		put32(cap + PCI_EXP_DEVCAP,
		      get32(cap + PCI_EXP_DEVCAP) | PCI_EXP_DEVCAP_FLR);
		put16(cap + PCI_EXP_DEVSTA, 0);
		break;
	}
}

static void spci_caps_build(const u8 *real, u8 *shown)
{
	unsigned int at = real[PCI_CAPABILITY_LIST] & ~3, i, length;
	u8 *link = &shown[PCI_CAPABILITY_LIST];

	if (!(get16(real + PCI_STATUS) & PCI_STATUS_CAP_LIST))
		return;
	for (i = 0; at >= PCI_STD_HEADER_SIZEOF && i < SPCI_CAPS_MAX;
	     i++, at = real[at + 1] & ~3) {
		length = spci_cap_length(real + at);
		/* one that is there twice, or beyond the end, is none */
		if (!length || at + length > PCI_CFG_SPACE_SIZE || shown[at])
			continue;
		memcpy(shown + at, real + at, length);
		shown[at + 1] = 0;
		spci_cap_shown(shown + at);
		*link = at;
		link = &shown[at + 1];
	}
	if (shown[PCI_CAPABILITY_LIST])
		put16(shown + PCI_STATUS, PCI_STATUS_CAP_LIST);
}

/*
 * Of the extended ones the serial number alone. It moves to where the first one
 * has to be.
 */
static void spci_ext_caps_build(const u8 *real, u8 *shown)
{
	unsigned int at = PCI_CFG_SPACE_SIZE, i;
	u32 header;

	for (i = 0; i < SPCI_EXT_CAPS_MAX; i++) {
		header = get32(real + at);
		if (PCI_EXT_CAP_ID(header) == PCI_EXT_CAP_ID_DSN)
			break;
		at = PCI_EXT_CAP_NEXT(header);
		if (at < PCI_CFG_SPACE_SIZE)
			return;
	}
	if (i == SPCI_EXT_CAPS_MAX ||
	    at + PCI_EXT_CAP_DSN_SIZEOF > SPCI_CONFIG_SIZE)
		return;
	memcpy(shown + PCI_CFG_SPACE_SIZE, real + at, PCI_EXT_CAP_DSN_SIZEOF);
	/* the last one */
	put32(shown + PCI_CFG_SPACE_SIZE, header & 0xfffff);
}

static void spci_bars_build(const struct spci_bar *bars, u8 *shown)
{
	unsigned int i;
	u32 flags;
	u64 bus;

	for (i = 0; i < SPCI_BARS; i++) {
		if (!bars[i].size)
			continue;
		bus = le64_to_cpu(bars[i].bus);
		flags = le32_to_cpu(bars[i].flags);
		put32(shown + PCI_BASE_ADDRESS_0 + 4 * i,
		      (u32)bus |
		      (flags & SPCI_BAR_64 ? PCI_BASE_ADDRESS_MEM_TYPE_64 : 0) |
		      (flags & SPCI_BAR_PREFETCH ?
		       PCI_BASE_ADDRESS_MEM_PREFETCH : 0));
		if (flags & SPCI_BAR_64 && i < SPCI_BARS - 1)
			put32(shown + PCI_BASE_ADDRESS_0 + 4 * i + 4,
			      bus >> 32);
	}
}

/*
 * @real: @size bytes of it, 256 or SPCI_CONFIG_SIZE; @shown: SPCI_CONFIG_SIZE
 * bytes.
 */
void spci_config_show(const u8 *real, unsigned int size,
		      const struct spci_bar *bars, u8 *shown)
{
	memset(shown, 0, SPCI_CONFIG_SIZE);
	memcpy(shown + PCI_VENDOR_ID, real + PCI_VENDOR_ID, 4);
	put16(shown + PCI_COMMAND, PCI_COMMAND_MEMORY);
	memcpy(shown + PCI_CLASS_REVISION, real + PCI_CLASS_REVISION, 4);
	memcpy(shown + PCI_SUBSYSTEM_VENDOR_ID, real + PCI_SUBSYSTEM_VENDOR_ID,
	       4);
	spci_bars_build(bars, shown);
	spci_caps_build(real, shown);
	if (size == SPCI_CONFIG_SIZE)
		spci_ext_caps_build(real, shown);
}
