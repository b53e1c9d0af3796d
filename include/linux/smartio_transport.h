/* SPDX-License-Identifier: GPL-2.0 */
/*
 * smartio: between the core (smartio.ko) and a transport, which connects this
 * host with others.
 *
 * A transport has links. A link leads to one peer, another host, known by its
 * UUID and by the incarnation of its core. The core calls a transport by
 * struct smartio_link_ops; the transport reports events by struct
 * smartio_link_client. A transport knows hosts, addresses and messages, and
 * nothing that the messages are about.
 *
 * The core holds a reference to a link while it calls one of its operations.
 */
#ifndef _LINUX_SMARTIO_TRANSPORT_H
#define _LINUX_SMARTIO_TRANSPORT_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/smartio_address.h>
#include <linux/smartio_message.h>
#include <linux/spinlock.h>
#include <linux/uuid.h>

struct cpumask;
struct device;
struct irq_domain;
struct page;
struct resource;
struct smartio_link;
struct workqueue_struct;

/**
 * enum smartio_link_state - the state of a link
 * @SMARTIO_LINK_DOWN: no cable, or nothing answers
 * @SMARTIO_LINK_JOINING: the peer isn't ready, or both shake hands
 * @SMARTIO_LINK_UP: messages may be sent
 * @SMARTIO_LINK_REFUSED: one side refuses the other
 */
enum smartio_link_state {
	SMARTIO_LINK_DOWN,
	SMARTIO_LINK_JOINING,
	SMARTIO_LINK_UP,
	SMARTIO_LINK_REFUSED,
};

/**
 * struct smartio_identity - a host, as it introduces itself
 * @uuid: who
 * @name: for people
 * @incarnation: of its core: another one whenever smartio.ko is loaded
 */
struct smartio_identity {
	uuid_t uuid;
	char name[SMARTIO_NAME_LEN];
	u32 incarnation;
};

/**
 * struct smartio_holder - whose something is that the peer may still write to
 * @owner: a number of the core, not 0
 * @key: another one, not 0; used once
 */
struct smartio_holder {
	u32 owner;
	u64 key;
};

/**
 * struct smartio_registers - pages of a device of this host, for the peer
 * @phys: where CPUs find the whole range
 * @bus: where devices of its PCI domain find the whole range
 * @length: of the whole range, bytes, whole pages
 * @offset: of the pages in it
 * @size: bytes, whole pages
 * @name: for people
 */
struct smartio_registers {
	phys_addr_t phys;
	u64 bus;
	u64 length;
	u64 offset;
	u64 size;
	const char *name;
};

/**
 * struct smartio_link_ops - the core's calls to a link
 * @owner: module of the operations
 * @release: the last reference to the link was dropped
 *
 * @send: a message to the peer, in a generation of the link. Messages arrive in
 *	the order sent. Returns 0, -ENOLINK: the link is down, or in another
 *	generation, or -EMSGSIZE. May sleep.
 * @call: a request; waits for its reply at most @timeout_ms. Returns the reply's
 *	status, -ENOLINK, -ETIMEDOUT, -ENOMEM or -EMSGSIZE. May sleep.
 *
 * @restart: take the link down soon, it joins again; @why: a constant text
 * @settle: returns when earlier requests have been executed: a link that was to
 *	be taken down has its windows shut. May sleep; not from an event of the
 *	link.
 * @recheck: a fence of the peer began or ended: ask the client again; settles
 * @rejoin: ask the peer, which fenced this host, for admission, or stop asking;
 *	settles
 *
 * @alloc: coherent memory of this host that the peer's devices reach, whole
 *	pages; NULL if there is none
 * @free: and back
 * @peer_phys: where CPUs of this host find an address of the peer: 0 or -ERANGE
 * @irq_alloc: an interrupt that the peer's devices send to this host; calls
 *	smartio_irq_set(), and again whenever its message changes
 * @irq_free: and back
 * @irq_over: a handler that runs has returned when this does
 * @irq_settled: the peer's device sends the message last set, and messages that
 *	it sent before have arrived
 *
 * @pages_alloc: pages that the peer's CPUs reach; NULL if there are none. The link
 *	keeps them for a while after @pages_free, for the same @owner, a number of
 *	the core
 * @pages_free: and back; with a @holder only when that one has stopped
 * @pages_forget: keep none for this owner any more
 * @expose: let the peer's CPUs reach registers, at @peer_addr
 * @conceal: no longer; with a @holder the addresses stay unused until that one
 *	has stopped
 * @stopped: the peer writes to nothing of these holders any more; an @owner or
 *	@key of 0 stands for any
 * @map: where device @dev of this host finds an address of the peer: 0, -ERANGE,
 *	-EIO or -ENOMEM. The mapping stays until @unmap.
 * @map_memory: the offset from the peer's addresses of its own memory to those
 *	of @dev; as @map
 * @map_irq: as @map, for the address of an interrupt message; or -EINVAL
 * @map_doorbell: where and by what @dev rings a doorbell of the peer, which chose
 *	its number: as @map; -EINVAL: not one for devices; -EOPNOTSUPP
 * @unmap: end the mappings of a device, which uses none any more
 *
 * For whole functions of the peer that drivers of this host use:
 * @space_alloc: a range of addresses of this host that only one such function
 *	gets: 0; -EOPNOTSUPP: there is no IOMMU; -ENOSPC
 * @space_free: and back, with nothing mapped
 * @space_map: let addresses of a range lead to memory; any context
 * @space_unmap: nothing reaches it any more when this returns; any context.
 *	Returns how many bytes were mapped.
 * @space_phys: where an address leads
 * @nest: a range of @peer_phys becomes a resource that drivers may claim
 * @unnest: and no longer
 * @msi_create: a parent for the MSI domains of one function; 0 or a negative
 *	error
 * @msi_remove: and back; nothing stands on it any more
 *
 * All but those two may sleep.
 */
struct smartio_link_ops {
	struct module *owner;
	void (*release)(struct smartio_link *link);

	int (*send)(struct smartio_link *link, u32 generation,
		    const struct wire_message *message, const void *payload);
	int (*call)(struct smartio_link *link,
		    const struct wire_message *message, const void *payload,
		    void *reply, size_t *reply_size, unsigned int timeout_ms);

	void (*restart)(struct smartio_link *link, const char *why);
	void (*settle)(struct smartio_link *link);
	void (*recheck)(struct smartio_link *link);
	void (*rejoin)(struct smartio_link *link, bool ask);

	void *(*alloc)(struct smartio_link *link, size_t size, dma_addr_t *dma,
		       gfp_t gfp);
	void (*free)(struct smartio_link *link, size_t size, void *cpu,
		     dma_addr_t dma);
	int (*peer_phys)(struct smartio_link *link, u64 addr, u64 size,
			 phys_addr_t *phys);
	int (*irq_alloc)(struct smartio_link *link, const struct cpumask *cpus,
			 const char *name, struct smartio_irq *irq);
	void (*irq_free)(struct smartio_link *link, struct smartio_irq *irq);
	void (*irq_over)(struct smartio_link *link, struct smartio_irq *irq);
	void (*irq_settled)(struct smartio_link *link, struct smartio_irq *irq);

	struct page *(*pages_alloc)(struct smartio_link *link, u32 owner,
				    size_t size, dma_addr_t *dma);
	void (*pages_free)(struct smartio_link *link, size_t size,
			   struct page *page, dma_addr_t dma,
			   const struct smartio_holder *holder);
	void (*pages_forget)(struct smartio_link *link, u32 owner);
	int (*expose)(struct smartio_link *link,
		      const struct smartio_registers *registers,
		      u64 *peer_addr);
	void (*conceal)(struct smartio_link *link,
			const struct smartio_registers *registers,
			u64 peer_addr, const struct smartio_holder *holder);
	void (*stopped)(struct smartio_link *link,
			const struct smartio_holder *holder);
	int (*map)(struct smartio_link *link, struct device *dev, u64 addr,
		   u64 size, u64 *device_addr);
	int (*map_memory)(struct smartio_link *link, struct device *dev,
			  u64 *offset);
	int (*map_irq)(struct smartio_link *link, struct device *dev, u64 addr,
		       u64 *device_addr);
	int (*map_doorbell)(struct smartio_link *link, struct device *dev,
			    u32 number, u64 *device_addr, u32 *data);
	void (*unmap)(struct smartio_link *link, struct device *dev);

	int (*space_alloc)(struct smartio_link *link,
			   struct smartio_space *space);
	void (*space_free)(struct smartio_link *link,
			   struct smartio_space *space);
	int (*space_map)(struct smartio_link *link,
			 struct smartio_space *space, u64 addr,
			 phys_addr_t phys, size_t size, int prot, gfp_t gfp);
	size_t (*space_unmap)(struct smartio_link *link,
			      struct smartio_space *space, u64 addr,
			      size_t size);
	phys_addr_t (*space_phys)(struct smartio_link *link, u64 addr);
	int (*nest)(struct smartio_link *link, struct resource *resource);
	void (*unnest)(struct smartio_link *link, struct resource *resource);
	int (*msi_create)(struct smartio_link *link,
			  const struct smartio_msi_ops *ops, void *context,
			  struct irq_domain **domain);
	void (*msi_remove)(struct smartio_link *link,
			   struct irq_domain *domain);
};

/**
 * struct smartio_link_client - events of links, which the core handles
 * @added: a link is being set up. Returns 0 or -ENOMEM.
 * @removed: a link is down, for good
 * @fenced: whether a host must be refused now
 * @admit: a host introduces itself on a link. Returns 0; -EACCES: it is fenced;
 *	-EOPNOTSUPP: its function shares an IOMMU group with a device that must not
 *	be open to it; another error: it can't be admitted; -ENOMEM: not now.
 * @may_rejoin: a fenced host asks for admission; @stale: its wish is older than
 *	the fence. Returns whether it is admitted.
 * @up: the link is up
 * @lost: the link went down, and its windows are shut. When this returns,
 *	nothing on this host works for the peer any more.
 * @drained: whether nothing on this host writes to the peer any more; @late: it
 *	is asked for the last time
 * @writes: whether a driver of this host may still write to memory or registers
 *	of a session with the peer that is over; also after @late
 * @valid: whether the payload of a message is sound
 * @message: one that is no request and no reply; must not wait for other work.
 *	Returns false if there is no memory for it: the transport delivers it
 *	again.
 * @request: one that is answered by the status returned and by @reply, zeroed,
 *	a page or more, *@reply_size bytes of which may be sent. Many at once.
 *
 * Process context; @fenced may not sleep, the others may. One of @added to
 * @writes at a time for a link. The transport calls @admit to @writes,
 * @message and @request between smartio_recovery_begin() and its end.
 */
struct smartio_link_client {
	int (*added)(struct smartio_link *link);
	void (*removed)(struct smartio_link *link);
	bool (*fenced)(const uuid_t *host);
	int (*admit)(struct smartio_link *link,
		     const struct smartio_identity *peer);
	bool (*may_rejoin)(const uuid_t *host, u32 incarnation, bool stale);
	void (*up)(struct smartio_link *link);
	void (*lost)(struct smartio_link *link);
	bool (*drained)(struct smartio_link *link, bool late);
	bool (*writes)(struct smartio_link *link);
	bool (*valid)(const struct wire_message *message, const void *payload);
	bool (*message)(struct smartio_link *link,
			const struct wire_message *message,
			const void *payload);
	int (*request)(struct smartio_link *link, u32 generation,
		       const struct wire_message *message, const void *payload,
		       void *reply, size_t *reply_size);
};

/**
 * struct smartio_link - the connection to one peer
 * @ops: of the transport
 * @client: of the core
 * @self: this host
 * @transport: whose link it is
 * @ref: references; see smartio_link_put()
 * @name: for people
 * @dma: the function of this host that moves the peer's data, for the DMA API
 * @scattered: the peer's devices reach all memory that the DMA API maps for
 *	@dma
 * @msi_base: where messages of interrupts go, an address of each host
 * @msi_size: bytes
 * @lock: protects @state, @generation, @peer, @known
 * @state: see enum smartio_link_state; changed by the transport
 * @generation: of this side, new with every attempt to join, not 0
 * @peer: the host on the other side, since the link was up for the first time
 * @known: whether @peer is valid
 * @fenced: the peer said that this host is fenced, and has not admitted it
 *	since
 * @log_limit: of log lines that the peer can bring about
 * @refused: counts messages that failed a check
 *
 * The transport fills in @ops, @transport, @name, @dma, @msi_base, @msi_size and
 * @generation before smartio_link_init(), and @scattered before
 * smartio_link_register(). It changes @state, @generation, @peer, @known and
 * @fenced afterwards. The rest is the core's.
 */
struct smartio_link {
	const struct smartio_link_ops *ops;
	const struct smartio_link_client *client;
	const struct smartio_identity *self;
	struct smartio_transport *transport;
	struct kref ref;
	char name[32];
	struct device *dma;
	bool scattered;
	u64 msi_base;
	u64 msi_size;

	spinlock_t lock;	/* state, generation, peer, known */
	enum smartio_link_state state;
	u32 generation;
	struct smartio_identity peer;
	bool known;
	bool fenced;
	struct ratelimit_state log_limit;
	atomic64_t refused;

	/* private: */
	struct list_head entry;
	u64 number;
	atomic_t fencing;
	bool host_known;
	uuid_t host;
	struct list_head paths;
	struct mutex paths_lock;	/* paths */
	struct workqueue_struct *paths_wq;
	struct workqueue_struct *removals_wq;
	struct list_head news;
	unsigned int news_count;
};

/**
 * smartio_link_is_up() - whether messages may be sent
 * @link: the link
 * @generation: of it, then
 *
 * Context: process.
 * Return: true or false.
 */
static inline bool smartio_link_is_up(struct smartio_link *link,
				      u32 *generation)
{
	bool up;

	spin_lock(&link->lock);
	up = link->state == SMARTIO_LINK_UP;
	*generation = link->generation;
	spin_unlock(&link->lock);
	return up;
}

/**
 * struct smartio_transport - a kind of links
 * @links: those that exist
 */
struct smartio_transport {
	atomic_t links;
};

int smartio_link_init(struct smartio_link *link);
void smartio_link_register(struct smartio_link *link);
void smartio_link_unregister(struct smartio_link *link);
void smartio_link_get(struct smartio_link *link);
void smartio_link_put(struct smartio_link *link);
void smartio_irq_set(struct smartio_irq *irq, u64 addr, u32 data);
void smartio_transport_drain(struct smartio_transport *transport);

#endif /* _LINUX_SMARTIO_TRANSPORT_H */
