/* SPDX-License-Identifier: GPL-2.0 */
/* What joins consumer and provider: on this host, and over links. */
#ifndef _SMARTIO_REMOTE_H
#define _SMARTIO_REMOTE_H

#include <linux/smartio_transport.h>

struct remote_news;
struct session;
struct smartio_path;
struct smartio_path_ops;
struct wire_addresses;
struct wire_grant;
struct wire_granted;
struct wire_peer;
struct wire_segment;
struct wire_take;

/* ---- local.c: both ends on this host ---- */

void local_init(void);
void local_exit(void);

/* ---- remote_path.c: a path over a link, and its operations ---- */

/**
 * struct remote - private part of a path over a link
 * @entry: in link->paths
 * @link: the link; a reference
 * @path: the path
 * @device: how the lender calls the device; under link->paths_lock
 * @incarnation: of the lender that named it; under link->paths_lock
 * @named: it has been named since the link is up; under link->paths_lock
 * @going: @removal removes it, without the lock; it stays in the list until its
 *	driver has stopped: a loss of the link reaches it; under link->paths_lock
 * @removal: in link->removals_wq
 * @next: a device of the same name waits for its end, or NULL; under
 *	link->paths_lock
 * @irq_moves: serial of the last request to move an interrupt
 */
struct remote {
	struct list_head entry;
	struct smartio_link *link;
	struct smartio_path *path;
	u32 device;
	u32 incarnation;
	bool named;
	bool going;
	struct work_struct removal;
	struct remote_news *next;
	atomic_t irq_moves;
};

extern const struct smartio_path_ops remote_path_ops;

/* ---- remote_offer.c: this host as a borrower ---- */

int remote_paths_init(struct smartio_link *link);
void remote_paths_exit(struct smartio_link *link);
int remote_paths_host(struct smartio_link *link, const uuid_t *host);
void remote_paths_lost(struct smartio_link *link);
bool remote_paths_write(struct smartio_link *link, bool forget);
bool remote_paths_unstopped(struct smartio_link *link);
bool remote_paths_message(struct smartio_link *link,
			  const struct wire_message *message,
			  const void *payload);

/* ---- session_domain.c: addresses of a device that a peer has as a whole ---- */

int session_domain_open(struct session *session, u64 base, u64 size,
			bool single, struct wire_addresses *addresses);
void session_domain_close(struct session *session);
bool session_domain_is_own(struct session *session);
bool session_domain_is_free(struct session *session, u64 addr, u64 size);
bool session_domain_is_pages(struct session *session, u64 addr, u64 size);
void session_domain_leave(struct session *session, u64 addr, u64 size);
void session_domain_rejoin(struct session *session, u64 addr, u64 size);
int session_domain_dma(struct session *session, u64 addr, u64 size,
		       u64 *device_addr);
int session_domain_irq(struct session *session, u64 addr, u64 *device_addr);

/* ---- session_grant.c: other hosts reach registers of a lent device ---- */

/* How long a lender waits for another one. */
#define SESSION_PEER_MS		5000

void session_registers(const struct session *session, unsigned int bar,
		       u64 offset, u64 size,
		       struct smartio_registers *registers);
bool session_grant_allowed(struct session *session, u32 bar, u64 offset,
			   u64 size);
int session_grant_add(struct session *session, const struct wire_grant *wish,
		      struct wire_granted *granted);
int session_grant_revoke(struct session *session, u64 id);
int session_grant_take(struct smartio_link *link, u32 generation,
		       const struct wire_take *take,
		       struct wire_segment *reply);
void session_grants_withdraw(struct session *session);
void session_grants_lost(struct smartio_link *link);

/* ---- session_peer.c: one lent device reaches another ---- */

int session_peer_map(struct session *session, const struct wire_peer *peer);
int session_peer_unmap(struct session *session, u64 addr, u64 size);
void session_peer_forget(struct session *session);
void session_peer_withdraw(struct session *session);
void session_peers_ended(struct smartio_link *link, u64 grant);
void session_peers_lost(struct smartio_link *link);

/* ---- remote_session.c: this host as a lender ---- */

void remote_sessions_end(struct smartio_link *link);
void remote_announce_all(struct smartio_link *link);
void remote_sessions_init(void);

#endif /* _SMARTIO_REMOTE_H */
