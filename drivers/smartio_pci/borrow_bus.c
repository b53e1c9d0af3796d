// SPDX-License-Identifier: GPL-2.0
/*
 * Configuration space of a borrowed function: a copy, so that no access waits
 * for the lender. Writes with an effect are passed up by struct borrow_bus_ops.
 */
#include <linux/delay.h>
#include <linux/sched.h>

#include "borrow.h"
#include "config_table.h"

/* Its first session's, as the lender says it is. */
void borrow_config_init(struct borrow_function *f,
			const struct spci_describe_reply *d)
{
	unsigned int i;

	raw_spin_lock_init(&f->config_lock);
	spci_config_masks(d->config, d->bars, (u8 *)f->writable);
	memcpy(f->config, d->config, sizeof(f->config));
	for (i = 0; i < ARRAY_SIZE(f->config); i++) {
		le32_to_cpus(&f->config[i]);
		le32_to_cpus(&f->writable[i]);
	}
	f->msi_cap = spci_config_find(d->config, PCI_CAP_ID_MSI);
	f->msix_cap = spci_config_find(d->config, PCI_CAP_ID_MSIX);
	f->exp_cap = spci_config_find(d->config, PCI_CAP_ID_EXP);
}

/* As if it had been pulled out. */
void borrow_config_lose(struct borrow_function *f)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&f->config_lock, flags);
	f->lost = true;
	raw_spin_unlock_irqrestore(&f->config_lock, flags);
}

void borrow_config_reset_done(struct borrow_function *f)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&f->config_lock, flags);
	f->resetting = false;
	raw_spin_unlock_irqrestore(&f->config_lock, flags);
}

static bool borrow_config_gone(struct borrow_function *f)
{
	return f->lost || f->resetting || (f->seer && f->seer != current);
}

static u32 borrow_width_mask(int where, int width)
{
	u32 mask = width == 4 ? ~0U : (1U << 8 * width) - 1;

	return mask << 8 * (where & 3);
}

static int borrow_config_read(struct pci_bus *bus, unsigned int devfn,
			      int where, int width, u32 *value)
{
	struct borrow_function *f = borrow_of_bus(bus);
	unsigned long flags;
	u32 v = ~0U;

	if (devfn || where + width > SPCI_CONFIG_SIZE) {
		*value = ~0U;
		return PCIBIOS_DEVICE_NOT_FOUND;
	}
	raw_spin_lock_irqsave(&f->config_lock, flags);
	if (!borrow_config_gone(f))
		v = f->config[where / 4];
	raw_spin_unlock_irqrestore(&f->config_lock, flags);
	*value = (v & borrow_width_mask(where, width)) >> 8 * (where & 3);
	return PCIBIOS_SUCCESSFUL;
}

/* As after a reset that the lender has restored the addresses after. */
static void borrow_config_restart(struct borrow_function *f)
{
	f->resetting = true;
	f->config[PCI_COMMAND / 4] &= ~(u32)PCI_COMMAND_MASTER;
	if (f->msi_cap)
		f->config[f->msi_cap / 4] &= ~((u32)PCI_MSI_FLAGS_ENABLE << 16);
	if (f->msix_cap)
		f->config[f->msix_cap / 4] &=
			~((u32)PCI_MSIX_FLAGS_ENABLE << 16);
}

static int borrow_config_write(struct pci_bus *bus, unsigned int devfn,
			       int where, int width, u32 value)
{
	struct borrow_function *f = borrow_of_bus(bus);
	u32 mask = borrow_width_mask(where, width), now, asked;
	bool reset = false;
	unsigned long flags;
	unsigned int at = where & ~3;

	if (devfn || where + width > SPCI_CONFIG_SIZE)
		return PCIBIOS_DEVICE_NOT_FOUND;
	asked = (value << 8 * (where & 3)) & mask;
	raw_spin_lock_irqsave(&f->config_lock, flags);
	if (borrow_config_gone(f)) {
		raw_spin_unlock_irqrestore(&f->config_lock, flags);
		return PCIBIOS_SUCCESSFUL;
	}
	mask &= f->writable[at / 4];
	if (f->exp_cap && at == f->exp_cap + PCI_EXP_DEVCTL) {
		reset = asked & PCI_EXP_DEVCTL_BCR_FLR;
		mask &= ~(u32)PCI_EXP_DEVCTL_BCR_FLR;
	}
	now = (f->config[at / 4] & ~mask) | (asked & mask);
	f->config[at / 4] = now;
	if (reset)
		borrow_config_restart(f);
	/* in the order of the writes */
	if (reset)
		f->bus_ops->reset(f);
	else if (f->msi_cap && at == f->msi_cap && mask)
		f->bus_ops->msi(f, now >> 16);
	else if (f->msix_cap && at == f->msix_cap && mask)
		f->bus_ops->msix(f, now >> 16);
	raw_spin_unlock_irqrestore(&f->config_lock, flags);
	return PCIBIOS_SUCCESSFUL;
}

struct pci_ops borrow_pci_ops = {
	.read = borrow_config_read,
	.write = borrow_config_write,
};
