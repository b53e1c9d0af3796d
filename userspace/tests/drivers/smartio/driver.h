// SPDX-License-Identifier: GPL-2.0
// The core's headers, which are C.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstring>

#define private private_member
#define export export_member
extern "C" {
#include <linux/iommu.h>
#include <linux/irq.h>
#include <linux/module.h>
#include <linux/msi.h>

#include "export.h"
#include "hosts.h"
#include "links.h"
#include "messages.h"
#include "remote.h"
extern bool* shim_param_remote_fence;
}
#undef private
#undef export
