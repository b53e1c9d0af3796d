/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests of a borrower (smartio_pci) to a lender (smartio_pci_stub) for one
 * PCI function, by smartio_call(), and its notices. All are little endian.
 * Configuration space is the borrower's, a copy: no write to it is a request. The
 * receiver checks every field (request_check.c, reply_check.c).
 *
 * The lender executes requests side by side, and a borrower repeats one whose
 * answer is late. So all but SPCI_DESCRIBE have a serial, which increases within
 * a session from 1 on. The lender executes none that is older than its last one.
 */
#ifndef _SMARTIO_PCI_PROTO_H
#define _SMARTIO_PCI_PROTO_H

#include <linux/types.h>

#define SPCI_SERVICE		"pci"
#define SPCI_VERSION		2

#define SPCI_BARS		6
#define SPCI_CONFIG_SIZE	4096
/* Entries of one request. */
#define SPCI_VECTORS_MAX	256
/* log2 of the messages of MSI. */
#define SPCI_MSI_ORDER_MAX	5

/**
 * enum spci_op - first field of every request
 * @SPCI_DESCRIBE: its description; spci_describe_req, spci_describe_reply
 * @SPCI_MASTER: it may be a bus master, or not; spci_master_req
 * @SPCI_VECTORS: contents of its MSI-X table; spci_vectors_req
 * @SPCI_MSI: contents of its MSI capability; spci_msi_req
 * @SPCI_RESET: resets it, its table and bus mastering too; spci_reset_req
 */
enum spci_op {
	SPCI_DESCRIBE = 1,
	SPCI_MASTER = 2,
	SPCI_VECTORS = 3,
	SPCI_MSI = 4,
	SPCI_RESET = 5,
};

/* @op: SPCI_DESCRIBE; @version: SPCI_VERSION of the borrower. */
struct spci_describe_req {
	__le16 op;
	__le16 version;
	__le32 rsvd;
};

#define SPCI_BAR_64		1	/* the next one is its upper half */
#define SPCI_BAR_PREFETCH	2

/**
 * struct spci_bar - a memory BAR
 * @bus: its address in the lender; @config has it too
 * @size: bytes; 0: there is none
 * @flags: SPCI_BAR_...
 * @rsvd: 0
 */
struct spci_bar {
	__le64 bus;
	__le64 size;
	__le32 flags;
	__le32 rsvd;
};

/**
 * struct spci_describe_reply - a function
 * @version: SPCI_VERSION of the lender
 * @config_size: 256 or SPCI_CONFIG_SIZE
 * @vectors: entries of its MSI-X table; 0: it has none
 * @rsvd: 0
 * @bars: by number
 * @config: what may be seen of it (config_table.h)
 */
struct spci_describe_reply {
	__le16 version;
	__le16 config_size;
	__le16 vectors;
	__le16 rsvd;
	struct spci_bar bars[SPCI_BARS];
	__u8 config[SPCI_CONFIG_SIZE];
};

/* @op: SPCI_MASTER; @on: whether the function may be bus master. */
struct spci_master_req {
	__le16 op;
	__le16 on;
	__le32 serial;
};

#define SPCI_MASKED		1

/**
 * struct spci_vector - an entry of the MSI-X table
 * @index: its number
 * @flags: SPCI_MASKED: it sends nothing for now
 * @data: of the message
 * @addr: where it goes, an address of the borrower; 0: as it is, if @flags say
 *	SPCI_MASKED
 */
struct spci_vector {
	__le16 index;
	__le16 flags;
	__le32 data;
	__le64 addr;
};

/* @op: SPCI_VECTORS; @count of @vectors follow. */
struct spci_vectors_req {
	__le16 op;
	__le16 count;
	__le32 serial;
	struct spci_vector vectors[];
};

/**
 * struct spci_msi_req - the MSI capability
 * @op: SPCI_MSI
 * @on: 1 or 0
 * @order: log2 of how many messages may be sent
 * @serial: of the request
 * @mask: of messages; ignored by functions that can't mask them
 * @data: of the first
 * @addr: where they go, an address of the borrower
 */
struct spci_msi_req {
	__le16 op;
	__u8 on;
	__u8 order;
	__le32 serial;
	__le32 mask;
	__le32 data;
	__le64 addr;
};

/**
 * enum spci_notice - first field of every notification of the lender
 * @SPCI_PEERS_LOST: the function reached registers of another lender's function,
 *	and the link between the lenders was lost; spci_note
 */
enum spci_notice {
	SPCI_PEERS_LOST = 1,
};

/* @notice: SPCI_PEERS_LOST. */
struct spci_note {
	__le16 notice;
	__le16 rsvd;
	__le32 rsvd2;
};

/* @op: SPCI_RESET. */
struct spci_reset_req {
	__le16 op;
	__le16 rsvd;
	__le32 serial;
};

/**
 * struct spci_ordered - how each request that has a serial begins
 * @op: SPCI_..., but for SPCI_DESCRIBE
 * @other: as @op says
 * @serial: of the request
 */
struct spci_ordered {
	__le16 op;
	__le16 other;
	__le32 serial;
};

#endif /* _SMARTIO_PCI_PROTO_H */
