// SPDX-License-Identifier: GPL-2.0
/*
 * Who is who: this host's UUID and name, and what is known of others.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dmi.h>
#include <linux/module.h>
#include <linux/utsname.h>

#include "internal.h"

uuid_t smartio_self;
char smartio_self_name[SMARTIO_NAME_LEN];

static char *host_id;
module_param(host_id, charp, 0444);
MODULE_PARM_DESC(host_id, "UUID of this host (default: the firmware's system UUID)");

/**
 * smartio_uuid_text() - a UUID as people read it
 * @uuid: the UUID
 *
 * Context: any.
 * Return: its text, by value.
 */
struct smartio_uuid_text smartio_uuid_text(const uuid_t *uuid)
{
	struct smartio_uuid_text text;

	snprintf(text.text, sizeof(text.text), "%pUb", uuid);
	return text;
}

/**
 * smartio_host_fenced() - whether a host is to be refused
 * @uuid: the host
 *
 * Context: any.
 * Return: true or false.
 */
bool smartio_host_fenced(const uuid_t *uuid)
{
	return false;
}

static int __init smartio_self_init(void)
{
	const char *product = dmi_get_system_info(DMI_PRODUCT_UUID);

	strscpy(smartio_self_name, init_utsname()->nodename);
	if (host_id) {
		if (uuid_parse(host_id, &smartio_self) ||
		    uuid_is_null(&smartio_self)) {
			pr_err("host_id=%s is no UUID\n", host_id);
			return -EINVAL;
		}
		return 0;
	}
	if (product && !uuid_parse(product, &smartio_self) &&
	    !uuid_is_null(&smartio_self))
		return 0;
	uuid_gen(&smartio_self);
	pr_warn("the firmware has no system UUID, and host_id is not given: this host is %pUb until the module is loaded again\n",
		&smartio_self);
	return 0;
}

int __init smartio_hosts_init(void)
{
	return smartio_self_init();
}

void smartio_hosts_exit(void)
{
}
