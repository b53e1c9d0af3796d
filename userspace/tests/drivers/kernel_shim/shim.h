// SPDX-License-Identifier: GPL-2.0
// The calls of a test to the kernel of the shim, besides those of drivers.
#pragma once

#include <functional>
#include <string>

namespace shim {

/// Called in each wait, for the events that happen meanwhile. One wait at a time calls it.
extern std::function<void()> meanwhile;

/// This number of allocations succeed, and no other; below 0: all do.
extern int allocations;

/// The messages that drivers logged.
extern std::string log;

/// How many mutexes and spinlocks are held.
int locks();

}  // namespace shim
