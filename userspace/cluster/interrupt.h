// SPDX-License-Identifier: GPL-2.0
#pragma once

namespace smartio::cluster {

/// ^C, SIGTERM and SIGHUP as a flag that every wait of this tool asks for. So an interrupted `up` ends the processes
/// that it started. Signal handlers are the process's: call catch_interrupts() once, before any thread is made.
void catch_interrupts();
/// The signal that came, or 0.
int interrupted();
/// For the cleaning up after an interrupt: it may wait again, until the next interrupt.
void clear_interrupt();

}  // namespace smartio::cluster
