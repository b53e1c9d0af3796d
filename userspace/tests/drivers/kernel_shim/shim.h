// SPDX-License-Identifier: GPL-2.0
// What a test does with the kernel of the shim, besides what drivers do with it.
#pragma once

#include <functional>
#include <string>

namespace shim {

/// Called whenever somebody waits: what else happens meanwhile. One wait at a time calls it.
extern std::function<void()> meanwhile;

/// So many allocations succeed, and no other; below 0: all do.
extern int allocations;

/// What was logged.
extern std::string log;

/// How many mutexes and spinlocks are held.
int locks();

}  // namespace shim
