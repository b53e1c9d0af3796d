/* SPDX-License-Identifier: GPL-2.0 */
/* Attributes, which main.c hands to the layers that have the devices. */
#ifndef _SMARTIO_SYSFS_H
#define _SMARTIO_SYSFS_H

struct attribute_group;

extern const struct attribute_group *smartio_host_class_groups[];
extern const struct attribute_group *smartio_host_groups[];
extern const struct attribute_group *smartio_export_class_groups[];
extern const struct attribute_group *smartio_export_groups[];
extern const struct attribute_group *smartio_path_groups[];

#endif /* _SMARTIO_SYSFS_H */
