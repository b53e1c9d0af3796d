// SPDX-License-Identifier: GPL-2.0
/*
 * smartio: devices of one host used by others. Begin with
 * include/linux/smartio.h and smartio_transport.h. The layers, from below:
 *
 *   links.c                          links that transports registered
 *   hosts.c fence.c                  membership
 *   export.c region.c policy.c session.c group.c lend.c  provider: what this host
 *                                    lends
 *   path.c path_*.c                  consumer: what it may use
 *   local.c remote_*.c               join consumers and providers; over
 *                                    session_*.c
 *   sysfs.c                          shows all of it
 *   main.c                           events of links go to the layers
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>

#include "export.h"
#include "hosts.h"
#include "links.h"
#include "messages.h"
#include "path.h"
#include "remote.h"
#include "sysfs.h"

static int client_admit(struct smartio_link *link,
			const struct smartio_identity *peer)
{
	int ret = remote_paths_host(link, &peer->uuid);

	if (ret)
		return ret;
	ret = group_admits(link);
	if (ret)
		return ret;
	if (smartio_host_fenced(&peer->uuid))
		return -EACCES;
	return smartio_host_seen(peer);
}

static void client_lost(struct smartio_link *link)
{
	remote_paths_lost(link);
	remote_sessions_end(link);
}

static bool client_drained(struct smartio_link *link, bool late)
{
	return !remote_paths_write(link, late);
}

static bool client_writes(struct smartio_link *link)
{
	return remote_paths_unstopped(link);
}

static const struct smartio_link_client client = {
	.added = remote_paths_init,
	.removed = remote_paths_exit,
	.fenced = smartio_host_fenced,
	.admit = client_admit,
	.may_rejoin = fence_may_rejoin,
	.up = remote_announce_all,
	.lost = client_lost,
	.drained = client_drained,
	.writes = client_writes,
	.valid = messages_payload_ok,
	.message = remote_paths_message,
	.request = rpc_handle,
};

static int __init smartio_init(void)
{
	int ret;

	ret = path_irqs_init();
	if (ret)
		return ret;
	links_init(&client, &smartio_self);
	fence_init();
	ret = smartio_hosts_init(smartio_host_class_groups,
				 smartio_host_groups);
	if (ret)
		goto exit_irqs;
	ret = smartio_bus_init(smartio_path_groups);
	if (ret)
		goto exit_hosts;
	ret = lend_init(smartio_export_class_groups, smartio_export_groups);
	if (ret)
		goto exit_bus;
	local_init();
	remote_sessions_init();
	pr_info("this host is %pUb (%s)\n", &smartio_self.uuid,
		smartio_self.name);
	return 0;

exit_bus:
	smartio_bus_exit();
exit_hosts:
	smartio_hosts_exit();
exit_irqs:
	path_irqs_exit();
	return ret;
}
module_init(smartio_init);

static void __exit smartio_exit(void)
{
	local_exit();
	lend_exit();
	smartio_bus_exit();
	smartio_hosts_exit();
	path_irqs_exit();
}
module_exit(smartio_exit);

/* Drivers of devices need no transport by name; a host with links has one. */
MODULE_SOFTDEP("post: ntb_smartio");
MODULE_DESCRIPTION("Devices of one host used by others");
MODULE_LICENSE("GPL");
