/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Configuration space as the borrower of a function has it: a copy, whose
 * contents are in this table. No write reaches the function. For writes with an
 * effect (bus mastering, interrupts, a reset) the borrower sends requests;
 * other writes have none.
 *
 * Registers that are not named are hidden:
 *
 *    power management            the lender's
 *    ROM, INTx, I/O ports        can't be reached over a link
 *    SR-IOV, ATS, PASID          they concern the lender's IOMMU
 *    AER and similar             they concern the lender's bus
 *    VPD                         waits for the function
 */
#ifndef _SMARTIO_PCI_CONFIG_TABLE_H
#define _SMARTIO_PCI_CONFIG_TABLE_H

#include <linux/pci_regs.h>

#include "proto.h"

/* A list that is longer leads in a circle. */
#define SPCI_CAPS_MAX		48

static inline u16 get16(const u8 *at)
{
	return (u16)(at[0] | at[1] << 8);
}

static inline u32 get32(const u8 *at)
{
	return get16(at) | (u32)get16(at + 2) << 16;
}

static inline void put16(u8 *at, u16 value)
{
	at[0] = (u8)(value & 0xff);
	at[1] = (u8)(value >> 8);
}

static inline void put32(u8 *at, u32 value)
{
	put16(at, (u16)value);
	put16(at + 2, (u16)(value >> 16));
}

static inline unsigned int spci_msi_length(const u8 *cap)
{
	u16 flags = get16(cap + PCI_MSI_FLAGS);

	return (flags & PCI_MSI_FLAGS_64BIT ? 14 : 10) +
	       (flags & PCI_MSI_FLAGS_MASKBIT ? 10 : 0);
}

/* Version 1 of an endpoint ends before the slot's registers. */
static inline unsigned int spci_exp_length(const u8 *cap)
{
	return (get16(cap + PCI_EXP_FLAGS) & PCI_EXP_FLAGS_VERS) > 1 ?
	       PCI_EXP_SLTSTA2 + 2 : PCI_EXP_SLTCAP;
}

/* How long a capability is, if it may be seen; else 0. */
static inline unsigned int spci_cap_length(const u8 *cap)
{
	switch (cap[0]) {
	case PCI_CAP_ID_MSI:
		return spci_msi_length(cap);
	case PCI_CAP_ID_MSIX:
		return PCI_CAP_MSIX_SIZEOF;
	case PCI_CAP_ID_EXP:
		return spci_exp_length(cap);
	case PCI_CAP_ID_VNDR:
		return cap[2];
	default:
		return 0;
	}
}

/* config_show.c */
void spci_config_show(const u8 *real, unsigned int size,
		      const struct spci_bar *bars, u8 *shown);

/* config_mask.c */
void spci_config_masks(const u8 *shown, const struct spci_bar *bars,
		       u8 *writable);
unsigned int spci_config_find(const u8 *config, u8 capability);

#endif /* _SMARTIO_PCI_CONFIG_TABLE_H */
