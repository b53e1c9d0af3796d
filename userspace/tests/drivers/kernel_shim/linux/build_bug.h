/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#define static_assert(...) _Static_assert(__VA_ARGS__, #__VA_ARGS__)
