// SPDX-License-Identifier: GPL-2.0
#include "cluster/interrupt.h"

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace smartio::cluster {

namespace {
std::atomic<int> came{0};
static_assert(std::atomic<int>::is_always_lock_free, "it is set by a signal handler");
}  // namespace

void catch_interrupts() {
  struct sigaction action{};
  action.sa_handler = [](int signal) { came = signal; };  // no SA_RESTART: waits end with EINTR
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &action, nullptr);
}

int interrupted() { return came; }
void clear_interrupt() { came = 0; }

}  // namespace smartio::cluster
