/* SPDX-License-Identifier: GPL-2.0 */
/*
 * smartio: what drivers of devices and transports both know: interrupts and
 * ranges of addresses that cross a link, and the sizes of names and messages.
 * It belongs to include/linux/smartio.h and smartio_transport.h, which include
 * it.
 */
#ifndef _LINUX_SMARTIO_ADDRESS_H
#define _LINUX_SMARTIO_ADDRESS_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/interrupt.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct smartio_device;

/* Bytes of a request, a reply or a notification between the two halves. */
#define SMARTIO_MESSAGE_MAX	(66 * 1024)
#define SMARTIO_NAME_LEN	64

/**
 * struct smartio_irq_message - a device writes it to interrupt this host
 * @addr: a dma_addr_t of this host; for the local path the number of the
 *	device's vector; or SMARTIO_DOORBELL_ADDR
 * @data: for the local path 0; at SMARTIO_DOORBELL_ADDR the number of the
 *	doorbell
 */
struct smartio_irq_message {
	u64 addr;
	u32 data;
};

/*
 * Is no address: the device rings a doorbell of the link. Only the device's host
 * knows the address and the value for that.
 */
#define SMARTIO_DOORBELL_ADDR	BIT_ULL(63)

/**
 * enum smartio_irq_way - how an interrupt comes
 * @SMARTIO_IRQ_MESSAGE: as a message to this host's interrupt controller
 * @SMARTIO_IRQ_DOORBELL: by a doorbell of the link, on any CPU
 */
enum smartio_irq_way {
	SMARTIO_IRQ_MESSAGE,
	SMARTIO_IRQ_DOORBELL,
};

/**
 * struct smartio_irq - an interrupt that the device itself sends to this host
 * @virq: Linux interrupt number; 0 for a doorbell
 * @way: how it comes
 */
struct smartio_irq {
	unsigned int virq;
	enum smartio_irq_way way;
	/* private: to the core, and to the transport that allocates @virq */
	struct smartio_device *sdev;
	irq_handler_t handler;
	void *context;
	bool allocated;
	void *private;
	raw_spinlock_t lock;			/* all below, allocated */
	struct smartio_irq_message message;	/* that interrupts */
	struct smartio_irq_message sent;	/* by the device; addr 0: none */
	struct smartio_irq_message tried;	/* perhaps by now; addr 0: none */
	unsigned int vector;			/* of the device, for @sent */
	bool unsettled;				/* not seen since it moved */
	unsigned int retry_ms;
	struct delayed_work work;
};

void smartio_irq_message(struct smartio_irq *irq,
			 struct smartio_irq_message *message);
void smartio_irq_settle(void);

/**
 * struct smartio_space - addresses of this host for one lent function
 * @base: of the link's function, in this host
 * @size: bytes
 * @device_base: the function's address for @base
 * @own: the lender's IOMMU has a domain for this function, which leads here and
 *	to this host's interrupts. Else other functions reach the same memory.
 * @single: in its own domain the last 2 MiB are single pages, one of which
 *	may lead to another function (smartio_peer_map())
 * @hole: device addresses between that lead elsewhere
 * @hole_size: bytes
 */
struct smartio_space {
	u64 base;
	u64 size;
	u64 device_base;
	bool own;
	bool single;
	u64 hole;
	u64 hole_size;
	/* private: */
	atomic64_t mapped;
};

/**
 * struct smartio_msi_ops - messages that a lent function has to send
 * @write: interrupt @index, here @virq, is the message @data to @addr, an
 *	address of this host; again whenever that changes
 * @mask: it is not to be sent for now, or may be sent again
 *
 * @settle: returns when the function has the changes of @write and @mask. May
 *	sleep. Not always called: those may be called in atomic context.
 *
 * @write and @mask in atomic context; one at a time for an interrupt.
 */
struct smartio_msi_ops {
	void (*write)(void *context, unsigned int index, unsigned int virq,
		      u64 addr, u32 data);
	void (*mask)(void *context, unsigned int index, bool masked);
	void (*settle)(void *context);
};

#endif /* _LINUX_SMARTIO_ADDRESS_H */
