/* SPDX-License-Identifier: GPL-2.0 */
/* The lowest layer of the core: the links that transports registered. */
#ifndef _SMARTIO_LINKS_H
#define _SMARTIO_LINKS_H

#include <linux/smartio_transport.h>

/* Answers a request of a peer; see request() of struct smartio_link_client. */
typedef int (*rpc_handler)(struct smartio_link *link, u32 generation,
			   const struct wire_message *message,
			   const void *payload, void *reply,
			   size_t *reply_size);

void rpc_register(u16 type, rpc_handler handler);
int rpc_handle(struct smartio_link *link, u32 generation,
	       const struct wire_message *message, const void *payload,
	       void *reply, size_t *reply_size);

void links_init(const struct smartio_link_client *client,
		const struct smartio_identity *self);
void links_for_each(void (*fn)(struct smartio_link *link, void *arg),
		    void *arg);
bool links_lead_to(const uuid_t *host);
struct smartio_link *links_up_to(const uuid_t *host);
ssize_t links_names(const uuid_t *host, char *buf);

#endif /* _SMARTIO_LINKS_H */
