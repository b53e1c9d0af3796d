/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations of the parts of p2p_drive; see main.c for its purpose. */
#ifndef P2P_DRIVE_H
#define P2P_DRIVE_H

#include <linux/debugfs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/ntb.h>
#include <linux/nvme.h>
#include <linux/pci.h>
#include <linux/sizes.h>

#define P2P_BUFFER_SIZE	SZ_256K
#define P2P_QUEUE_DEPTH	64

/*
 * Protects the lists of windows and of drives, and all that is in them: one
 * command at a time is all that these tests need. It is held for as long as a
 * command takes, p2p_timeout_ms at most.
 */
extern struct mutex p2p_lock;
extern unsigned int p2p_timeout_ms;
extern struct dentry *p2p_root;

/* ---- window.c: the way to other hosts ---- */

/**
 * struct p2p_window - the outbound memory window of one NTB of this host
 * @node:	in the list of all windows
 * @ntb:	the NTB device
 * @base:	physical address of the window's BAR
 * @size:	bytes
 * @dir:	its folder in debugfs
 */
struct p2p_window {
	struct list_head node;
	struct ntb_dev *ntb;
	phys_addr_t base;
	resource_size_t size;
	struct dentry *dir;
};

int p2p_windows_init(void);
void p2p_windows_exit(void);
struct p2p_window *p2p_window_find(const char *name);
void __iomem *p2p_window_map(struct p2p_window *window, u64 offset, size_t size);

/* ---- nvme.c: the controller ---- */

/**
 * struct p2p_queue - a submission and a completion queue
 * @sq:		submission queue, in this host's memory
 * @sq_dma:	where the controller finds it
 * @cq:		completion queue, in this host's memory
 * @cq_dma:	where the controller finds it
 * @cq_remote:	the completion queue that is in use instead, in the memory of
 *		the host behind a window
 * @sq_db:	submission queue tail doorbell
 * @cq_db:	completion queue head doorbell
 * @sq_tail:	next submission entry
 * @cq_head:	next completion entry
 * @phase:	phase tag of new entries
 * @cid:	identifier of the last command
 */
struct p2p_queue {
	struct nvme_command *sq;
	dma_addr_t sq_dma;
	struct nvme_completion *cq;
	dma_addr_t cq_dma;
	void __iomem *cq_remote;
	void __iomem *sq_db;
	void __iomem *cq_db;
	u16 sq_tail;
	u16 cq_head;
	u16 phase;
	u16 cid;
};

enum p2p_interrupt_target {
	P2P_INTERRUPT_OFF,
	P2P_INTERRUPT_LENDER,
	P2P_INTERRUPT_BORROWER,
};

/**
 * struct p2p_drive - one NVMe controller
 * @node:	in the list of all drives
 * @pdev:	the controller
 * @dir:	its folder in debugfs
 * @regs:	its registers
 * @regs_size:	bytes of them
 * @cap:	controller capabilities
 * @admin:	queue pair 0, polled
 * @io:		queue pair 1
 * @block_shift: logarithm of the block size of namespace 1
 * @blocks:	size of namespace 1
 * @list:	PRP list of the command that runs, one page
 * @list_dma:	where the controller finds it
 * @buffer:	data in this host's memory
 * @buffer_dma:	where the controller finds it
 * @window:	the window that borrower's addresses go through, or NULL
 * @window_dma:	where the controller finds the window
 * @peer:	memory on another function of this host, if @peer.pdev is set
 * @cq_address:	offset into the window of the I/O completion queue, if
 *		@io.cq_remote is set
 * @interrupt:	where the I/O completion queue's interrupts go
 * @message:	for %P2P_INTERRUPT_BORROWER: data, and an offset in the window
 * @interrupts:	how many came to this host
 * @result:	of the last command: an NVMe status, or a negative errno
 */
struct p2p_drive {
	struct list_head node;
	struct pci_dev *pdev;
	struct dentry *dir;
	void __iomem *regs;
	resource_size_t regs_size;
	u64 cap;
	struct p2p_queue admin;
	struct p2p_queue io;
	unsigned int block_shift;
	u64 blocks;
	__le64 *list;
	dma_addr_t list_dma;
	void *buffer;
	dma_addr_t buffer_dma;
	struct p2p_window *window;
	dma_addr_t window_dma;
	struct {
		struct pci_dev *pdev;
		void __iomem *io;
		dma_addr_t dma;
		size_t size;
	} peer;
	u64 cq_address;
	enum p2p_interrupt_target interrupt;
	struct {
		u64 address;
		u32 data;
	} message;
	atomic_t interrupts;
	int result;
};

int p2p_nvme_start(struct p2p_drive *drive);
void p2p_nvme_stop(struct p2p_drive *drive);
int p2p_nvme_place_cq(struct p2p_drive *drive, bool remote, u64 address);
int p2p_nvme_rw(struct p2p_drive *drive, u8 opcode, u64 lba, u32 blocks,
		u64 address);

/* ---- peer.c: memory on other functions ---- */

extern const struct file_operations p2p_peer_memory_fops;

void p2p_peer_leave(struct p2p_drive *drive);
int p2p_peer_enter(struct p2p_drive *drive, const char *name, unsigned int bar,
		   size_t size);

/* ---- main.c ---- */

void p2p_window_gone(struct p2p_window *window);

#endif
