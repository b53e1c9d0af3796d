/* SPDX-License-Identifier: GPL-2.0 */
/*
 * smartio_pci_stub: lends one PCI function of any kind to one host at a time.
 * From the top:
 *
 *    stub_main.c     takes a function, if it can be lent, and gives it back
 *    stub_session.c  sessions of borrowers
 *    stub_irq.c      the function's interrupts
 *
 *    request_check.c  checks of borrowers' requests
 *    config_show.c    configuration space as borrowers see it
 */
#ifndef _SMARTIO_PCI_STUB_H
#define _SMARTIO_PCI_STUB_H

#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/smartio.h>

#include "proto_check.h"

/**
 * struct stub - a function that is lent
 * @pdev: the function
 * @export: as the core knows it
 * @limits: of its interrupts
 * @msi: its MSI capability, or 0
 * @msi_flags: of that, as it was found
 * @msix: its MSI-X capability, or 0
 * @table: MSI-X table
 * @saved: its configuration space, as it was taken
 * @description: for borrowers
 * @stopped: by a PCIe error; the PCI core has the device's lock when it says so
 * @unreset: its last reset failed
 * @lock: the requests of a session, one at a time, and resets; protects the
 *	next two
 * @show_lock: inside @lock, to change @session: a reset may take minutes
 * @session: whose it is, or NULL
 * @serial: of its last request that was executed; 0: none was
 */
struct stub {
	struct pci_dev *pdev;
	struct smartio_export *export;
	struct spci_limits limits;
	int msi;
	u16 msi_flags;
	int msix;
	void __iomem *table;
	struct pci_saved_state *saved;
	struct spci_describe_reply *description;
	bool stopped;
	bool unreset;
	struct mutex lock;	/* session, serial */
	spinlock_t show_lock;	/* session */
	struct smartio_session *session;
	u32 serial;
};

/* stub_irq.c */
int stub_irq_find(struct stub *stub);
void stub_irq_put(struct stub *stub);
void stub_irq_begin(struct stub *stub);
int stub_irq_vectors(struct stub *stub, struct smartio_session *session,
		     const struct spci_vectors_req *request);
int stub_irq_msi(struct stub *stub, struct smartio_session *session,
		 const struct spci_msi_req *request);

/* stub_session.c */
extern const struct smartio_lender_ops stub_lender_ops;

void stub_restore(struct stub *stub);
int stub_quiesce(struct stub *stub);

#endif /* _SMARTIO_PCI_STUB_H */
