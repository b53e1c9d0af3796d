/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#define MKDEV(major, minor) 0
