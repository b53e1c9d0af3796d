/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#define GFP_KERNEL 1U
#define GFP_NOIO 2U
#define __GFP_NOFAIL 4U
#define __GFP_NOWARN 8U
#define __GFP_NOMEMALLOC 16U
#define __GFP_RETRY_MAYFAIL 32U
