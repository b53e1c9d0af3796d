/* SPDX-License-Identifier: GPL-2.0 */
/*
 * smartio_pci: a PCI function of another host, as if it sat in this one. From
 * the top:
 *
 *    borrow_main.c      paths; when a function is added and removed
 *    borrow_function.c  the function: opened, described, shown to the PCI core
 *    borrow_irq.c       its interrupts, and other requests to the lender
 *    borrow_dma.c       its IOMMU, which is ours: its memory of this host
 *    borrow_bus.c       its configuration space
 *    borrow_peer.c      registers of other functions that are borrowed
 *
 *    reply_check.c      whether the lender's description is sound
 *    config_mask.c      the bits of configuration space that may be written
 */
#ifndef _SMARTIO_PCI_BORROW_H
#define _SMARTIO_PCI_BORROW_H

#include <linux/iommu.h>
#include <linux/pci.h>
#include <linux/smartio.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "proto.h"

struct borrow_function;

/**
 * struct borrow_vector - an interrupt of a function
 * @virq: here
 * @addr: its message
 * @data: its message
 * @sent: @addr and @data are what the function sends; 0: nothing yet
 * @sent_data: as @sent
 * @masked: it is not to be sent
 * @dirty: the lender has to be notified
 * @moved: one may be lost, since the function sent another message: this host
 *	raises one when it is not masked
 */
struct borrow_vector {
	unsigned int virq;
	u64 addr;
	u32 data;
	u64 sent;
	u32 sent_data;
	bool masked;
	bool dirty;
	bool moved;
};

/* Requests to the lender, sent in this order. */
#define BORROW_RESET	0
#define BORROW_VECTORS	1
#define BORROW_MSI	2
#define BORROW_MASTER	3
#define BORROW_REQUESTS	4

/**
 * struct borrow_bus_ops - what writes to configuration space mean; atomic
 * @msi: the flags of MSI were
 * @msix: those of MSI-X were
 * @reset: the function is to be reset
 */
struct borrow_bus_ops {
	void (*msi)(struct borrow_function *f, u16 flags);
	void (*msix)(struct borrow_function *f, u16 flags);
	void (*reset)(struct borrow_function *f);
};

/**
 * struct borrow_function - a function, for one session
 * @sysdata: as x86 wants it
 * @sdev: the path
 * @bridge: its host bridge, which this is a part of
 * @bus: its bus; NULL: not shown
 * @domain: its PCI domain
 * @busn: the bus's number
 * @bars: the registers, windows of @bridge
 * @bar_count: how many of them are there
 * @bar_number: of each
 * @bar_bus: the lender's address of each
 *
 * @bus_ops: for @config
 * @config_lock: protects the next four
 * @config: configuration space
 * @writable: the bits of it that can be written
 * @seer: only this task sees it for now, if not NULL
 * @lost: reads are all ones, writes are nothing, for good
 * @resetting: reads are all ones until the lender has reset it
 * @msi_cap: in @config, or 0
 * @msix_cap: in @config, or 0
 * @exp_cap: in @config, or 0
 *
 * @irqs: parent of its MSI domains
 * @vector_lock: protects the next
 * @vectors: MSI-X, or MSI
 * @vector_count: how many
 * @msix_size: entries of its MSI-X table
 * @pending: BORROW_...
 * @msi_on: MSI is enabled
 * @msi_order: log2 of how many
 * @master: it has a driver here, and is a bus master
 * @post: sends requests to the lender
 * @serial: of the last one; of @post alone, as the next
 * @late: the log has that one is repeated
 *
 * @flat: there is no IOMMU: all of this host's memory is open to the lender
 * @flat_size: so much of it
 * @space: else: its addresses here
 * @domains: of it; each has a reference to @bridge
 * @dma_offset: from addresses of this host to those that it uses
 *
 * @session: its id
 * @peers: in the list of all whose registers may be mapped for others
 * @reaches_lock: protects @reaches and @losses
 * @reaches: registers of others that it reaches
 * @gone: unmaps those for which a lender did not answer, and maps those again
 *	that a link between lenders has lost
 * @losses: how often such a link was lost; under @reaches_lock
 * @leaving: it gives its registers back: @gone ends early
 * @refused: the log has why it does not reach some
 */
struct borrow_function {
	struct pci_sysdata sysdata;
	struct smartio_device *sdev;
	struct pci_host_bridge *bridge;
	struct pci_bus *bus;
	int domain;
	struct resource busn;
	struct resource bars[SPCI_BARS];
	unsigned int bar_count;
	unsigned int bar_number[SPCI_BARS];
	u64 bar_bus[SPCI_BARS];

	const struct borrow_bus_ops *bus_ops;
	raw_spinlock_t config_lock;	/* config to resetting */
	u32 config[SPCI_CONFIG_SIZE / 4];
	u32 writable[SPCI_CONFIG_SIZE / 4];
	struct task_struct *seer;
	bool lost;
	bool resetting;
	unsigned int msi_cap;
	unsigned int msix_cap;
	unsigned int exp_cap;

	struct irq_domain *irqs;
	raw_spinlock_t vector_lock;	/* vectors to master */
	struct borrow_vector *vectors;
	unsigned int vector_count;
	unsigned int msix_size;
	unsigned long pending;
	bool msi_on;
	unsigned int msi_order;
	bool master;
	struct delayed_work post;
	u32 serial;
	bool late;

	bool flat;
	u64 flat_size;
	struct smartio_space space;
	struct list_head domains;	/* borrow_domains_lock */
	u64 dma_offset;

	u64 session;
	struct list_head peers;
	spinlock_t reaches_lock;	/* reaches, losses */
	struct list_head reaches;
	struct delayed_work gone;
	unsigned int losses;
	bool leaving;
	bool refused;
};

static inline struct borrow_function *borrow_of_bus(struct pci_bus *bus)
{
	return container_of(to_pci_sysdata(bus), struct borrow_function,
			    sysdata);
}

/* borrow_bus.c */
extern struct pci_ops borrow_pci_ops;

void borrow_config_init(struct borrow_function *f,
			const struct spci_describe_reply *d);
void borrow_config_lose(struct borrow_function *f);
void borrow_config_reset_done(struct borrow_function *f);

/* borrow_irq.c */

void borrow_master(struct borrow_function *f, bool on);
int borrow_irq_init(struct borrow_function *f, unsigned int vectors);
void borrow_irq_exit(struct borrow_function *f);
int borrow_posts_init(void);
void borrow_posts_exit(void);

/* borrow_dma.c */
struct borrow_function *borrow_of_device(struct device *dev);
int borrow_dma_added(struct borrow_function *f, struct device *dev);
void borrow_dma_range(struct borrow_function *f, struct device *dev);
void borrow_dma_bound(struct borrow_function *f, struct device *dev);
int borrow_dma_init(struct borrow_function *f);
void borrow_dma_wait(struct borrow_function *f);
void borrow_dma_exit(struct borrow_function *f);
int borrow_iommu_init(void);
void borrow_iommu_exit(void);

/* borrow_peer.c */
void borrow_peer_add(struct borrow_function *f);
void borrow_peer_del(struct borrow_function *f);
int borrow_peer_map(struct borrow_function *f, u64 iova, phys_addr_t phys,
		    size_t size, int prot);
size_t borrow_peer_unmap(struct borrow_function *f, u64 iova, size_t size);
size_t borrow_peer_before(struct borrow_function *f, u64 iova, size_t size);
void borrow_peer_unmap_all(struct borrow_function *f);
void borrow_peers_lost(struct borrow_function *f);
phys_addr_t borrow_peer_phys(struct borrow_function *f, u64 iova);

/* borrow_function.c */
int borrow_functions_init(void);
void borrow_functions_exit(void);
int borrow_function_add(struct smartio_device *sdev,
			struct borrow_function **function);
void borrow_function_start(struct borrow_function *f);
void borrow_function_lose(struct borrow_function *f);
void borrow_function_stop(struct borrow_function *f);
void borrow_function_remove(struct borrow_function *f);

#endif /* _SMARTIO_PCI_BORROW_H */
