/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Membership: who is who, who is fenced, who may rejoin. It knows no session:
 * layers above hear of fences by a notifier.
 */
#ifndef _SMARTIO_HOSTS_H
#define _SMARTIO_HOSTS_H

#include <linux/notifier.h>
#include <linux/smartio_transport.h>

#include "messages.h"

struct attribute_group;

/* ---- hosts.c ---- */

extern struct smartio_identity smartio_self;
extern spinlock_t smartio_hosts_lock;	/* the list, names, fences */

/* A UUID as people read it. */
struct smartio_uuid_text {
	char text[UUID_STRING_LEN + 1];
};

/**
 * struct smartio_host - a host
 * @entry: in smartio_hosts
 * @uuid: who
 * @name: its name when it was last seen; under smartio_hosts_lock
 * @fenced: is refused; under smartio_hosts_lock
 * @fences: how often that began; under smartio_hosts_lock
 * @incarnation: of its module, when it was last seen; under smartio_hosts_lock
 * @fenced_incarnation: that which was fenced; under smartio_hosts_lock
 * @used: this incarnation had a session here; under smartio_hosts_lock
 * @dev: in class smartio_host
 */
struct smartio_host {
	struct list_head entry;
	uuid_t uuid;
	char name[SMARTIO_NAME_LEN];
	bool fenced;
	u32 fences;
	u32 incarnation;
	u32 fenced_incarnation;
	bool used;
	struct device *dev;
};

struct smartio_uuid_text smartio_uuid_text(const uuid_t *uuid);
bool smartio_host_fenced(const uuid_t *uuid);
u32 smartio_host_fences(const uuid_t *uuid);
int smartio_host_named(const char *text, uuid_t *uuid, char *name);
bool smartio_host_mark(const uuid_t *uuid, bool fenced);
bool smartio_host_use(const uuid_t *uuid);
void smartio_host_pin(const uuid_t *uuid, u32 incarnation);
bool smartio_host_rejoin(const uuid_t *uuid, u32 incarnation);
int smartio_host_seen(const struct smartio_identity *who);
size_t smartio_hosts_fill(struct wire_host *hosts, size_t room);
int smartio_hosts_init(const struct attribute_group **class_groups,
		       const struct attribute_group **groups);
void smartio_hosts_exit(void);

/* ---- fence.c ---- */

/**
 * enum smartio_host_event - for notifiers; the data is the host's UUID
 * @SMARTIO_HOST_FENCED: it is fenced, and the links to it are down. When the
 *	notifiers return, nothing here works for it.
 * @SMARTIO_HOST_ADMITTED: it is not fenced any more
 * @SMARTIO_HOST_REJOINS: this host asks for admission: NOTIFY_STOP if it has
 *	something here from which a fence keeps it
 */
enum smartio_host_event {
	SMARTIO_HOST_FENCED,
	SMARTIO_HOST_ADMITTED,
	SMARTIO_HOST_REJOINS,
};

int fence_notifier_add(struct notifier_block *notifier);
void fence_notifier_remove(struct notifier_block *notifier);
int fence_here(const char *text, bool fenced);
int fence_at(const uuid_t *at, const char *text, bool fenced);
ssize_t fence_hosts_show(const uuid_t *at, char *buf);
bool fence_may_rejoin(const uuid_t *host, u32 incarnation, bool stale);
int fence_rejoin(void);
void fence_init(void);

#endif /* _SMARTIO_HOSTS_H */
