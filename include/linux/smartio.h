/* SPDX-License-Identifier: GPL-2.0 */
/*
 * smartio: devices of one host used by other hosts of a PCIe cluster.
 *
 * This is the interface for device drivers. Drivers come in two halves:
 *
 *   - The lender's half owns the real device. It lends it (smartio_lend()) and
 *     answers borrowers' requests (struct smartio_lender_ops). Each borrower is
 *     a struct smartio_session.
 *   - The borrower's half is a driver on the bus "smartio"
 *     (struct smartio_driver). A struct smartio_device is one path to one
 *     export: over one link, or, on the lender itself, the local path. Two
 *     links to a lender give two paths to one export.
 *
 * Three kinds of addresses:
 *
 *    dma_addr_t      from the DMA API for smartio_dma_device(): devices in
 *                    *this* host's own PCIe domain find its memory there
 *    device address  the address that the lent device itself has to use (u64),
 *                    in its own domain
 *    __iomem         this host's CPUs reach the device's registers there, or
 *                    memory beside it: posted writes; don't read through it
 */
#ifndef _LINUX_SMARTIO_H
#define _LINUX_SMARTIO_H

#include <linux/device.h>
#include <linux/interrupt.h>
#include <linux/smartio_address.h>
#include <linux/types.h>
#include <linux/uuid.h>

struct irq_domain;
struct pci_dev;
struct resource;

#define SMARTIO_SERVICE_LEN	16

/* ---- the borrower's half ---- */

/**
 * enum smartio_event - what happens to a path
 * @SMARTIO_LOST: the session, if there was one, is over: the link went down,
 *	fell silent, or the lender ended the session. When this arrives because
 *	of the link, that is shut already: nothing from the other side lands in
 *	this host's memory any more. When the lender ended it, the device may
 *	still be working on its requests. The driver must call smartio_close()
 *	once it writes to nothing of the session any more. Calls that wait
 *	return -ENOLINK.
 * @SMARTIO_READY: the lender offers the device (again): smartio_open() is worth
 *	an attempt. May come more than once.
 */
enum smartio_event {
	SMARTIO_LOST,
	SMARTIO_READY,
};

/**
 * struct smartio_era - the time between two fences of this host
 * @lender: incarnation of the lender
 * @fences: how often that one had fenced this host
 */
struct smartio_era {
	u32 lender;
	u32 fences;
};

/**
 * smartio_fences_between() - how often this host was fenced between two eras
 * @then: an era
 * @now: another one
 *
 * After a fence, work that this host planned before must not be done any more,
 * over any path: others have continued without it. It may not have noticed the
 * fence: it was cut off, and admitted again.
 *
 * Context: any.
 * Return: the number, negative if @now is the older one; 0 also if the lender
 * has begun again in between: it knows of none.
 */
static inline int smartio_fences_between(const struct smartio_era *then,
					 const struct smartio_era *now)
{
	return then->lender == now->lender ? (int)(now->fences - then->fences) :
		0;
}

/**
 * struct smartio_device - a path: how this host reaches one export
 * @dev: on the bus "smartio"; named HOST-PCIADDRESS-LINK
 * @service: name of the lender's half, e.g. "nvme"; drivers match on it
 * @host: the lender
 * @host_name: the lender's name, for people
 * @pci_name: the device's PCI address in the lender, e.g. "0000:01:00.0"
 * @link_name: the link, or "local" on the lender
 * @local: whether this is the lender's own path
 * @dma_offset: to be added to a dma_addr_t of smartio_dma_device() to get the
 *	device address; valid while a session is open
 * @era: of the session; valid while one is open
 *
 * All but @dma_offset and @era is constant. It is removed when the lender
 * takes the device back or the link is removed, not when the link is down.
 */
struct smartio_device {
	struct device dev;
	char service[SMARTIO_SERVICE_LEN];
	uuid_t host;
	char host_name[SMARTIO_NAME_LEN];
	char pci_name[32];
	char link_name[32];
	bool local;
	u64 dma_offset;
	struct smartio_era era;
};

#define to_smartio_device(d) container_of_const(d, struct smartio_device, dev)

/**
 * struct smartio_driver - the borrower's half
 * @driver: its name and module; bus and the rest are filled in
 * @service: which devices it drives
 * @probe: a path is there (the link is not necessarily up). May sleep.
 * @remove: the path is removed. When this returns, nothing of it is in use. May
 *	sleep. A session that is still open then is closed.
 * @event: see enum smartio_event. Process context, one at a time for a device.
 *	Not before probe returned nor after remove began. Must not wait for a
 *	reply of the lender (queue work for that).
 * @notify: a message of the lender's half, in the order sent. Same context.
 * @stop: this host is the lender, too, and ends the session: when this returns,
 *	the driver writes to no register of the device, and to none before it has
 *	another session. Process context, beside all of the above, and beside
 *	the driver's own calls. Must not wait for any of that. SMARTIO_LOST
 *	follows when the device has stopped. May be NULL. A session over a link
 *	needs no such word: its window is shut.
 */
struct smartio_driver {
	struct device_driver driver;
	const char *service;
	int (*probe)(struct smartio_device *sdev);
	void (*remove)(struct smartio_device *sdev);
	void (*event)(struct smartio_device *sdev, enum smartio_event event);
	void (*notify)(struct smartio_device *sdev, const void *message,
		       size_t size);
	void (*stop)(struct smartio_device *sdev);
};

int smartio_register_driver(struct smartio_driver *driver);
void smartio_unregister_driver(struct smartio_driver *driver);

/*
 * Sessions. smartio_open() begins one. It first has the lender end the session
 * that this host had on the device over this link before. When it returns, the
 * device touches nothing of that session any more.
 */
int smartio_open(struct smartio_device *sdev);
void smartio_close(struct smartio_device *sdev);
bool smartio_link_up(struct smartio_device *sdev);
u64 smartio_session_id(struct smartio_device *sdev);
int smartio_revoke(struct smartio_device *via, u64 session_id,
		   struct smartio_era *era);
int smartio_call(struct smartio_device *sdev, const void *request, size_t size,
		 void *reply, size_t *reply_size, unsigned int timeout_ms);
int smartio_call_in(struct smartio_device *sdev, u64 session_id,
		    const void *request, size_t size, void *reply,
		    size_t *reply_size, unsigned int timeout_ms);

/* Memory of this host that the device reaches. */
struct device *smartio_dma_device(struct smartio_device *sdev);
bool smartio_dma_scattered(struct smartio_device *sdev);
void *smartio_dma_alloc(struct smartio_device *sdev, size_t size,
			dma_addr_t *addr, gfp_t gfp);
void smartio_dma_free(struct smartio_device *sdev, size_t size, void *cpu,
		      dma_addr_t addr);

/**
 * smartio_to_device() - the device address of memory of this host
 * @sdev: the path, with a session open
 * @addr: from the DMA API for smartio_dma_device(), or smartio_dma_alloc()
 *
 * Context: any.
 */
static inline u64 smartio_to_device(const struct smartio_device *sdev,
				    dma_addr_t addr)
{
	return addr + sdev->dma_offset;
}

/**
 * enum smartio_hint - who uses a segment; says where it is placed
 * @SMARTIO_DEVICE_READS: written by this CPU, read by the device: beside the
 *	device
 * @SMARTIO_DEVICE_WRITES: written by the device, read by this CPU: here
 */
enum smartio_hint {
	SMARTIO_DEVICE_READS,
	SMARTIO_DEVICE_WRITES,
};

/**
 * struct smartio_segment - memory shared with the device
 * @io: where this CPU writes it, if it is beside the device and remote (write
 *	combining: wmb() orders), else NULL
 * @cpu: where this CPU reads and writes it, if it is memory of this host
 * @device_addr: where the device finds it
 * @size: bytes
 * @handle: its number for the lender's half (smartio_session_segment()); 0 if
 *	it is in this host's memory and the path is not local
 */
struct smartio_segment {
	void __iomem *io;
	void *cpu;
	u64 device_addr;
	size_t size;
	u32 handle;
	/* private: */
	dma_addr_t dma;
	u64 session;
};

int smartio_segment_alloc(struct smartio_device *sdev, size_t size,
			  enum smartio_hint hint,
			  struct smartio_segment *segment);
void smartio_segment_free(struct smartio_device *sdev,
			  struct smartio_segment *segment);

/* Registers of the device, and memory on it. */
void __iomem *smartio_map_bar(struct smartio_device *sdev, unsigned int bar,
			      u64 offset, size_t size, bool write_combining);
void smartio_unmap_bar(struct smartio_device *sdev, void __iomem *io);

int smartio_irq_alloc(struct smartio_device *sdev, const struct cpumask *cpus,
		      irq_handler_t handler, const char *name, void *context,
		      struct smartio_irq *irq);
void smartio_irq_sent(struct smartio_irq *irq, unsigned int vector,
		      const struct smartio_irq_message *message);
bool smartio_irq_over(struct smartio_irq *irq);
void smartio_irq_free(struct smartio_device *sdev, struct smartio_irq *irq);

/*
 * A PCI function that is lent as a whole, to one host at a time, and appears
 * there as a function of its own: what that takes beyond a session. Not on the
 * local path, where all of this returns -EOPNOTSUPP.
 */

int smartio_space_alloc(struct smartio_device *sdev,
			struct smartio_space *space, bool single);
void smartio_space_free(struct smartio_device *sdev,
			struct smartio_space *space);
int smartio_space_map(struct smartio_device *sdev, struct smartio_space *space,
		      u64 addr, phys_addr_t phys, size_t size, int prot,
		      gfp_t gfp);
size_t smartio_space_unmap(struct smartio_device *sdev,
			   struct smartio_space *space, u64 addr, size_t size);
phys_addr_t smartio_space_phys(struct smartio_device *sdev, u64 addr);

/**
 * struct smartio_peer - registers of a lent function, for another one
 * @host: who lends the one with the registers
 * @session: of that one; smartio_session_id()
 * @bar: number
 * @offset: in it, bytes, whole pages
 * @size: bytes, whole pages
 * @read: the other one may read them
 * @write: the other one may write them
 * @grant: if they are lent by two hosts: from smartio_peer_grant(); else 0
 */
struct smartio_peer {
	uuid_t host;
	u64 session;
	unsigned int bar;
	u64 offset;
	u64 size;
	bool read;
	bool write;
	u64 grant;
};

int smartio_peer_grant(struct smartio_device *target, const uuid_t *host,
		       struct smartio_peer *peer);
int smartio_peer_revoke(struct smartio_device *target,
			const struct smartio_peer *peer);
int smartio_peer_map(struct smartio_device *sdev, u64 addr,
		     const struct smartio_peer *peer);
int smartio_peer_unmap(struct smartio_device *sdev, u64 addr, u64 size);
int smartio_bar_resource(struct smartio_device *sdev, unsigned int bar,
			 size_t size, struct resource *resource);
void smartio_bar_resource_put(struct smartio_device *sdev,
			      struct resource *resource);

int smartio_msi_create(struct smartio_device *sdev,
		       const struct smartio_msi_ops *ops, void *context,
		       struct irq_domain **domain);
void smartio_msi_remove(struct smartio_device *sdev,
			struct irq_domain *domain);

/* ---- the lender's half ---- */

struct smartio_export;

/**
 * struct smartio_session - one borrower of one export
 * @export: the lent device
 * @id: never used twice for an export, over all incarnations of the lender
 * @host: the borrower
 * @host_name: its name
 * @link_name: the link, or "local"
 * @local: whether the borrower is this host
 * @context: for the lender's half
 */
struct smartio_session {
	struct smartio_export *export;
	u64 id;
	uuid_t host;
	char host_name[SMARTIO_NAME_LEN];
	char link_name[32];
	bool local;
	void *context;
};

/**
 * struct smartio_lender_ops - the lender's half
 * @open: a host wants to use the device. -EAGAIN: later; -ENOSPC: nothing left;
 *	-EACCES: not that host. May sleep.
 * @ending: the session ends: its requests that wait should give up. Requests
 *	may run beside it. Then close comes, when they are through. Must not
 *	wait for them. Optional.
 * @close: the session is over, however it ended. When this returns, the device
 *	touches nothing of it any more: neither the borrower's memory, nor its
 *	segments, nor its interrupts. May sleep, must end. Segments and
 *	interrupts of the session are taken back afterwards.
 * @request: the borrower's request by smartio_call(). Untrusted; in this host's
 *	memory already, so it can't change. Several at once, of one session
 *	too. Not after close began: close waits for those that run, so none
 *	may wait for ever. Returns 0 or a negative error, as does the
 *	borrower's smartio_call(). With 0, @reply_size is set to the bytes
 *	written to @reply, at most its value before. It runs in the scope of
 *	smartio_recovery_begin(), since recovery waits for it.
 * @show: who holds what, for sysfs: lines of text. Optional.
 * @peers_lost: the device reached registers of another lender's device, and the
 *	link between the two lenders was lost: it reaches them no more. The
 *	borrower may map them again. As @request: not after close began.
 *	Optional.
 * @exclusive: lent as a whole: one session at a time; others are refused with
 *	-EBUSY. The device reaches memory of its borrower until the session
 *	ends. The borrower may have it reach all that its IOMMU group may:
 *	smartio_lend() refuses that, unless it is allowed for the device.
 */
struct smartio_lender_ops {
	int (*open)(struct smartio_session *session);
	void (*ending)(struct smartio_session *session);
	void (*close)(struct smartio_session *session);
	int (*request)(struct smartio_session *session, const void *request,
		       size_t size, void *reply, size_t *reply_size);
	int (*show)(void *context, char *buf, size_t size);
	void (*peers_lost)(struct smartio_session *session);
	bool exclusive;
};

struct smartio_export *smartio_lend(struct pci_dev *pdev, const char *service,
				    const struct smartio_lender_ops *ops,
				    void *context, struct module *owner,
				    unsigned int first_vector,
				    unsigned int vectors);
void smartio_unlend(struct smartio_export *export);
void *smartio_export_context(struct smartio_export *export);

/*
 * Ends all sessions, and refuses new ones with -EAGAIN. It calls @close for
 * each, and waits for it; borrowers get SMARTIO_LOST. smartio_export_resume()
 * ends that, and sends all borrowers SMARTIO_READY.
 */
void smartio_export_suspend(struct smartio_export *export);
void smartio_export_resume(struct smartio_export *export);

/* Ends the named sessions; not from a request of one of them. */
void smartio_export_end_sessions(struct smartio_export *export, const u64 *ids,
				 unsigned int count);

int smartio_session_notify(struct smartio_session *session,
			   const void *message, size_t size);

/* Translates a borrower's addresses for the device; everything is checked. */
int smartio_session_dma(struct smartio_session *session, u64 addr, size_t size,
			u64 *device_addr);
int smartio_session_segment(struct smartio_session *session, u32 handle,
			    u64 offset, size_t size, u64 *device_addr);
void smartio_session_segment_put(struct smartio_session *session, u32 handle);
int smartio_session_set_irq(struct smartio_session *session, u64 addr,
			    u32 data, unsigned int *vector);
void smartio_session_clear_irq(struct smartio_session *session,
			       unsigned int vector);
/* For those who write the device's tables themselves. */
int smartio_session_irq_target(struct smartio_session *session, u64 addr,
			       u64 *device_addr);
/* Registers of the device that the session may map; nothing else is mapped. */
int smartio_session_allow_bar(struct smartio_session *session,
			      unsigned int bar, u64 offset, size_t size);

#endif /* _LINUX_SMARTIO_H */
