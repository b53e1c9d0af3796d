/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#define DMI_PRODUCT_UUID 0
#define dmi_get_system_info(field) shim_product_uuid

extern const char* shim_product_uuid;
