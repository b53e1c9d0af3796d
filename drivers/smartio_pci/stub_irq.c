// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupts of a lent function. Only this file writes its MSI-X table and MSI
 * capability. This host's PCI core has no interrupt of it enabled, and a
 * borrower asks for changes by requests. Messages go to the addresses that the
 * core gives for the borrower's interrupts, and to no other.
 *
 * While a session is open MSI-X is enabled with all entries masked. So an
 * interrupt that is raised before its message is known stays pending.
 */
#include <linux/io.h>
#include <linux/msi.h>

#include "stub.h"

static int stub_table_map(struct stub *stub)
{
	struct pci_dev *pdev = stub->pdev;
	u64 size = (u64)stub->limits.vectors * PCI_MSIX_ENTRY_SIZE;
	unsigned int bar;
	u32 table;

	pci_read_config_dword(pdev, stub->msix + PCI_MSIX_TABLE, &table);
	bar = table & PCI_MSIX_TABLE_BIR;
	table &= PCI_MSIX_TABLE_OFFSET;
	if (bar >= PCI_STD_NUM_BARS ||
	    !(pci_resource_flags(pdev, bar) & IORESOURCE_MEM) ||
	    table + size > pci_resource_len(pdev, bar))
		return -EINVAL;
	stub->table = ioremap(pci_resource_start(pdev, bar) + table, size);
	return stub->table ? 0 : -ENOMEM;
}

/* Returns 0; -EOPNOTSUPP: it has no interrupts by messages; -EINVAL; -ENOMEM. */
int stub_irq_find(struct stub *stub)
{
	struct pci_dev *pdev = stub->pdev;
	u16 flags;

	stub->limits.msi_order = -1;
	stub->msi = pci_find_capability(pdev, PCI_CAP_ID_MSI);
	if (stub->msi) {
		pci_read_config_word(pdev, stub->msi + PCI_MSI_FLAGS, &flags);
		stub->msi_flags = flags;
		stub->limits.msi_order = (flags & PCI_MSI_FLAGS_QMASK) >> 1;
	}
	stub->msix = pci_find_capability(pdev, PCI_CAP_ID_MSIX);
	if (!stub->msix)
		return stub->msi ? 0 : -EOPNOTSUPP;
	pci_read_config_word(pdev, stub->msix + PCI_MSIX_FLAGS, &flags);
	stub->limits.vectors = (flags & PCI_MSIX_FLAGS_QSIZE) + 1;
	return stub_table_map(stub);
}

/* The mirror of stub_irq_find(). */
void stub_irq_put(struct stub *stub)
{
	if (stub->table)
		iounmap(stub->table);
}

static void __iomem *stub_entry(struct stub *stub, unsigned int index)
{
	return stub->table + index * PCI_MSIX_ENTRY_SIZE;
}

static void stub_msix_enable(struct stub *stub, bool on)
{
	u16 flags;

	if (!stub->msix)
		return;
	pci_read_config_word(stub->pdev, stub->msix + PCI_MSIX_FLAGS, &flags);
	flags &= ~(PCI_MSIX_FLAGS_MASKALL | PCI_MSIX_FLAGS_ENABLE);
	if (on)
		flags |= PCI_MSIX_FLAGS_ENABLE;
	pci_write_config_word(stub->pdev, stub->msix + PCI_MSIX_FLAGS, flags);
}

/* After a reset: all is masked, nothing is known. */
void stub_irq_begin(struct stub *stub)
{
	unsigned int i;

	pci_intx(stub->pdev, 0);
	for (i = 0; i < stub->limits.vectors; i++)
		writel(PCI_MSIX_ENTRY_CTRL_MASKBIT,
		       stub_entry(stub, i) + PCI_MSIX_ENTRY_VECTOR_CTRL);
	stub_msix_enable(stub, true);
}

/* The entry is masked while it is written, as PCIe 6.1.4.2 asks for. */
static void stub_entry_write(struct stub *stub, unsigned int index,
			     u64 target, u32 data, bool masked)
{
	void __iomem *entry = stub_entry(stub, index);

	writel(PCI_MSIX_ENTRY_CTRL_MASKBIT, entry + PCI_MSIX_ENTRY_VECTOR_CTRL);
	if (target) {
		writel(lower_32_bits(target), entry + PCI_MSIX_ENTRY_LOWER_ADDR);
		writel(upper_32_bits(target), entry + PCI_MSIX_ENTRY_UPPER_ADDR);
		writel(data, entry + PCI_MSIX_ENTRY_DATA);
	}
	if (!masked)
		writel(0, entry + PCI_MSIX_ENTRY_VECTOR_CTRL);
	/* when the borrower has its answer the function has the message */
	readl(entry + PCI_MSIX_ENTRY_VECTOR_CTRL);
}

/* The request is checked. Returns 0; -EINVAL; -ERANGE. */
int stub_irq_vectors(struct stub *stub, struct smartio_session *session,
		     const struct spci_vectors_req *request)
{
	unsigned int count = le16_to_cpu(request->count), i;
	const struct spci_vector *vector;
	u64 addr, target;
	int ret;

	for (i = 0; i < count; i++) {
		vector = &request->vectors[i];
		addr = le64_to_cpu(vector->addr);
		target = 0;
		ret = addr ? smartio_session_irq_target(session, addr,
							&target) : 0;
		if (ret)
			return ret;
		stub_entry_write(stub, le16_to_cpu(vector->index), target,
				 le32_to_cpu(vector->data),
				 le16_to_cpu(vector->flags) & SPCI_MASKED);
	}
	return 0;
}

static void stub_msi_off(struct stub *stub)
{
	u16 flags = stub->msi_flags &
		    ~(PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE);

	pci_write_config_word(stub->pdev, stub->msi + PCI_MSI_FLAGS, flags);
}

/* The same for MSI. Where it is on, MSI-X is off. */
int stub_irq_msi(struct stub *stub, struct smartio_session *session,
		 const struct spci_msi_req *request)
{
	struct pci_dev *pdev = stub->pdev;
	int msi = stub->msi, ret;
	u64 target;
	u16 flags = stub->msi_flags & ~PCI_MSI_FLAGS_QSIZE;
	bool wide = flags & PCI_MSI_FLAGS_64BIT;

	if (!request->on) {
		stub_msi_off(stub);
		stub_msix_enable(stub, true);
		return 0;
	}
	ret = smartio_session_irq_target(session, le64_to_cpu(request->addr),
					 &target);
	if (!ret && !wide && upper_32_bits(target))
		ret = -ERANGE;
	if (ret)
		return ret;
	stub_msix_enable(stub, false);
	stub_msi_off(stub);
	pci_write_config_dword(pdev, msi + PCI_MSI_ADDRESS_LO,
			       lower_32_bits(target));
	if (wide)
		pci_write_config_dword(pdev, msi + PCI_MSI_ADDRESS_HI,
				       upper_32_bits(target));
	pci_write_config_word(pdev, msi + (wide ? PCI_MSI_DATA_64 :
					   PCI_MSI_DATA_32),
			      le32_to_cpu(request->data));
	if (flags & PCI_MSI_FLAGS_MASKBIT)
		pci_write_config_dword(pdev, msi + (wide ? PCI_MSI_MASK_64 :
						    PCI_MSI_MASK_32),
				       le32_to_cpu(request->mask));
	flags |= PCI_MSI_FLAGS_ENABLE | request->order << 4;
	pci_write_config_word(pdev, msi + PCI_MSI_FLAGS, flags);
	return 0;
}
