// SPDX-License-Identifier: GPL-2.0
/* The bits of configuration space that a borrower may write in its copy. */
#include <linux/kernel.h>
#include <linux/string.h>

#include "config_table.h"

static void spci_cap_masks(const u8 *cap, u8 *writable)
{
	u16 flags;

	switch (cap[0]) {
	case PCI_CAP_ID_MSI:
		flags = get16(cap + PCI_MSI_FLAGS);
		put16(writable + PCI_MSI_FLAGS,
		      PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE);
		memset(writable + PCI_MSI_ADDRESS_LO, 0xff,
		       spci_msi_length(cap) - 4);
		if (flags & PCI_MSI_FLAGS_MASKBIT)	/* pending bits */
			memset(writable + spci_msi_length(cap) - 4, 0, 4);
		break;
	case PCI_CAP_ID_MSIX:
		put16(writable + PCI_MSIX_FLAGS,
		      PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
		break;
	case PCI_CAP_ID_EXP:
		put16(writable + PCI_EXP_DEVCTL, 0xffff);
		put16(writable + PCI_EXP_LNKCTL, 0xffff);
		if (spci_exp_length(cap) > PCI_EXP_DEVCTL2)
			put16(writable + PCI_EXP_DEVCTL2, 0xffff);
		break;
	}
}

static void spci_bar_masks(const struct spci_bar *bars, u8 *writable)
{
	unsigned int i;
	u64 mask;

	for (i = 0; i < SPCI_BARS; i++) {
		if (!bars[i].size)
			continue;
		mask = ~(le64_to_cpu(bars[i].size) - 1);
		put32(writable + PCI_BASE_ADDRESS_0 + 4 * i, mask);
		if (le32_to_cpu(bars[i].flags) & SPCI_BAR_64 &&
		    i < SPCI_BARS - 1)
			put32(writable + PCI_BASE_ADDRESS_0 + 4 * i + 4,
			      mask >> 32);
	}
}

/* Which bits of @shown, SPCI_CONFIG_SIZE bytes, a write changes. */
void spci_config_masks(const u8 *shown, const struct spci_bar *bars,
		       u8 *writable)
{
	unsigned int at = shown[PCI_CAPABILITY_LIST] & ~3, i;

	memset(writable, 0, SPCI_CONFIG_SIZE);
	put16(writable + PCI_COMMAND,
	      PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY |
	      PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE);
	writable[PCI_CACHE_LINE_SIZE] = 0xff;
	writable[PCI_LATENCY_TIMER] = 0xff;
	writable[PCI_INTERRUPT_LINE] = 0xff;
	spci_bar_masks(bars, writable);
	for (i = 0; at >= PCI_STD_HEADER_SIZEOF && i < SPCI_CAPS_MAX;
	     i++, at = shown[at + 1] & ~3) {
		if (at + spci_cap_length(shown + at) <= PCI_CFG_SPACE_SIZE)
			spci_cap_masks(shown + at, writable + at);
	}
}

/* Where in @config, as it is shown, a capability is; or 0. */
unsigned int spci_config_find(const u8 *config, u8 capability)
{
	unsigned int at = config[PCI_CAPABILITY_LIST] & ~3, i;

	for (i = 0; at >= PCI_STD_HEADER_SIZEOF && i < SPCI_CAPS_MAX; i++) {
		if (config[at] == capability)
			return at;
		at = config[at + 1] & ~3;
	}
	return 0;
}
