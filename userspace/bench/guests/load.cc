// SPDX-License-Identifier: GPL-2.0
#include "bench/guests/load.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/deadline.h"
#include "cluster/interrupt.h"

namespace smartio::bench {

using namespace std::chrono_literals;

Result<void> begin(Guests& guests, Counters& counters, const Load& load) {
  const auto before = counters.drive(load.drive);
  if (!before) return std::unexpected(before.error());
  if (auto started = guests.start(load.host, load.command); !started) return started;
  // fio needs a moment to begin.
  const auto deadline = Deadline::in(60s);
  for (double begun = 0; begun < before->commands + 20;) {
    std::this_thread::sleep_for(50ms);
    const auto now = counters.drive(load.drive);
    if (!now) return std::unexpected(now.error());
    begun = now->commands;
    if (cluster::interrupted() != 0) return fail("interrupted");
    if (deadline.passed()) {
      const auto said = guests.finish(load.host, 1s);
      return fail(fmt::format("{}: fio did no I/O in 60 s: {}", load.host, said ? *said : said.error().message));
    }
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(0.05 * load.seconds));
  return {};
}

}  // namespace smartio::bench
